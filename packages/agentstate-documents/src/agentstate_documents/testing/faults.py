"""A table that fails or stops at the n-th request, before or after it was carried out.

    for n in itertools.count(1):
        faulty = FaultyTable(table, at=n, after=False)
        ...
        if faulty.requests < n: break   # the operation needs no more

What an operation leaves when it is stopped there must be readable, and right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentstate_documents.model import Document, Limits, Page, Write
    from agentstate_documents.port import DocumentTable


class Stopped(BaseException):
    """The process ends here: nothing that follows is carried out, and nobody catches it."""


class FaultyTable:
    """`table`, but request number `at` raises `error`, and with `Stopped` all after it.

    `after` carries the request out first, as when only the reply is lost; a delete, which
    is not atomic, is then carried out for half its documents when `half` is set.
    """

    def __init__(
        self,
        table: DocumentTable,
        *,
        at: int,
        after: bool = False,
        half: bool = False,
        error: type[BaseException] = Stopped,
    ) -> None:
        self._table = table
        self._at, self._after, self._half, self._error = at, after, half, error
        self.requests = 0

    @property
    def limits(self) -> Limits:
        """Those of the table."""
        return self._table.limits

    def setup(self) -> None:
        """As the table."""
        self._table.setup()

    def get(self, partition: str, sorts: Sequence[str]) -> Sequence[Document | None]:
        """As the table, unless it is this request's turn."""
        found: Sequence[Document | None] = self._perform("get", partition, sorts)
        return found

    def put(self, partition: str, writes: Sequence[Write]) -> None:
        """As the table, unless it is this request's turn."""
        self._perform("put", partition, writes)

    def query(self, partition: str, **range_: Any) -> Page:
        """As the table, unless it is this request's turn."""
        page: Page = self._perform("query", partition, **range_)
        return page

    def delete(self, partition: str, sorts: Sequence[str]) -> None:
        """As the table, unless it is this request's turn."""
        if self._half and self.requests + 1 == self._at:
            sorts = sorts[: (len(sorts) + 1) // 2]
        self._perform("delete", partition, sorts)

    def partitions(self) -> Sequence[str]:
        """As the table, unless it is this request's turn."""
        found: Sequence[str] = self._perform("partitions")
        return found

    def close(self) -> None:
        """As the table."""
        self._table.close()

    def _perform(self, request: str, *args: Any, **kwargs: Any) -> Any:
        self.requests += 1
        past = self.requests > self._at and issubclass(self._error, Stopped)
        if past or (self.requests == self._at and not self._after):
            raise self._error(f"request {self.requests} fails")
        try:
            return getattr(self._table, request)(*args, **kwargs)
        finally:  # a refusal is a reply, too
            if self.requests == self._at:
                raise self._error(f"the reply to request {self.requests} is lost")
