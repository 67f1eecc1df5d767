"""Who calls and who answers, read straight from the wire forms: an oracle for tests."""

from __future__ import annotations

from enum import Enum
from typing import Any

_ROLES = {
    "human": "human",
    "user": "human",
    "ai": "ai",
    "assistant": "ai",
    "agent": "ai",
    "model": "ai",
    "system": "system",
    "developer": "system",
    "tool": "result",
    "function": "result",
}


def _get(message: Any, name: str) -> Any:
    try:
        return message.get(name) if isinstance(message, dict) else getattr(message, name, None)
    except Exception:
        return None


def _word(message: Any, name: str) -> str:
    value = _get(message, name)
    value = value.value if isinstance(value, Enum) else value
    return value.lower() if isinstance(value, str) else ""


def _key(value: Any) -> Any:
    """What links: text or a number; everything else is one and the same nothing."""
    return value if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _result_keys(message: Any) -> tuple[list[Any], bool]:
    """(keys of result blocks, whether every block is one)."""
    keys, pure = [], True
    for block in _list(_get(message, "content")):
        kind = _get(block, "type")
        if kind == "tool_result":
            keys.append(_first(block, "tool_use_id", "tool_call_id"))
        elif kind == "function_call_output":
            keys.append(_first(block, "call_id"))
        elif not isinstance(kind, str) and isinstance(block, dict) and _is_in("toolResult", block):
            keys.append(_first(block["toolResult"], "toolUseId"))
        else:
            pure = False
    return keys, pure


def _is_in(name: str, block: dict[Any, Any]) -> bool:
    return name in block and "toolUse" not in block


def _first(body: Any, *names: str) -> Any:
    keys = [_key(_get(body, name)) for name in names]
    return next((key for key in keys if key is not None), None)


def role(message: Any) -> str:
    """human, ai, system, result, reasoning or unknown."""
    said = _word(message, "role")
    kind = _word(message, "type")
    if not said and (kind == "reasoning" or kind.endswith(("_call", "_call_output"))):
        if kind == "reasoning":
            return "reasoning"
        return "ai" if kind.endswith("_call") else "result"
    own = "" if isinstance(message, dict) else type(message).__name__.lower()
    for word in (said,) if said else (kind, own):
        for ending in ("", "messagechunk", "message", "chunk"):
            found = _ROLES.get(word.removesuffix(ending) if ending else word)
            if found == "human":
                keys, pure = _result_keys(message)
                return "result" if keys and pure else "human"
            if found:
                return found
    return "unknown"


def calls(message: Any) -> list[Any]:
    """The keys of the calls an ai message makes."""
    if role(message) != "ai":
        return []
    places = [
        [_first(call, "id", "call_id") for call in _list(_get(message, name))]
        for name in ("tool_calls", "invalid_tool_calls")
    ]
    blocks = []
    for block in _list(_get(message, "content")):
        kind = _get(block, "type")
        if kind in ("tool_use", "tool_call", "invalid_tool_call"):
            blocks.append(_first(block, "id"))
        elif kind == "function_call":
            blocks.append(_first(block, "call_id", "id"))
        elif not isinstance(kind, str) and isinstance(block, dict) and "toolUse" in block:
            blocks.append(_first(block["toolUse"], "toolUseId"))
    places.append(blocks)
    if is_item(message):
        places.append([_key(_get(message, "call_id"))])
    keys = [key for place in places for key in place]
    named = [key for key in dict.fromkeys(keys) for _ in range(max(p.count(key) for p in places))]
    if named:
        return named
    legacy = _get(message, "function_call")
    if legacy is None:
        legacy = _get(_get(message, "additional_kwargs"), "function_call")
    name = _get(legacy, "name")
    return [("by name", name)] if isinstance(name, str) else []


def is_item(message: Any) -> bool:
    """Whether it is a Responses item that calls."""
    item = not _word(message, "role") and _get(message, "call_id") is not None
    return item and _word(message, "type").endswith("_call")


