"""Where a pool keeps its batches: in lanes, one per namespace, one batch of each out at a time."""

from __future__ import annotations

import contextvars
import copy
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ._delivery import Pruned, frozen
from ._drivers import RefusedError

if TYPE_CHECKING:
    from collections.abc import Hashable


class Batch(Protocol):
    """What a worker has taken."""

    @property
    def context(self) -> contextvars.Context:
        """The context variables the hook sees."""
        ...

    def content(self) -> tuple[Pruned, Any]:
        """The messages with their keys, and the namespace."""
        ...


class Queue(Protocol):
    """What a pool needs of its batches.

    `pack` and `Batch.content` may run code of the user's. All else does not, and is called under
    the lock of the pool.
    """

    def pack(self, pruned: Pruned, namespace: Any) -> Any:
        """What `put` takes."""
        ...

    def put(self, packed: Any) -> None:
        """The batch is the last of its namespace, or a `RefusedError` says why it is not."""
        ...

    def take(self) -> Batch | None:
        """The next batch of a namespace that nobody is at."""
        ...

    def settle(self, batch: Any, reason: str | None) -> str:
        """A batch was done, or failed for this reason; returns what becomes of it, for the log."""
        ...

    def tend(self) -> tuple[bool, float | None]:
        """Whether there is something to take; in how many seconds to look again, if at all."""
        ...

    def last(self) -> int:
        """What `holds` asks about: the batch that was put last."""
        ...

    def holds(self, last: int) -> bool:
        """Whether batches are left that were there when `last` was put."""
        ...

    def undone(self) -> int:
        """How many batches are left."""
        ...

    def dead(self) -> int:
        """How many batches were given up and kept."""
        ...

    def close(self) -> None:
        """Nothing is open until the next use."""
        ...


class MemoryBatch(NamedTuple):
    """A batch as it was handed over."""

    place: Hashable
    pruned: Pruned
    namespace: Any
    context: contextvars.Context

    def content(self) -> tuple[Pruned, Any]:
        """The messages with their keys, and the namespace."""
        return self.pruned, self.namespace


class Lanes:
    """The queue in memory; it refuses what is more than `limit` batches, queued or out."""

    def __init__(self, limit: int) -> None:
        self._limit, self._pending = limit, 0
        self._lanes: dict[Hashable, deque[MemoryBatch]] = {}
        self._ready: deque[Hashable] = deque()  # lanes with work that nobody is at

    def pack(self, pruned: Pruned, namespace: Any) -> MemoryBatch:
        """The batch, in the context of the caller."""
        place = frozen(namespace)
        if isinstance(namespace, (list, tuple, dict)):
            namespace = copy.deepcopy(namespace)  # the caller may change it meanwhile
        return MemoryBatch(place, pruned, namespace, contextvars.copy_context())

    def put(self, packed: MemoryBatch) -> None:
        """The batch is the last of its lane."""
        if self._pending >= self._limit:
            raise RefusedError("is full")
        self._pending += 1
        if packed.place in self._lanes:
            self._lanes[packed.place].append(packed)
        else:
            self._lanes[packed.place] = deque([packed])
            self._ready.append(packed.place)

    def take(self) -> MemoryBatch | None:
        """The first batch of the lane that waited longest."""
        return self._lanes[self._ready.popleft()].popleft() if self._ready else None

    def settle(self, batch: MemoryBatch, reason: str | None) -> str:  # noqa: ARG002 - of the Queue
        """Its lane waits again, or is gone; a batch that failed is not repeated."""
        self._pending -= 1
        if self._lanes[batch.place]:
            self._ready.append(batch.place)
        else:
            del self._lanes[batch.place]
        return ""

    def tend(self) -> tuple[bool, None]:
        """Whether a lane waits; nothing here changes with time."""
        return bool(self._ready), None

    def last(self) -> int:
        """Any number: `holds` does not tell the batches of one process apart."""
        return 0

    def holds(self, last: int) -> bool:  # noqa: ARG002 - of the Queue
        """Whether a batch is queued or out."""
        return self._pending > 0

    def undone(self) -> int:
        """How many are queued or out."""
        return self._pending

    def dead(self) -> int:
        """None: what fails is logged and gone."""
        return 0

    def close(self) -> None:
        """Nothing is ever open."""
