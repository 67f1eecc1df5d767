"""The threads in the golden files: their states, and the calls that stored them.

Rule: what is here was stored by a release, and is expected of its files. It never changes;
what is stored in a new way comes as a thread of its own, with the release that began to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Interrupt

from agentstate_documents import DocumentTable
from agentstate_documents.saver import DocumentSaver
from agentstate_reducer import MessageReducer, ReducerConfig

# In the year 2096: what expires after it has not expired when it is read.
CLOCK = 4_000_000_000

# Does not compress, so it shows how such bytes are stored.
NOISE = hashlib.shake_256(b"noise").digest(400)

CHAT: list[AnyMessage] = [
    HumanMessage("Where is my order?", id="m1"),
    AIMessage("", id="m2", tool_calls=[{"name": "find", "args": {"order": 17}, "id": "call-1"}]),
    ToolMessage("on its way", id="m3", tool_call_id="call-1"),
    AIMessage("It is on its way.", id="m4"),
]
GROWING = [
    {"messages": CHAT[:n], "step": n, "topic": "an order that is late", "vector": [0.5, 1.5]}
    for n in range(1, len(CHAT) + 1)
]
WRITES = [
    ("task-1", "messages", CHAT[3]),
    ("task-1", "step", 5),
    ("task-1", "late", None),
    ("task-2", "noise", NOISE),
    ("task-3", "__interrupt__", [Interrupt("go on?", id="i1")]),
]
PATH = "~__pregel_pull, agent"


class Mask:
    """A cipher that is none, and writes the same bytes every time."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """Every bit inverted."""
        return "mask", bytes(byte ^ 255 for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        """What `encrypt` was given."""
        return self.encrypt(ciphertext)[1]


class Named(JsonPlusSerializer):
    """A serializer of the user's own, which says so in the type of what it wrote."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        kind, data = super().dumps_typed(obj)
        return f"mine:{kind}", data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return super().loads_typed((data[0].removeprefix("mine:"), data[1]))


def said(n: int) -> dict[str, str]:
    """A message without an id."""
    return {"role": ("user", "assistant")[n % 2], "content": f"message {n}"}


@dataclass(frozen=True)
class Thread:
    """Checkpoints of one namespace: what was put, and what is read if that is not the same.

    `options` are those of its saver; `in_parts` is stored where documents hold 64 bytes.
    """

    name: str
    states: Sequence[dict[str, Any]] = tuple(GROWING)
    namespace: str = ""
    options: Callable[[], dict[str, Any]] = dict
    in_parts: bool = False
    reduced: bool = False
    replacement: dict[str, Any] | None = None
    stored: Sequence[dict[str, Any]] | None = None

    def saver(self, table: DocumentTable, *hooks: Any) -> DocumentSaver:
        """A saver as it wrote, and reads, this thread; with a reducer that has these hooks."""
        options = self.options()
        if self.reduced:
            config = ReducerConfig(min_messages=2, max_messages=4, on_prune=hooks)
            options["reducer"] = MessageReducer(config=config)
        return DocumentSaver(table, clock=lambda: CLOCK, **options)

    def config(self) -> Any:
        """The config that names the thread."""
        return {"configurable": {"thread_id": self.name, "checkpoint_ns": self.namespace}}

    @property
    def expected(self) -> list[dict[str, Any]]:
        """The values of each checkpoint, oldest first."""
        return list(self.stored or self.states)


# Of the two messages of "reduced" that leave next.
THREAD_KEYS = [
    "56b7fb2089bc8d4d-3-37dc9eed73e4f8df0265f57c",
    "56b7fb2089bc8d4d-4-a6c5ef4ebe6025f6e84e3688",
]
THREADS = [
    Thread("plain"),
    Thread("a/b#c?d % é 🦜", namespace="outer:1|inner:2"),
    Thread("long " * 200, namespace="deep:1|" * 60),
    Thread("in parts", in_parts=True),
    Thread("expiring", options=lambda: {"ttl_seconds": 3600}),
    Thread("sealed", options=lambda: {"serde": EncryptedSerializer(Mask())}),
    Thread("own serializer", options=lambda: {"serde": Named()}),
    Thread(
        "replaced",
        replacement={"messages": [], "step": 0},
        stored=[*GROWING[:2], {"messages": [], "step": 0}, GROWING[3]],
    ),
    Thread(
        "reduced",
        [{"messages": [said(i) for i in range(n)]} for n in (4, 5)],
        reduced=True,
        stored=[
            {"messages": [said(i) for i in range(4)]},
            {"messages": [said(i) for i in (0, 3, 4)]},
        ],
    ),
]


def checkpoint(n: int, values: dict[str, Any]) -> Any:
    """The checkpoint of the n-th step."""
    return {
        "v": 4,
        "id": f"1f0c2a3e-0000-6000-8000-{n:012}",
        "ts": f"2026-01-01T00:00:{n:02}.000000+00:00",
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, n),
        "versions_seen": {"agent": {"messages": n}},
        "updated_channels": sorted(values),
    }


def told(n: int) -> Any:
    """The metadata of the n-th step."""
    return {"source": "loop", "step": n, "parents": {}}


def store_thread(thread: Thread, table: DocumentTable) -> None:
    """The thread is in the table."""
    saver, configs = thread.saver(table), [thread.config()]
    for n, values in enumerate(thread.states):
        configs.append(saver.put(configs[-1], checkpoint(n, values), told(n), {}))
    (_, channel, value), *_ = WRITES
    saver.put_writes(configs[-1], [(channel, value)], "task-1", PATH)
    for task in ("task-1", "task-2", "task-3"):
        writes = [(channel, value) for name, channel, value in WRITES if name == task]
        saver.put_writes(configs[-1], writes, task, PATH)
    if thread.replacement is not None:
        # What the last checkpoint leans on is stored anew, with other values.
        n = len(thread.states) - 2
        saver.put(configs[n], checkpoint(n, thread.replacement), told(n), {})
