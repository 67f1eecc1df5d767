"""`put`: one head, which holds what its step changed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import get_serializable_checkpoint_metadata

from agentstate_documents import chunks, keys, steps
from agentstate_documents.checkpoints import names
from agentstate_documents.checkpoints.context import ROUNDS
from agentstate_documents.checkpoints.heads import (
    HEAD,
    PARTS,
    REPLACED,
    Head,
    pack_head,
    tag_of,
    whole_item,
)
from agentstate_documents.checkpoints.known import HERE, Channel, Known, Position
from agentstate_documents.checkpoints.read import open_reader
from agentstate_documents.checkpoints.reader import MAX_LIMIT, checkpoint_prefix
from agentstate_documents.checkpoints.reference import (
    Reference,
    read_new_id,
    read_reference,
)
from agentstate_documents.checkpoints.values import serialise
from agentstate_documents.errors import DocumentConflict
from agentstate_documents.lists import apply_script, plan_script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata

    from agentstate_documents.checkpoints.context import Context
    from agentstate_documents.checkpoints.values import Value
    from agentstate_documents.steps import Procedure

# A value this short, serialised, costs less than saying that it is the parent's.
_SMALL_BYTES = 24

# How much must be read beyond the state itself before a channel is written whole again.
# Measured on 50 turns of a reduced chat: 5,000 writes 5 % more than this, 8,192 reads 20 %
# more and writes no less.
_SLACK_BYTES = 6144

# What one query reads, with room for the writes of this checkpoint.
_MOST_DOCUMENTS = MAX_LIMIT - 50

# A script that inserts more of a list than this is written whole.
_MOST_INSERTED = 0.7


def put(
    context: Context,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
) -> Procedure[RunnableConfig]:
    """The checkpoint is stored; returns its config.

    One request unless a body exceeds the table's limit. An equal checkpoint under the same
    id changes nothing, so a put may be repeated; a different one replaces it.
    """
    parent, checkpoint_id = check(config, checkpoint)
    target = Reference(parent.thread, parent.namespace, checkpoint_id)
    described = get_serializable_checkpoint_metadata(config, metadata or {})
    head = _bare_head(context, parent, checkpoint, described)
    channels = _fill(context, parent, head, checkpoint["channel_values"])
    yield from steps.aside(head.payload)
    packed = pack_head(head, context.plain)
    context.memory.measured(head.payload, len(packed))
    tag = tag_of(packed)
    item = _item(context, target, packed)
    try:
        written = yield from _store(context, target, [item])
    except DocumentConflict:
        written = yield from _replace(context, target, item, tag)
    _note(context, target, Known(tag, channels), written, item.expires_at)
    return target.config()


def check(config: RunnableConfig, checkpoint: Checkpoint) -> tuple[Reference, str]:
    """The parent and the new id.

    Raises:
        ValueError: Thread or id are missing, empty or too long.
    """
    return read_reference(config), read_new_id(checkpoint)


def _bare_head(
    context: Context, parent: Reference, checkpoint: Checkpoint, metadata: CheckpointMetadata
) -> Head:
    """The head without any channel."""
    bare = {k: v for k, v in checkpoint.items() if k not in ("id", "channel_values")}
    namespace = keys.encode_namespace(parent.namespace)
    return Head(
        str(checkpoint["id"]),
        parent=parent.checkpoint,
        visible_until=context.visible_until,
        namespace=parent.namespace if keys.is_digest(namespace) else None,
        described=context.plain.dumps_typed([bare, metadata]),
    )


def _fill(
    context: Context, parent: Reference, head: Head, values: Mapping[str, Any]
) -> dict[str, Channel]:
    """The head holds the values, leaning on what is known of the parent; asks nobody.

    Returns what is then known of the channels; those held whole have their base at `HERE`.
    """
    told = {channel: serialise(context.plain, value) for channel, value in values.items()}
    known = _known_parent(context, parent, head.id)
    end = context.memory.end(parent.partition, parent.namespace)
    state_size = sum(value.size for value in told.values()) * context.memory.ratio
    farthest = Position(end.size - state_size - _SLACK_BYTES, end.count - _MOST_DOCUMENTS)
    channels: dict[str, Channel] = {}
    for name, value in told.items():
        old = known.channels.get(name) if known else None
        if old is None or not _may_lean(context, value, old, farthest):
            channels[name] = _hold(head, name, value)
        elif old.prints == value.prints:
            head.same += (name,)
            channels[name] = old
        else:
            channels[name] = _tell(head, name, value, old) or _hold(head, name, value)
    if known and head.leans:
        first = min(c.base.count for c in channels.values() if c.base is not HERE)
        head.parent_tag = known.tag
        head.back = int(end.count - first) + 1
    return channels


def _known_parent(context: Context, parent: Reference, checkpoint_id: str) -> Known | None:
    """The parent, if the new head may lean on it at all: ancestors lie below in sort order."""
    if parent.checkpoint is None or keys.encode(parent.checkpoint) >= keys.encode(checkpoint_id):
        return None
    return context.memory.find(parent.partition, parent.namespace, parent.checkpoint)


def _may_lean(context: Context, value: Value, old: Channel, farthest: Position) -> bool:
    until = context.visible_until
    return (
        value.is_list == old.is_list
        and value.size > _SMALL_BYTES
        and old.base.size >= farthest.size
        and old.base.count >= farthest.count
        and old.lives_until >= (math.inf if until is None else until)
    )


def _hold(head: Head, name: str, value: Value) -> Channel:
    """The channel is written whole."""
    if value.is_list:
        head.lists[name] = value.frames
    else:
        [head.values[name]] = value.frames
    return Channel(value.prints, value.is_list, HERE)


def _tell(head: Head, name: str, value: Value, old: Channel) -> Channel | None:
    """The list is written as a script against the parent's; None if that is not worth it."""
    planned = plan_script(old.prints, value.prints) if value.is_list else None
    if planned is None:
        return None
    script, inserted = planned
    if sum(len(value.frames[i][1]) for i in inserted) >= _MOST_INSERTED * value.size:
        return None
    head.scripts[name] = (script, [value.frames[i] for i in inserted])
    # The old fingerprints again, so that neighbours in memory share them.
    prints = apply_script(script, old.prints, [value.prints[i] for i in inserted])
    return Channel(tuple(prints), True, old.base, old.lives_until)


