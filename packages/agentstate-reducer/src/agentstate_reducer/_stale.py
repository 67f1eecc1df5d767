"""Pending writes that were computed from a list before it was reduced.

A checkpoint is stored reduced while the run that made it goes on with the whole list, so its
tasks may write about messages the stored list lacks: a node that returns the list with one
more message, a subgraph whose output is the whole list, a `RemoveMessage`. Applied to the
stored list, such a write puts pruned messages behind newer ones, or makes the thread
unreadable for ever, since removing an unknown id raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._merge import REMOVE_ALL
from ._messages import id_of
from ._words import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence


def note_of(messages: Sequence[Any], pruned: Sequence[int]) -> dict[str, Any]:
    """Return what `without_pruned` has to know of the messages at these indices, as JSON.

    A message without an id is noted by index and fingerprint. All are noted, for one left out
    is enough to make a thread unreadable; some 40 bytes each are less than the message itself,
    which the database held before.
    """
    if not pruned:
        return {}
    ids = [(i, id_of(messages[i])) for i in pruned]
    note: dict[str, Any] = {"pruned": [plain(name) for _, name in ids if name is not None]}
    if len(note["pruned"]) < len(pruned):
        note["unnamed"] = [[i, fingerprint(messages[i])] for i, name in ids if name is None]
        note["length"] = len(messages)
    return note


def kept_note(note: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a copied checkpoint's note that `note_of` once made."""
    return {name: note[name] for name in ("pruned", "unnamed", "length") if name in note}


def without_pruned(value: Any, note: dict[str, Any]) -> Any:
    """Return a pending write without the messages that `note` says were pruned.

    A write that clears the list and starts anew stays as it is: it says all there is to say.
    """
    messages = value if type(value) in (list, tuple) else [value]
    ids = [id_of(message) for message in messages]
    if REMOVE_ALL in ids:
        return value
    gone = set(note.get("pruned", ()))
    stale = {i for i, name in enumerate(ids) if name is not None and plain(name) in gone}
    stale |= _resent(messages, ids, note)
    if not stale:
        return value
    return type(messages)(m for i, m in enumerate(messages) if i not in stale)


def _resent(messages: Sequence[Any], ids: list[str | None], note: dict[str, Any]) -> set[int]:
    """Indices of pruned id-less messages, if this write is the whole list once more.

    Equal content alone says nothing, people repeat themselves: every pruned message has to
    stand where it stood, in a list at least as long.
    """
    unnamed = note.get("unnamed", ())
    whole = len(messages) >= note.get("length", 0) and all(
        ids[i] is None and fingerprint(messages[i]) == print_ for i, print_ in unnamed
    )
    return {i for i, _ in unnamed} if whole else set()


def plain(name: str) -> str:
    """An id as text that every database takes: no NUL, no half of a surrogate pair."""
    return name.encode("unicode_escape").decode("ascii")
