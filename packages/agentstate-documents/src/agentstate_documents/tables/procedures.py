"""Carries out what a table has to do to answer a request, blocking or awaiting.

Where a database's client has a blocking and an awaiting face, `BlockingRequests` and
`AwaitingRequests` are its two tables but for opening and closing.

A table's own procedure is a generator: it yields steps (a call to the client, a pause), is sent
what came of them, and returns the answer. A step that failed is raised where it was yielded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from agentstate_documents.model import AFTER_LAST_SORT, FIRST_SORT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence

    from agentstate_documents.model import Document, Limits, Page, Write

R = TypeVar("R")
S = TypeVar("S")


def run(procedure: Generator[S, Any, R], carry_out: Callable[[S], Any]) -> R:
    """What the procedure returns."""
    reply: Any = None
    error: Exception | None = None
    while True:
        try:
            step = procedure.throw(error) if error else procedure.send(reply)
        except StopIteration as stop:
            result: R = stop.value
            return result
        reply = error = None
        try:
            reply = carry_out(step)
        except Exception as raised:
            error = raised


async def arun(procedure: Generator[S, Any, R], carry_out: Callable[[S], Awaitable[Any]]) -> R:
    """What the procedure returns."""
    reply: Any = None
    error: Exception | None = None
    while True:
        try:
            step = procedure.throw(error) if error else procedure.send(reply)
        except StopIteration as stop:
            result: R = stop.value
            return result
        reply = error = None
        try:
            reply = await carry_out(step)
        except Exception as raised:
            error = raised


class Requests(Protocol):
    """A database's procedure for each request of the port."""

    def setup(self) -> Generator[Any, Any, None]:
        """The table exists and is usable."""

    def get(
        self, partition: str, sorts: Sequence[str]
    ) -> Generator[Any, Any, Sequence[Document | None]]:
        """The documents with these sorts, in their order."""

    def put(self, partition: str, writes: Sequence[Write]) -> Generator[Any, Any, None]:
        """All of `writes` are stored, or none is."""

    def query(
        self,
        partition: str,
        low: str,
        high: str,
        *,
        descending: bool,
        limit: int | None,
        cursor: str | None,
    ) -> Generator[Any, Any, Page]:
        """A page of the documents with `low <= sort < high`."""

    def delete(self, partition: str, sorts: Sequence[str]) -> Generator[Any, Any, None]:
        """No document with one of these sorts is there any more."""

    def partitions(self) -> Generator[Any, Any, Sequence[str]]:
        """Every partition that holds a document."""


class BlockingRequests:
    """The requests of a blocking table; what they consist of, `carry_out` does."""

    def __init__(self, limits: Limits, requests: Requests, carry_out: Callable[[Any], Any]) -> None:
        self.limits, self._requests, self._carry_out = limits, requests, carry_out

    def setup(self) -> None:
        """The table exists and is usable."""
        run(self._requests.setup(), self._carry_out)

    def get(self, partition: str, sorts: Sequence[str]) -> Sequence[Document | None]:
        """The documents with these sorts, in their order."""
        return run(self._requests.get(partition, sorts), self._carry_out)

    def put(self, partition: str, writes: Sequence[Write]) -> None:
        """All of `writes` are stored, or none is."""
        run(self._requests.put(partition, writes), self._carry_out)

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
        page: dict[str, Any] = {"descending": descending, "limit": limit, "cursor": cursor}
        return run(self._requests.query(partition, low, high, **page), self._carry_out)

    def delete(self, partition: str, sorts: Sequence[str]) -> None:
        """No document with one of these sorts is there any more."""
        run(self._requests.delete(partition, sorts), self._carry_out)

    def partitions(self) -> Sequence[str]:
        """Every partition that holds a document."""
        return run(self._requests.partitions(), self._carry_out)


class AwaitingRequests:
    """The requests of an awaiting table; what they consist of, `carry_out` does."""

    def __init__(
        self, limits: Limits, requests: Requests, carry_out: Callable[[Any], Awaitable[Any]]
    ) -> None:
        self.limits, self._requests, self._carry_out = limits, requests, carry_out

    async def setup(self) -> None:
        """The table exists and is usable."""
        await arun(self._requests.setup(), self._carry_out)

    async def get(self, partition: str, sorts: Sequence[str]) -> Sequence[Document | None]:
        """The documents with these sorts, in their order."""
        return await arun(self._requests.get(partition, sorts), self._carry_out)

    async def put(self, partition: str, writes: Sequence[Write]) -> None:
        """All of `writes` are stored, or none is."""
        await arun(self._requests.put(partition, writes), self._carry_out)

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
        page: dict[str, Any] = {"descending": descending, "limit": limit, "cursor": cursor}
        return await arun(self._requests.query(partition, low, high, **page), self._carry_out)

    async def delete(self, partition: str, sorts: Sequence[str]) -> None:
        """No document with one of these sorts is there any more."""
        await arun(self._requests.delete(partition, sorts), self._carry_out)

    async def partitions(self) -> Sequence[str]:
        """Every partition that holds a document."""
        return await arun(self._requests.partitions(), self._carry_out)
