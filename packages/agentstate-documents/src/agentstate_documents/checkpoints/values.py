"""Channel values as frames, and what tells equal ones without keeping them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from agentstate_documents.envelope import Typed

_NUMBERS = (bool, int, float, type(None))

# Fingerprints never leave the process, so nobody can prepare values that share one.
_KEY = os.urandom(16)


@dataclass(frozen=True, slots=True)
class Value:
    """A channel's value, serialised: one frame, or one per element."""

    is_list: bool
    frames: list[Typed]
    prints: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """In serialised bytes."""
        return sum(len(data) for _, data in self.frames)


def serialise(serde: SerializerProtocol, value: Any) -> Value:
    """The value as frames; a list that is not a vector of numbers element by element."""
    # A frame per number would cost more than a script could ever save.
    is_list = type(value) is list and not all(isinstance(e, _NUMBERS) for e in value)
    frames = [serde.dumps_typed(element) for element in (value if is_list else [value])]
    return Value(is_list, frames, tuple(map(_fingerprint, frames)))


def _fingerprint(frame: Typed) -> bytes:
    kind, data = frame
    return hashlib.blake2b(data, digest_size=12, key=_KEY, person=kind.encode()[:16]).digest()
