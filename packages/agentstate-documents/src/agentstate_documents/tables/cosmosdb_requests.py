"""Cosmos DB without a client: what to ask for, and what the replies mean.

Every operation is a generator: it yields `Call`s, `Rows` and numbers of seconds to wait, and is
sent replies or errors. `cosmosdb_clients` carries them out, blocking or awaiting.
"""

from __future__ import annotations

import copy
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from agentstate_documents.errors import DocumentConflict, TableUnavailable
from agentstate_documents.model import Limits, Page
from agentstate_documents.tables.backoff import waits
from agentstate_documents.tables.checks import check_limit, check_put
from agentstate_documents.tables.cosmosdb_failures import read_failure
from agentstate_documents.tables.cosmosdb_items import key, operation, read_document, write_method
from agentstate_documents.tables.slices import slices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentstate_documents.model import Document, Write

R = TypeVar("R")

# An item and a request hold 2 MiB of JSON ("Azure Cosmos DB service quotas"). Fifty items with
# the longest keys, escaped, take 240 KB; the rest is for bodies, of which base64 makes 4/3.
LIMITS = Limits(
    max_body_bytes=1_380_000, max_transaction_documents=50, max_transaction_bytes=1_380_000
)
_BATCH = 100  # operations in a transactional batch, and keys asked for at once
_PAGE = 1_000  # documents in a page without a limit; the database ends it at 4 MB anyway
_INDEXING = {"includedPaths": [{"path": "/k/?"}], "excludedPaths": [{"path": "/*"}]}


@dataclass(frozen=True, slots=True)
class Call:
    """One request: a method of the SDK's client, database or container, and its arguments."""

    target: str
    method: str
    arguments: dict[str, Any]

    def perform(self, target: Any) -> Any:
        """What the method returns, to be awaited on the SDK's aio face."""
        # The SDK takes the options out of the batch operations it is given, and they would be
        # missing from the next attempt.
        return getattr(target, self.method)(**copy.deepcopy(self.arguments))


@dataclass(frozen=True, slots=True)
class Rows:
    """A page of a partition's documents, or without a partition the rows of all."""

    query: str
    values: Sequence[str] = ()
    partition: str | None = None
    limit: int = _PAGE
    method: ClassVar[str] = "query_items"

    def options(self, found: Found) -> dict[str, Any]:
        """The arguments of `query_items` that both faces take."""
        values = [{"name": f"@{n}", "value": value} for n, value in enumerate(self.values)]
        return {"query": self.query, "parameters": values, "response_hook": found}

    def page_options(self) -> dict[str, Any]:
        """The further arguments for a page of one partition."""
        return {"partition_key": self.partition, "max_item_count": self.limit}


@dataclass(slots=True)
class Found:
    """The rows of a query and whether more may follow.

    It is the query's response hook: the SDK's pager would look for the continuation in the last
    headers its client received, which among threads may be those of another request.
    """

    rows: Sequence[Any] = ()
    more: bool = False

    def __call__(self, headers: Mapping[str, Any], _: object) -> None:
        """Note the headers of an answer."""
        self.more = bool(headers.get("x-ms-continuation"))


Procedure = Generator[Call | Rows | float, Any, R]


class ContainerMissing(TableUnavailable):
    """The container, or its database, does not exist."""


