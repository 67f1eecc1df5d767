"""What a turn costs: Firestore bills documents read and written, not bytes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph

from agentstate_reducer import MessageReducer
from langgraph_checkpoint_firestore import FirestoreSaver
from servers.firestore.control import Control

WORDS = ("a", "turn", "of", "the", "conversation", "in", "ordinary", "prose")


def prose(seed: int) -> str:
    """400 characters that are not the same twice."""
    source = random.Random(seed)
    return " ".join(f"{source.choice(WORDS)}{source.randrange(1000)}" for _ in range(60))[:400]


def bills(saver: FirestoreSaver, control: Control, turns: int, **options: Any) -> list[Any]:
    """What each turn of a chat with one node was billed, after the first two."""

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", prose(2 * len(state["messages"]) + 1))]}

    builder = StateGraph(MessagesState)
    builder.add_node(answer)
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver)
    billed = []
    for turn in range(turns):
        control.reset()
        said = {"messages": [("human", prose(2 * turn))]}
        graph.invoke(said, {"configurable": {"thread_id": "t"}}, **options)
        billed.append(control.usage())
    return billed[2:]


@pytest.mark.parametrize(("options", "writes"), [({}, 5), ({"durability": "exit"}, 1)])
def test_a_turn_is_one_query_and_one_document_for_each_call(
    firestore_control: Control, firestore_project: str, options: Any, writes: int
) -> None:
    """A turn of one node writes five documents, or one at its end, and reads in one request."""
    saver = FirestoreSaver(firestore_project)
    billed = bills(saver, firestore_control, 20, **options)
    saver.close()
    requests = {
        name: {bill.get(name, 0) for bill in billed}
        for name in ("document_writes", "Commit", "RunQuery", "BatchGetDocuments")
    }
    assert requests == {
        "document_writes": {writes},
        "Commit": {writes},
        "RunQuery": {1},
        "BatchGetDocuments": {0},
    }


def test_a_reduced_thread_costs_the_same_at_every_length(
    firestore_control: Control, firestore_project: str
) -> None:
    """Once the reducer has begun to prune, later turns read no more than earlier ones."""
    reducer = MessageReducer(min_messages=10, max_messages=20)
    saver = FirestoreSaver(firestore_project, reducer=reducer)
    reads = [bill["document_reads"] for bill in bills(saver, firestore_control, 60)]
    saver.close()
    assert max(reads[40:]) <= max(reads[10:40]) + 5
    assert max(reads) <= 40
