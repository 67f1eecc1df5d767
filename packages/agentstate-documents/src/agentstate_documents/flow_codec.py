"""Flow states as bytes: JSON, with tags for the values of the standard library that JSON lacks.

`plain` copies a live state into dicts, lists and such values; `dump` and `load` are exact
inverses on what `plain` returns. A tagged value is an object with one member whose name
begins with `$`. Such an object of the user's own gets one more `$`, so no data is ever read
as a tag. Reading constructs values of the types in `TAGS` and calls nothing else.
"""

from __future__ import annotations

import json
import logging
import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import Any
from uuid import UUID

from agentstate_documents.errors import StoredFormatUnknown

logger = logging.getLogger(__name__)

# Python refuses to read or write longer integers in decimal: 4,300 digits, its default for
# `sys.set_int_max_str_digits`, are at least this many bits. Hexadecimal has no such limit.
MAX_DECIMAL_BITS = 14_000

# Containers in containers. Python's own recursion limit allows more, how much depends on the
# caller, and less to writing than to copying; what is too deep is refused before a hook is served.
MAX_DEPTH = 100

# A state that another thread changes while pydantic walks it is walked again.
SNAPSHOT_ATTEMPTS = 8


def _write_moment(value: datetime | time) -> str | list[str]:
    """ISO text, in a list where it is the second of two equal wall clock times."""
    kind = datetime if isinstance(value, datetime) else time
    text = kind.isoformat(value)  # type: ignore[arg-type]
    return [text] if value.fold else text


def _read_moment(kind: type[datetime | time]) -> Callable[[Any], Any]:
    def read(stored: str | list[str]) -> datetime | time:
        if isinstance(stored, str):
            return kind.fromisoformat(stored)
        return kind.fromisoformat(*stored).replace(fold=1)

    return read


TAGS: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    datetime: ("$datetime", _write_moment, _read_moment(datetime)),
    date: ("$date", date.isoformat, date.fromisoformat),
    time: ("$time", _write_moment, _read_moment(time)),
    timedelta: (
        "$timedelta",
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda stored: timedelta(*stored),
    ),
    UUID: ("$uuid", lambda value: value.hex, UUID),
    Decimal: ("$decimal", str, Decimal),
    bytes: ("$bytes", lambda value: b64encode(value).decode(), b64decode),
    float: ("$float", float.__repr__, float),
    int: ("$int", hex, lambda stored: int(stored, 16)),
    tuple: ("$tuple", lambda value: [_tag(item) for item in value], tuple),
    set: ("$set", lambda value: _tag_members(value), set),
    frozenset: ("$frozenset", lambda value: _tag_members(value), frozenset),
}
READERS = {name: read for name, _, read in TAGS.values()} | {"$items": dict}
SCALARS = (str, int, float, type(None), date, time, timedelta, UUID, Decimal, bytes)
PLAIN_SCALARS = frozenset({bool, datetime, *SCALARS})


def plain(value: Any) -> Any:
    """A copy of `value` that shares nothing mutable with it and that `dump` can store.

    Pydantic models and dataclasses become dicts, enums their value, paths text, a bytearray
    bytes; anything unknown becomes its `str()`, with one warning per type. A set or a key
    whose copy cannot be hashed becomes a list or text.

    Raises:
        ValueError: The value contains itself, or is nested more than `MAX_DEPTH` deep.
    """
    try:
        return _plain(value)
    except RecursionError:
        raise ValueError("the state contains itself or is nested too deeply") from None


