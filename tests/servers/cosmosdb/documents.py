"""Items of a container: point operations, batches, queries."""

from __future__ import annotations

from . import items, queries
from .exchange import Answer, Request, feed, item_answer
from .failure import COLLECTION_RID_MISMATCH, Failure, not_spoken
from .faults import Faults
from .store import Account, Container, PartitionValue

DEFAULT_PAGE_ROWS = 100  # "Query pagination": the service's own choice is at most 100 items


def serve_document(account: Account, request: Request, faults: Faults) -> Answer:
    """The answer to a path at or below the items of a container."""
    _, database_id, _, container_id, kind, *rest = request.segments
    if kind != "docs" or len(rest) > 1:
        raise not_spoken(f"The resource {kind!r}")
    container = account.container(database_id, container_id)
    intended = request.headers.get("x-ms-cosmos-intended-collection-rid", container.rid)
    if intended != container.rid:
        raise Failure(400, "The container was created anew.", COLLECTION_RID_MISMATCH)
    if request.operation == "plan":
        return Answer(200, queries.plan(request.body["query"]))
    if request.operation == "query":
        return _query(container, request, faults)
    if request.operation == "batch":
        return Answer(*items.batch(container, _partition(request), request.raw))
    return _point(container, request, rest[0] if rest else None)


def _point(container: Container, request: Request, item_id: str | None) -> Answer:
    if_match = request.headers.get("if-match")
    partition = _partition(request)
    if len(request.raw) > items.MAX_REQUEST_BYTES:
        raise Failure(413, "Request size is too large.")
    match request.operation, item_id:
        case "create", None:
            result = items.create(container, partition, request.body)
        case "upsert", None:
            result = items.upsert(container, partition, request.body, if_match)
        case "read", str(name):
            if_none_match = request.headers.get("if-none-match")
            result = items.read(container, partition, name, if_none_match)
        case "replace", str(name):
            result = items.replace(container, partition, name, request.body, if_match)
        case "delete", str(name):
            result = items.delete(container, partition, name, if_match)
        case operation, _:
            raise Failure(405, f"{operation} is not possible at {'/'.join(request.segments)}.")
    minimal = request.headers.get("prefer") == "return=minimal" and request.method != "GET"
    return item_answer(*result, minimal)


def _query(container: Container, request: Request, faults: Faults) -> Answer:
    asked = int(request.headers.get("x-ms-max-item-count", -1))
    limit = asked if asked > 0 else DEFAULT_PAGE_ROWS
    page = queries.answer(
        container,
        request.body,
        _scope(container, request),
        faults.page_limit(limit),
        request.headers.get("x-ms-continuation"),
    )
    return feed("Documents", page.rows, page.continuation)


def _scope(container: Container, request: Request) -> queries.Scope:
    across = request.is_flagged("x-ms-documentdb-query-enablecrosspartition")
    header = request.headers.get("x-ms-documentdb-partitionkeyrangeid")
    if header is None:
        return queries.Scope(request.partition, None, across)
    index = int(header.rpartition(",")[2])
    if index >= len(container.bounds):
        raise Failure(410, "The requested partition key range is gone.", substatus=1002)
    return queries.Scope(None, index, across)


def _partition(request: Request) -> PartitionValue:
    if request.partition is None or len(request.partition) != 1:
        raise Failure(400, "PartitionKey value must be supplied for this operation.")
    return request.partition
