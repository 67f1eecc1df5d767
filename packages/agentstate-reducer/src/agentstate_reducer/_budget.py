"""Token mode: the oldest units leave until what is left fits the target."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from ._window import Decision, Protection, protect, start_on_human, window

if TYPE_CHECKING:
    from ._config import ReducerConfig
    from ._exchanges import Exchanges


def decide_by_tokens(
    exchanges: Exchanges, config: ReducerConfig, costs: list[int], over: int
) -> Decision:
    """The decision for a list that costs `over` more tokens than the target.

    Everything protected stays, then units from the newest backwards while they fit; the first
    that does not fit ends it. That is: the fewest oldest units leave that bring the rest down
    to the target.
    """
    protection = protect(exchanges, config)
    cascade = config.cascade_tool_messages
    drop = _drop_adjacent if exchanges.adjacent else _drop_units
    leaves, cut = drop(exchanges, protection, costs, over, cascade)
    decision = Decision(
        leaves, exchanges, protection, cut, outside="over the budget", inside="fits the budget"
    )
    if not config.start_on:
        return decision
    room = sum(compress(costs, decision.leaves)) - over
    return start_on_human(decision, config, lambda i: costs[i] <= room)


def _drop_adjacent(
    exchanges: Exchanges, protection: Protection, costs: list[int], over: int, cascade: bool
) -> tuple[bytearray, int]:
    """Units are contiguous: the cut is found from the newest message backwards."""
    letters = exchanges.reading.letters
    may = window(exchanges, protection, len(letters), cascade=cascade)
    room = sum(compress(costs, may)) - over
    cut = len(letters)
    while cut and (not may[cut - 1] or costs[cut - 1] <= room):
        cut -= 1
        room -= may[cut] * costs[cut]
    while letters[cut : cut + 1] == "t":
        cut += 1
    return may[:cut] + bytes(len(letters) - cut), cut


def _drop_units(
    exchanges: Exchanges, protection: Protection, costs: list[int], over: int, cascade: bool
) -> tuple[bytearray, int]:
    size = len(exchanges.reading.letters)
    may = window(exchanges, protection, size, cascade=cascade)
    leaves, cut = bytearray(size), size
    for i in range(size):
        if over <= 0:
            cut = i
            break
        if may[i] and not leaves[i]:
            for member in exchanges.exchange(i):
                leaves[member] = may[member]
                over -= may[member] * costs[member]
    return leaves, cut
