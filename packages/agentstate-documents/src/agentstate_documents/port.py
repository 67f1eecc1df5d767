"""The port: what a database must be able to do to hold our documents.

A table is a set of partitions; a partition is a set of documents ordered by their sort.
Every request but `partitions` concerns one partition. `DocumentTable` blocks,
`AsyncDocumentTable` awaits; a database needs one of them (`tables.threaded.Threaded` turns
the first into the second). `testing.table_contract.TableContract` checks all of this.

What every table keeps:

* **Order** of sorts is that of their ASCII bytes, upper case before lower.
* **Strong reads**: `get` and `query` see every put and delete that returned before they
  began, whoever made it.
* **Bytes in, the same bytes out**, as `bytes`: any content, from none to `max_body_bytes`.
* **Retries** live in the table: throttling, contention and unprocessed rows are asked for
  again, with growing, jittered waits and a bound, and only then `TableUnavailable`. After a
  lost reply a retried conditional put may meet its own row and say `DocumentConflict`;
  callers compare bodies, so a table need not.
* **Errors** of the database's client arrive as `DocumentError`, with the cause kept. Nothing
  is swallowed: what returned without an error is stored.
* **Lazy**: constructing a table connects to nothing. A table that turns out to be missing is
  created then, once, and the request repeated, unless the table was told `create=False`.
* **Threads**: a blocking table may be used by several threads at once, an awaiting one by
  several tasks of one loop, and by one loop after another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from agentstate_documents.model import AFTER_LAST_SORT, FIRST_SORT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentstate_documents.model import Document, Limits, Page, Write


class DocumentTable(Protocol):
    """A table of documents, blocking."""

    @property
    def limits(self) -> Limits:
        """What one request may hold; constant, known without connecting."""

    def setup(self) -> None:
        """The table exists and is usable; repeatable.

        Raises:
            TableUnavailable: It is missing and may not be created; the text names what is
                missing, a permission for instance.
        """

    def get(self, partition: str, sorts: Sequence[str]) -> Sequence[Document | None]:
        """The documents with these sorts, in their order; None where there is none.

        Any number of sorts, none included; a sort given twice is answered twice.
        """

    def put(self, partition: str, writes: Sequence[Write]) -> None:
        """All of `writes` are stored, or none is, as one step that no reader sees half of.

        At least one write, at most `max_transaction_documents` of together at most
        `max_transaction_bytes`, no sort twice.

        Raises:
            DocumentTooLarge: A body exceeds `max_body_bytes`; nothing was sent.
            DocumentConflict: A condition did not hold; nothing was stored. A condition on a
                row that another put is just changing may also be answered so.
            ValueError: More than one put may hold; nothing was sent.
            TableUnavailable: The outcome is unknown: all or nothing is stored.
        """

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
        """A page of the documents with `low <= sort < high`, ascending or descending.

        At most `limit` (1 or more) documents; without it as many as the database likes to
        send at once. `cursor` is that of the page before, with the same bounds and direction
        (`limit` may differ). It is opaque, and good in another process. Following cursors to
        None shows exactly once each document that was there from the first page to the last.
        One request to the database, whatever the page's size, unless that has to be retried.
        """

    def delete(self, partition: str, sorts: Sequence[str]) -> None:
        """No document with one of these sorts is there any more; absent ones are no error.

        Any number of sorts. Not atomic: on failure some may be gone, and a repetition
        finishes the work.
        """

    def partitions(self) -> Sequence[str]:
        """Every partition that holds a document, once, in any order.

        May read the whole table. Serves listing all threads and deleting by run alone.
        """

    def close(self) -> None:
        """Connections the table opened itself are closed; a client it was given is not.

        Repeatable. The table connects again when it is used again.
        """


class AsyncDocumentTable(Protocol):
    """A table of documents, awaiting: the same requests with the same guarantees.

    The event loop is never blocked, not even to import or to build the client.
    """

    @property
    def limits(self) -> Limits:
        """As for `DocumentTable`."""

    async def setup(self) -> None:
        """As for `DocumentTable`."""

    async def get(self, partition: str, sorts: Sequence[str]) -> Sequence[Document | None]:
        """As for `DocumentTable`."""

    async def put(self, partition: str, writes: Sequence[Write]) -> None:
        """As for `DocumentTable`; a cancelled put may or may not have been stored, whole."""

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
        """As for `DocumentTable`."""

    async def delete(self, partition: str, sorts: Sequence[str]) -> None:
        """As for `DocumentTable`."""

    async def partitions(self) -> Sequence[str]:
        """As for `DocumentTable`."""

    async def close(self) -> None:
        """As for `DocumentTable`."""
