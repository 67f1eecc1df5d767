"""What 50 turns of a chat cost, as the client sends them."""

from __future__ import annotations

import pydoc_data.topics
import re
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph

from agentstate_reducer import MessageReducer
from langgraph_dynamodb_checkpoint import DynamoDBSaver
from servers.bill import write_units
from servers.faults import FaultProxy

PROSE = re.sub(r"\s+", " ", " ".join(pydoc_data.topics.topics.values()))
KEY = b"0123456789abcdef"


@pytest.mark.parametrize(
    ("options", "megabytes", "units", "kilobytes"),
    [
        pytest.param({"reducer": MessageReducer(10, 20)}, 0.24, 290, 22, id="reduced"),
        pytest.param({}, 0.26, 310, 55, id="plain"),
        pytest.param(
            {"serde": EncryptedSerializer.from_pycryptodome_aes(key=KEY)},
            0.29,
            320,
            55,
            id="encrypted",
        ),
    ],
)
def test_fifty_turns(
    fault_proxy: FaultProxy,
    table_name: str,
    options: Any,
    megabytes: float,
    units: int,
    kilobytes: float,
) -> None:
    """Six requests a turn, one of them the read; bodies, write units and replies are bounded."""
    saver = DynamoDBSaver(table_name, endpoint_url=fault_proxy.endpoint, **options)
    saver.setup()
    texts = iter([PROSE[start : start + 400] for start in range(0, 100 * 400, 400)])
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _: {"messages": [("ai", next(texts))]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver)
    turns = []
    for _ in range(50):
        fault_proxy.reset()
        said = {"messages": [("human", next(texts))]}
        graph.invoke(said, {"configurable": {"thread_id": "t"}})
        turns.append(list(fault_proxy.exchanges))
    saver.close()
    assert {tuple(sorted(one.operation for one in turn)) for turn in turns} == {
        ("PutItem",) * 5 + ("Query",)
    }
    assert sum(len(one.request) for turn in turns for one in turn) <= megabytes * 1e6
    assert sum(write_units(one) for turn in turns for one in turn) <= units
    assert max(sum(len(one.reply) for one in turn) for turn in turns) <= kilobytes * 1e3
