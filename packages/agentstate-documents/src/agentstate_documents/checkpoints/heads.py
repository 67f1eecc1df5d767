"""The head: one checkpoint as a document, and what it takes from the heads it leans on.

A packed head is frames: its structure; checkpoint and metadata; then the values it holds,
in the order the structure names them. The structure is a dictionary of what is not empty:

    p  parent id                        v  channels held whole, one frame each
    t  the parent's tag, if it leans    l  lists held whole: {channel: number of elements}
    n  documents back to the oldest     o  lists told from the parent's: {channel: script}
       head it needs, a hint            s  channels as in the parent
    x  visible until, with a TTL        g  its tag, where it was written again
    ns the namespace, where the key holds only its digest

Values are frames here and are never decoded: upkeep moves what it need not understand.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from agentstate_documents import chunks, envelope, keys
from agentstate_documents.errors import reading
from agentstate_documents.lists import apply_script

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from agentstate_documents.checkpoints.context import Context
    from agentstate_documents.envelope import Typed

    # A list channel is its elements' frames, any other value one frame.
    Frames = Typed | list[Typed]


# Kinds of documents of a checkpoint, in the order they sort.
REPLACED, PARTS, HEAD, WRITES = "f", "g", "h", "w"


@dataclass(slots=True)
class Head:
    """A checkpoint as its head tells it; `expires_at` is that of the document it was read from."""

    id: str
    tag: bytes = b""
    parent: str | None = None
    parent_tag: bytes | None = None
    back: int = 0
    visible_until: int | None = None
    namespace: str | None = None
    described: Typed = ("null", b"")
    values: dict[str, Typed] = field(default_factory=dict)
    lists: dict[str, list[Typed]] = field(default_factory=dict)
    scripts: dict[str, tuple[list[int], list[Typed]]] = field(default_factory=dict)
    same: tuple[str, ...] = ()
    expires_at: int | None = None

    @property
    def leans(self) -> bool:
        """Whether anything is read from the parent."""
        return bool(self.scripts or self.same)

    @property
    def channels(self) -> list[str]:
        """The channels that have a value."""
        return [*self.values, *self.lists, *self.scripts, *self.same]

    @property
    def payload(self) -> int:
        """Bytes of values, before packing."""
        held = [self.values.values(), *self.lists.values()]
        held += [inserted for _, inserted in self.scripts.values()]
        return sum(len(data) for frames in held for _, data in frames)

    def describe(self, serde: SerializerProtocol) -> tuple[Checkpoint, CheckpointMetadata]:
        """The checkpoint without its values, and the metadata; fresh at each call."""
        with reading(f"checkpoint {self.id!r}"):
            checkpoint, metadata = serde.loads_typed(self.described)
            if not (isinstance(checkpoint, dict) and isinstance(metadata, dict)):
                raise TypeError("a checkpoint and its metadata are dictionaries")
        return checkpoint, metadata  # type: ignore[return-value]


def tag_of(packed: bytes) -> bytes:
    """What tells this content from any other under the same id."""
    return hashlib.blake2b(packed, digest_size=6).digest()


def read_head(
    checkpoint: str, packed: bytes, serde: SerializerProtocol, expires_at: int | None
) -> Head:
    """The head that was packed, from a document with that expiry."""
    structure, described, *values = envelope.unpack(packed)
    told: dict[str, Any] = serde.loads_typed(structure)
    frames = iter(values)
    return Head(
        checkpoint,
        told.get("g") or tag_of(packed),
        told.get("p"),
        told.get("t"),
        told.get("n", 0),
        told.get("x"),
        keys.decode(told["ns"]) if "ns" in told else None,
        described,
        {channel: next(frames) for channel in told.get("v", ())},
        {channel: list(islice(frames, count)) for channel, count in told.get("l", {}).items()},
        {
            channel: (script, list(islice(frames, sum(script[2::3]))))
            for channel, script in told.get("o", {}).items()
        },
        tuple(told.get("s", ())),
        expires_at,
    )


def pack_head(head: Head, serde: SerializerProtocol, *, tagged: bool = False) -> bytes:
    """The head as packed bytes; `tagged` writes its tag down, for content written again."""
    told = {
        "p": head.parent,
        "t": head.parent_tag,
        "n": head.back,
        "s": list(head.same),
        "o": {channel: script for channel, (script, _) in head.scripts.items()},
        "v": list(head.values),
        "l": {channel: len(elements) for channel, elements in head.lists.items()},
        "x": head.visible_until,
        "g": head.tag if tagged else None,
        "ns": head.namespace and keys.encode(head.namespace),
    }
    frames = [serde.dumps_typed({name: part for name, part in told.items() if part})]
    frames += [head.described, *head.values.values()]
    for elements in head.lists.values():
        frames += elements
    for _, inserted in head.scripts.values():
        frames += inserted
    return envelope.pack(frames)


def missing_link(head: Head, find: Callable[[str, bytes], Head | None]) -> list[Head] | Head:
    """The head and all it leans on, nearest first; or the head whose parent `find` lacks."""
    path = [head]
    needed = {*head.scripts, *head.same}
    while needed:
        last = path[-1]
        parent = find(last.parent, last.parent_tag) if last.parent and last.parent_tag else None
        if parent is None:
            return last
        path.append(parent)
        needed &= {*parent.scripts, *parent.same}
    return path


def gather(path: Sequence[Head], channels: Collection[str] | None = None) -> dict[str, Frames]:
    """The frames of each channel's value (all, or those named), along a complete path."""
    head = path[0]
    wanted = head.channels if channels is None else [c for c in head.channels if c in channels]
    return {channel: _frames(path, channel) for channel in wanted}


def base_of(path: Sequence[Head], channel: str) -> int:
    """The index in the path of the head that holds the channel whole."""
    return next(
        index for index, head in enumerate(path) if channel in head.values or channel in head.lists
    )


def made_whole(path: Sequence[Head]) -> Head:
    """The first head of a complete path with the same content, leaning on nothing."""
    head = path[0]
    frames = gather(path)
    return Head(
        head.id,
        head.tag,
        head.parent,
        visible_until=head.visible_until,
        namespace=head.namespace,
        expires_at=head.expires_at,
        described=head.described,
        values={c: value for c, value in frames.items() if isinstance(value, tuple)},
        lists={c: value for c, value in frames.items() if isinstance(value, list)},
    )


def whole_item(context: Context, path: Sequence[Head], prefix: str, kind: str) -> chunks.Item:
    """A complete path's first head, leaning on nothing, to be stored for as long as it was.

    `prefix` is the namespace's, `kind` tells whether it stays in its place or is kept aside.
    """
    whole = made_whole(path)
    prefix += keys.encode(whole.id) + keys.END
    packed = context.seal(pack_head(whole, context.plain, tagged=True))
    return chunks.Item(prefix + kind, prefix + PARTS, packed, whole.expires_at)


def _frames(path: Sequence[Head], channel: str) -> Frames:
    base = base_of(path, channel)
    if channel in path[base].values:
        return path[base].values[channel]
    elements = path[base].lists[channel]
    for head in reversed(path[:base]):
        if channel in head.scripts:
            script, inserted = head.scripts[channel]
            elements = apply_script(script, elements, inserted)
    return elements
