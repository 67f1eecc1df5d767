"""Values: their order, their size as documented, and which of them the service refuses."""

from __future__ import annotations

import math
from typing import Any

from servers.firestore.names import check_field_name
from servers.firestore.refusals import invalid, unimplemented

MAX_DEPTH = 20
"""https://firebase.google.com/docs/firestore/quotas: depth of fields in a map or array."""
MAX_INDEXED_BYTES = 1500
"""Ibid.: longer values are cut in an index, and a filter with one is refused."""

# The order of the types among each other.
_RANK = {
    "null_value": 0,
    "boolean_value": 1,
    "integer_value": 2,
    "double_value": 2,
    "timestamp_value": 3,
    "string_value": 4,
    "bytes_value": 5,
    "reference_value": 6,
    "array_value": 8,
    "map_value": 10,
}


def kind(value: Any) -> str:
    """Return the name of the field of ``Value`` that is set."""
    name = value.WhichOneof("value_type") or "null_value"
    if name not in _RANK:
        raise unimplemented(name)
    return str(name)


def order_key(value: Any) -> tuple[Any, ...]:
    """Return a tuple that sorts as an index entry of the value does."""
    name = kind(value)
    return (_RANK[name], *_ORDER.get(name, _plain)(value))


def rank(value: Any) -> int:
    """Return the place of the value's type among the types; ranges stay within one."""
    return _RANK[kind(value)]


def size(value: Any) -> int:
    """Return the value's bytes by https://firebase.google.com/docs/firestore/storage-size."""
    return _SIZE[kind(value)](value)


def size_of_fields(fields: Any) -> int:
    """Return the bytes of the fields of a document or a map, names included."""
    return sum(size_of_text(name) + size(value) for name, value in fields.items())


def size_of_text(text: str) -> int:
    """Return the bytes of a text: UTF-8 and one more."""
    return len(text.encode()) + 1


def check_fields(fields: Any, depth: int = 1) -> None:
    """Refuse reserved names, arrays directly in arrays, and nesting that is too deep."""
    if depth > MAX_DEPTH:
        raise invalid(f"A value is nested deeper than {MAX_DEPTH} levels.")
    for name, value in fields.items():
        check_field_name(name)
        elements = value.array_value.values if kind(value) == "array_value" else [value]
        for element in elements:
            if element is not value and kind(element) == "array_value":
                raise invalid("Cannot store an array value in an array value.")
            if kind(element) == "map_value":
                check_fields(element.map_value.fields, depth + 1)


def _plain(value: Any) -> tuple[Any, ...]:
    return (getattr(value, kind(value)),)


def _double(value: Any) -> tuple[Any, ...]:
    number = value.double_value
    return (-math.inf, 0) if math.isnan(number) else (number, 1)


def _fields(value: Any) -> tuple[Any, ...]:
    fields = value.map_value.fields
    return tuple((name.encode(), order_key(fields[name])) for name in sorted(fields))


_ORDER = {
    "null_value": lambda value: (),
    "integer_value": lambda value: (value.integer_value, 1),
    "double_value": _double,
    "timestamp_value": lambda value: (value.timestamp_value.seconds, value.timestamp_value.nanos),
    "string_value": lambda value: (value.string_value.encode()[:MAX_INDEXED_BYTES],),
    "bytes_value": lambda value: (value.bytes_value[:MAX_INDEXED_BYTES],),
    "reference_value": lambda value: tuple(value.reference_value.split("/")),
    "array_value": lambda value: tuple(order_key(item) for item in value.array_value.values),
    "map_value": _fields,
}
_SIZE = {
    "null_value": lambda value: 1,
    "boolean_value": lambda value: 1,
    "integer_value": lambda value: 8,
    "double_value": lambda value: 8,
    "timestamp_value": lambda value: 8,
    "string_value": lambda value: size_of_text(value.string_value),
    "bytes_value": lambda value: len(value.bytes_value),
    "reference_value": lambda value: 16 + size_of_text(value.reference_value),
    "array_value": lambda value: sum(size(item) for item in value.array_value.values),
    "map_value": lambda value: size_of_fields(value.map_value.fields) + 32,
}
