"""What this process knows of checkpoints it read or wrote, so that a put need not read.

Rule: losing any of it changes the size of what is written next, never the content.

Of a list it keeps a fingerprint per element, so memory is bounded by fingerprints. Per
namespace it keeps a log position: bytes and documents put there since the process first
saw it, writes included. The distance between positions is what a read has to span.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass, field

# About 130 bytes each in CPython: some 13 MB, or fifty threads of 2,000 messages.
MAX_FINGERPRINTS = 100_000

# A run puts onto the checkpoint it has just put; more than one serves branches and retries.
_CHECKPOINTS_PER_NAMESPACE = 4

# Checkpoints whose writes may be faster than their heads; only a run's latest steps are.
_EARLY_PER_NAMESPACE = 16

# What deflate makes of prose in messages, until this process has measured its own.
_FIRST_RATIO = 0.45


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a namespace's log: bytes and documents before it."""

    size: float = 0
    count: float = 0


# The end the log will have once the head being written is stored.
HERE = Position(math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel's value in one checkpoint.

    `base` is the position just behind the head that holds the value whole. `lives_until` is
    when the first document this value is read from may be gone.
    """

    prints: tuple[bytes, ...]
    is_list: bool
    base: Position
    lives_until: float = math.inf


@dataclass(frozen=True, slots=True)
class Known:
    """A stored checkpoint: the tag of its content, and its channels."""

    tag: bytes
    channels: dict[str, Channel]

    @property
    def size(self) -> int:
        """In fingerprints, and one for the entry itself."""
        return 1 + sum(len(channel.prints) for channel in self.channels.values())


@dataclass(slots=True)
class _Log:
    end: Position = field(default_factory=Position)
    latest: str = ""
    early: dict[str, Position] = field(default_factory=dict)
    checkpoints: OrderedDict[str, Known] = field(default_factory=OrderedDict)

    @property
    def size(self) -> int:
        return 1 + sum(known.size for known in self.checkpoints.values())


class Memory:
    """Checkpoints by namespace, the least recently used namespace forgotten first."""

    def __init__(self, max_fingerprints: int = MAX_FINGERPRINTS) -> None:
        self._max = max_fingerprints
        self._size = 0
        self._logs: OrderedDict[tuple[str, str], _Log] = OrderedDict()
        self._ratio = _FIRST_RATIO
        self._lock = threading.Lock()

    @property
    def ratio(self) -> float:
        """Packed bytes per serialised byte, lately."""
        return self._ratio

    def measured(self, raw: int, packed: int) -> None:
        """A body with `raw` bytes of values took `packed`."""
        if raw > 3000:  # small ones are mostly structure and dictionary
            self._ratio += (packed / raw - self._ratio) / 2

    def find(self, partition: str, namespace: str, checkpoint: str) -> Known | None:
        """What is known of a checkpoint."""
        with self._lock:
            log = self._logs.get((partition, namespace))
            return log.checkpoints.get(checkpoint) if log else None

    def end(self, partition: str, namespace: str) -> Position:
        """The end of the namespace's log."""
        with self._lock:
            log = self._logs.get((partition, namespace))
            return log.end if log else Position()

    def latest(self, partition: str, namespace: str) -> tuple[str, float]:
        """The newest checkpoint known, and how many documents reading it spans."""
        with self._lock:
            log = self._logs.get((partition, namespace))
            known = log.checkpoints.get(log.latest) if log else None
            if log is None or known is None:
                return "", math.inf
            first = min((c.base.count for c in known.channels.values()), default=log.end.count)
            return log.latest, log.end.count - first + 1

    def append_writes(
        self, partition: str, namespace: str, checkpoint: str, size: int, count: int
    ) -> None:
        """Writes of a checkpoint were put; its head may still be on its way."""
        with self._lock:
            log = self._touch(partition, namespace)
            log.end = _sum(log.end, size, count)
            if checkpoint > log.latest:
                log.early[checkpoint] = _sum(log.early.get(checkpoint, Position()), size, count)
                if len(log.early) > _EARLY_PER_NAMESPACE:
                    del log.early[min(log.early)]

    def append_head(self, partition: str, namespace: str, checkpoint: str, size: int) -> Position:
        """A head was put; the position just behind it.

        Writes that were faster than it, its own and later ones, are read before it is: they
        stand behind that position.
        """
        with self._lock:
            log = self._touch(partition, namespace)
            base = log.end = _sum(log.end, size, 1)
            log.early = {name: put for name, put in log.early.items() if name >= checkpoint}
            for put in log.early.values():
                base = _sum(base, -put.size, -put.count)
            log.early.pop(checkpoint, None)
            return base

    def note(self, partition: str, namespace: str, checkpoint: str, known: Known) -> None:
        """A checkpoint is stored as `known`; the newest by id is the latest."""
        with self._lock:
            log = self._touch(partition, namespace)
            log.latest = max(log.latest, checkpoint)
            replaced = log.checkpoints.pop(checkpoint, None)
            if replaced is None and len(log.checkpoints) == _CHECKPOINTS_PER_NAMESPACE:
                _, replaced = log.checkpoints.popitem(last=False)
            log.checkpoints[checkpoint] = known
            self._size += known.size - (replaced.size if replaced else 0)
            while self._size > self._max and self._logs:
                self._size -= self._logs.popitem(last=False)[1].size

    def forget(self, partition: str) -> None:
        """Nothing is known of the thread any more."""
        with self._lock:
            for key in [key for key in self._logs if key[0] == partition]:
                self._size -= self._logs.pop(key).size

    def _touch(self, partition: str, namespace: str) -> _Log:
        log = self._logs.get((partition, namespace))
        if log is None:
            log = self._logs[partition, namespace] = _Log()
            self._size += log.size
        self._logs.move_to_end((partition, namespace))
        return log


def _sum(position: Position, size: float, count: float) -> Position:
    return Position(position.size + size, position.count + count)
