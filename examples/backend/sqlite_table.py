"""A backend in one file: documents in an SQLite database, with the standard library alone.

A row is a document. SQLite compares text by byte, which is the order the port asks for, and
the primary key is the index that every request uses.
"""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING, TypeVar

from agentstate_documents import Document, DocumentConflict, Limits, Page, TableUnavailable
from agentstate_documents.model import AFTER_LAST_SORT, FIRST_SORT
from agentstate_documents.tables.checks import check_limit, check_put

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agentstate_documents import Write

R = TypeVar("R")

PAGE_DOCUMENTS = 50
CREATE = (
    "CREATE TABLE IF NOT EXISTS documents (partition TEXT, sort TEXT, body BLOB NOT NULL, "
    "expires_at INTEGER, PRIMARY KEY (partition, sort))"
)
# Each of these three changes one row, or none where its condition does not hold.
PUT = "INSERT OR REPLACE INTO documents VALUES (:partition, :sort, :body, :expires_at)"
PUT_IF_ABSENT = PUT.replace("REPLACE", "IGNORE")
PUT_IF_UNCHANGED = (
    "UPDATE documents SET body = :body, expires_at = :expires_at "
    "WHERE partition = :partition AND sort = :sort AND body = :read"
)
SELECT = "SELECT sort, body, expires_at FROM documents WHERE partition = ? "


class SQLiteTable:
    """Documents in the file `path`, blocking; threads take turns, processes may share it."""

    limits = Limits(
        max_body_bytes=1_000_000, max_transaction_documents=100, max_transaction_bytes=8_000_000
    )

    def __init__(self, path: Path | str, *, create: bool = True) -> None:
        self._path, self._create = path, create
        self._connection: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def setup(self) -> None:
        """The table exists and is usable."""
        self.get("setup", ["setup"])

    def get(self, partition: str, sorts: Sequence[str]) -> Sequence[Document | None]:
        """The documents with these sorts, in their order."""
        # There is no network in between, so a statement for each sort costs next to nothing.
        statement = SELECT + "AND sort = ?"
        found = [self._read(statement, partition, sort) for sort in sorts]
        return [documents[0] if documents else None for documents in found]

    def put(self, partition: str, writes: Sequence[Write]) -> None:
        """All of `writes` are stored, or none is."""
        check_put(self.limits, partition, writes)

        def write_all(connection: sqlite3.Connection) -> None:
            for write in writes:
                if connection.execute(*_statement(partition, write)).rowcount != 1:
                    raise DocumentConflict(f"a condition of a put to {partition!r} failed")

        self._run(write_all)

    def query(
        self,
        partition: str,
        *,
        low: str = FIRST_SORT,
        high: str = AFTER_LAST_SORT,
        descending: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page:
        """A page of the documents with `low <= sort < high`; its cursor is the last sort in it."""
        check_limit(limit)
        if cursor is not None:
            # `!` is the lowest character of a key: no sort lies between `k` and `k!`.
            low, high = (low, cursor) if descending else (cursor + FIRST_SORT, high)
        order = "DESC" if descending else "ASC"
        size = min(limit or PAGE_DOCUMENTS, PAGE_DOCUMENTS)
        statement = SELECT + f"AND sort >= ? AND sort < ? ORDER BY sort {order} LIMIT ?"
        documents = self._read(statement, partition, low, high, size)
        return Page(documents, documents[-1].sort if len(documents) == size else None)

    def delete(self, partition: str, sorts: Sequence[str]) -> None:
        """No document with one of these sorts is there any more."""
        statement = "DELETE FROM documents WHERE partition = ? AND sort = ?"
        keys = [(partition, sort) for sort in sorts]
        self._run(lambda connection: connection.executemany(statement, keys))

    def partitions(self) -> Sequence[str]:
        """Every partition that holds a document."""
        statement = "SELECT DISTINCT partition FROM documents"
        rows = self._run(lambda connection: connection.execute(statement).fetchall())
        return [partition for (partition,) in rows]

    def close(self) -> None:
        """The connection is closed; the next request opens another."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _read(self, statement: str, *values: object) -> list[Document]:
        rows = self._run(lambda connection: connection.execute(statement, values).fetchall())
        return [Document(*row) for row in rows]

    def _run(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """What `work` returns, in one transaction; SQLite itself waits for other writers."""
        with self._lock:
            try:
                self._connection = self._connection or self._open()
                with self._connection:
                    return work(self._connection)
            except sqlite3.Error as error:
                raise TableUnavailable(f"SQLite file {str(self._path)!r}: {error}") from error

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=10, check_same_thread=False)
        if self._create:
            connection.execute(CREATE)
        return connection


def _statement(partition: str, write: Write) -> tuple[str, dict[str, object]]:
    document, read = write.document, write.if_unchanged
    row: dict[str, object] = {"partition": partition, "sort": document.sort}
    row |= {"body": document.body, "expires_at": document.expires_at}
    if write.if_absent:
        return PUT_IF_ABSENT, row
    return (PUT, row) if read is None else (PUT_IF_UNCHANGED, {**row, "read": read.body})
