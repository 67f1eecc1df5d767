"""What a turn of a chat asks of the database, and how much of it."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from typing import Any

import pytest
from azure.cosmos import CosmosClient
from langgraph.graph import START, MessagesState, StateGraph

from agentstate_documents import MemoryTable
from agentstate_documents.saver import DocumentSaver
from agentstate_reducer import MessageReducer
from servers.cosmosdb.control import CosmosServer

WORDS = ("a", "turn", "of", "the", "conversation", "in", "ordinary", "prose")


def prose(seed: int) -> str:
    """400 characters that are not the same twice."""
    source = random.Random(seed)
    return " ".join(f"{source.choice(WORDS)}{source.randrange(1000)}" for _ in range(60))[:400]


def chat(saver: DocumentSaver, turns: int, after: Callable[[], None], **options: Any) -> None:
    """A chat with one node; `after` is called after each turn."""

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [("ai", prose(2 * len(state["messages"]) + 1))]}

    builder = StateGraph(MessagesState)
    builder.add_node(answer)
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver)
    for turn in range(turns):
        said = {"messages": [("human", prose(2 * turn))]}
        graph.invoke(said, {"configurable": {"thread_id": "t"}}, **options)
        after()


def body_bytes(table: MemoryTable, partition: str) -> int:
    """The bytes of all bodies of a partition."""
    total, page = 0, table.query(partition)
    while True:
        total += sum(len(document.body) for document in page.documents)
        if page.cursor is None:
            return total
        page = table.query(partition, cursor=page.cursor)


@pytest.mark.parametrize(("options", "writes"), [({}, 5), ({"durability": "exit"}, 1)])
def test_a_turn_is_one_query_and_a_write_for_each_call(
    make_saver: Any, cosmosdb_server: CosmosServer, options: dict[str, Any], writes: int
) -> None:
    """A turn of one node is six requests, or two where the graph stores at its end."""
    turns: list[dict[str, int]] = []

    def note() -> None:
        turns.append(cosmosdb_server.operations())
        cosmosdb_server.clear()

    chat(make_saver(), 12, note, **options)
    assert turns[2:] == [{"create": writes, "query": 1}] * 10


def test_with_a_reducer_turns_stay_as_large_as_they_are(
    make_saver: Any, cosmosdb_server: CosmosServer
) -> None:
    """What ten turns send does not grow with the thread they are added to."""
    sizes: list[int] = []

    def note() -> None:
        sizes.append(cosmosdb_server.bytes_received())
        cosmosdb_server.clear()

    chat(make_saver(reducer=MessageReducer(max_messages=20, min_messages=10)), 60, note)
    assert sum(sizes[50:]) < 1.2 * sum(sizes[20:30])


def test_bodies_are_those_of_any_other_table(
    make_saver: Any, cosmosdb_server: CosmosServer, container_name: str
) -> None:
    """Fifty turns store as many bytes as in memory; base64 and keys come on top."""
    table = MemoryTable()
    for saver in (make_saver(), DocumentSaver(table)):
        chat(saver, 50, lambda: None)
    with CosmosClient(cosmosdb_server.endpoint, cosmosdb_server.key) as client:
        container = client.get_database_client("savers").get_container_client(container_name)
        found = container.query_items("SELECT VALUE c.b FROM c", enable_cross_partition_query=True)
        stored = sum(len(base64.b64decode(body)) for body in found)
    assert stored == pytest.approx(body_bytes(table, "t"), rel=0.1)
