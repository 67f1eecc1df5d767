"""`put_writes`: what a task wrote, one document per call.

Regular writes of a task are one document, written once: an index that is there stays as it
is, and a later call only adds what is missing. Special writes (errors, interrupts and so
on) are documents of their own, which a later call replaces.

A packed document is frames: its structure, then one per value. The structure is `t` the
task, `p` its path, and `i` the channels in order, each as its name, or as `[index, name,
path]` where the index is not its place or the path not the document's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import WRITES_IDX_MAP

from agentstate_documents import chunks, envelope, keys, steps
from agentstate_documents.checkpoints.context import ROUNDS
from agentstate_documents.checkpoints.heads import WRITES
from agentstate_documents.checkpoints.reader import checkpoint_prefix
from agentstate_documents.checkpoints.reference import read_reference
from agentstate_documents.errors import DocumentConflict, reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from agentstate_documents.checkpoints.context import Context
    from agentstate_documents.envelope import Typed
    from agentstate_documents.model import Document
    from agentstate_documents.steps import Procedure

_REGULAR, _PARTS = "r", "!p"


@dataclass(frozen=True, slots=True)
class StoredWrite:
    """One write as it is stored, its value not decoded."""

    index: int
    channel: str
    task: str
    path: str
    frame: Typed

    @property
    def order(self) -> tuple[str, str, int]:
        """LangGraph's order of the writes of a step: its `writes_sort_key`, which 4.1 lacks."""
        return self.path, self.task, self.index

    def decode(self, serde: SerializerProtocol) -> tuple[str, str, Any]:
        """As LangGraph takes it: task, channel, value."""
        with reading(f"a write of task {self.task!r} to {self.channel!r}"):
            return self.task, self.channel, serde.loads_typed(self.frame)


def put_writes(
    context: Context,
    config: RunnableConfig,
    writes: Sequence[tuple[str, Any]],
    task_id: str,
    task_path: str,
) -> Procedure[None]:
    """The writes are stored beside their checkpoint, which need not be there yet.

    One request unless a body exceeds the table's limit or the task has written before.
    """
    target = read_reference(config)
    if target.checkpoint is None:
        raise ValueError("checkpoint_id must be given to put_writes")
    regular, special = _split(context.plain, writes, task_id, task_path)
    if not regular and not special:
        return
    yield from steps.aside(sum([len(write.frame[1]) for write in (*regular, *special)]))
    base = checkpoint_prefix(target.namespace, target.checkpoint)
    base += WRITES + keys.END + keys.encode_task(task_id) + keys.END
    specials = [_item(context, base + str(-write.index), [write]) for write in special]
    items = list(specials)
    if regular:
        items.append(replace(_item(context, base + _REGULAR, regular), if_absent=True))
    try:
        written = yield from chunks.store(target.partition, items, context.limits)
    except DocumentConflict:
        written = yield from _add(context, target.partition, base + _REGULAR, regular, specials)
    context.memory.append_writes(
        target.partition, target.namespace, target.checkpoint, written, len(items)
    )


def read_writes(context: Context, documents: Mapping[str, Document]) -> list[StoredWrite]:
    """All writes among a checkpoint's documents, in LangGraph's order."""
    found: list[StoredWrite] = []
    for kind, document in documents.items():
        if kind.startswith(WRITES + keys.END) and kind.count(keys.END) == 2:
            with reading(f"the writes {document.sort!r}"):
                stored = chunks.join(document.body, kind + _PARTS, documents)
                if stored is not None:
                    found += _unpack(context, stored)
    return sorted(found, key=lambda write: write.order)


def _split(
    serde: SerializerProtocol, writes: Sequence[tuple[str, Any]], task: str, path: str
) -> tuple[list[StoredWrite], list[StoredWrite]]:
    """Regular writes, and special ones, of which the last of a kind counts."""
    regular: list[StoredWrite] = []
    special: dict[int, StoredWrite] = {}
    for place, (channel, value) in enumerate(writes):
        index = WRITES_IDX_MAP.get(channel, place)
        write = StoredWrite(index, channel, task, path, serde.dumps_typed(value))
        if index < 0:
            special[index] = write
        else:
            regular.append(write)
    return regular, list(special.values())


def _item(context: Context, sort: str, writes: Sequence[StoredWrite]) -> chunks.Item:
    packed = context.seal(_pack(context.plain, writes))
    return chunks.Item(sort, sort + _PARTS, packed, context.expires_at)


def _pack(serde: SerializerProtocol, writes: Sequence[StoredWrite]) -> bytes:
    path = writes[0].path
    structure = {
        "t": writes[0].task,
        "p": path,
        "i": [
            write.channel
            if write.index == place and write.path == path
            else [write.index, write.channel, write.path]
            for place, write in enumerate(writes)
        ],
    }
    return envelope.pack([serde.dumps_typed(structure), *(write.frame for write in writes)])


def _unpack(context: Context, stored: bytes) -> Iterable[StoredWrite]:
    structure, *frames = envelope.unpack(context.open(stored))
    told = context.serde.loads_typed(structure)
    for place, (channel, frame) in enumerate(zip(told["i"], frames, strict=True)):
        plain = isinstance(channel, str)
        index, name, path = (place, channel, told["p"]) if plain else channel
        yield StoredWrite(index, name, told["t"], path, frame)


def _add(
    context: Context,
    partition: str,
    sort: str,
    writes: Sequence[StoredWrite],
    special: Sequence[chunks.Item],
) -> Procedure[int]:
    """The task has written before: its indices stay, and those it lacks are added."""
    for _ in range(ROUNDS):
        documents = yield from _read(partition, sort)
        stored = documents.get(sort)
        with reading(f"the writes {sort!r}"):
            body = chunks.join(stored.body, sort + _PARTS, documents) if stored else None
            there = list(_unpack(context, body)) if body is not None else []
        taken = {write.index for write in there}
        missing = [write for write in writes if write.index not in taken]
        items = list(special)
        if missing:
            merged = sorted([*there, *missing], key=lambda write: write.index)
            item = _item(context, sort, merged)
            items.append(replace(item, if_absent=stored is None, if_unchanged=stored))
        if not items:
            return 0
        try:
            return (yield from chunks.store(partition, items, context.limits))
        except DocumentConflict:
            continue
    raise DocumentConflict(f"writes of {sort!r} are changed by others all the time")


def _read(partition: str, sort: str) -> Procedure[dict[str, Document]]:
    """The document and its parts, which sort right behind it."""
    return steps.documents(partition, low=sort, high=sort + keys.AFTER_END)
