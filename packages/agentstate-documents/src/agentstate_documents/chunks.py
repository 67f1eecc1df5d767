"""Bodies larger than a document.

Rule: parts are written before the head, and only the head is ever looked up. A crash in
between leaves garbage, never a readable half.

A stored body begins with its placement: 0, the packed bytes follow; 1, they lie in parts,
named by a digest and their number. Parts of the same bytes have the same names, so a
repeated put meets its own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentstate_documents import steps
from agentstate_documents.errors import StoredFormatUnknown
from agentstate_documents.model import Document, Write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentstate_documents.model import Limits
    from agentstate_documents.steps import Procedure

WHOLE, IN_PARTS = b"\x00", b"\x01"


@dataclass(frozen=True, slots=True)
class Item:
    """Packed bytes to store under `sort`, with parts under `parts` where they are too large."""

    sort: str
    parts: str
    packed: bytes
    expires_at: int | None = None
    if_absent: bool = False
    if_unchanged: Document | None = None


def store(partition: str, items: Sequence[Item], limits: Limits) -> Procedure[int]:
    """All items are stored, as one step for whoever reads their heads.

    Returns the bytes written. Parts go in requests of their own: a transaction would cost
    twice as much on some databases, and nobody can see them yet.
    """
    written = 0
    split = _whole_or_split(items, limits)
    for item in items:
        if item.sort in split:
            for part in _parts(item, limits.max_body_bytes):
                written += len(part.sort) + len(part.body)
                yield from steps.put(partition, [Write(part)])
    commit = heads(items, limits)
    yield from steps.put(partition, commit)
    return written + sum(len(w.document.sort) + len(w.document.body) for w in commit)


def heads(items: Sequence[Item], limits: Limits) -> list[Write]:
    """The writes that commit the items."""
    split = _whole_or_split(items, limits)
    return [_head(item, item.sort in split, limits.max_body_bytes) for item in items]


def part_sorts(body: bytes, parts: str) -> list[str]:
    """The sorts of the parts a stored body lies in, none if it is whole.

    Raises:
        StoredFormatUnknown: A newer version wrote this.
    """
    placement = body[:1]
    if placement == WHOLE:
        return []
    if placement != IN_PARTS:
        raise StoredFormatUnknown(f"placement {placement.hex()} is unknown to this version")
    digest, count = body[1:].decode().split(":")
    return [_part_sort(parts, digest, n) for n in range(int(count))]


def join(body: bytes, parts: str, documents: Mapping[str, Document]) -> bytes | None:
    """The packed bytes of a stored body, or None while one of its parts is missing.

    Raises:
        StoredFormatUnknown: A newer version wrote this.
    """
    sorts = part_sorts(body, parts)
    if not sorts:
        return body[1:]
    found = [documents.get(sort) for sort in sorts]
    return b"".join(part.body for part in found if part) if all(found) else None


def _whole_or_split(items: Sequence[Item], limits: Limits) -> set[str]:
    """The sorts whose bodies go into parts: too large alone, or together for one step."""
    largest_first = sorted(items, key=lambda item: len(item.packed), reverse=True)
    total = sum(len(item.packed) + 1 for item in items)
    split = set()
    for item in largest_first:
        size = len(item.packed) + 1
        if size > limits.max_body_bytes or total > limits.max_transaction_bytes:
            split.add(item.sort)
            total -= size
    return split


def _head(item: Item, split: bool, limit: int) -> Write:
    body = WHOLE + item.packed
    if split:
        count = -(-len(item.packed) // limit)
        body = IN_PARTS + f"{_digest(item.packed)}:{count}".encode()
    document = Document(item.sort, body, item.expires_at)
    return Write(document, if_absent=item.if_absent, if_unchanged=item.if_unchanged)


def _parts(item: Item, limit: int) -> list[Document]:
    digest = _digest(item.packed)
    return [
        Document(
            _part_sort(item.parts, digest, n),
            item.packed[n * limit : (n + 1) * limit],
            item.expires_at,
        )
        for n in range(-(-len(item.packed) // limit))
    ]


def _part_sort(parts: str, digest: str, number: int) -> str:
    return f"{parts}{digest}!{number:05}"


def _digest(packed: bytes) -> str:
    return hashlib.blake2b(packed, digest_size=8).hexdigest()
