"""Partial document update: at most ten operations on JSON-pointer-like paths."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from .failure import Failure, not_spoken
from .store import JSON

MAX_OPERATIONS = 10  # "Partial document update": at most 10 operations in one request


def patched(document: JSON, operations: Sequence[JSON]) -> JSON:
    """A copy of the document after all operations; the first that does not apply is a 400."""
    if not isinstance(operations, list) or not 1 <= len(operations) <= MAX_OPERATIONS:
        raise Failure(400, f"A patch takes 1 to {MAX_OPERATIONS} operations.")
    changed = copy.deepcopy(document)
    for operation in operations:
        _apply(changed, operation)
    return changed


def _apply(document: JSON, operation: JSON) -> None:
    parent, name = _locate(document, operation["path"])
    match operation["op"]:
        case "add" | "set":
            parent[name] = operation["value"]
        case "replace":
            _require(parent, name, "replaced")
            parent[name] = operation["value"]
        case "remove":
            _require(parent, name, "removed")
            del parent[name]
        case "incr":
            value = parent.get(name, 0)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise Failure(400, f"The node to be incremented is not a number: {name}.")
            parent[name] = value + operation["value"]
        case other:
            raise not_spoken(f"The patch operation {other!r}")


def _locate(document: JSON, path: str) -> tuple[dict[str, Any], str]:
    names = [name.replace("~1", "/").replace("~0", "~") for name in path.split("/")[1:]]
    parent: Any = document
    for name in names[:-1]:
        parent = parent.get(name) if isinstance(parent, dict) else None
    if isinstance(parent, list):
        raise not_spoken("A patch inside an array")
    if not isinstance(parent, dict) or not names:
        raise Failure(400, f"The parent of {path} does not exist.")
    return parent, names[-1]


def _require(parent: JSON, name: str, what: str) -> None:
    if name not in parent:
        raise Failure(400, f"The node to be {what} is absent: {name}.")
