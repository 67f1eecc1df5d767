"""One list in terms of another: copy a run, insert some, and so on.

A script is `[start, count, inserted, ...]`: copy `old[start:start + count]`, then take the
next `inserted` new elements; repeated. A chat that grows, loses its front, or has a message
edited is a handful of numbers and the new messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

E = TypeVar("E")

# A longer script costs more than it saves, in bytes and in reading. Twenty steps.
_MAX_NUMBERS = 60

# Where an element occurs often (None, an empty text), its first places are enough.
_PLACES = 8


def plan_script(
    old: Sequence[Hashable], new: Sequence[Hashable]
) -> tuple[list[int], list[int]] | None:
    """The script that makes `new` of `old`, and the indices of what it inserts.

    None where it would be long. Greedy, linear in both.
    """
    elements: set[Hashable] = set()
    places: dict[Hashable, list[int]] = {}
    script: list[int] = []
    inserted: list[int] = []
    at = index = 0
    while index < len(new) and len(script) <= _MAX_NUMBERS:
        start, count = at, _run(old, at, new, index)
        if not count:
            elements = elements or set(old)
            places = places or (_places(old) if new[index] in elements else {})
            for place in places.get(new[index], ()):
                length = _run(old, place, new, index)
                if length > count:
                    start, count = place, length
        if count:
            script += [start, count, 0]
            index, at = index + count, start + count
        else:
            script = script or [0, 0, 0]
            script[-1] += 1
            inserted.append(index)
            index, at = index + 1, at + 1  # most likely an element edited in place
    return (script, inserted) if len(script) <= _MAX_NUMBERS else None


def apply_script(script: Sequence[int], old: Sequence[E], inserted: Sequence[E]) -> list[E]:
    """The list the script describes."""
    new: list[E] = []
    taken = 0
    for position in range(0, len(script), 3):
        start, count, more = script[position : position + 3]
        new += old[start : start + count]
        new += inserted[taken : taken + more]
        taken += more
    return new


def _run(old: Sequence[Hashable], at: int, new: Sequence[Hashable], index: int) -> int:
    length = 0
    longest = min(len(old) - at, len(new) - index)
    while length < longest and old[at + length] == new[index + length]:
        length += 1
    return length


def _places(old: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    places: dict[Hashable, list[int]] = {}
    for index, element in enumerate(old):
        found = places.setdefault(element, [])
        if len(found) < _PLACES:
            found.append(index)
    return places
