"""Who has had what: a message reaches a hook once, and what a hook failed to take comes again."""

from __future__ import annotations

import inspect
import logging
from collections import OrderedDict
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ._drivers import AsyncCallableError, Call, Steps, describe, is_async, name_of
from ._forks import fork_safe_lock
from ._messages import id_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from ._config import RememberFn

log = logging.getLogger("agentstate_reducer")


class Pruned(list[Any]):
    """The messages a hook gets: a list, and in `keys` the stable text of each message, or None."""

    def __init__(self, messages: Iterable[Any] = (), keys: Iterable[str | None] = ()) -> None:
        super().__init__(messages)
        self.keys = list(keys)

    @classmethod
    def of(cls, messages: list[Any]) -> Pruned:
        """A copy; the keys of a plain list are the ids of its messages."""
        return cls(messages, messages.keys if isinstance(messages, cls) else map(id_of, messages))


class _Refused:
    def __bool__(self) -> bool:
        return False


REFUSED: Final = _Refused()
"""What a hook returns that did not take the batch, though nothing went wrong."""


def frozen(namespace: Any) -> Hashable:
    """What tells one namespace from another; a list, as JSON delivers it, equals its tuple."""
    if isinstance(namespace, (list, tuple)):
        return tuple(map(frozen, namespace))
    if isinstance(namespace, dict):
        items = ((frozen(key), frozen(value)) for key, value in namespace.items())
        return dict, tuple(sorted(items, key=repr))
    try:
        hash(namespace)
    except TypeError:
        return type(namespace), repr(namespace)
    return type(namespace), namespace  # 1, 1.0 and True are equal, and three namespaces


class _Entry(NamedTuple):
    """A message on its way to a hook; `order` is its place among all that the hook was offered."""

    order: int
    message: Any
    key: str | None

    @property
    def mark(self) -> Hashable:
        return id(self.message) if self.key is None else self.key


class Claim:
    """Messages that one call of a hook is given, and no other call until this is settled."""

    def __init__(self, place: Hashable, entries: list[_Entry]) -> None:
        self.place, self.entries = place, entries
        self.running = self.settled = False

    def __len__(self) -> int:
        return len(self.entries)

    def batch(self) -> Pruned:
        """The messages with their keys, in a list of the hook's own."""
        return Pruned((e.message for e in self.entries), (e.key for e in self.entries))


