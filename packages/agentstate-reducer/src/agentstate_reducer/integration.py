"""For adapter authors: a reducer inside a framework's persistence.

`CheckpointReduction` is what a LangGraph checkpointer needs to take `reducer=`. It is
duck-typed, imports no framework and never mutates what it is given:

    reduction = CheckpointReduction(reducer, messages_key)
    checkpoint, metadata = run(reduction.steps(config, checkpoint, metadata))         # put
    checkpoint, metadata = await arun(reduction.steps(config, checkpoint, metadata))  # aput
    saved = reduction.read(saved)  # every checkpoint tuple on its way out
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ._departed import MAX_THREADS, Departed, keeps_its_list
from ._drivers import AsyncCallableError, Steps, arun, describe, run
from ._histories import Histories, Place
from ._lineage import START, Lineage, continued, kept, read, scope_of, start_at, written
from ._messages import id_of
from ._recent import Recent
from ._reducer import MessageReducer
from ._stale import kept_note, note_of, without_pruned
from ._summary import is_synthetic
from ._words import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "METADATA_KEY",
    "START",
    "AsyncCallableError",
    "CheckpointReduction",
    "Lineage",
    "Recent",
    "arun",
    "continued",
    "describe",
    "fingerprint",
    "id_of",
    "is_synthetic",
    "kept",
    "message_keys",
    "read",
    "run",
    "scope_of",
    "written",
]

METADATA_KEY = "agentstate"
"""Where the metadata of a checkpoint says what its put pruned."""

_ABSENT = object()
_log = logging.getLogger(__name__)


def message_keys(messages_key: str | Sequence[str]) -> tuple[str, ...]:
    """Return one or several channel names as a tuple.

    Raises:
        TypeError: It is not text, or a sequence of texts.
        ValueError: A name is empty, or there is none.
    """
    several = isinstance(messages_key, Iterable) and not isinstance(messages_key, str)
    keys: tuple[Any, ...] = tuple(messages_key) if several else (messages_key,)
    if not all(isinstance(key, str) for key in keys):
        raise TypeError(f"messages_key must be text or several texts, not {messages_key!r}")
    if not keys or not all(keys):
        raise ValueError(f"messages_key must name a channel, not {messages_key!r}")
    return tuple(dict.fromkeys(keys))


class CheckpointReduction:
    """Reduces checkpoints on their way in, cleans their pending writes on the way out.

    It notes in the metadata, under `agentstate` and by channel, what this put pruned and, for
    a list with id-less messages, where the stored ones stand in its whole history. What it
    remembers itself is bounded and may be lost: the namespace last seen for a thread, what
    left root graphs, and lineages of lists put or read lately. Safe for threads; holds no lock
    while user code runs. A copy or a pickle starts with an empty memory.
    """

    def __init__(
        self, reducer: MessageReducer, messages_key: str | Sequence[str] = "messages"
    ) -> None:
        if not isinstance(reducer, MessageReducer):
            raise TypeError(f"reducer must be a MessageReducer, not {reducer!r}")
        self.reducer = reducer
        # () is what a saver says that leaves all lists alone.
        self.messages_keys = () if messages_key == () else message_keys(messages_key)
        self._namespaces: Recent[str, Any] = Recent(MAX_THREADS)
        self._departed = Departed()
        self._starts: Recent[str, Lineage] = Recent(MAX_THREADS)
        self._histories = Histories()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reducer, self.messages_keys)

    def steps(self, config: Any, checkpoint: Any, metadata: Any) -> Steps[tuple[Any, Any]]:
        """Return the checkpoint and the metadata to store: new objects, or those given.

        The hooks have been served when this returns, so before anything is stored. A list
        whose reducer fails is stored as it came, and logged; only the `TypeError` that
        refuses an async callable in a blocking call comes through.

        Raises:
            ValueError: The config names no thread. No hook was served then.
        """
        thread, graph = _thread_and_graph(config)
        namespace = self._namespace(config["configurable"])
        noted = _noted(metadata)
        values, notes = {}, {}
        for channel, place, value, messages in self._lists(config, checkpoint):
            try:
                surviving, note = yield from self._reduce(
                    place, messages, namespace, noted.get(channel, {})
                )
            except AsyncCallableError:
                raise
            except Exception as error:
                why = describe(error)
                _log.error("Thread %s: %r is stored unreduced: %s", thread, channel, why)
                continue
            if surviving is not messages:
                values[channel] = _in_form_of(value, surviving)
            note |= self._departed.put(thread, graph, channel)
            if note:
                notes[channel] = note
        if notes:
            metadata = {**(metadata or {}), METADATA_KEY: {**noted, **notes}}
        return _with_values(checkpoint, values), metadata

    def read(self, saved: Any) -> Any:
        """Return a checkpoint tuple, or None, without stale pending writes (see `_stale`).

        The list of a subgraph that keeps it between calls comes without what left the root's
        list meanwhile: the subgraph would give it back to the root, behind newer messages.

        A note that cannot be understood is logged and changes nothing.
        """
        if saved is None:
            return None
        noted = _noted(saved.metadata)
        try:
            for channel, place, _, messages in self._lists(saved.config, saved.checkpoint):
                self._histories.loaded(place, messages, noted.get(channel, {}))
            notes = {key: noted[key] for key in self.messages_keys if key in noted}
            return self._in_step_with_root(_cleaned(saved, notes), notes)
        except Exception as error:
            _log.error(
                "The note %r of a checkpoint is unreadable: %s", METADATA_KEY, describe(error)
            )
            return saved

    def forget(self, *thread_ids: Any) -> None:
        """The threads are deleted: whoever uses their names next may be somebody else.

        Who says the same words again, without ids, says them at places nobody had.
        """
        for thread_id in thread_ids:
            self._namespaces.put(str(thread_id), None)
            self._starts.put(str(thread_id), start_at(uuid4().hex))

    def _lists(self, config: Any, checkpoint: Any) -> Iterator[tuple[str, Place, Any, list[Any]]]:
        """The message lists of a checkpoint: channel, place, value and the messages in it."""
        thread, graph = _thread_and_graph(config)
        parent = config["configurable"].get("checkpoint_id")
        start = self._starts.get(thread) or START
        for channel in self.messages_keys:
            place = Place(scope_of(thread, graph, channel), parent, checkpoint["id"], start)
            value = checkpoint["channel_values"].get(channel, _ABSENT)
            messages = _messages_in(value)
            if messages is not None:
                yield channel, place, value, messages
            elif value is _ABSENT:
                self._histories.begun(place)

    def _in_step_with_root(self, saved: Any, notes: dict[str, Any]) -> Any:
        thread, graph = _thread_and_graph(saved.config)
        if not graph:
            for channel, note in notes.items():
                self._departed.loaded(thread, channel, note)
        # With pending writes it waits in a call, and its list is that of the call.
        if not keeps_its_list(graph) or saved.pending_writes:
            return saved
        values = {}
        for channel, _, value, messages in self._lists(saved.config, saved.checkpoint):
            stay = self._departed.left_in(thread, channel, messages)
            if len(stay) < len(messages):
                values[channel] = _in_form_of(value, stay)
        return saved._replace(checkpoint=_with_values(saved.checkpoint, values))

    def _reduce(
        self, place: Place, messages: list[Any], namespace: Any, noted: dict[str, Any]
    ) -> Steps[tuple[list[Any], dict[str, Any]]]:
        """Return what survives, `messages` itself if all do, and what to note."""
        trace = self._histories.trace(place, messages, noted)
        result = yield from self.reducer._steps(  # noqa: SLF001 - made for this module
            messages, namespace, keys=trace.key if trace else None
        )
        pruned = _indices(messages, result.pruned)
        note = note_of(messages, pruned) or kept_note(noted)
        if trace is not None:
            note |= self._histories.settle(trace, set(pruned))
        return (result.surviving if pruned else messages), note

    def _namespace(self, configurable: Any) -> Any:
        """The memory namespace of this call, else the thread's last one, else the thread."""
        thread = str(configurable.get("thread_id"))
        given = configurable.get(self.reducer.config.namespace_key)
        if given is None or (isinstance(given, (str, tuple, list)) and not given):
            seen = self._namespaces.get(thread)
            return ("memories", thread) if seen is None else seen
        self._namespaces.put(thread, given)
        return given


