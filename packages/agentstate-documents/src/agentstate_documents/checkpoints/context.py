"""What every checkpoint operation needs to know of its saver."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from agentstate_documents import envelope

if TYPE_CHECKING:
    from collections.abc import Callable

    from langgraph.checkpoint.serde.base import SerializerProtocol

    from agentstate_documents.checkpoints.known import Memory
    from agentstate_documents.model import Limits

# Races for one document end soon: somebody's put succeeds in every round.
ROUNDS = 16


@dataclass(frozen=True, slots=True)
class Context:
    """A saver's serializer, its table's limits, its memory, and how long things live.

    `plain` is the serializer below encryption: equal values have equal bytes, which compress.
    """

    serde: SerializerProtocol
    limits: Limits
    memory: Memory
    ttl_seconds: float | None
    clock: Callable[[], float]

    plain: SerializerProtocol = field(init=False)

    def __post_init__(self) -> None:
        plain = self.serde
        # One that does more than encrypt is given every value itself.
        dumps = EncryptedSerializer.dumps_typed
        if isinstance(plain, EncryptedSerializer) and type(plain).dumps_typed is dumps:
            plain = plain.serde
        object.__setattr__(self, "plain", plain)

    def seal(self, packed: bytes) -> bytes:
        """What to store of packed bytes: themselves, or encrypted as one value."""
        if self.plain is self.serde:
            return packed
        return envelope.seal(self.serde.dumps_typed(packed))

    def open(self, stored: bytes) -> bytes:
        """The packed bytes that were stored."""
        sealed = envelope.sealed_frame(stored)
        packed: bytes = stored if sealed is None else self.serde.loads_typed(sealed)
        return packed

    @property
    def visible_until(self) -> int | None:
        """When a checkpoint put now shall be gone, in seconds since 1970."""
        return None if self.ttl_seconds is None else math.ceil(self.clock() + self.ttl_seconds)

    @property
    def expires_at(self) -> int | None:
        """When the database may remove a document put now.

        Half the TTL later than it is visible: a head leans only on what outlives it, so
        nothing is ever touched again to keep it alive.
        """
        if self.ttl_seconds is None:
            return None
        return math.ceil(self.clock() + 1.5 * self.ttl_seconds) + 1