def _item(context: Context, target: Reference, packed: bytes) -> chunks.Item:
    prefix = checkpoint_prefix(target.namespace, str(target.checkpoint))
    sealed = context.seal(packed)
    return chunks.Item(prefix + HEAD, prefix + PARTS, sealed, context.expires_at, if_absent=True)


def _store(context: Context, target: Reference, items: list[chunks.Item]) -> Procedure[int]:
    named = names.name_items(context, target.thread)
    return (yield from chunks.store(target.partition, [*named, *items], context.limits))


def _replace(context: Context, target: Reference, item: chunks.Item, tag: bytes) -> Procedure[int]:
    """The id was taken: an equal head stays, a different one gives way.

    What it was stays readable under its tag, whole, for heads that lean on it, also those a
    process that does not know of this has yet to write.
    """
    checkpoint = str(target.checkpoint)
    for _ in range(ROUNDS):
        reader = open_reader(context, target)
        head = yield from reader.reach(checkpoint)
        if head is not None and head.tag == tag:
            return 0
        stored = reader.documents.get(checkpoint, {}).get(HEAD)
        items = [replace(item, if_absent=stored is None, if_unchanged=stored)]
        path = (yield from reader.path(head)) if head else None
        if head is not None and path is not None:
            items.append(whole_item(context, path, reader.prefix, REPLACED + head.tag.hex()))
        try:
            return (yield from _store(context, target, items))
        except DocumentConflict:
            continue
    raise DocumentConflict(f"checkpoint {checkpoint!r} is replaced by others all the time")


def _note(
    context: Context, target: Reference, known: Known, written: int, expires_at: int | None
) -> None:
    """The checkpoint is stored, and known; its document may go at `expires_at`."""
    memory, partition, checkpoint = context.memory, target.partition, str(target.checkpoint)
    behind = memory.append_head(partition, target.namespace, checkpoint, written)
    lives_until = expires_at or math.inf
    noted = {
        name: Channel(
            channel.prints,
            channel.is_list,
            behind if channel.base is HERE else channel.base,
            min(channel.lives_until, lives_until),
        )
        for name, channel in known.channels.items()
    }
    memory.note(partition, target.namespace, checkpoint, Known(known.tag, noted))
