"""What never leaves, and count mode: the window and what in it leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import or_
from typing import TYPE_CHECKING

from ._exchanges import Exchanges, mask

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._config import ReducerConfig

_BY_ROLE = {"s": "system message", "u": "unknown message"}
_HUMAN_AI, _HUMAN_AI_RESULTS = mask("ha"), mask("hat")


@dataclass(frozen=True)
class Protection:
    """`why` says of each protected message what protects it, beside its role.

    `tail` is where the open exchange or the newest one begins, whichever is earlier.
    """

    why: dict[int, str]
    tail: int


@dataclass(frozen=True)
class Decision:
    """Who leaves a list that is over its limit: `leaves` has one byte per message, 1 if it does.

    What begins before index `cut` may leave, for the reason `outside`; `inside` is the reason
    why what stands behind it stays.
    """

    leaves: bytearray
    exchanges: Exchanges
    protection: Protection
    cut: int
    outside: str = "in the window"
    inside: str = "in the tail"

    def reasons(self) -> list[str]:
        """Why each message leaves or stays."""
        places = list(range(len(self.leaves)))
        for unit in self.exchanges.joined():
            for i in unit:
                places[i] = unit[0]
        return list(map(self._reason, range(len(places)), places))

    def _reason(self, i: int, place: int) -> str:
        letter = self.exchanges.reading.letters[i]
        if self.leaves[i]:
            if letter not in "ha":
                return "with its call"
            return self.outside if place < self.cut else "before the human message that starts"
        if i in self.protection.why:
            return self.protection.why[i]
        if letter in _BY_ROLE:
            return _BY_ROLE[letter]
        if self.exchanges.is_orphan(i):
            return "result without a call"
        if i >= self.cut:
            return self.inside
        if self.leaves[place]:
            return "result that stays without its call"
        return "human message that starts" if letter == "h" else "its exchange stays"


def protect(exchanges: Exchanges, config: ReducerConfig) -> Protection:
    """What stays whatever the limit says, exchanges whole.

    System, developer and unknown messages and results without a call are not listed: they
    never leave for the letter they have.
    """
    opened, newest = exchanges.open(), exchanges.newest()
    why = dict.fromkeys(newest, "newest message")
    why.update(dict.fromkeys(opened, "open exchange"))
    tail = min(why, default=len(exchanges.reading.letters))
    if config.keep is not None:
        for i in _kept(exchanges, config.keep):
            why.setdefault(i, "named by keep")
    if config.preserve_first and exchanges.reading.letters:
        for i in exchanges.exchange(0):
            why.setdefault(i, "first message")
    return Protection(why, tail)


def _kept(exchanges: Exchanges, keep: Callable[[object], bool]) -> set[int]:
    kept: set[int] = set()
    for i, message in enumerate(exchanges.reading.messages):
        try:
            wanted = bool(keep(message))
        except Exception as error:
            raise ValueError(f"keep raised {error!r} for message {i}") from error
        if wanted and i not in kept:
            kept.update(exchanges.exchange(i))
    return kept


def decide_by_count(exchanges: Exchanges, config: ReducerConfig) -> Decision:
    """The decision for a list longer than `max_messages`."""
    protection = protect(exchanges, config)
    cut = len(exchanges.reading.letters) - config.min_messages
    leaves = window(exchanges, protection, cut, cascade=config.cascade_tool_messages)
    decision = Decision(leaves, exchanges, protection, cut)
    return start_on_human(decision, config, affordable=None) if config.start_on else decision


def window(exchanges: Exchanges, protection: Protection, cut: int, *, cascade: bool) -> bytearray:
    """Who leaves when everything before `cut` may: exchanges whose human and ai members all do.

    Results have no vote. Without `cascade` they stay.
    """
    letters = exchanges.reading.letters
    with_results = cascade and exchanges.adjacent
    table = _HUMAN_AI_RESULTS if with_results else _HUMAN_AI
    leaves = bytearray(letters[:cut].encode().translate(table)) + bytes(len(letters) - cut)
    for i in protection.why:
        leaves[i] = 0
    if with_results:
        while letters[cut : cut + 1] == "t":
            leaves[cut] = leaves[cut - 1]
            cut += 1
    for unit in exchanges.units:
        whole = all(leaves[i] for i in unit if letters[i] in "ha")
        for i in unit:
            leaves[i] = whole and (cascade or letters[i] not in "tf")
    return leaves


def start_on_human(
    decision: Decision, config: ReducerConfig, affordable: Callable[[int], bool] | None
) -> Decision:
    """The decision changed so that what stays of the conversation starts on a leading human.

    `affordable` says whether one more message fits; None means that any does.
    """
    exchanges, leaves, cut = decision.exchanges, decision.leaves, decision.cut
    reading, protection = exchanges.reading, decision.protection
    tail = min(cut, protection.tail)
    staying = (i for i in range(tail, len(leaves)) if not leaves[i])
    lead = next((i for i in staying if reading.leads(i)), None)
    if lead is None:
        _keep_a_leading_human(decision, tail, affordable)
        return decision
    if lead <= cut or any(_blocks(decision, i) for i in range(tail, lead)):
        return decision
    more = window(exchanges, protection, lead, cascade=config.cascade_tool_messages)
    return replace(decision, leaves=bytearray(map(or_, leaves, more)))


def _blocks(decision: Decision, i: int) -> bool:
    """Whether message i keeps the tail from starting on a later human message."""
    spoken = decision.exchanges.reading.letters[i] in "hatf"
    return spoken and (i in decision.protection.why or decision.exchanges.is_orphan(i))


def _keep_a_leading_human(
    decision: Decision, tail: int, affordable: Callable[[int], bool] | None
) -> None:
    exchanges, leaves = decision.exchanges, decision.leaves
    reaching = (
        unit[0]
        for unit in exchanges.joined()
        if not leaves[unit[0]] and unit[0] not in decision.protection.why
    )
    begin = min(tail, next(iter(reaching), tail))
    leading = (i for i in range(begin - 1, -1, -1) if exchanges.reading.leads(i))
    i = next(leading, None)
    if i is not None and leaves[i] and (affordable is None or affordable(i)):
        leaves[i] = 0
