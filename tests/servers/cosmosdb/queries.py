"""Queries over the items of a container: who answers, in which order, page by page.

A query with a partition key is answered by that partition alone. One across partitions is answered
per physical partition: where the client must merge (DISTINCT, ORDER BY, TOP, COUNT) it is told so
by a query plan, which it asks for or gets inside a 400.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .evaluation import UNDEFINED, Parameters, evaluate, is_true, rank
from .failure import CROSS_PARTITION_QUERY_NOT_SERVABLE, Failure
from .items import encode
from .language import Path, Query, parse_query
from .store import JSON, Container, Item, PartitionValue

MAX_PAGE_BYTES = 4 * 1024 * 1024  # "Maximum response size", per-request limits
# Set before a query the client shall repeat at each partition and merge by its order.
MERGE = "/* rows with their order */ "


@dataclass(frozen=True)
class Scope:
    """Which items a query ranges over: one partition key, one physical partition, or all."""

    partition: PartitionValue | None
    range_index: int | None
    across: bool


@dataclass(frozen=True)
class Page:
    rows: list[Any]
    continuation: str | None


@dataclass(frozen=True)
class _Row:
    key: tuple[Any, ...]
    item: Item
    value: Any


def plan(text: str) -> JSON:
    """How a client has to merge the answers of the physical partitions."""
    query = parse_query(text)
    return {
        "partitionedQueryExecutionInfoVersion": 2,
        "queryInfo": {
            "distinctType": "Unordered" if query.distinct else "None",
            "top": query.top,
            "orderBy": []
            if query.order is None
            else ["Descending" if query.descending else "Ascending"],
            "orderByExpressions": []
            if query.order is None
            else [".".join(("c", *query.order.names))],
            "aggregates": ["Count"] if query.counts else [],
            "hasSelectValue": query.value,
            "rewrittenQuery": MERGE + text if query.order or query.counts else "",
        },
        "queryRanges": [{"min": "", "max": "FF", "isMinInclusive": True, "isMaxInclusive": False}],
    }


def answer(
    container: Container, body: JSON, scope: Scope, limit: int, continuation: str | None
) -> Page:
    """One page: at most `limit` rows and 4 MB, and where to go on if more may follow."""
    text: str = body["query"]
    query = parse_query(text.removeprefix(MERGE))
    parameters = {p["name"]: p.get("value", UNDEFINED) for p in body.get("parameters", ())}
    _check_scope(query, scope, text)
    _check_order(container, query)
    rows = _rows(container, query, parameters, scope)
    if query.counts:
        count = len(list(rows))
        return Page([[{"item": count}] if text.startswith(MERGE) else count], None)
    position = json.loads(base64.b64decode(continuation)) if continuation else {}
    remaining = _after(rows, query, position)
    left = position.get("left", query.top)
    if left is not None:
        remaining = remaining[:left]
    shape = _with_order if text.startswith(MERGE) else _plain
    taken = _fitting([shape(row) for row in remaining[:limit]])
    if len(taken) == len(remaining):
        return Page(taken, None)
    if taken:
        position = {"key": remaining[len(taken) - 1].key}
        position |= {} if left is None else {"left": left - len(taken)}
    return Page(taken, base64.b64encode(encode(position)).decode())


def _rows(
    container: Container, query: Query, parameters: Parameters, scope: Scope
) -> Iterator[_Row]:
    for item in container.items(scope.partition, scope.range_index):
        if query.where is None or is_true(query.where, item.document, parameters):
            value = _project(query, item.document, parameters)
            if value is not UNDEFINED or query.counts:
                yield _Row(_key(query.order, item, parameters), item, value)


def _key(order: Path | None, item: Item, parameters: Parameters) -> tuple[Any, ...]:
    if order is None:
        return (item.sequence,)
    value = evaluate(order, item.document, parameters)
    # Within a type only scalars are told apart.
    scalar = value if isinstance(value, str | int | float) else None
    return (rank(value), scalar, item.sequence)


def _project(query: Query, document: JSON, parameters: Parameters) -> Any:
    if query.columns is None:
        return document
    if query.counts:
        return UNDEFINED
    values = {c.name: evaluate(c.expression, document, parameters) for c in query.columns}
    if query.value:
        return next(iter(values.values()))
    return {name: value for name, value in values.items() if value is not UNDEFINED}


def _after(rows: Iterator[_Row], query: Query, position: JSON) -> list[_Row]:
    """The rows in order, behind the position, each value once if DISTINCT asks so."""
    ordered = sorted(rows, key=lambda row: row.key, reverse=query.descending)
    if "key" in position:
        last = tuple(position["key"])
        ordered = [
            row for row in ordered if (row.key < last if query.descending else row.key > last)
        ]
    if not query.distinct:
        return ordered
    return list({json.dumps(row.value, sort_keys=True): row for row in reversed(ordered)}.values())[
        ::-1
    ]


def _plain(row: _Row) -> Any:
    return row.value


def _with_order(row: _Row) -> Any:
    document = row.item.document
    return {"_rid": document["_rid"], "orderByItems": [{"item": row.key[1]}], "payload": row.value}


def _fitting(values: list[Any]) -> list[Any]:
    """The longest head that fits a response; one value always does."""
    size = 0
    for count, value in enumerate(values):
        size += len(encode(value))
        if count and size > MAX_PAGE_BYTES:
            return values[:count]
    return values


def _check_scope(query: Query, scope: Scope, text: str) -> None:
    if scope.partition is not None or scope.range_index is not None:
        return
    if not scope.across:
        raise Failure(400, "Cross partition query is required but disabled.")
    if query.distinct or query.order or query.counts or query.top is not None:
        raise Failure(
            400,
            "The provided cross partition query can not be directly served by the gateway.",
            CROSS_PARTITION_QUERY_NOT_SERVABLE,
            details=json.dumps(plan(text)),
        )


def _check_order(container: Container, query: Query) -> None:
    """ORDER BY needs its path indexed: the most precise of the policy's paths decides."""
    if query.order is None:
        return
    policy = container.properties["indexingPolicy"]
    path = "/" + "/".join(query.order.names) + "/?"
    precision = {
        kind: max(
            (len(entry["path"]) for entry in policy[kind] if _covers(entry["path"], path)),
            default=-1,
        )
        for kind in ("includedPaths", "excludedPaths")
    }
    if policy["indexingMode"] == "none" or precision["includedPaths"] <= precision["excludedPaths"]:
        raise Failure(
            400, "The index path corresponding to the specified order-by item is excluded."
        )


def _covers(entry: str, path: str) -> bool:
    return path.startswith(entry[:-1]) if entry.endswith("*") else path == entry