def results(message: Any) -> list[Any]:
    """The keys of the calls a message answers."""
    keys, _ = _result_keys(message)
    if role(message) == "human":
        return keys
    if role(message) != "result":
        return []
    direct = _first(message, "tool_call_id", "call_id")
    if direct is not None and _word_role(message) != "human":
        return [direct]
    if keys:
        return keys
    if _word_role(message) == "function":
        name = _get(message, "name")
        return [("by name", name if isinstance(name, str) else None)]
    return [None]


def _word_role(message: Any) -> str:
    said = _word(message, "role") or _word(message, "type")
    if not said and not isinstance(message, dict):
        said = type(message).__name__.lower()
    for ending in ("messagechunk", "message", "chunk"):
        said = said.removesuffix(ending)
    return "human" if _ROLES.get(said) == "human" else said


def _linked(messages: list[Any]) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """((caller, answer) pairs, answers without a caller, callers still unanswered)."""
    waiting: list[tuple[Any, int]] = []
    pairs, orphans = [], []
    for i, message in enumerate(messages):
        waiting += [(key, i) for key in calls(message)]
        for key in results(message):
            at = [k for k, (asked, _) in enumerate(waiting) if asked == key]
            if at:
                pairs.append((waiting.pop(at[-1])[1], i))
            else:
                orphans.append(i)
    return pairs, orphans, [i for _, i in waiting]


def _open_calls(messages: list[Any], pairs: list[tuple[int, int]]) -> set[int]:
    """Callers of the open exchange: the last one, if nobody speaks after it, and its company.

    That is items with calls at its side, and callers that share a result message with it.
    """
    spoken = [i for i, m in enumerate(messages) if role(m) in ("human", "ai")]
    if not spoken or not calls(messages[spoken[-1]]):
        return set()
    opened: set[int] = set()
    grown = {spoken[-1]}
    while grown != opened:
        opened = set(grown)
        answers = {answer for caller, answer in pairs if caller in opened}
        grown |= {caller for caller, answer in pairs if answer in answers}
        for caller in opened:
            grown |= set(_side_by_side(messages, caller))
    return opened


def _side_by_side(messages: list[Any], caller: int) -> range:
    """The run of items with calls that one of them stands in, with reasoning between them."""
    begin = end = caller
    if is_item(messages[caller]):
        for i in range(caller - 1, -1, -1):
            if is_item(messages[i]):
                begin = i
            elif role(messages[i]) != "reasoning":
                break
        for i in range(caller + 1, len(messages)):
            if is_item(messages[i]):
                end = i
            elif role(messages[i]) != "reasoning":
                break
    return range(begin, end + 1)


def broken_links(messages: list[Any]) -> list[str]:
    """Results without a call, and calls without a result but those of the open exchange."""
    pairs, orphans, waiting = _linked(messages)
    opened = _open_calls(messages, pairs)
    lost = [f"result {i} has no call" for i in orphans]
    return lost + [f"call {i} has no result" for i in waiting if i not in opened]


def scattered_links(messages: list[Any]) -> list[str]:
    """Results that do not follow their call directly, those of the open exchange apart."""
    pairs, _, _ = _linked(messages)
    opened = _open_calls(messages, pairs)
    return [
        f"result {answer} is away from call {caller}"
        for caller, answer in pairs
        if caller not in opened and not _follows(messages, pairs, caller, answer)
    ]


def _follows(messages: list[Any], pairs: list[tuple[int, int]], caller: int, answer: int) -> bool:
    """Whether between the call and its result stand results of the same call alone."""
    made = _side_by_side(messages, caller)
    between = range(made[-1] + 1, answer + 1)
    return all(any(r == i and c in made for c, r in pairs) for i in between)


def ties(messages: list[Any]) -> list[tuple[int, int]]:
    """Pairs of messages that stay or leave together."""
    pairs, _, _ = _linked(messages)
    for i, message in enumerate(messages):
        pairs += [(i, k) for k in _side_by_side(messages, i) if k != i]
        if role(message) == "reasoning":
            after = (k for k in range(i, len(messages)) if role(messages[k]) == "ai")
            pairs += [(i, k) for k in after][:1]
    return pairs
