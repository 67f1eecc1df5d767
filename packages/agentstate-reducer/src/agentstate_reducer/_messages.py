"""What a message is: its role, id and tool links, for every shape we know.

A role is one letter, so that the roles of a list are one string and questions about them run
at the speed of `str`: h human, a ai, s system, t tool, f function, u unknown.

Nothing here raises on a message of any shape, or changes one.
"""

from __future__ import annotations

import enum
from collections import Counter
from itertools import repeat
from typing import Any

_WORDS = {
    "h": ("human", "user"),
    "a": ("ai", "assistant", "agent", "model"),
    "s": ("system", "developer"),
    "t": ("tool",),
    "f": ("function",),
}
# What a letter is called where people read it.
ROLES = {**{letter: words[0] for letter, words in _WORDS.items()}, "u": "unknown"}
_LETTERS = {word: letter for letter, words in _WORDS.items() for word in words}
_ENDINGS = ("messagechunk", "message", "chunk")

# Role words as they are written, to letters.
SPELLINGS = {"AIMessageChunk": "a", "HumanMessageChunk": "h"}
for _write in (str.lower, str.upper, str.title):
    SPELLINGS.update((_write(word), letter) for word, letter in _LETTERS.items())

MAX_DEPTH = 32  # of nested content that is looked into; no provider accepts half of it

ASKING_BLOCKS = {
    "tool_use": ("id",),
    "toolUse": ("toolUseId",),
    "tool_call": ("id",),
    "invalid_tool_call": ("id",),
    "function_call": ("call_id", "id"),
    # Calls for the client to run: a provider answers its own inside the same message.
    **dict.fromkeys(
        ("custom_tool_call", "computer_call", "local_shell_call", "apply_patch_call"), ("call_id",)
    ),
}
_ANSWERING_BLOCKS = {
    "tool_result": ("tool_use_id", "tool_call_id"),
    "toolResult": ("toolUseId",),
    "function_call_output": ("call_id",),
}


def field(message: Any, name: str) -> Any:
    """The field of a dict or an object; None when it is not there or cannot be read."""
    try:
        if issubclass(type(message), dict):
            return dict.get(message, name)
        return getattr(message, name, None)
    except Exception:
        return None


def text(value: Any) -> str | None:
    """The value when it is text, an Enum's value included, else None."""
    if issubclass(type(value), enum.Enum):
        value = value.value
    return str.__str__(value) if issubclass(type(value), str) else None


def elements(value: Any) -> list[Any]:
    """The elements of a list or tuple; none of anything else, whose reading might consume it."""
    try:
        return list(value) if issubclass(type(value), (list, tuple)) else []
    except Exception:
        return []


def role_of(message: Any) -> str:
    """One letter: h human, a ai, s system, t tool, f function, u unknown.

    `role` wins over `type`, an object's class name is the last resort. A human message that
    holds only results is a tool message. One whose content stands where it is not read is unknown.
    """
    content = field(message, "content")
    if content is None and _stands_elsewhere(message):
        return "u"
    letter = _role_of_words(message)
    if letter == "h":
        answers, other = _block_answers(content)
        return "t" if answers and not other else "h"
    return letter


def _stands_elsewhere(message: Any) -> bool:
    """Whether it is of Gemini's form, or of LangChain's `messages_to_dict`."""
    return bool(elements(field(message, "parts"))) or issubclass(type(field(message, "data")), dict)


def may_stand_elsewhere(messages: list[Any], contents: list[Any]) -> bool:
    """Whether one of these, all dicts or all objects, may hold its content where it is not read."""
    hollow = [m for m, content in zip(messages, contents, strict=True) if content is None]
    if not issubclass(type(messages[0]), dict):
        return bool(hollow)
    return any(any(map(dict.__contains__, hollow, repeat(name))) for name in ("parts", "data"))


def _role_of_words(message: Any) -> str:
    role = text(field(message, "role"))
    if role:
        return _letter(role)
    kind = text(field(message, "type"))
    letter = _item_letter(kind) or _letter(kind) if kind else "u"
    if letter != "u":
        return letter
    return "u" if issubclass(type(message), dict) else _letter(type(message).__name__)


def _letter(word: str) -> str:
    word = word.lower()
    if word in _LETTERS:
        return _LETTERS[word]
    ending = next((end for end in _ENDINGS if word.endswith(end)), "")
    return _LETTERS.get(word.removesuffix(ending), "u")


def _item_letter(kind: str) -> str:
    """The role of a Responses item by its type."""
    if kind.endswith("_call_output") or kind == "tool_search_output":
        return "t"
    return "a" if kind.endswith("_call") or kind == "reasoning" else ""


