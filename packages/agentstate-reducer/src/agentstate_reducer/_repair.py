"""Calls without their results and results without their call: what a strict provider refuses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ._exchanges import Exchanges, Reading
from ._messages import is_call_item

if TYPE_CHECKING:
    from collections.abc import Sequence

_CALLS_THEN_RESULTS = re.compile("(a[ar]*)[tfh]*")


def broken_pairs(reading: Reading) -> dict[int, str]:
    """The given index of each message that must leave, and why.

    A result without a call leaves, a second answer too, and so does an exchange that was
    abandoned unanswered or whose results do not follow directly. The open exchange is spared.
    """
    exchanges = Exchanges(reading, every_call=True)
    if exchanges.lost:
        # What stands behind such a result may follow its call directly once that is gone. The
        # second round finds none: taking out messages leaves no other result without its call.
        lost = dict.fromkeys((reading.at[i] for i in _lost(exchanges)), "result without a call")
        return lost | broken_pairs(reading.without(lost))
    opened = exchanges.open()
    broken: dict[int, str] = {}
    for unit in _calling_units(exchanges):
        reason = None if unit[-1] in opened else _fault(exchanges, unit)
        if reason:
            broken.update((reading.at[i], reason) for i in unit)
    return broken


def _lost(exchanges: Exchanges) -> set[int]:
    """Messages that hold a result without a call, with the exchange that another result is of.

    Of the open exchange the message alone: what called may still be answered.
    """
    opened = set(exchanges.open())
    lost = set(exchanges.lost)
    for i in exchanges.lost - opened:
        lost.update(exchanges.exchange(i))
    return lost


def _calling_units(exchanges: Exchanges) -> list[Sequence[int]]:
    units = {}
    for i in exchanges.unanswered:
        unit = exchanges.exchange(i)
        units[unit[0]] = unit
    return list(units.values())


def _fault(exchanges: Exchanges, unit: Sequence[int]) -> str | None:
    if any(exchanges.unanswered.get(i) for i in unit):
        return "call without its result"
    return None if _is_direct(exchanges.reading, unit) else "results away from their call"


def _is_direct(reading: Reading, unit: Sequence[int]) -> bool:
    """Whether the results follow their call and nothing stands between.

    The call is one message, or call items that stand side by side.
    """
    letters = "".join([reading.letters[i] for i in unit])
    members = unit[letters.index("a") :]
    if members[-1] - members[0] + 1 != len(members):
        return False
    shape = _CALLS_THEN_RESULTS.fullmatch(letters.lstrip("r"))
    if shape is None:
        return False
    calls = [i for i in members[: shape.end(1)] if reading.letters[i] == "a"]
    return len(calls) == 1 or all(is_call_item(reading.messages[i]) for i in calls)
