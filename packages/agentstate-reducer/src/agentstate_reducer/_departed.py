"""What left the root's list of a thread, for its subgraphs that keep lists of their own.

A subgraph compiled with `checkpointer=True` loads its own list at each call, is handed the
root's on top and returns both. What was pruned from the root meanwhile would come back with
it, behind newer messages. So its list is read without that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._messages import id_of
from ._recent import Recent
from ._stale import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_THREADS = 10_000
"""Threads of which a process remembers one thing."""

MAX_DEPARTED = 500
"""Ids a root checkpoint carries, the newest: 20 kB, and only where such a subgraph is."""


def keeps_its_list(graph: str) -> bool:
    """Whether a graph of this namespace outlives a call: then no task's id is in its name."""
    return bool(graph) and ":" not in graph


class Departed:
    """Ids by thread and channel; bounded, safe for threads.

    Nothing is remembered or noted for a thread before one of its subgraphs stored a list.
    """

    def __init__(self) -> None:
        self._ids: Recent[tuple[str, str], tuple[str, ...]] = Recent(MAX_THREADS)

    def put(self, thread: str, graph: str, channel: str) -> dict[str, Any]:
        """Return what the metadata of a list about to be stored has to carry on."""
        ids = self._ids.get((thread, channel))
        if keeps_its_list(graph) and ids is None:
            self._ids.put((thread, channel), ())
        return {} if graph or ids is None else {"departed": list(ids)}

    def loaded(self, thread: str, channel: str, noted: dict[str, Any]) -> None:
        """Remember what a root checkpoint notes: what it lacks now is gone for this run."""
        known = self._ids.get((thread, channel))
        if known is not None or "departed" in noted:
            gone = [*(known or ()), *noted.get("departed", ()), *noted.get("pruned", ())]
            self._ids.put((thread, channel), tuple(dict.fromkeys(gone))[-MAX_DEPARTED:])

    def left_in(self, thread: str, channel: str, messages: Sequence[Any]) -> list[Any]:
        """Return a subgraph's messages without those that left the root."""
        gone = set(self._ids.get((thread, channel)) or ())
        named = [(message, id_of(message)) for message in messages]
        return [message for message, name in named if name is None or plain(name) not in gone]