@dataclass(frozen=True, slots=True)
class Requests:
    """The operations of one table."""

    database: str
    container: str
    create: bool

    def setup(self) -> Procedure[None]:
        """The container is there, with our partition key."""
        properties = yield from self._create_for(Call("container", "read", {}))
        paths = properties["partitionKey"]["paths"]
        if paths != ["/p"]:
            raise TableUnavailable(f"{self} has the partition key {paths}, not ['/p']")

    def get(self, partition: str, sorts: Sequence[str]) -> Procedure[list[Document | None]]:
        """The documents with these sorts, in their order."""
        found: dict[str, Document] = {}
        for some in slices(list(dict.fromkeys(sorts)), _BATCH):
            names = ", ".join(f"@{number}" for number in range(1, len(some) + 1))
            keys = [key(partition, sort) for sort in some]
            last = key(partition, "")
            while last:
                page = yield from self._rows(
                    f"c.k > @0 AND c.k IN ({names})", [last, *keys], partition, _PAGE
                )
                found |= {document.sort: document for document in page.documents}
                last = key(partition, page.cursor) if page.cursor else ""
        return [found.get(sort) for sort in sorts]

    def put(self, partition: str, writes: Sequence[Write]) -> Procedure[None]:
        """The writes are stored, all of them; as a transactional batch if several."""
        check_put(LIMITS, partition, writes)
        if len(writes) == 1:
            method, arguments = write_method(partition, writes[0])
            yield from self._create_for(Call("container", method, arguments))
        else:
            yield from self._batch(partition, [operation(partition, write) for write in writes])

    def query(
        self,
        partition: str,
        low: str,
        high: str,
        *,
        descending: bool,
        limit: int | None,
        cursor: str | None,
    ) -> Procedure[Page]:
        """A page of the documents with `low <= sort < high`; a cursor is the last sort shown."""
        check_limit(limit)
        condition = "c.k >= @0 AND c.k < @1"
        values = [key(partition, low), key(partition, high)]
        if cursor is not None:
            condition += " AND c.k < @2" if descending else " AND c.k > @2"
            values.append(key(partition, cursor))
        size = _PAGE if limit is None else min(limit, _PAGE)
        return (yield from self._rows(condition, values, partition, size, descending))

    def delete(self, partition: str, sorts: Sequence[str]) -> Procedure[None]:
        """The documents are gone."""
        for some in slices(list(dict.fromkeys(sorts)), _BATCH):
            yield from self._delete(partition, some)

    def partitions(self) -> Procedure[list[str]]:
        """Every partition; visits every physical partition."""
        found = yield from self._create_for(Rows("SELECT DISTINCT VALUE c.p FROM c"))
        return list(found.rows)

    def __str__(self) -> str:
        return f"Cosmos DB container {self.container!r} of database {self.database!r}"

    def _rows(
        self,
        condition: str,
        values: Sequence[str],
        partition: str,
        limit: int,
        descending: bool = False,
    ) -> Procedure[Page]:
        """A page of the partition's documents that satisfy a condition with @0, @1, ..."""
        order = "DESC" if descending else "ASC"
        query = f"SELECT c.id, c.b, c.x, c._etag FROM c WHERE {condition} ORDER BY c.k {order}"  # noqa: S608 (values are parameters)
        found: Found = yield from self._create_for(Rows(query, values, partition, limit))
        documents = [read_document(row) for row in found.rows]
        return Page(documents, documents[-1].sort if found.more else None)

    def _batch(self, partition: str, operations: list[Any]) -> Procedure[None]:
        arguments = {"batch_operations": operations, "partition_key": partition}
        yield from self._create_for(Call("container", "execute_item_batch", arguments))

    def _delete(self, partition: str, sorts: Sequence[str]) -> Procedure[None]:
        try:
            yield from self._batch(partition, [("delete", (sort,)) for sort in sorts])
            return
        except DocumentConflict:  # at least one is absent, and with it the batch failed
            pass
        for sort in sorts:
            arguments = {"item": sort, "partition_key": partition}
            yield from self._ask(Call("container", "delete_item", arguments), or_conflict=True)

    def _create_for(self, step: Call | Rows) -> Procedure[Any]:
        """The reply; a missing container is created first, once, unless it may not be."""
        try:
            return (yield from self._ask(step))
        except ContainerMissing:
            if not self.create:
                raise
        yield from self._create()
        return (yield from self._ask(step))

    def _create(self) -> Procedure[None]:
        """The container is there, and its database."""
        from azure.cosmos import PartitionKey

        arguments = {
            "id": self.container,
            "partition_key": PartitionKey("/p"),
            "indexing_policy": _INDEXING,
            "default_ttl": -1,  # items have a ttl of their own, or stay
        }
        container = Call("database", "create_container", arguments)
        try:
            yield from self._ask(container, or_conflict=True)
        except ContainerMissing:  # the database is, to be exact
            database = Call("client", "create_database", {"id": self.database})
            yield from self._ask(database, or_conflict=True)
            yield from self._ask(container, or_conflict=True)

    def _ask(self, step: Call | Rows, *, or_conflict: bool = False) -> Procedure[Any]:
        """The reply, after as many attempts as it takes.

        With `or_conflict` None where it is as asked for already: created by others, or deleted.
        """
        pauses = waits()
        while True:
            try:
                return (yield step)
            except Exception as error:
                failure = read_failure(error, step.method)
                if failure is None:
                    raise
                if failure.conflict and or_conflict:
                    return None
                if failure.conflict:
                    raise DocumentConflict(f"{self}: a condition of a put failed") from error
                if failure.missing:
                    raise ContainerMissing(f"{self}: {failure.text}") from error
                wait = next(pauses, None) if failure.transient else None
                if wait is None:
                    raise TableUnavailable(f"{self}: {failure.text}") from error
            yield wait
