"""One chat over one saver, in the environment of that saver; `savers.py` starts it.

    python benchmarks/savers_chat.py NAME TABLE

Every line on standard input is a turn of a graph with one node: a message of 400 characters of
English prose in, one out. Where DynamoDB answers is in the environment.
"""

from __future__ import annotations

import pydoc_data.topics
import re
import sys
from collections.abc import Callable
from typing import Any

from langgraph.graph import START, MessagesState, StateGraph

PROSE = re.sub(r"\s+", " ", " ".join(pydoc_data.topics.topics.values()))
LENGTH = 400


def reducer() -> Any:
    """The same window for every saver that takes one."""
    from agentstate_reducer import MessageReducer

    return MessageReducer(min_messages=10, max_messages=20)


def ours(table: str, **options: Any) -> Any:
    """`langgraph_dynamodb_checkpoint` as installed here, whoever's it is."""
    from langgraph_dynamodb_checkpoint import DynamoDBSaver

    return DynamoDBSaver(table, **options)


def encrypted(table: str) -> Any:
    """Ours, with LangGraph's AES over everything."""
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    return ours(table, serde=serde)


def aws(table: str, **options: Any) -> Any:
    """`langgraph-checkpoint-aws`."""
    from langgraph_checkpoint_aws import DynamoDBSaver

    return DynamoDBSaver(table, **options)


SAVERS: dict[str, Callable[[str], Any]] = {
    "plain": ours,
    "reduced": lambda table: ours(table, reducer=reducer()),
    "encrypted": encrypted,
    "aws": aws,
    "aws gzip": lambda table: aws(table, enable_checkpoint_compression=True),
}


def main(name: str, table: str) -> None:
    """One turn a line; says when each is over."""

    def text(turn: int, part: int) -> str:
        start = (2 * turn + part) * LENGTH
        return PROSE[start : start + LENGTH]

    def answer(_: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", text(turn, 1))]}

    builder = StateGraph(MessagesState)
    builder.add_node(answer)
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=SAVERS[name](table))
    print("ready", flush=True)
    for turn, _ in enumerate(sys.stdin):
        said = {"messages": [("human", text(turn, 0))]}
        graph.invoke(said, {"configurable": {"thread_id": "a customer"}})
        print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
