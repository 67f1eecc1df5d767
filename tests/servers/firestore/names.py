"""Document names and field paths: what is valid, and what they are made of.

A document is named ``projects/P/databases/D/documents/collection/id/collection/id``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from servers.firestore.refusals import invalid

NAME_FIELD = "__name__"
MAX_ID_BYTES = 1500
"""https://firebase.google.com/docs/firestore/quotas: a document or collection id."""
MAX_NAME_BYTES = 6 * 1024
"""https://firebase.google.com/docs/firestore/quotas: a document name."""

_RESERVED = re.compile(r"__.*__", re.DOTALL)
_SEGMENT = re.compile(r"`((?:[^`\\]|\\.)*)`|([^.`]+)")


def database_of(name: str) -> str:
    """Return ``projects/P/databases/D`` of a document's or a parent's name."""
    return "/".join(name.split("/", 4)[:4])


def path_of(name: str) -> list[str]:
    """Return collection and document ids, alternating, without the database."""
    return name.split("/")[5:]


def check_document_name(name: str) -> None:
    """Refuse a name that names no document, or one with an id the service refuses."""
    segments = name.split("/")
    ids = segments[5:]
    if segments[4:5] != ["documents"] or not ids or len(ids) % 2:
        raise invalid(f"Document name {name!r} does not name a document.")
    for id_ in ids:
        if not id_ or id_ in (".", "..") or _RESERVED.fullmatch(id_):
            raise invalid(f"Resource id {id_!r} is invalid because it is reserved.")
        if len(id_.encode()) > MAX_ID_BYTES:
            raise invalid(f"A document or collection id is longer than {MAX_ID_BYTES} bytes.")
    if len("/".join(ids).encode()) > MAX_NAME_BYTES:
        raise invalid(f"The document name is longer than {MAX_NAME_BYTES} bytes.")


def check_field_name(name: str) -> None:
    """Refuse a field name the service keeps for itself."""
    if not name or _RESERVED.fullmatch(name):
        raise invalid(f"Property name {name!r} is reserved or empty.")


@lru_cache(1024)
def field_path(text: str) -> tuple[str, ...]:
    """Return the names in a field path; quoted ones may hold dots."""
    return tuple(
        re.sub(r"\\(.)", r"\1", quoted) if quoted or not plain else plain
        for quoted, plain in _SEGMENT.findall(text)
    )