class Ledger:
    """What one hook has had (`window` keys at most), what it is having, and what waits for it.

    At most `window` messages wait, whatever their namespace. The lock is held for bookkeeping
    alone, never while a hook runs.
    """

    def __init__(self, hook: RememberFn, window: int, *, dedupe: bool) -> None:
        self.hook = hook
        self._window, self._dedupe = window, dedupe
        self._lock = fork_safe_lock()
        self._claimed: set[tuple[Hashable, str]] = set()
        self._confirmed: OrderedDict[tuple[Hashable, str], None] = OrderedDict()
        self._waiting: dict[Hashable, list[_Entry]] = {}
        self._oldest: list[tuple[int, Hashable]] = []  # (order, place), the next to go at the end
        self._held = self._offered = self._given_up = 0

    def waits(self, namespace: Any) -> bool:
        """Whether messages of this namespace wait for the hook."""
        return bool(self._waiting) and frozen(namespace) in self._waiting

    def claim(self, namespace: Any, pruned: Pruned) -> Claim:
        """What waits, then what of `pruned` the hook has not had and no other call is giving it."""
        place = frozen(namespace)
        with self._lock:
            entries = self._waiting.pop(place, [])
            self._held -= len(entries)
            waited = {entry.mark for entry in entries}
            self._claimed.update(self._keys(place, entries))
            for entry in map(_Entry, self._orders(len(pruned)), pruned, pruned.keys):
                if entry.mark not in waited and not self._had(place, entry.key):
                    entries.append(entry)
                    self._claimed.update(self._keys(place, [entry]))
        return Claim(place, entries)

    def begin(self, claim: Claim) -> bool:
        """Whether a thread may call the hook now; from here on this thread settles the claim."""
        with self._lock:
            claim.running = not claim.settled
            return claim.running

    def settle(self, claim: Claim, *, delivered: bool) -> None:
        """The hook has had the messages, or they wait. The first word counts."""
        with self._lock:
            given_up = self._settle(claim, delivered=delivered)
        self._warn_of(given_up)

    def abandon(self, claim: Claim) -> None:
        """Nobody waits for the call any more: unless a thread is in it, the messages wait."""
        with self._lock:
            given_up = 0 if claim.running else self._settle(claim, delivered=False)
        self._warn_of(given_up)

    def _settle(self, claim: Claim, *, delivered: bool) -> int:
        """Returns how many messages had to go."""
        if claim.settled:
            return 0
        claim.settled = True
        keys = self._keys(claim.place, claim.entries)
        self._claimed.difference_update(keys)
        if not delivered:
            return self._wait(claim)
        self._confirm(keys)
        return 0

    def _warn_of(self, given_up: int) -> None:
        """Outside the lock: a log handler is code of the user's."""
        if given_up:
            log.warning(
                "on_prune hook %s keeps failing: %d messages dropped, %d so far",
                name_of(self.hook),
                given_up,
                self._given_up,
            )

    def _orders(self, count: int) -> range:
        self._offered += count
        return range(self._offered - count, self._offered)

    def _keys(self, place: Hashable, entries: list[_Entry]) -> list[tuple[Hashable, str]]:
        return [(place, e.key) for e in entries if e.key is not None] if self._dedupe else []

    def _had(self, place: Hashable, key: str | None) -> bool:
        if key is None or not self._dedupe:
            return False
        if (place, key) in self._confirmed:
            self._confirmed.move_to_end((place, key))  # the list still holds it
            return True
        return (place, key) in self._claimed

    def _confirm(self, keys: list[tuple[Hashable, str]]) -> None:
        self._confirmed.update(dict.fromkeys(keys))
        while len(self._confirmed) > self._window:
            self._confirmed.popitem(last=False)

    def _wait(self, claim: Claim) -> int:
        """Keep the messages for the next time; returns how many had to go, the oldest."""
        before = self._waiting.get(claim.place, [])
        unique = {e.mark: e for e in sorted([*before, *claim.entries], key=lambda e: -e.order)}
        self._waiting[claim.place] = sorted(unique.values(), key=lambda e: e.order)
        self._held += len(unique) - len(before)
        surplus = max(0, self._held - self._window)
        for _ in range(surplus):
            self._drop_oldest()
        self._given_up += surplus
        return surplus

    def _drop_oldest(self) -> None:
        """One message less waits. One sort of all that wait serves as many drops."""
        while True:
            if not self._oldest:
                waiting = self._waiting.items()
                self._oldest = [(e.order, place) for place, entries in waiting for e in entries]
                self._oldest.sort(key=itemgetter(0), reverse=True)
            order, place = self._oldest.pop()
            entries = self._waiting.get(place, [])
            if entries and entries[0].order == order:  # else it had its turn since
                del entries[0]
                self._held -= 1
                if not entries:
                    del self._waiting[place]
                return


def deliver(ledger: Ledger, namespace: Any, pruned: Pruned) -> Steps[int]:
    """The hook has had what it is due; returns the number of messages, 0 when it did not take them.

    A hook that raises is logged, and its messages wait. Whatever ends the operation early, a
    `KeyboardInterrupt` or a cancelled task included, leaves no message claimed.
    """
    claim, hook = ledger.claim(namespace, pruned), ledger.hook
    if not claim:
        return 0
    try:
        if is_async(hook):
            reply = yield Call(hook, (claim.batch(), namespace))
        else:
            reply = yield Call(_hand_over, (ledger, claim, namespace), hook)
    except AsyncCallableError:
        ledger.settle(claim, delivered=False)
        raise
    except Exception as error:
        ledger.settle(claim, delivered=False)
        log.warning("on_prune hook %s failed: %s", name_of(hook), describe(error))
        return 0
    except BaseException:
        ledger.abandon(claim)
        raise
    ledger.settle(claim, delivered=reply is not REFUSED)
    return 0 if reply is REFUSED else len(claim)


def _hand_over(ledger: Ledger, claim: Claim, namespace: Any) -> Any:
    """Call the hook, and settle here, in its thread: a cancelled task listens no longer."""
    if not ledger.begin(claim):
        return REFUSED
    try:
        reply = ledger.hook(claim.batch(), namespace)
    except BaseException:
        ledger.settle(claim, delivered=False)
        raise
    if inspect.isawaitable(reply):
        claim.running = False  # who awaits it settles
    else:
        ledger.settle(claim, delivered=reply is not REFUSED)
    return reply
