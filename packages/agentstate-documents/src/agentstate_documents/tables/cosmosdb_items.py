"""A document as an item of Cosmos DB, and a write as what the SDK takes.

An item is `id` sort, `p` partition, `k` both (what queries range over, and the one indexed
property), `b` body in base64, and where it expires `x` (when, in seconds since 1970) and `ttl`
(the same, as the database counts it, from the time of the write).
"""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from agentstate_documents.model import Document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentstate_documents.model import Write

_LONGEST_TTL_SECONDS = 2**31 - 1  # "Azure Cosmos DB service quotas", per-item limits


def key(partition: str, sort: str) -> str:
    """The value of `k`.

    One property, so that a range of it is a range of the index, whatever else shares a physical
    partition. A space sorts below all a key may hold, so the order is that of sorts.
    """
    return f"{partition} {sort}"


def item_of(partition: str, document: Document) -> dict[str, Any]:
    """The document as it is stored."""
    item: dict[str, Any] = {"id": document.sort, "p": partition, "k": key(partition, document.sort)}
    item["b"] = b64encode(document.body).decode()
    if document.expires_at is not None:
        left = document.expires_at - int(time.time())
        item |= {"x": document.expires_at, "ttl": min(max(1, left), _LONGEST_TTL_SECONDS)}
    return item


def read_document(item: Mapping[str, Any]) -> Document:
    """The document of an item; its revision is the etag."""
    return Document(item["id"], b64decode(item["b"]), item.get("x"), item["_etag"])


def write_method(partition: str, write: Write) -> tuple[str, dict[str, Any]]:
    """The method of a container that makes a single write, and its arguments."""
    item = item_of(partition, write.document)
    arguments: dict[str, Any] = {"body": item, "no_response": True}
    if write.if_absent:
        return "create_item", arguments
    if write.if_unchanged is None:
        return "upsert_item", arguments
    from azure.core import MatchConditions

    arguments |= {"item": item["id"], "etag": write.if_unchanged.revision}
    arguments |= {"match_condition": MatchConditions.IfNotModified}
    return "replace_item", arguments


def operation(partition: str, write: Write) -> tuple[Any, ...]:
    """The same write in a batch."""
    item = item_of(partition, write.document)
    if write.if_absent:
        return "create", (item,)
    if write.if_unchanged is None:
        return "upsert", (item,)
    return "replace", (item["id"], item), {"if_match_etag": write.if_unchanged.revision}
