"""Summary blocks: shaped like their neighbours, known by their ids, rolled into the next."""

from __future__ import annotations

import copy
import hashlib
from contextlib import suppress
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ._drivers import Call, RefusedError, Steps
from ._messages import field, id_of, role_of, text
from ._recent import Recent
from ._words import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._config import ReducerConfig

MARK = "a9e57a7e-5b10-8"
"""How the id of every summary message begins: a UUID of version 8, which no generator makes."""

REMEMBERED_SUMMARIES = 1_000
"""Texts a reducer remembers; each is about as long as one message."""

_LINKS = (
    "tool_calls",
    "invalid_tool_calls",
    "tool_call_chunks",
    "tool_call_id",
    "function_call",
    "call_id",
    "additional_kwargs",
    "response_metadata",
    "usage_metadata",
    "chunk_position",
    "name",
)
"""Fields that tie a message to a call, a response or a speaker, and mean nothing in its copy."""

# One of these words in a list tells which word it has for the other side.
_OTHER_SIDE = {
    "h": {"ai": "human", "assistant": "user", "agent": "user", "model": "user"},
    "a": {"human": "ai", "user": "assistant"},
}


def default_summary_messages_factory(text: str, count: int) -> list[Any]:
    """A human message with the summary of `count` messages, and the ai's acknowledgement."""
    return [
        {"role": "human", "content": f"Here is the summary of previous {count} messages: {text}"},
        {"role": "ai", "content": "OK"},
    ]


def is_synthetic(message: Any) -> bool:
    """Whether it is part of a summary block, by its id."""
    key = id_of(message)
    return key is not None and key.startswith(MARK)


def summaries_in(messages: list[Any]) -> list[int]:
    """Indices of the messages of a summary block. That there is none is seen at the speed of C."""
    with suppress(Exception):  # ids or messages of another form: they are looked at one by one
        if MARK not in "".join(filter(None, _ids(messages))):
            return []
    return [i for i, message in enumerate(messages) if is_synthetic(message)]


def _ids(messages: list[Any]) -> Iterable[Any]:
    if messages and type(messages[0]) is dict:
        return map(dict.get, messages, repeat("id"))
    return map(attrgetter("id"), messages)


class Summaries:
    """Texts by the sequence of messages they sum up, and the blocks made of them.

    A sequence is known by ids and contents, so that equal ids in another conversation do not
    bring up its summary. Safe in threads; two that sum up one sequence at once both ask.
    """

    def __init__(self, config: ReducerConfig) -> None:
        self._summarize = config.summarize_fn
        self._factory = config.summary_message_factory or default_summary_messages_factory
        self._texts: Recent[str, str] = Recent(REMEMBERED_SUMMARIES)

    def summarize(
        self, pruned: list[Any], digests: list[str], is_summary: Callable[[Any], bool]
    ) -> Steps[str]:
        """The text for these messages: remembered, or made from what is remembered and the rest.

        Raises what `summarize_fn` or the factory raises, `ValueError` when the answer is no text.
        """
        known, remembered = self._longest(digests)
        if remembered is not None and known == len(pruned):
            return remembered
        given = pruned[known:]
        if remembered is not None:
            covered, digest = pruned[:known], digests[known - 1]
            given[:0] = self.block(remembered, covered, digest, pruned, known, is_summary)
        made = yield Call(self._summarize, (given,))  # type: ignore[arg-type]
        if not isinstance(made, str) or not made.strip():
            raise RefusedError(f"summarize_fn must return text, got {type(made).__name__}")
        self._texts.put(digests[-1], made)
        return made

    def block(
        self,
        summary: str,
        pruned: list[Any],
        digest: str,
        messages: list[Any],
        gap: int,
        is_summary: Callable[[Any], bool],
    ) -> list[Any]:
        """The factory's messages for the text, shaped like `messages` around index `gap`.

        `digest` is that of the messages it sums up, `pruned`, and gives the block its ids.
        """
        made = self._factory(summary, sum(not is_summary(message) for message in pruned))
        if not isinstance(made, (list, tuple)) or not all(map(_is_message, made)):
            raise RefusedError("summary_message_factory must return a list of messages")
        near = sorted(range(len(messages)), key=lambda i: (is_summary(messages[i]), abs(i - gap)))
        neighbours = [messages[i] for i in near]
        return [_shaped(m, neighbours, _id(digest, k)) for k, m in enumerate(made)]

    def _longest(self, digests: list[str]) -> tuple[int, str | None]:
        """(how many of the messages, from the first, a remembered text covers, that text)."""
        for known in range(len(digests), 0, -1):
            if (summary := self._texts.get(digests[known - 1])) is not None:
                return known, summary
        return 0, None


