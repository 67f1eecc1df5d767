"""Documents: reading and setting fields by path, and the limits of one document."""

from __future__ import annotations

from typing import Any

from google.cloud.firestore_v1 import types

from servers.firestore import values
from servers.firestore.names import NAME_FIELD, check_document_name, field_path, path_of
from servers.firestore.refusals import invalid

MAX_DOCUMENT_BYTES = 1024 * 1024
"""https://firebase.google.com/docs/firestore/quotas."""
MAX_VALUE_BYTES = MAX_DOCUMENT_BYTES - 89
"""Ibid.: a field value. Strings and bytes are what can be that long."""

Document: Any = types.Document.pb()
Value: Any = types.Value.pb()


def size(document: Any) -> int:
    """Return the document's bytes by https://firebase.google.com/docs/firestore/storage-size."""
    name = 16 + sum(values.size_of_text(id_) for id_ in path_of(document.name))
    return name + values.size_of_fields(document.fields) + 32


def check(document: Any) -> None:
    """Refuse what the service would not store."""
    check_document_name(document.name)
    values.check_fields(document.fields)
    for name, value in document.fields.items():
        length = max(len(value.string_value.encode()), len(value.bytes_value))
        if length > MAX_VALUE_BYTES:
            raise invalid(f"The value of property {name!r} is longer than {MAX_VALUE_BYTES} bytes.")
    if size(document) > MAX_DOCUMENT_BYTES:
        raise invalid(f"The document is larger than {MAX_DOCUMENT_BYTES} bytes.")


def get_field(document: Any, path: str) -> Any | None:
    """Return the value at a field path, ``__name__`` included, or None."""
    if path == NAME_FIELD:
        return Value(reference_value=document.name)
    fields, value = document.fields, None
    for name in field_path(path):
        if name not in fields:
            return None
        value = fields[name]
        fields = value.map_value.fields
    return value


def set_field(document: Any, path: str, value: Any | None) -> None:
    """Set the field at a path, making maps on the way, or remove it."""
    *parents, last = field_path(path)
    fields = document.fields
    for name in parents:
        if not fields[name].HasField("map_value"):
            fields[name].map_value.SetInParent()
        fields = fields[name].map_value.fields
    if value is not None:
        fields[last].CopyFrom(value)
    elif last in fields:
        del fields[last]


def select(document: Any, paths: list[str]) -> Any:
    """Return a copy of the document with the fields at these paths only."""
    chosen = Document(
        name=document.name, create_time=document.create_time, update_time=document.update_time
    )
    for path in paths:
        value = None if path == NAME_FIELD else get_field(document, path)
        if value is not None:
            set_field(chosen, path, value)
    return chosen