def is_reasoning(message: Any) -> bool:
    """Whether it is a Responses `reasoning` item, which belongs to the next ai item."""
    return text(field(message, "type")) == "reasoning" and not text(field(message, "role"))


def is_call_item(message: Any) -> bool:
    """Whether it is a Responses item that makes a call: parallel calls stand side by side."""
    kind = text(field(message, "type")) or ""
    if not kind.endswith("_call") or text(field(message, "role")):
        return False
    # A search by the provider itself has no `call_id`, but a result.
    return kind == "tool_search_call" or field(message, "call_id") is not None


def id_of(message: Any) -> str | None:
    """The text of `id`, else `tracking_id`, else `message_id`; None when none is text or number."""
    for name in ("id", "tracking_id", "message_id"):
        key = _key(field(message, name))
        if key is not None and key != "":
            return shown(key) or None
    return None


def shown(number: Any) -> str:
    """The number as text, "" for one that Python does not write."""
    try:
        return str(number)
    except ValueError:  # an int of more digits than Python prints
        return ""


def _key(value: Any) -> str | int | float | None:
    """The value as a dict key when it is text or a number, else None."""
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value  # type: ignore[no-any-return]
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, (int, float)) and kind is not bool:
        return value  # type: ignore[no-any-return]
    return None


def unwrap(block: Any) -> tuple[str | None, Any]:
    """(kind, body) of a content block; Bedrock names the kind by the block's only key."""
    kind = text(field(block, "type"))
    if kind is None and issubclass(type(block), dict):
        for name in ("toolUse", "toolResult"):
            if name in block:
                return name, block[name]
    return kind, block


def _first_key(body: Any, names: tuple[str, ...]) -> Any:
    keys = (_key(field(body, name)) for name in names)
    return next((key for key in keys if key is not None), None)


def _block_answers(content: Any) -> tuple[list[Any], bool]:
    """(ids that result blocks answer, whether anything else stands beside them)."""
    answers, other = [], False
    for block in elements(content):
        kind, body = unwrap(block)
        if kind in _ANSWERING_BLOCKS:
            answers.append(_first_key(body, _ANSWERING_BLOCKS[kind]))
        else:
            other = True
    return answers, other


def calls_of(message: Any) -> list[Any]:
    """Ids of the calls a message makes, one per call; None for a call without an id."""
    return [key for key, _ in calls_in(message)]


def calls_in(message: Any) -> list[tuple[Any, Any]]:
    """(id, body) of each call a message makes.

    A call that two places of one message name is one call.
    """
    made, invalid = (
        [(_first_key(call, ("id", "call_id")), call) for call in elements(field(message, name))]
        for name in ("tool_calls", "invalid_tool_calls")
    )
    _add_new(made, invalid)
    blocks = map(unwrap, elements(field(message, "content")))
    asked = [(_first_key(b, ASKING_BLOCKS[kind]), b) for kind, b in blocks if kind in ASKING_BLOCKS]
    _add_new(made, asked)
    if is_call_item(message):
        _add_new(made, [(_key(field(message, "call_id")), message)])
    return made or _legacy_call(message)


def _add_new(made: list[tuple[Any, Any]], named: list[tuple[Any, Any]]) -> None:
    """Add the calls whose id `named` holds more often than `made` does."""
    if not made or not named:
        made += named
        return
    left = Counter(key for key, _ in made)
    for key, body in named:
        if left[key]:
            left[key] -= 1
        else:
            made.append((key, body))


def legacy_call(message: Any) -> Any:
    """The body of a `function_call`, beside the content or in LangChain's `additional_kwargs`."""
    call = field(message, "function_call")
    return field(field(message, "additional_kwargs"), "function_call") if call is None else call


def _legacy_call(message: Any) -> list[tuple[Any, Any]]:
    call = legacy_call(message)
    name = text(field(call, "name"))
    return [] if name is None else [(("function", name), call)]


def answers_of(message: Any) -> list[Any]:
    """Ids of the calls a message answers, one per result; None for a result that names none."""
    letter = _role_of_words(message)
    answers, _ = _block_answers(field(message, "content"))
    if letter not in "tf":
        return answers if letter == "h" else []
    shell = text(field(message, "type")) == "local_shell_call_output"  # its `id` is its call's
    key = _first_key(message, ("tool_call_id", "call_id", *["id"] * shell))
    if key is not None:
        return [key]
    if not answers:
        return [("function", text(field(message, "name"))) if letter == "f" else None]
    return answers