def _thread_and_graph(config: Any) -> tuple[str, str]:
    configurable = config.get("configurable") if isinstance(config, Mapping) else None
    if not isinstance(configurable, Mapping) or configurable.get("thread_id") is None:
        raise ValueError('config must name a thread: {"configurable": {"thread_id": ...}}')
    return str(configurable["thread_id"]), str(configurable.get("checkpoint_ns") or "")


def _noted(metadata: Any) -> dict[str, Any]:
    """What the metadata says by channel; nothing if somebody else uses that name."""
    noted = (metadata or {}).get(METADATA_KEY)
    if not isinstance(noted, dict):
        return {}
    return {channel: note for channel, note in noted.items() if isinstance(note, dict)}


def _with_values(checkpoint: Any, values: dict[str, Any]) -> Any:
    if not values:
        return checkpoint
    return {**checkpoint, "channel_values": {**checkpoint["channel_values"], **values}}


def _cleaned(saved: Any, notes: dict[str, Any]) -> Any:
    """The tuple without what its pending writes say of messages these notes name."""
    if not notes or not saved.pending_writes:
        return saved
    writes = [
        (task, channel, without_pruned(value, notes[channel]) if channel in notes else value)
        for task, channel, value in saved.pending_writes
    ]
    return saved._replace(pending_writes=writes)


def _messages_in(value: Any) -> list[Any] | None:
    """The messages of a channel's value as a list, None if it holds none.

    A `_DeltaSnapshot` is a tuple of one list and known by its name; other named tuples,
    which a plain `tuple` check lets pass, are values of the user's.
    """
    if type(value).__name__ == "_DeltaSnapshot":
        return _messages_in(value.value)
    if isinstance(value, list):
        return value
    return list(value) if type(value) is tuple else None


def _in_form_of(value: Any, messages: list[Any]) -> Any:
    if type(value).__name__ == "_DeltaSnapshot":
        return value._replace(value=_in_form_of(value.value, messages))
    return tuple(messages) if isinstance(value, tuple) else messages


def _indices(messages: Sequence[Any], some: Iterable[Any]) -> list[int]:
    """Where these messages stand; of an object that is there twice, the earlier one."""
    left = Counter(map(id, some))
    found = []
    for index, message in enumerate(messages):
        if left[id(message)] > 0:
            left[id(message)] -= 1
            found.append(index)
    return found
