"""A reducer inside flow states: which lists, under which namespace, with which keys.

A flow hands over its whole live state at every save, goes on with what it loaded, and its
messages have no ids. So the envelope notes for each list where its messages stand in the
whole history (place and content are the key of a message, the same in every process), and
by which messages its summary block is recognised.
"""

from __future__ import annotations

import inspect
import logging
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from agentstate_documents.flow_messages import check_keys, find_lists
from agentstate_reducer import MessageReducer
from agentstate_reducer.integration import (
    START,
    AsyncCallableError,
    Recent,
    continued,
    describe,
    fingerprint,
    id_of,
    is_synthetic,
    kept,
    read,
    run,
    scope_of,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentstate_documents.flow_messages import Slot
    from agentstate_reducer.integration import Lineage

    Namespace: TypeAlias = Callable[[dict[str, Any], str], Any] | str | Sequence[Any] | None

logger = logging.getLogger(__name__)

# Flows whose histories this process remembers. One it forgot while it still runs is numbered
# from the beginning again: hooks may see some of its messages a second time.
MAX_FLOWS = 4_096

Note: TypeAlias = dict[str, Any]
"""`path` of a list, `lineage` of its stored messages, fingerprints of its summary `block`."""

Known: TypeAlias = "dict[tuple[str, ...], tuple[Lineage, ...]]"
"""What each list of a flow may continue, by path: the stored form first, then the live one."""

_registered: dict[str, MessageReducer] = {}

# What was put or loaded last. A live list is a fact about the running flow, which may be saved
# by several persistences: one of the class and others of its methods. It is told by its id and
# whose it is: users with tables of their own may give their flows the same id.
_Life: TypeAlias = tuple[str, str]
_running: Recent[_Life, Known] = Recent(MAX_FLOWS)


def register_reducer(name: str, reducer: MessageReducer) -> None:
    """`reducer=name` means this reducer, in every persistence of this process.

    A name survives where an object does not: in a dump, a checkpoint, a declaration. It may
    be registered after the persistence was made, but before its first save or load, and again.
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"a reducer is registered under a text that is not empty, not {name!r}")
    _registered[name] = _checked(reducer)


def registered_name(reducer: object) -> str | None:
    """The name this very reducer is registered under."""
    return next((name for name, known in _registered.items() if known is reducer), None)


class FlowReduction:
    """Reduces the message lists of flow states, and says what their envelopes must note.

    What it remembers is bounded and comes back with the next load. Safe for threads as long
    as one flow is reduced by one at a time; holds no lock while user code runs.
    """

    def __init__(
        self,
        reducer: MessageReducer | str,
        messages_key: str | Sequence[str] = "messages",
        namespace: Namespace = None,
    ) -> None:
        if reducer == "":
            raise ValueError("reducer must be a name that is not empty, or a MessageReducer")
        self._reducer = reducer if isinstance(reducer, str) else _checked(reducer)
        self._keys = check_keys(messages_key)
        self._namespace = namespace
        # By flow, what this one reduced or loaded last. Another may be at a flow of the same id.
        self._lineages: Recent[str, tuple[_Life, Known]] = Recent(MAX_FLOWS)
        # Whole blocks by their first fingerprint, for all flows: one may be forked to another.
        self._blocks: Recent[str, list[str]] = Recent(MAX_FLOWS)

    @property
    def reducer(self) -> MessageReducer:
        """The reducer itself.

        Raises:
            ValueError: It was given by a name nobody has registered.
        """
        if isinstance(self._reducer, MessageReducer):
            return self._reducer
        if self._reducer not in _registered:
            raise ValueError(f"no reducer is registered as {self._reducer!r}: register_reducer()")
        return _registered[self._reducer]

    def knows(self, flow: str) -> bool:
        """Whether this process remembers where the lists of the flow stand in their histories."""
        return self._lineages.get(flow) is not None

    def reduce(self, flow: str, state: dict[str, Any]) -> list[Note]:
        """The lists of `state`, a plain copy, are reduced in place; the hooks have been served.

        A list whose reducer fails is left whole, and that is logged; only the `TypeError` that
        refuses an async callable comes through.
        """
        slots = find_lists(state, self._keys)
        life = self._life(flow, state)
        traces = [
            self._trace(flow, slot, self._known(life, slot.path) or (START,)) for slot in slots
        ]
        paths = [slot.path for slot in slots]
        self._goes_on(life, {p: (t.lineage,) for p, t in zip(paths, traces, strict=True)})
        # All before any is replaced: a `namespace` function sees the state as it was saved.
        left = [
            self._surviving(flow, path, state, trace)
            for path, trace in zip(paths, traces, strict=True)
        ]
        for slot, surviving in zip(slots, left, strict=True):
            slot.replace(surviving)
        return [
            {"path": list(path), **trace.note(surviving)}
            for path, trace, surviving in zip(paths, traces, left, strict=True)
        ]

    def loaded(
        self, flow: str, state: dict[str, Any], notes: Sequence[Note], *, resumes: bool
    ) -> None:
        """This is what is stored of the flow, which goes on from there if it `resumes`.

        It may also still be running, and was read only to be looked at; or it was brought
        back by other means, with its messages from the beginning.
        """
        noted = {tuple(note["path"]): note for note in notes}
        life = self._life(flow, state)
        known = _running.get(life) or self._own(flow)
        found: Known = {}
        for slot in find_lists(state, self._keys):
            note = noted.get(slot.path)
            if note and note["block"]:
                self._blocks.put(note["block"][0], note["block"])
            live = known.get(slot.path, ())[-1:] if resumes else (START,)
            found[slot.path] = (self._stored(flow, slot, note), *live)
        if resumes:
            self._goes_on(life, found)
        else:
            self._lineages.put(flow, (life, found))

    def forget(self, flow: str) -> None:
        """The flow is deleted: one that gets its id continues nothing, under places nobody had."""
        known = self._lineages.get(flow)
        if known is not None:
            life, own = known
            lists = {**own, **(_running.get(life) or {})}
            begin: Known = {
                path: (START._replace(following=max(lineage.following for lineage in lineages)),)
                for path, lineages in lists.items()
            }
            _running.put(life, begin)
            self._lineages.put(flow, (life, begin))

    def _life(self, flow: str, state: dict[str, Any]) -> _Life:
        try:
            key = self.reducer.config.namespace_key
            return flow, repr(self._namespace_of(flow, state, key))
        except Exception:  # it is reported where the lists are reduced
            return flow, ""

    def _own(self, flow: str) -> Known:
        known = self._lineages.get(flow)
        return {} if known is None else known[1]

    def _known(self, life: _Life, path: tuple[str, ...]) -> tuple[Lineage, ...]:
        """What the list may continue, what is known of the running flow first."""
        return (_running.get(life) or {}).get(path, ()) + self._own(life[0]).get(path, ())

    def _goes_on(self, life: _Life, found: Known) -> None:
        """The flow goes on from these lists; those this one knew and that are gone do not."""
        own, running = self._own(life[0]), _running.get(life) or {}
        others = {path: lineages for path, lineages in running.items() if path not in own}
        _running.put(life, {**others, **found})
        self._lineages.put(life[0], (life, found))

    def _surviving(
        self, flow: str, path: Sequence[str], state: dict[str, Any], trace: Trace
    ) -> list[Any]:
        reducer = self.reducer
        try:
            steps = reducer._steps(  # noqa: SLF001 -- the seam the core offers to its adapters
                trace.messages,
                self._namespace_of(flow, state, reducer.config.namespace_key),
                keys=trace.key,
                is_summary=trace.is_summary,
            )
            surviving: list[Any] = run(steps).surviving
        except AsyncCallableError:
            raise
        except Exception as error:
            name, why = ".".join(path), describe(error)
            logger.error("flow %s: %r is stored unreduced: %s", flow, name, why)
            return trace.messages
        return surviving

    def _namespace_of(self, flow: str, state: dict[str, Any], key: str) -> Any:
        given = self._namespace
        named = given(state, flow) if callable(given) else given
        if inspect.isawaitable(named):
            if inspect.iscoroutine(named):
                named.close()  # or it would warn that nobody awaited it
            raise AsyncCallableError("namespace is async, and flows are saved in blocking calls")
        candidates = (named, state.get(key), f"/flow/{flow}")
        return next(found for found in candidates if not _is_empty(found))

    def _stored(self, flow: str, slot: Slot, note: Note | None) -> Lineage:
        marks = self._trace(flow, slot, (START,)).marks
        return read(note["lineage"] if note else {}, marks)

    def _trace(self, flow: str, slot: Slot, lineages: Sequence[Lineage]) -> Trace:
        messages = slot.messages
        prints = [fingerprint(message) for message in messages]
        summary = {i for i, message in enumerate(messages) if is_synthetic(message)}
        for i, first in enumerate(prints):
            block = self._blocks.get(first)
            if block and prints[i : i + len(block)] == block:
                summary.update(range(i, i + len(block)))
        own = [i for i in range(len(messages)) if i not in summary]
        marks = [id_of(messages[i]) or prints[i] for i in own]
        lineage = continued([messages[i] for i in own], marks, lineages)
        return Trace(scope_of(flow, *slot.path), messages, own, marks, lineage)


@dataclass(frozen=True)
class Trace:
    """A list and where it stands in its history.

    `scope` stands for flow and path; `own` are the indices of the messages that are no
    summary, `marks` tell those apart, and `lineage` is theirs.
    """

    scope: str
    messages: list[Any]
    own: list[int]
    marks: list[str]
    lineage: Lineage

    def key(self, index: int) -> str:
        """The key of a message without an id, the same wherever this history is continued."""
        n = bisect_left(self.own, index)
        return f"{self.scope}-{self.lineage.places[n]}-{self.marks[n]}"

    @cached_property
    def own_objects(self) -> set[int]:
        """The identities of the messages that are no summary."""
        return {id(self.messages[i]) for i in self.own}

    def is_summary(self, message: Any) -> bool:
        """Whether the message belongs to a block, also one that lost its id."""
        return id(message) not in self.own_objects

    def note(self, surviving: list[Any]) -> Note:
        """What the envelope notes where these messages are what is left of the list."""
        left = {id(message) for message in surviving}
        stay = [n for n, i in enumerate(self.own) if id(self.messages[i]) in left]
        block = [fingerprint(message) for message in surviving if self.is_summary(message)]
        return {"lineage": written(kept(self.lineage, stay)), "block": block}


def _is_empty(namespace: Any) -> bool:
    if isinstance(namespace, str):
        return not namespace.strip()
    return namespace is None or (isinstance(namespace, (tuple, list)) and not namespace)


def _checked(reducer: Any) -> MessageReducer:
    if not isinstance(reducer, MessageReducer):
        raise TypeError(f"reducer must be a MessageReducer, not {type(reducer).__name__}")
    return reducer
