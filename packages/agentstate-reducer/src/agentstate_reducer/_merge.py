"""Two lists of messages as one, with the meaning of LangGraph's `add_messages`."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from operator import attrgetter
from typing import Any

from ._messages import field, id_of, role_of, text

REMOVE_ALL = "__remove_all__"
"""The id by which LangGraph's `RemoveMessage` means every message."""


def merge_messages(existing: Any, new: Any) -> list[Any]:
    """`existing` with `new` merged in: replaced by id, removed by RemoveMessage, else appended.

    Either may be a list, one message, a string, a `(role, text)` pair or None. Strings and
    pairs become LangChain messages among those, or in an empty list where langchain_core is
    loaded, and dicts elsewhere; dicts stay dicts and get no id, chunks become messages. A message
    object whose `id` is None is given one, on the object itself: LangGraph applies the same write
    more than once, and only so is it one message each time.

    Removing what is not there removes nothing, unlike in `add_messages`, since it may have been
    pruned. No RemoveMessage is left in the list.
    """
    merged, added = _listed(existing), _listed(new)
    if any(map(_is_loose, merged)) or any(map(_is_loose, added)):
        shape = _Shape([*merged, *added])
        merged, added = list(map(shape.of, merged)), list(map(shape.of, added))
    removals = [i for i, message in enumerate(added) if _removed(message) == REMOVE_ALL]
    if removals:
        merged, added = [], added[removals[-1] + 1 :]
    place = {key: i for i, key in enumerate(_ids(merged)) if key is not None}
    gone: set[str | None] = set()
    for message, key in zip(added, _ids(added), strict=True):
        if _removed(message) is not None:
            gone.add(key)
            continue
        gone.discard(key)
        if key in place:
            merged[place[key]] = message
            continue
        if key is not None:
            place[key] = len(merged)
        merged.append(message)
    gone.discard(None)
    return _whole([m for m in merged if id_of(m) not in gone] if gone else merged)


def _listed(messages: Any) -> list[Any]:
    """The messages as a list of our own; a `(role, text)` pair is one message."""
    if messages is None:
        return []
    if isinstance(messages, list) or (isinstance(messages, tuple) and not _is_loose(messages)):
        return list(messages)
    many = isinstance(messages, (Collection, Iterator))
    if many and not isinstance(messages, (str, tuple, Mapping)):
        raise TypeError(
            f"an update must be a message or a list of them, got {type(messages).__name__}"
        )
    return [messages]


def _whole(messages: list[Any]) -> list[Any]:
    """The messages with LangChain's chunks, which streaming leaves, made messages."""
    langchain: Any = sys.modules.get("langchain_core.messages")
    kinds = set(map(type, messages))
    if langchain and any(issubclass(kind, langchain.BaseMessageChunk) for kind in kinds):
        return list(map(langchain.message_chunk_to_message, messages))
    return messages


def _is_loose(message: Any) -> bool:
    """Whether it is a string or a `(role, text)` pair, not yet a message."""
    if isinstance(message, str):
        return True
    return isinstance(message, (list, tuple)) and len(message) == 2 and isinstance(message[0], str)


def _removed(message: Any) -> str | None:
    """The id of the message that a RemoveMessage removes, "" for one without; else None."""
    if text(field(message, "type")) == "remove" or text(field(message, "role")) == "remove":
        return id_of(message) or ""
    return None


def _ids(messages: list[Any]) -> list[str | None]:
    """The id of each message; an object whose `id` is None is given one."""
    try:
        found = list(map(attrgetter("id"), messages))
    except Exception:  # dicts, or objects of other forms
        found = [field(message, "id") for message in messages]
    return [
        key if type(key) is str and key else id_of(message) or _given_id(message)
        for key, message in zip(found, messages, strict=True)
    ]


def _given_id(message: Any) -> str | None:
    if isinstance(message, dict):
        return None
    with suppress(Exception):  # an object without the field, or one that cannot be changed
        if message.id is None:
            message.id = str(uuid.uuid4())
    return id_of(message)


class _Shape:
    """What strings and pairs become beside these messages."""

    def __init__(self, beside: list[Any]) -> None:
        self._langchain: Any = sys.modules.get("langchain_core.messages")
        formed = [message for message in beside if not _is_loose(message)]
        dicts = [message for message in formed if isinstance(message, dict)]
        if self._langchain and formed:
            base = self._langchain.BaseMessage
            if not any(isinstance(message, base) for message in formed):
                self._langchain = None
        self._key = "type" if dicts and not any("role" in m for m in dicts) else "role"
        human = (text(m.get(self._key)) for m in dicts if role_of(m) == "h")
        self._human = next(human, None) or "user"

    def of(self, message: Any) -> Any:
        """The message that a string or a pair stands for; any other as it is."""
        if not _is_loose(message):
            return message
        role, content = (self._human, message) if isinstance(message, str) else message
        if self._langchain is not None:
            return self._langchain.convert_to_messages([(role, content)])[0]
        return {self._key: role, "content": content}
