"""`get_tuple`: the latest checkpoint or a named one, usually in one request."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import CheckpointTuple

from agentstate_documents import keys
from agentstate_documents.checkpoints.heads import base_of
from agentstate_documents.checkpoints.known import Channel, Known, Position
from agentstate_documents.checkpoints.reader import MARGIN, Reader
from agentstate_documents.checkpoints.reference import read_reference
from agentstate_documents.checkpoints.values import decode, serialise
from agentstate_documents.checkpoints.writes import read_writes

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from agentstate_documents.checkpoints.context import Context
    from agentstate_documents.checkpoints.heads import Head
    from agentstate_documents.checkpoints.reference import Reference
    from agentstate_documents.steps import Procedure


def get_tuple(context: Context, config: RunnableConfig) -> Procedure[CheckpointTuple | None]:
    """The checkpoint `config` names, or the latest of its namespace; None where there is none.

    One request when this process has seen the thread, and for a reduced list also when it
    has not. A checkpoint that has expired, or that lacks something it leans on, is none;
    the latest is then the newest that is whole.
    """
    target = read_reference(config)
    reader = open_reader(context, target)
    latest, span = context.memory.latest(target.partition, target.namespace)
    if math.isfinite(span):
        reader.limit = int(span) + MARGIN
    path = yield from find_path(reader, target.checkpoint)
    if path is None:
        return None
    found = build_tuple(context, target, reader, path)
    if target.checkpoint in (None, latest):
        _remember(context, target, reader, path, found.checkpoint["channel_values"])
    return found


def open_reader(context: Context, target: Reference) -> Reader:
    """A reader that begins with the checkpoint named, or with the newest."""
    prefix = keys.encode_namespace(target.namespace)
    high = None
    if target.checkpoint is not None:
        high = prefix + keys.END + keys.encode(target.checkpoint) + keys.AFTER_END
    return Reader(context, target.partition, prefix, high=high)


def find_path(reader: Reader, checkpoint: str | None) -> Procedure[list[Head] | None]:
    """The checkpoint, or the newest, that is visible and whole, with all it leans on."""
    if checkpoint is not None:
        head = yield from reader.reach(checkpoint)
        return (yield from reader.path(head)) if head and reader.visible(head) else None
    while True:
        while reader.ids:
            head = yield from reader.reach(reader.ids[0])
            path = (yield from reader.path(head)) if head and reader.visible(head) else None
            if path is not None:
                return path
            reader.ids.popleft()
        if reader.ended:
            return None
        yield from reader.more()


def build_tuple(
    context: Context, target: Reference, reader: Reader, path: list[Head]
) -> CheckpointTuple:
    """What LangGraph takes, of new objects throughout."""
    head, serde = path[0], context.serde
    checkpoint, metadata = head.describe(serde)
    checkpoint["id"] = head.id
    checkpoint["channel_values"] = decode(serde, path)
    writes = read_writes(context, reader.documents[head.id])
    return CheckpointTuple(
        target.config(head.id),
        checkpoint,
        metadata,
        target.config(head.parent) if head.parent else None,
        [write.decode(serde) for write in writes],
    )


def _remember(
    context: Context, target: Reference, reader: Reader, path: list[Head], values: dict[str, Any]
) -> None:
    """The latest checkpoint was read, so that the next put need only tell what it changes."""
    head, memory, partition = path[0], context.memory, target.partition
    known = memory.find(partition, target.namespace, head.id)
    if known is not None and known.tag == head.tag:
        return
    end = memory.end(partition, target.namespace)
    channels = {}
    for channel, value in values.items():
        base = base_of(path, channel)
        place = reader.places[path[base].id]
        expiries = [h.expires_at for h in path[: base + 1] if h.expires_at is not None]
        told = serialise(context.plain, value)
        channels[channel] = Channel(
            told.prints,
            told.is_list,
            Position(end.size - place.size, end.count - place.count),
            min(expiries, default=math.inf),
        )
    memory.note(partition, target.namespace, head.id, Known(head.tag, channels))
