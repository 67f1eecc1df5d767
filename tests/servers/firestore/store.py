"""The databases: documents by name, transactions, commits that happen whole or not at all."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from google.protobuf.timestamp_pb2 import Timestamp
from grpc import StatusCode

from servers.firestore import writes
from servers.firestore.indexes import Indexes
from servers.firestore.refusals import Refused, invalid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from servers.firestore.queries import Query


@dataclass
class Transaction:
    """What a transaction has seen, to be compared with what is there when it commits.

    The service locks what a transaction reads (Google's emulator for minutes, under contention);
    comparing at the end gives the same isolation and never waits.
    """

    read_only: bool
    documents: dict[str, Any] = field(default_factory=dict)
    queries: list[tuple[Query, list[Any]]] = field(default_factory=list)


class Database:
    """One database. Not thread-safe: the service holds one lock around every request."""

    def __init__(self) -> None:
        self.documents: dict[str, Any] = {}
        self.indexes = Indexes()
        self._transactions: dict[bytes, Transaction] = {}
        self._last_micros = 0

    def now(self) -> Timestamp:
        """Return a time later than every one before, in microseconds like the service's."""
        self._last_micros = max(self._last_micros + 1, time.time_ns() // 1000)
        stamp = Timestamp()
        stamp.FromMicroseconds(self._last_micros)
        return stamp

    def begin(self, options: Any) -> bytes:
        """Open a transaction and return its id."""
        id_ = uuid.uuid4().bytes
        read_only = options.WhichOneof("mode") == "read_only"
        self._transactions[id_] = Transaction(read_only)
        return id_

    def rollback(self, id_: bytes) -> None:
        """Forget a transaction."""
        self._transactions.pop(id_, None)

    def get(self, name: str, transaction: bytes = b"") -> Any | None:
        """Return the document of that name, or None."""
        document = self.documents.get(name)
        if transaction:
            self._transaction(transaction).documents[name] = document
        return document

    def run(self, query: Query, transaction: bytes = b"") -> tuple[list[Any], int]:
        """Return the documents a query finds, and how many its offset skipped."""
        self.indexes.check(query)
        found, skipped = query.run(self.documents.values())
        if transaction:
            self._transaction(transaction).queries.append((query, found))
        return found, skipped

    def commit(self, requested: Iterable[Any], transaction: bytes = b"") -> Timestamp:
        """Carry out all writes, in order, or none, and return the time of the commit."""
        requested = list(requested)
        if transaction:
            self._check_unchanged(self._transaction(transaction), bool(requested))
            self.rollback(transaction)
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

    def _transaction(self, id_: bytes) -> Transaction:
        if id_ not in self._transactions:
            raise invalid("The transaction has expired or was never begun.")
        return self._transactions[id_]

    def _check_unchanged(self, transaction: Transaction, writing: bool) -> None:
        if writing and transaction.read_only:
            raise invalid("A read-only transaction cannot write.")
        # Documents are replaced, never changed, so identity is equality of versions.
        same = all(self.documents.get(n) is d for n, d in transaction.documents.items()) and all(
            _identities(query.run(self.documents.values())[0]) == _identities(found)
            for query, found in transaction.queries
        )
        if writing and not same:
            raise Refused(StatusCode.ABORTED, "Too much contention on these documents.")


def _identities(found: list[Any]) -> list[int]:
    return [id(document) for document in found]
