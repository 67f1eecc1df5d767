"""Python time of a put and of a get_tuple, beside LangGraph's `InMemorySaver`.

    python benchmarks/saver_time.py

Both keep everything in this process, so what is left is what their code takes. Messages are
LangChain's, of 400 characters; the list grows by one before each put.
"""

from __future__ import annotations

import gc
import statistics
from time import thread_time
from typing import Any

from contestants import Conversation
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver

from agentstate_documents import MemoryTable
from agentstate_documents.saver import DocumentSaver

LIMITS = {20: (3.0, 5.0), 2000: (2.0, 3.0)}  # times InMemorySaver, put and get_tuple


class Thread:
    """One thread in one saver, whose list of messages grows."""

    def __init__(self, saver: BaseCheckpointSaver[Any], messages: list[Any]) -> None:
        self._saver, self._messages, self._version = saver, messages, None
        self._config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        self._newest = self._config
        self.put([])

    def put(self, new: list[Any]) -> float:
        """Seconds that a put of the longer list takes."""
        self._messages = self._messages + new
        self._version = self._saver.get_next_version(self._version, None)
        versions = {"messages": self._version}
        checkpoint = {
            **empty_checkpoint(),
            "id": str(uuid6()),
            "channel_values": {"messages": self._messages},
            "channel_versions": versions,
        }
        began = thread_time()
        self._newest = self._saver.put(self._newest, checkpoint, {}, versions)  # type: ignore
        return thread_time() - began

    def get(self) -> float:
        """Seconds that reading the newest checkpoint takes."""
        began = thread_time()
        self._saver.get_tuple(self._config)
        return thread_time() - began


def measure(size: int, rounds: int) -> dict[str, tuple[float, float, float]]:
    """Of put and get_tuple: seconds of ours, of InMemorySaver, and the median of their ratio."""
    conversation = Conversation("chat", "LangChain")
    messages = conversation.take(size)
    threads = [
        Thread(DocumentSaver(MemoryTable()), messages),
        Thread(InMemorySaver(), messages),
    ]
    times: dict[str, list[list[float]]] = {"put": [], "get_tuple": []}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            new = conversation.take(1)
            times["put"].append([thread.put(new) for thread in threads])
            times["get_tuple"].append([thread.get() for thread in threads])
    finally:
        gc.enable()
    return {
        name: (
            *map(statistics.median, zip(*pairs, strict=True)),  # type: ignore[misc]
            statistics.median(ours / theirs for ours, theirs in pairs),
        )
        for name, pairs in times.items()
    }


def report(rounds: int) -> tuple[list[str], list[dict[str, Any]]]:
    """A Markdown table and the same as records."""
    lines = ["| Python time of | messages | `InMemorySaver` | `MemoryTable` | ratio | wanted |"]
    lines.append("|---|---|---|---|---|---|")
    records = []
    for size, limits in LIMITS.items():
        measured = measure(size, rounds)
        for (name, (ours, theirs, ratio)), limit in zip(measured.items(), limits, strict=True):
            cells = f"{theirs * 1e3:.2f} ms | {ours * 1e3:.2f} ms | {ratio:.1f} | {limit:.0f}"
            lines.append(f"| {name} | {size:,} | {cells} |")
            records.append({"of": name, "size": size, "ours": ours, "theirs": theirs})
    return lines, records


if __name__ == "__main__":
    print(*report(rounds=31)[0], sep="\n")
