"""What a message says: its plain words, and the fingerprint of all it holds.

Nothing here raises on a message of any shape, or changes one.
"""

from __future__ import annotations

import enum
import hashlib
import json
from typing import Any

from ._messages import (
    MAX_DEPTH,
    answers_of,
    calls_of,
    elements,
    field,
    role_of,
    shown,
    text,
    unwrap,
)


def text_of(message: Any) -> str:
    """The plain words of a message, "" for none; images, calls and thinking are not words."""
    content = field(message, "content")
    content = field(message, "output") if content is None else content  # a Responses result
    words = _words(content, ())
    return words or (_as_json(content) if issubclass(type(content), dict) else "")


def _words(value: Any, path: tuple[int, ...]) -> str:
    if issubclass(type(value), str):
        return str.__str__(value)
    if issubclass(type(value), (int, float)):
        return shown(value)
    if value is None or id(value) in path or len(path) > MAX_DEPTH:
        return ""
    path = (*path, id(value))
    if issubclass(type(value), (list, tuple)):
        return " ".join(filter(None, [_words(element, path) for element in elements(value)]))
    _, body = unwrap(value)
    spoken = (field(body, name) for name in ("text", "refusal", "content", "output"))
    return next((words for part in spoken if (words := _words(part, path))), "")


def fingerprint(message: Any) -> str:
    """A short hash of role, name, content and tool links, never of the id.

    The same for a message before and after a round trip through JSON or msgpack, in every
    process: a tuple counts as a list, an enum as its value, an object as its fields.
    """
    content = field(message, "content")
    parts = (
        role_of(message),
        text(field(message, "name")),
        field(message, "output") if content is None else content,
        calls_of(message),
        answers_of(message),
    )
    said = "".join(_as_json(part) + "\0" for part in parts)
    return hashlib.blake2b(said.encode(), digest_size=12).hexdigest()


def _as_json(value: Any) -> str:
    """JSON with sorted keys, ASCII alone; the words for what JSON cannot hold."""
    try:
        return json.dumps(value, sort_keys=True, default=_plain)
    except Exception:  # a cycle, depth beyond Python's limit, keys that cannot be sorted
        return json.dumps(_words(value, ()))


def _plain(value: Any) -> Any:
    if issubclass(type(value), enum.Enum):
        return value.value
    if issubclass(type(value), (bytes, bytearray)):
        return value.hex()
    if issubclass(type(value), (set, frozenset)):
        return sorted(map(str, value))
    return vars(value) if hasattr(value, "__dict__") else str(value)
