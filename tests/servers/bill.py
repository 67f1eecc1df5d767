"""What DynamoDB would charge for what crossed the wire."""

from __future__ import annotations

import base64
import json
from typing import Any

from servers.faults import Exchange


def written_items(exchange: Exchange) -> list[int]:
    """The sizes in bytes of the items a request puts, as DynamoDB counts them."""
    request = json.loads(exchange.request)
    if exchange.operation == "PutItem":
        return [item_bytes(request["Item"])]
    if exchange.operation == "TransactWriteItems":
        return [item_bytes(one["Put"]["Item"]) for one in request["TransactItems"] if "Put" in one]
    if exchange.operation == "BatchWriteItem":
        entries = [entry for some in request["RequestItems"].values() for entry in some]
        return [item_bytes(one["PutRequest"]["Item"]) for one in entries if "PutRequest" in one]
    return []


def write_units(exchange: Exchange) -> int:
    """One for each begun KiB of an item; in a transaction two."""
    factor = 2 if exchange.operation == "TransactWriteItems" else 1
    return factor * sum(-(-size // 1024) for size in written_items(exchange))


def item_bytes(item: dict[str, Any]) -> int:
    """Names and values; a number two digits to the byte and one more."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def _value_bytes(value: dict[str, Any]) -> int:
    (kind, content), *_ = value.items()
    if kind == "S":
        return len(content.encode())
    if kind == "B":
        return len(base64.b64decode(content))
    if kind == "N":
        return len(content.strip("-0.")) // 2 + 2
    if kind == "M":
        return 3 + len(content) + item_bytes(content)
    if kind == "L":
        return 3 + sum(1 + _value_bytes(one) for one in content)
    return 1
