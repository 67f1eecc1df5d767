"""Any blocking table as an awaiting one, with one thread hop per request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agentstate_documents.model import AFTER_LAST_SORT, FIRST_SORT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentstate_documents.model import Document, Limits, Page, Write
    from agentstate_documents.port import DocumentTable


class Threaded:
    """`table` with awaitable requests: for clients that have no coroutine form.

    A hop costs about 0.1 ms, little beside a network call. A cancelled request runs to its
    end in its thread.
    """

    def __init__(self, table: DocumentTable) -> None:
        self._table = table

    @property
    def limits(self) -> Limits:
        """Those of the table."""
        return self._table.limits

    async def setup(self) -> None:
        """The table exists and is usable."""
        await asyncio.to_thread(self._table.setup)

    async def get(self, partition: str, sorts: Sequence[str]) -> Sequence[Document | None]:
        """The documents with these sorts, in their order."""
        return await asyncio.to_thread(self._table.get, partition, sorts)

    async def put(self, partition: str, writes: Sequence[Write]) -> None:
        """All of `writes` are stored, or none is."""
        await asyncio.to_thread(self._table.put, partition, writes)

    async def query(
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
        return await asyncio.to_thread(
            self._table.query,
            partition,
            low=low,
            high=high,
            descending=descending,
            limit=limit,
            cursor=cursor,
        )

    async def delete(self, partition: str, sorts: Sequence[str]) -> None:
        """No document with one of these sorts is there any more."""
        await asyncio.to_thread(self._table.delete, partition, sorts)

    async def partitions(self) -> Sequence[str]:
        """Every partition that holds a document."""
        return await asyncio.to_thread(self._table.partitions)

    async def close(self) -> None:
        """The table is closed."""
        await asyncio.to_thread(self._table.close)
