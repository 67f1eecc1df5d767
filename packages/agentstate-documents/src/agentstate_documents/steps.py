"""Requests as values, and the typed steps procedures are written with.

A *procedure* is a generator that yields requests and is sent their replies. It never
blocks and never awaits, so one procedure serves both worlds; `drivers` carries it out.
A failed request is raised at the step that asked for it.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agentstate_documents.model import AFTER_LAST_SORT, FIRST_SORT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentstate_documents.model import Document, Page, Write
    from agentstate_documents.port import AsyncDocumentTable, DocumentTable

    AnyTable = DocumentTable | AsyncDocumentTable

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Get:
    """Documents by their sorts."""

    partition: str
    sorts: Sequence[str]

    def perform(self, table: AnyTable) -> Any:
        """The reply, or for an awaiting table what to await for it."""
        return table.get(self.partition, self.sorts)


@dataclass(frozen=True, slots=True)
class Put:
    """Writes that are stored together or not at all."""

    partition: str
    writes: Sequence[Write]

    def perform(self, table: AnyTable) -> Any:
        """The reply, or for an awaiting table what to await for it."""
        return table.put(self.partition, self.writes)


@dataclass(frozen=True, slots=True)
class Query:
    """A page of a range."""

    partition: str
    low: str
    high: str
    descending: bool
    limit: int | None
    cursor: str | None

    def perform(self, table: AnyTable) -> Any:
        """The reply, or for an awaiting table what to await for it."""
        return table.query(
            self.partition,
            low=self.low,
            high=self.high,
            descending=self.descending,
            limit=self.limit,
            cursor=self.cursor,
        )


@dataclass(frozen=True, slots=True)
class Delete:
    """Documents that shall be gone."""

    partition: str
    sorts: Sequence[str]

    def perform(self, table: AnyTable) -> Any:
        """The reply, or for an awaiting table what to await for it."""
        return table.delete(self.partition, self.sorts)


@dataclass(frozen=True, slots=True)
class Partitions:
    """All partitions of the table."""

    def perform(self, table: AnyTable) -> Any:
        """The reply, or for an awaiting table what to await for it."""
        return table.partitions()


@dataclass(frozen=True, slots=True)
class Aside:
    """Not a request: to the next step it takes processor time that would hold up an event loop."""


@dataclass(frozen=True, slots=True)
class Emit(Generic[T]):
    """Not a request: an item a stream hands to its consumer."""

    item: T


Request = Get | Put | Query | Delete | Partitions
Procedure = Generator[Request | Aside, Any, R]
Stream = Generator[Request | Aside | Emit[T], Any, None]

# To compress or decode them takes a few milliseconds.
_LARGE_BYTES = 65_536


def aside(size: int) -> Procedure[None]:
    """What follows packs `size` bytes of values, or makes values of `size` stored bytes."""
    if size > _LARGE_BYTES:
        yield Aside()


def get(partition: str, sorts: Sequence[str]) -> Procedure[Sequence[Document | None]]:
    """The documents, in the order of `sorts`; no request for none."""
    reply: Sequence[Document | None] = (yield Get(partition, sorts)) if sorts else []
    return reply


def put(partition: str, writes: Sequence[Write]) -> Procedure[None]:
    """The writes are stored, all of them."""
    yield Put(partition, writes)


def page(
    partition: str,
    *,
    low: str = FIRST_SORT,
    high: str = AFTER_LAST_SORT,
    descending: bool = False,
    limit: int | None = None,
    cursor: str | None = None,
) -> Procedure[Page]:
    """One page of a range."""
    reply: Page = yield Query(partition, low, high, descending, limit, cursor)
    return reply


def documents(partition: str, *, low: str, high: str) -> Procedure[dict[str, Document]]:
    """Every document of a range, by its sort, in as many requests as it takes."""
    found: dict[str, Document] = {}
    cursor = None
    while True:
        one = yield from page(partition, low=low, high=high, cursor=cursor)
        found.update((document.sort, document) for document in one.documents)
        cursor = one.cursor
        if cursor is None:
            yield from aside(sum([len(document.body) for document in found.values()]))
            return found


def delete(partition: str, sorts: Sequence[str]) -> Procedure[None]:
    """The documents are gone; no request for none."""
    if sorts:
        yield Delete(partition, sorts)


def partitions() -> Procedure[Sequence[str]]:
    """Every partition of the table."""
    reply: Sequence[str] = yield Partitions()
    return reply
