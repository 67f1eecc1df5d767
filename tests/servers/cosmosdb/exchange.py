"""A request as its handlers see it, and the answer they give."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .items import decode
from .store import Item, PartitionValue

LEVELS = ("account", "database", "database", "container", "container")
VERBS = {"GET": "read", "POST": "create", "PUT": "replace", "DELETE": "delete"}
# Headers that turn a POST into something other than the creation of an item.
POSTS = {
    "x-ms-cosmos-is-batch-request": "batch",
    "x-ms-cosmos-is-query-plan-request": "plan",
    "x-ms-documentdb-isquery": "query",
    "x-ms-documentdb-is-upsert": "upsert",
}


@dataclass(frozen=True)
class Request:
    """One HTTP request; `segments` is its path, unquoted."""

    method: str
    segments: tuple[str, ...]
    headers: Mapping[str, str]
    raw: bytes
    base_url: str

    @property
    def operation(self) -> str:
        """What the request wants in one word, as faults and counts call it."""
        verb = VERBS.get(self.method, self.method.lower())
        if len(self.segments) < len(LEVELS):
            return f"{verb}_{LEVELS[len(self.segments)]}"
        if self.segments[4] == "pkranges":
            return "read_ranges"
        flagged = (name for header, name in POSTS.items() if self.is_flagged(header))
        return next(flagged, verb)

    @property
    def body(self) -> Any:
        return decode(self.raw)

    @property
    def partition(self) -> PartitionValue | None:
        header = self.headers.get("x-ms-documentdb-partitionkey")
        return None if header is None else json.loads(header)

    def is_flagged(self, header: str) -> bool:
        return self.headers.get(header, "").lower() == "true"


@dataclass(frozen=True)
class Answer:
    """Status, JSON body (None for an empty one) and headers beyond those every answer has."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


def feed(name: str, rows: list[Any], continuation: str | None = None) -> Answer:
    """A list of resources, as feeds and queries answer."""
    headers = {"x-ms-item-count": str(len(rows))}
    if continuation is not None:
        headers["x-ms-continuation"] = continuation
    return Answer(200, {"_rid": "", name: rows, "_count": len(rows)}, headers)


def item_answer(status: int, item: Item | None, minimal: bool) -> Answer:
    if item is None:
        return Answer(status)
    body = None if minimal else item.document
    return Answer(status, body, {"etag": item.document["_etag"]})
