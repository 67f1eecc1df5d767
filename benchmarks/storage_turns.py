"""What a chat costs in storage: requests and bytes per turn, on `MemoryTable`.

    python benchmarks/storage_turns.py [turns]

A turn is one `invoke` of a graph with one model node: a message of 400 characters of prose
in, one out, default durability. Bytes are those of documents: keys and bodies.
"""

from __future__ import annotations

import pydoc_data.topics
import re
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import END, START, MessagesState, StateGraph

from agentstate_documents import MemoryTable, Page
from agentstate_documents.saver import DocumentSaver
from agentstate_documents.testing.cipher import Keystream
from agentstate_reducer import MessageReducer

PROSE = re.sub(r"\s+", " ", " ".join(pydoc_data.topics.topics.values()))


@dataclass
class Cost:
    """Counted since the last turn began."""

    requests: int = 0
    written: int = 0
    read: int = 0
    units: int = 0


@dataclass
class CountingTable(MemoryTable):
    """A memory table with the pages of DynamoDB, and what it was asked."""

    cost: Cost = field(default_factory=Cost)

    def __post_init__(self) -> None:
        super().__init__(page_size=1000)

    def put(self, partition: str, writes: Any) -> None:
        """Counted as DynamoDB bills it: per KB of each row, twice in a transaction."""
        sizes = [
            len(partition) + len(write.document.sort) + len(write.document.body) + 3
            for write in writes
        ]
        self.cost.requests += 1
        self.cost.written += sum(sizes)
        factor = 1 if len(sizes) == 1 else 2
        self.cost.units += sum(-(-size // 1024) * factor for size in sizes)
        super().put(partition, writes)

    def query(self, partition: str, **range_: Any) -> Page:
        """Counted with what it read."""
        page = super().query(partition, **range_)
        self.cost.requests += 1
        self.cost.read += sum(len(d.sort) + len(d.body) for d in page.documents)
        return page


def text(number: int) -> str:
    """400 characters of prose, another passage for each number."""
    start = (number * 397) % (len(PROSE) - 500)
    return f"[{number}] {PROSE[start:]}"[:400]


def chat(saver: DocumentSaver, table: CountingTable, turns: int, durability: Any) -> list[Cost]:
    """The cost of each turn of one thread."""
    numbers = iter(range(1, 10**9))

    def answer(_state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(text(next(numbers)), id=str(uuid.uuid4()))]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", answer)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    graph = builder.compile(checkpointer=saver)
    costs = []
    for _ in range(turns):
        table.cost = Cost()
        question = HumanMessage(text(next(numbers)), id=str(uuid.uuid4()))
        config = {"configurable": {"thread_id": "t1"}}
        graph.invoke({"messages": [question]}, config, durability=durability)
        costs.append(table.cost)
    return costs


def report(name: str, costs: list[Cost]) -> None:
    """One line: totals, then the last turn."""
    reads = [cost.read for cost in costs]
    print(
        f"{name:24} {sum(c.requests for c in costs) / len(costs):8.2f} requests/turn"
        f" {sum(c.written for c in costs):10,} bytes written {sum(c.units for c in costs):6,} units"
        f" {sum(reads) // len(reads):8,} read/turn, at most {max(reads):,}"
    )


def measure(turns: int) -> Iterator[tuple[str, int, list[Cost]]]:
    """(name, requests a turn as LangGraph asks for them, costs) of every variant."""
    reducer = MessageReducer(max_messages=20, min_messages=10)
    variants: list[tuple[str, int, Any, dict[str, Any]]] = [
        ("plain", 6, "async", {}),
        ("reducer 10/20", 6, "async", {"reducer": reducer}),
        ("exit", 2, "exit", {}),
        ("encrypted", 6, "async", {"serde": EncryptedSerializer(Keystream())}),
    ]
    for name, wanted, durability, options in variants:
        table = CountingTable()
        yield name, wanted, chat(DocumentSaver(table, **options), table, turns, durability)


def requests_a_turn(turns: int) -> Iterator[tuple[str, int, int]]:
    """(name, requests wanted, most requests in a turn) of every variant."""
    for name, wanted, costs in measure(turns):
        yield name, wanted, max(cost.requests for cost in costs)


def main(turns: int = 50) -> None:
    """All variants, one line each."""
    for name, _, costs in measure(turns):
        report(name, costs)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
