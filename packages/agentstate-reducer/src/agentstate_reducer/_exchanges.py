"""Calls and their answers as units that stay or leave whole."""

from __future__ import annotations

import re
from itertools import chain, compress, repeat
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from ._messages import (
    SPELLINGS,
    answers_of,
    calls_of,
    elements,
    field,
    is_call_item,
    is_reasoning,
    may_stand_elsewhere,
    role_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

_EXCHANGES = re.compile("at+")


def mask(letters: str) -> bytes:
    """A translation table that turns these role letters into 1 and every other into 0."""
    return bytes(chr(byte) in letters for byte in range(256))


_RESULTS, _CALLERS = mask("t"), mask("C")
_LINKED = bytes(byte if byte in b"Ct" else b"."[0] for byte in range(256))


class Reading:
    """One look at each message of a list: its role letter and its content.

    To the letters of `role_of` it adds r, a Responses `reasoning` item. `at` holds the index
    of each message in the list that was given. `uniform` says that all messages are of one
    common form whose contents hold no tool links.
    """

    __slots__ = ("at", "contents", "letters", "messages", "uniform")

    def __init__(
        self,
        messages: list[Any],
        letters: str,
        contents: list[Any],
        at: Sequence[int],
        *,
        uniform: bool,
    ) -> None:
        self.messages, self.letters, self.contents = messages, letters, contents
        self.at, self.uniform = at, uniform

    def without(self, indices: Collection[int]) -> Reading:
        """The reading of what is left when the messages at these given indices are not there."""
        if not indices:
            return self
        stay = [i not in indices for i in self.at]
        return Reading(
            list(compress(self.messages, stay)),
            "".join(compress(self.letters, stay)),
            list(compress(self.contents, stay)),
            list(compress(self.at, stay)),
            uniform=self.uniform,
        )

    def leads(self, i: int) -> bool:
        """Whether message i is a human message that answers no call."""
        if self.letters[i] != "h":
            return False
        return self.contents[i].__class__ is str or not answers_of(self.messages[i])


def read(messages: list[Any]) -> Reading:
    """The reading of a list; a list of one common form is read at the speed of C."""
    at = range(len(messages))
    try:
        words, contents = _uniform_fields(messages)
        letters = _letters(words)
    except Exception:  # another form, or an object that raises
        letters = "".join("r" if is_reasoning(m) else role_of(m) for m in messages)
        contents = [field(m, "content") for m in messages]
        return Reading(messages, letters, contents, at, uniform=False)
    types = list(map(type, contents))
    hollow = len(types) - types.count(str)
    uniform = "?" not in letters
    if uniform and hollow:
        only_text = hollow == types.count(type(None))
        uniform = only_text and not may_stand_elsewhere(messages, contents)
    if not uniform:
        letters = "".join(map(_closer_letter, letters, contents, messages))
    return Reading(messages, letters, contents, at, uniform=uniform)


def _letters(words: Sequence[Any]) -> str:
    """The letter of each role word, "?" for one that wants a closer look."""
    if not words:
        return ""
    try:
        # Looks all words up in one call, in half the time of a map.
        return "".join(itemgetter(*words)(SPELLINGS))
    except KeyError:
        return "".join([SPELLINGS.get(word, "?") for word in words])


def _uniform_fields(messages: list[Any]) -> tuple[list[Any], list[Any]]:
    """(role words, contents) of messages that are all dicts or all LangChain's; else raises."""
    if messages and not issubclass(type(messages[0]), dict):
        if not all(map(_has_type_alone, set(map(type, messages)))) or any(map(_extra, messages)):
            raise TypeError("a role may hide beside the type")
        return _column(messages, "type"), _column(messages, "content")
    words = _column(messages, "role")
    if words and words[0] is None and words.count(None) == len(words):
        words = _column(messages, "type")
    return words, _column(messages, "content")


def _column(messages: list[Any], name: str) -> list[Any]:
    """One field of messages that are all dicts, None where it is not there, or all objects."""
    if messages and not issubclass(type(messages[0]), dict):
        return list(map(attrgetter(name), messages))
    return list(map(dict.get, messages, repeat(name)))


_extra = attrgetter("__pydantic_extra__")  # where a model keeps fields that it does not declare


def _has_type_alone(cls: type) -> bool:
    fields: dict[str, Any] = cls.__pydantic_fields__  # type: ignore[attr-defined]
    return "type" in fields and "role" not in fields and not hasattr(cls, "role")


def _closer_letter(letter: str, content: Any, message: Any) -> str:
    """The letter of a message whose role word or content wants a closer look."""
    if letter == "?" or content is None or (letter == "h" and content.__class__ is not str):
        return "r" if is_reasoning(message) else role_of(message)
    return letter


class Exchanges:
    """Which messages of a reading stay or leave together.

    `adjacent` is the common case: every result stands directly behind the message that made
    its call, and `units` and `unanswered` stay empty. Else `units` are the exchanges of more
    than one message by their place, `unanswered` counts the open calls of every message that
    calls, and `lost` holds the messages with a result that has no call.
    """

    __slots__ = ("_unit", "adjacent", "lost", "reading", "unanswered", "units")

    def __init__(self, reading: Reading, *, every_call: bool = False) -> None:
        self.reading = reading
        self.adjacent = not every_call and _is_adjacent(reading)
        links = _Links()
        if not self.adjacent:
            links.follow(reading)
        self.unanswered, self.lost = links.unanswered, links.lost
        self.units = links.units()
        self._unit = {i: unit for unit in self.units for i in unit}

    def exchange(self, i: int) -> Sequence[int]:
        """The indices that stay or leave with message i, itself included, in order."""
        if not self.adjacent:
            return self._unit.get(i, (i,))
        letters, first = self.reading.letters, i
        while letters[first] == "t":
            first -= 1
        end = first + 1
        while letters[first] == "a" and letters[end : end + 1] == "t":
            end += 1
        return range(first, end)

    def joined(self) -> Iterable[Sequence[int]]:
        """The exchanges of more than one message, by their place."""
        if not self.adjacent:
            return self.units
        return (range(*run.span()) for run in _EXCHANGES.finditer(self.reading.letters))

    def is_orphan(self, i: int) -> bool:
        """Whether message i is a result without a call."""
        return not self.adjacent and self.reading.letters[i] in "tf" and i not in self._unit

    def open(self) -> Sequence[int]:
        """The last message with calls and its results, when no human or ai message follows it."""
        letters = self.reading.letters
        i = max(letters.rfind("h"), letters.rfind("a"))
        if i < 0 or letters[i] == "h":
            return ()
        exchange = self.exchange(i)
        if self.adjacent:
            calls = len(exchange) > 1 or bool(calls_of(self.reading.messages[i]))
        else:
            calls = i in self.unanswered
        return exchange if calls else ()

    def newest(self) -> Sequence[int]:
        """The exchange of the newest human, ai or result; a note behind it does not count."""
        i = max(map(self.reading.letters.rfind, "hatf"))
        return self.exchange(i) if i >= 0 else ()


def _is_adjacent(reading: Reading) -> bool:
    """Whether every run of results answers calls of the message right before it, each once."""
    letters, messages = reading.letters, reading.messages
    if not reading.uniform or "f" in letters:
        return False
    if "t" not in letters:
        return True
    marks = letters.replace("at", "Ct").encode().translate(_LINKED)
    if b".t" in b"." + marks:
        return False
    try:
        calls = _column(list(compress(messages, marks.translate(_CALLERS))), "tool_calls")
        asked = list(map(dict.get, chain.from_iterable(calls), repeat("id")))
        said = _column(list(compress(messages, marks.translate(_RESULTS))), "tool_call_id")
        lengths = list(map(len, marks.translate(None, b".").split(b"C")[1:]))
        if asked == said and lengths == list(map(len, calls)):
            return True
        return _answers_each_once(calls, said, lengths)
    except Exception:  # calls of another form: they are linked one by one
        return False


def _answers_each_once(calls: list[Any], said: list[Any], lengths: list[int]) -> bool:
    begin = 0
    for made, length in zip(calls, lengths, strict=True):
        asked = {call.get("id") for call in made}
        answers = set(said[begin : begin + length])
        if len(answers) != length or len(asked) != len(made) or not answers <= asked:
            return False
        begin += length
    return True


class _Links:
    """Results linked by position, each to the nearest earlier unanswered call with its id."""

    def __init__(self) -> None:
        self.unanswered: dict[int, int] = {}
        self.lost: set[int] = set()
        self._waiting: dict[Any, list[int]] = {}
        self._parent: dict[int, int] = {}

    def follow(self, reading: Reading) -> None:
        reasoning: list[int] = []  # items that wait for their ai item
        item = None  # the call item that a next one would stand beside
        for i, letter in enumerate(reading.letters):
            if letter == "r":
                reasoning.append(i)
                continue
            beside, item = item, None
            if letter == "a":
                message = reading.messages[i]
                self._call(i, calls_of(message))
                if is_call_item(message):
                    item = i
                    self._join(i if beside is None else beside, i)
                while reasoning:
                    self._join(reasoning.pop(), i)
            elif letter in "tf" or (letter == "h" and elements(reading.contents[i])):
                self._answer(i, answers_of(reading.messages[i]))

    def _call(self, i: int, keys: list[Any]) -> None:
        if keys:
            self.unanswered[i] = len(keys)
        for key in keys:
            self._waiting.setdefault(key, []).append(i)

    def _answer(self, i: int, keys: list[Any]) -> None:
        for key in keys:
            callers = self._waiting.get(key)
            if callers:
                caller = callers.pop()
                self.unanswered[caller] -= 1
                self._join(caller, i)
            else:
                self.lost.add(i)

    def _join(self, i: int, j: int) -> None:
        first, second = self._root(i), self._root(j)
        self._parent[max(first, second)] = min(first, second)

    def _root(self, i: int) -> int:
        parent = self._parent
        parent.setdefault(i, i)
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    def units(self) -> list[list[int]]:
        groups: dict[int, list[int]] = {}
        for i in sorted(self._parent):
            groups.setdefault(self._root(i), []).append(i)
        return [group for group in groups.values() if len(group) > 1]
