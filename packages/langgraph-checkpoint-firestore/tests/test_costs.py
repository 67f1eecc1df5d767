"""What a turn costs: Firestore bills documents read and written, not bytes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_checkpoint_firestore import FirestoreSaver
from servers.firestore.control import Control

WORDS = ("a", "turn", "of", "the", "conversation", "in", "ordinary", "prose")


def prose(seed: int) -> str:
    """400 characters that are not the same twice."""
    source = random.Random(seed)
    return " ".join(f"{source.choice(WORDS)}{source.randrange(1000)}" for _ in range(60))[:400]


def chat(saver: FirestoreSaver, control: Control, turns: int, **options: Any) -> list[Any]:
    """What each turn of a chat with one node was billed."""

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", prose(2 * len(state["messages"]) + 1))]}

    builder = StateGraph(MessagesState)
    builder.add_node(answer)
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver)
    bills = []
    for turn in range(turns):
        control.reset()
        said = {"messages": [("human", prose(2 * turn))]}
        graph.invoke(said, {"configurable": {"thread_id": "t"}}, **options)
        bills.append(control.usage())
    return bills


@pytest.mark.parametrize(("options", "writes"), [({}, 5), ({"durability": "exit"}, 1)])
def test_a_turn_is_one_query_and_a_write_for_each_call(
    firestore_control: Control, firestore_project: str, options: Any, writes: int
) -> None:
    """A turn of one node writes five documents, or one at its end, and reads in one request."""
    saver = FirestoreSaver(firestore_project)
    bills = chat(saver, firestore_control, 30, **options)
    saver.close()
    later = bills[2:]
    assert {(bill["document_writes"], bill["Commit"], bill["RunQuery"]) for bill in later} == {
        (writes, writes, 1)
    }
    assert not any("BatchGetDocuments" in bill for bill in bills)
    # The chain behind a list is cut before reading it costs more than the list: the reads of a
    # turn grow with the list and not with the number of turns.
    assert sum(bill["document_reads"] for bill in later) / len(later) < 30
