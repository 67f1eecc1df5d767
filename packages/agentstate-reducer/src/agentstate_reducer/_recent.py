"""A bounded memory: a least-recently-used cache."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from ._forks import fork_safe_lock

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A mapping that keeps the `limit` entries used last; safe for threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = fork_safe_lock()

    def get(self, key: K) -> V | None:
        """Return what is remembered for `key`, None if nothing is."""
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key]

    def put(self, key: K, value: V) -> None:
        """`key` is remembered with this value, and the entry used longest ago may be gone."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            if len(self._entries) > self._limit:
                self._entries.popitem(last=False)
