"""Where the messages of a list stand in its whole history, so that one without an id has a key.

A framework that prunes what it stores sees the same history in two forms: the *live* list of
the running process, which keeps everything since it was loaded, and the *stored* one. A save
continues one of the two, and which one it is decides the places of all its messages. Places
are exact, not counted from the end: messages that stay in front of a gap keep theirs.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Lineage(NamedTuple):
    """A list as it was seen, in eight bytes a message and number.

    `prints` are hashes of the messages' marks and hold within this process only; `places` are
    positions in the whole history; `following` is the place of the next new message. `anchor`
    is a message the stored form lacks, with its index: whoever still has that very object has
    the live list.
    """

    prints: array[int]
    places: array[int]
    following: int
    anchor: tuple[int, object] | None = None


START = Lineage(array("q"), array("q"), 0)


def scope_of(*labels: str) -> str:
    """Return sixteen hex digits that stand for these labels in every process."""
    return hashlib.blake2b(json.dumps(labels).encode(), digest_size=8).hexdigest()


def start_at(label: str) -> Lineage:
    """Return the beginning of a history whose past is unknown: its places meet no other's.

    The place follows from the label alone, so a repeat after a crash numbers alike. 48 bits
    stay exact in every JSON reader.
    """
    return START._replace(following=int(scope_of(label)[:12], 16))


def continued(
    messages: Sequence[Any], marks: Sequence[str], candidates: Sequence[Lineage]
) -> Lineage:
    """Return the lineage of a list that goes on from one of `candidates`.

    What it shares with that one, from the front, keeps its places; the rest is new. Where
    content alone cannot tell (a conversation that repeats itself, copied by its node), the
    earlier candidate wins: put the stored form first, since a message numbered too high is
    delivered again and one numbered too low would be lost.
    """
    prints = array("q", map(hash, marks))
    past = _continued_one(messages, prints, candidates)
    shared = _shared(prints, past.prints)
    new = len(prints) - shared
    places = past.places[:shared] + array("q", range(past.following, past.following + new))
    return Lineage(prints, places, past.following + new)


def _continued_one(
    messages: Sequence[Any], prints: array[int], candidates: Sequence[Lineage]
) -> Lineage:
    for candidate in candidates:
        if candidate.anchor is not None:
            index, message = candidate.anchor
            if index < len(messages) and messages[index] is message:
                return candidate
    for candidate in candidates:
        if prints[: len(candidate.prints)] == candidate.prints:
            return candidate
    return max(candidates, key=lambda candidate: _shared(prints, candidate.prints))


def _shared(one: array[int], other: array[int]) -> int:
    """How many items the two have in common from the front."""
    length = min(len(one), len(other))
    if one[:length] == other[:length]:
        return length
    return next(i for i in range(length) if one[i] != other[i])


def kept(lineage: Lineage, indices: Iterable[int]) -> Lineage:
    """Return the lineage of the messages at these indices."""
    stay = list(indices)
    return Lineage(
        array("q", [lineage.prints[i] for i in stay]),
        array("q", [lineage.places[i] for i in stay]),
        lineage.following,
    )


def written(lineage: Lineage) -> dict[str, Any]:
    """Return the places as JSON, `[index, place]` where a run begins; nothing if none is missing.

    How many messages have left the history is `following` minus the length of the list.
    """
    places = lineage.places
    if lineage.following == len(places) and places == array("q", range(len(places))):
        return {}
    runs = [
        [index, place]
        for index, place in enumerate(places)
        if index == 0 or place != places[index - 1] + 1
    ]
    return {"places": runs, "following": lineage.following}


def read(noted: dict[str, Any], marks: Sequence[str]) -> Lineage:
    """Return the lineage that `written` noted for a list with these marks."""
    if "places" not in noted:
        return continued((), marks, (START,))
    runs = noted["places"]
    ends = [*(index for index, _ in runs[1:]), len(marks)]
    places = array("q")
    for (index, place), end in zip(runs, ends, strict=False):
        places.extend(range(place, place + end - index))
    return Lineage(array("q", map(hash, marks[: len(places)])), places, noted["following"])