def digests_of(messages: list[Any]) -> list[str]:
    """What tells the sequence up to each message from any other, in every process."""
    running, digests = hashlib.blake2b(digest_size=16), []
    for message in messages:
        named = repr((id_of(message), fingerprint(message)))
        running.update(named.encode("utf-8", "surrogatepass"))
        digests.append(running.hexdigest())
    return digests


def _id(digest: str, position: int) -> str:
    rest = hashlib.blake2b(f"{digest}-{position}".encode(), digest_size=9).hexdigest()
    return f"{MARK}{rest[:3]}-8{rest[3:6]}-{rest[6:]}"


def _is_message(made: Any) -> bool:
    return isinstance(made, dict) or role_of(made) != "u"


def _shaped(made: Any, neighbours: list[Any], key: str) -> Any:
    """One message of a block, like the nearest neighbour of its role, with the id `key`."""
    role = role_of(made)
    kin = next((n for n in neighbours if role != "u" and role_of(n) == role and _is_model(n)), None)
    model = kin
    if kin is None and not any(isinstance(n, dict) for n in neighbours):
        model = made
    if model is not None and not isinstance(model, dict):
        twin = _twin(model, field(made, "content"), key)
        if twin is not None:
            return twin
    return _as_dict(made, role, [n for n in (kin, *neighbours) if isinstance(n, dict)], key)


def _is_model(message: Any) -> bool:
    """Whether it shows how a message of its role is written; a Responses call item does not."""
    return (
        _role_field(message) is not None
        if isinstance(message, dict)
        else hasattr(message, "content")
    )


def _twin(model: Any, content: Any, key: str) -> Any:
    """A shallow copy with this content and id and without links; None when it cannot be had."""
    id_field = next((n for n in ("id", "tracking_id", "message_id") if hasattr(model, n)), "id")
    linked = {name: value for name in _LINKS if (value := field(model, name))}
    fields = {
        **{name: _emptied(linked[name]) for name in linked},
        "content": content,
        id_field: key,
    }
    try:
        if hasattr(model, "model_copy"):
            twin = model.model_copy(update=fields)
        else:
            twin = copy.copy(model)
            for name, value in fields.items():
                object.__setattr__(twin, name, value)  # also where the class is frozen
    except Exception:
        return None
    return twin if id_of(twin) == key and field(twin, "content") == content else None


def _emptied(value: Any) -> Any:
    return type(value)() if isinstance(value, (list, dict)) else None


def _as_dict(made: Any, role: str, models: list[dict[str, Any]], key: str) -> dict[str, Any]:
    """A dict that says its role, and writes its content, as the first fitting model does."""
    body = dict(made) if isinstance(made, dict) else {"content": field(made, "content")}
    said = _role_field(made)
    if said is not None:
        body = {name: value for name, value in body.items() if name not in ("role", "type")}
        name, word = _said_like(models, role, said)
        body = {name: word, **body}
    if isinstance(body.get("content"), str) and any(map(_has_untyped_blocks, models[:1])):
        body["content"] = [{"text": body["content"]}]
    return {**body, "id": key}


def _said_like(
    models: list[dict[str, Any]], role: str, otherwise: tuple[str, str]
) -> tuple[str, str]:
    """(field, word) for the role in a list of such models."""
    known = [said for said in map(_role_field, models) if said is not None]
    for name, word in known:
        if role_of({"role": word}) == role:
            return name, word
    for name, word in known:
        if word.lower() in _OTHER_SIDE.get(role, {}):
            return name, _OTHER_SIDE[role][word.lower()]
    return (known[0][0], otherwise[1]) if known else otherwise


def _role_field(message: Any) -> tuple[str, str] | None:
    """(name, word) of the field that says the role, as it is written."""
    for name in ("role", "type"):
        word = text(field(message, name))
        if word and role_of({"role": word}) != "u":
            return name, word
    return None


def _has_untyped_blocks(message: dict[str, Any]) -> bool:
    """Whether its content is a list of bare `{"text": ...}` blocks, as Bedrock wants it."""
    blocks = message.get("content")
    return isinstance(blocks, list) and any(isinstance(b, dict) and "type" not in b for b in blocks)
