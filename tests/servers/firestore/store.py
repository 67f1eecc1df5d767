"""The databases: documents by name, and commits that happen whole or not at all."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from google.protobuf.timestamp_pb2 import Timestamp

from servers.firestore import writes
from servers.firestore.indexes import Indexes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from servers.firestore.queries import Query


class Database:
    """One database. Not thread-safe: the service holds one lock around every request."""

    def __init__(self) -> None:
        self.documents: dict[str, Any] = {}
        self.indexes = Indexes()
        self._last_micros = 0

    def now(self) -> Timestamp:
        """Return a time later than every one before, in microseconds like the service's."""
        self._last_micros = max(self._last_micros + 1, time.time_ns() // 1000)
        stamp = Timestamp()
        stamp.FromMicroseconds(self._last_micros)
        return stamp

    def run(self, query: Query) -> tuple[list[Any], int]:
        """Return the documents a query finds, and how many its offset skipped."""
        self.indexes.check(query)
        return query.run(self.documents.values())

    def commit(self, requested: Iterable[Any]) -> Timestamp:
        """Carry out all writes, in order, or none, and return the time of the commit."""
        now = self.now()
        after: dict[str, Any] = {}
        for write in requested:
            name = writes.target(write)
            current = after[name] if name in after else self.documents.get(name)
            after[name] = writes.apply(write, current, now)
        for name, document in after.items():
            if document is None:
                self.documents.pop(name, None)
            else:
                self.documents[name] = document
        return now
