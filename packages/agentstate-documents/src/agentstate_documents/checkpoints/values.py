"""Channel values as frames, and what tells equal ones without keeping them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agentstate_documents.checkpoints.heads import gather
from agentstate_documents.errors import reading

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from langgraph.checkpoint.serde.base import SerializerProtocol

    from agentstate_documents.checkpoints.heads import Head
    from agentstate_documents.envelope import Typed

_NUMBERS = (bool, int, float, type(None))

# Fingerprints never leave the process, so nobody can prepare values that share one.
_KEY = os.urandom(16)


@dataclass(frozen=True, slots=True)
class Value:
    """A channel's value, serialised: one frame, or one per element; `size` in bytes."""

    is_list: bool
    frames: list[Typed]
    prints: tuple[bytes, ...]
    size: int


def serialise(serde: SerializerProtocol, value: Any) -> Value:
    """The value as frames; a list that is not a vector of numbers element by element."""
    # A frame per number would cost more than a script could ever save.
    is_list = type(value) is list and not all(isinstance(e, _NUMBERS) for e in value)
    frames = [serde.dumps_typed(element) for element in (value if is_list else [value])]
    size = sum([len(data) for _, data in frames])
    return Value(is_list, frames, tuple(map(_fingerprint, frames)), size)


def decode(
    serde: SerializerProtocol, path: Sequence[Head], channels: Collection[str] | None = None
) -> dict[str, Any]:
    """The value of each channel (all, or those named), along a complete path."""
    with reading(f"checkpoint {path[0].id!r}"):
        return {
            channel: list(map(serde.loads_typed, frames))
            if isinstance(frames, list)
            else serde.loads_typed(frames)
            for channel, frames in gather(path, channels).items()
        }


def _fingerprint(frame: Typed) -> bytes:
    kind, data = frame
    fingerprint = _hash_of_kind(kind).copy()
    fingerprint.update(data)
    return fingerprint.digest()


@lru_cache(64)
def _hash_of_kind(kind: str) -> hashlib.blake2b:
    """A hash that has taken in the key: to copy it takes less than to begin anew."""
    return hashlib.blake2b(digest_size=12, key=_KEY, person=kind.encode()[:16])
