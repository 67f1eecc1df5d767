"""The reference table: a dictionary with the limits and the pages of a real database."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from agentstate_documents.errors import DocumentConflict
from agentstate_documents.model import (
    AFTER_LAST_SORT,
    FIRST_SORT,
    Limits,
    Page,
    check_count,
)
from agentstate_documents.tables.checks import check_limit, check_put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentstate_documents.model import Document, Write


class MemoryTable:
    """Documents in this process's memory, for tests, documentation and trying things out.

    The defaults are small where a database's are large, so that what works here does not
    work by accident: pages of `page_size` documents, the body limit of the smallest
    database. Expired documents stay until `remove_expired`, as they do in a database that
    removes them late.

        >>> from agentstate_documents import Document, MemoryTable, Write
        >>> table = MemoryTable()
        >>> table.put("thread", [Write(Document("a", b"1")), Write(Document("b", b"2"))])
        >>> [document.body for document in table.query("thread", descending=True).documents]
        [b'2', b'1']
    """

    def __init__(
        self,
        *,
        max_body_bytes: int = 390_000,
        max_transaction_documents: int = 100,
        max_transaction_bytes: int | None = None,
        page_size: int = 25,
    ) -> None:
        self.limits = Limits(
            max_body_bytes,
            max_transaction_documents,
            8 * max_body_bytes if max_transaction_bytes is None else max_transaction_bytes,
        )
        check_count("page_size", page_size, 1)
        self._page_size = page_size
        self._rows: dict[str, dict[str, Document]] = {}
        self._lock = threading.Lock()

    def setup(self) -> None:
        """Nothing to do."""

    def get(self, partition: str, sorts: Sequence[str]) -> Sequence[Document | None]:
        """The documents with these sorts, in their order."""
        with self._lock:
            rows = self._rows.get(partition, {})
            return [rows.get(sort) for sort in sorts]

    def put(self, partition: str, writes: Sequence[Write]) -> None:
        """All of `writes` are stored, or none is."""
        check_put(self.limits, partition, writes)
        with self._lock:
            rows = self._rows.get(partition, {})
            if not all(_holds(write, rows.get(write.document.sort)) for write in writes):
                raise DocumentConflict(f"a condition of a put to partition {partition!r} failed")
            stored = self._rows.setdefault(partition, rows)
            stored.update((write.document.sort, write.document) for write in writes)

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
        """A page of the documents with `low <= sort < high`."""
        check_limit(limit)
        size = self._page_size if limit is None else min(limit, self._page_size)
        with self._lock:
            rows = self._rows.get(partition, {})
            sorts = sorted((s for s in rows if low <= s < high), reverse=descending)
            if cursor is not None:
                sorts = [s for s in sorts if (s < cursor if descending else s > cursor)]
            shown = sorts[:size]
            more = len(sorts) > len(shown)
            return Page([rows[sort] for sort in shown], shown[-1] if more else None)

    def delete(self, partition: str, sorts: Sequence[str]) -> None:
        """No document with one of these sorts is there any more."""
        with self._lock:
            rows = self._rows.get(partition, {})
            for sort in sorts:
                rows.pop(sort, None)
            if not rows:
                self._rows.pop(partition, None)

    def partitions(self) -> Sequence[str]:
        """Every partition that holds a document."""
        with self._lock:
            return list(self._rows)

    def close(self) -> None:
        """Nothing to close; the documents stay."""

    def remove_expired(self, now: float) -> None:
        """Documents whose expiry is not after `now` are gone, as a database does it some day."""
        with self._lock:
            for partition in list(self._rows):
                kept = {
                    sort: document
                    for sort, document in self._rows[partition].items()
                    if document.expires_at is None or document.expires_at > now
                }
                if kept:
                    self._rows[partition] = kept
                else:
                    del self._rows[partition]


def _holds(write: Write, stored: Document | None) -> bool:
    if write.if_absent:
        return stored is None
    expected = write.if_unchanged
    return expected is None or (stored is not None and stored.body == expected.body)