def dump(value: Any) -> bytes:
    """The bytes `load` reads `value` from; `value` is what `plain` returned."""
    try:
        tagged = _tag(value)
    except RecursionError:
        raise ValueError("the state is nested too deeply") from None
    text = json.dumps(tagged, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half an emoji is text for Python and for JSON, but not for strict UTF-8.
    return text.encode("utf-8", "surrogatepass")


def load(body: bytes) -> Any:
    """The value `dump` was given.

    Raises:
        StoredFormatUnknown: A tag is none of ours: a later version wrote it.
    """
    return json.loads(body.decode("utf-8", "surrogatepass"), object_hook=_read)


def _plain(value: Any, levels: int = MAX_DEPTH) -> Any:
    """The copy; `levels` is how many more of containers there may be."""
    if type(value) in PLAIN_SCALARS:
        return value
    if isinstance(value, Enum):  # before the scalars: an enum may be a str or an int as well
        return _plain(value.value, levels)
    if isinstance(value, SCALARS):
        return value
    if not levels:
        raise ValueError(f"the state contains itself, or is nested more than {MAX_DEPTH} deep")
    levels -= 1
    if isinstance(value, (dict, Mapping)):
        # dict() copies in one step that no other thread can come between.
        return {_plain_key(key, levels): _plain(v, levels) for key, v in dict(value).items()}
    if isinstance(value, list):
        return [_plain(item, levels) for item in list(value)]
    if isinstance(value, tuple):
        return tuple([_plain(item, levels) for item in value])
    if isinstance(value, (set, frozenset)):
        return _plain_set(value, levels)
    if callable(getattr(type(value), "model_dump", None)):
        return _plain(_dumped(value), levels)
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        # A field may be unset so far: `field(init=False)`.
        there = [name for name in names if hasattr(value, name)]
        return {name: _plain(getattr(value, name), levels) for name in there}
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if not isinstance(value, PurePath):
        _warn_once(f"{type(value).__module__}.{type(value).__qualname__}")
    return _text(value)


def _plain_key(key: Any, levels: int) -> Any:
    copy = key if type(key) is str else _plain(key, levels)
    return copy if _hashable(copy) else _text(key)


def _plain_set(value: set[Any] | frozenset[Any], levels: int) -> Any:
    members = [_plain(member, levels) for member in value.copy()]
    kind = frozenset if isinstance(value, frozenset) else set
    return kind(members) if all(map(_hashable, members)) else members


def _dumped(model: Any, attempts: int = SNAPSHOT_ATTEMPTS) -> Any:
    """A pydantic model as python values, without computed fields: those are not state.

    Each value with the fields of its own class, not of the one the field declares: a list of
    LangChain's `BaseMessage` would lose its tool calls.
    """
    try:
        return model.model_dump(round_trip=True, warnings=False, serialize_as_any=True)
    except RecursionError:
        raise
    except RuntimeError:  # "dictionary changed size during iteration"
        if attempts == 1:
            raise
    return _dumped(model, attempts - 1)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _text(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # a broken __str__ must not lose the whole state
        return f"<{type(value).__qualname__}>"


@lru_cache(maxsize=1_024)
def _warn_once(kind: str) -> None:
    logger.warning("values of type %s are stored as text, which is what will be loaded", kind)


def _tag(value: Any) -> Any:
    if _fits_json(value):
        return value
    if isinstance(value, list):
        return [_tag(item) for item in value]
    if isinstance(value, dict):
        return _tag_dict(value)
    # The most derived type that has a tag: a datetime is a date as well.
    name, write, _ = next(TAGS[base] for base in type(value).__mro__ if base in TAGS)
    return {name: write(value)}


def _fits_json(value: Any) -> bool:
    if value is None or isinstance(value, (str, bool)):
        return True
    if isinstance(value, int):
        return value.bit_length() <= MAX_DECIMAL_BITS
    return isinstance(value, float) and math.isfinite(value)


def _tag_dict(value: dict[Any, Any]) -> dict[str, Any]:
    if not all(isinstance(key, str) for key in value):
        return {"$items": [[_tag(key), _tag(item)] for key, item in value.items()]}
    tagged = {key: _tag(item) for key, item in value.items()}
    return {f"${key}": tagged[key] for key in tagged} if _looks_tagged(tagged) else tagged


def _looks_tagged(value: dict[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith("$")


def _tag_members(value: set[Any] | frozenset[Any]) -> list[Any]:
    return sorted((_tag(member) for member in value), key=repr)  # the same bytes in any process


def _read(stored: dict[str, Any]) -> Any:
    if not _looks_tagged(stored):
        return stored
    ((name, value),) = stored.items()
    if name.startswith("$$"):
        return {name[1:]: value}
    if name not in READERS:
        raise StoredFormatUnknown(f"a flow state holds a value of the unknown kind {name!r}")
    return READERS[name](value)
