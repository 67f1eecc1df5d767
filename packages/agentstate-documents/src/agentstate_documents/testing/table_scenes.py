"""Fixtures and small words the table contract is written in."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

from agentstate_documents.model import Document, Write
from agentstate_documents.tables.threaded import Threaded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from agentstate_documents.model import Limits
    from agentstate_documents.port import AsyncDocumentTable, DocumentTable


class Blocking:
    """A blocking table behind awaitable methods, so that one test serves both faces."""

    def __init__(self, table: DocumentTable) -> None:
        self._table = table

    @property
    def limits(self) -> Limits:
        """Those of the table."""
        return self._table.limits

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._table, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return call


def writes(*documents: Document, if_absent: bool = False) -> list[Write]:
    """The documents as writes with the same condition."""
    return [Write(document, if_absent=if_absent) for document in documents]


async def pages_of(
    table: AsyncDocumentTable, partition: str, **query: Any
) -> AsyncIterator[list[Document]]:
    """The documents of each page of a range; every cursor leads to another."""
    cursor: str | None = None
    followed: set[str | None] = set()
    while cursor not in followed:
        followed.add(cursor)
        page = await table.query(partition, cursor=cursor, **query)
        yield list(page.documents)
        cursor = page.cursor
        if cursor is None:
            return
    pytest.fail(f"the cursor {cursor!r} leads back to itself")


async def read_all(table: AsyncDocumentTable, partition: str, **query: Any) -> list[Document]:
    """The whole range, page by page."""
    return [d async for page in pages_of(table, partition, **query) for d in page]


async def fill(table: AsyncDocumentTable, partition: str, sorts: Sequence[str]) -> None:
    """One document per sort, its body the sort."""
    size = table.limits.max_transaction_documents
    for start in range(0, len(sorts), size):
        batch = sorts[start : start + size]
        await table.put(partition, writes(*(Document(sort, sort.encode()) for sort in batch)))


@pytest.mark.asyncio
class TableScenes:
    """A table on either face, and a partition of its own."""

    @pytest.fixture
    def table(self) -> Any:
        """The backend's table, empty or shared."""
        raise NotImplementedError("a table contract needs a `table` fixture")

    @pytest.fixture
    def async_table(self, table: DocumentTable) -> Any:
        """The awaiting table, by default the blocking one in threads."""
        return Threaded(table)

    @pytest.fixture(params=["blocking", "awaiting"])
    def face(self, request: pytest.FixtureRequest) -> Any:
        """The table under test, awaitable either way."""
        if request.param == "blocking":
            return Blocking(request.getfixturevalue("table"))
        return request.getfixturevalue("async_table")

    @pytest.fixture
    def partition(self) -> str:
        """A partition nobody else uses."""
        return f"contract-{uuid.uuid4()}"
