"""Which history a list in a checkpoint continues, remembered for the lists seen lately."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

from ._lineage import START, Lineage, continued, kept, read, start_at, written
from ._messages import id_of
from ._recent import Recent
from ._summary import is_synthetic
from ._words import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LISTS = 4_096
_LAST_READ = ""  # in the place of a checkpoint id


class Place(NamedTuple):
    """Where a list lies: `scope` stands for its thread, graph and channel.

    `start` is where the histories of its thread begin.
    """

    scope: str
    parent: str | None
    checkpoint: str
    start: Lineage = START


class Trace(NamedTuple):
    """A live list on its way into a checkpoint.

    `indices`, `marks` and `lineage` are about its own messages, those that are no summaries.
    """

    place: Place
    messages: Sequence[Any]
    indices: list[int]
    marks: list[str]
    lineage: Lineage

    def key(self, index: int) -> str:
        """The key of an id-less message: the same wherever this history is continued."""
        n = bisect_left(self.indices, index)
        return f"{self.place.scope}-{self.lineage.places[n]}-{self.marks[n]}"


class Histories:
    """The lineages of lists with id-less messages, by checkpoint; bounded, safe for threads.

    Both forms of a list are remembered, stored and live, since the next put may come from a
    run that loaded it or from the one that made it.
    """

    def __init__(self) -> None:
        self._recent: Recent[tuple[str, str], tuple[Lineage, ...]] = Recent(MAX_LISTS)

    def trace(self, place: Place, messages: Sequence[Any], noted: dict[str, Any]) -> Trace | None:
        """Return the history of a list about to be put, None if every message has an id.

        `noted` is what its metadata says already, which is so for a copied checkpoint.
        """
        ids = [id_of(message) for message in messages]
        if ids and None not in ids:
            return None
        indices, marks = _own(messages, ids)
        candidates = (read(noted, marks),) if "places" in noted else self._candidates(place)
        lineage = continued([messages[i] for i in indices], marks, candidates)
        self._recent.put((place.scope, place.checkpoint), (lineage,))
        return Trace(place, messages, indices, marks, lineage)

    def settle(self, trace: Trace, pruned: set[int]) -> dict[str, Any]:
        """Return what the metadata must say of the list after this prune, and remember it."""
        stay = [n for n, i in enumerate(trace.indices) if i not in pruned]
        stored = kept(trace.lineage, stay)
        gone = next((n for n, i in enumerate(trace.indices) if i in pruned), None)
        if gone is not None:
            live = trace.lineage._replace(anchor=(gone, trace.messages[trace.indices[gone]]))
            self._recent.put((trace.place.scope, trace.place.checkpoint), (stored, live))
        return written(stored)

    def loaded(self, place: Place, messages: Sequence[Any], noted: dict[str, Any]) -> None:
        """Remember a list as it was read, with what its metadata says of it."""
        known = self._recent.get((place.scope, place.checkpoint))
        if known is None:
            ids = [id_of(message) for message in messages]
            if ids and None not in ids:
                return
            known = (read(noted, _own(messages, ids)[1]),)
            self._recent.put((place.scope, place.checkpoint), known)
        self._recent.put((place.scope, _LAST_READ), known[:1])

    def begun(self, place: Place) -> None:
        """Remember that this checkpoint has no such list yet."""
        self._recent.put((place.scope, place.checkpoint), (place.start,))

    def _candidates(self, place: Place) -> tuple[Lineage, ...]:
        """What the list may continue. A copy (`__copy__`) names the parent of what was read."""
        if place.parent is None:
            return (place.start,)
        known = self._recent.get((place.scope, place.parent))
        if known is None:
            return (start_at(place.parent),)
        return known + (self._recent.get((place.scope, _LAST_READ)) or ())


def _own(messages: Sequence[Any], ids: Sequence[str | None]) -> tuple[list[int], list[str]]:
    """Indices of the messages that are no summaries, and for each what tells it from others."""
    indices = [i for i, message in enumerate(messages) if not is_synthetic(message)]
    return indices, [ids[i] or fingerprint(messages[i]) for i in indices]
