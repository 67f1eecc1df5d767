"""Token mode: the oldest units leave until what is left fits the target."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, compress
from operator import mul, not_
from typing import TYPE_CHECKING

from ._window import Decision, Protection, protect, start_on_human, window

if TYPE_CHECKING:
    from ._config import ReducerConfig
    from ._exchanges import Exchanges


def decide_by_tokens(
    exchanges: Exchanges, config: ReducerConfig, costs: list[int], target: int
) -> Decision:
    """The decision for a list that costs more than the limit.

    Everything protected stays, then units from the newest backwards while they fit; the first
    that does not fit ends it. That is: the fewest oldest units leave that bring the rest down
    to `target`.
    """
    protection = protect(exchanges, config)
    over = sum(costs) - target
    cascade = config.cascade_tool_messages
    drop = _drop_adjacent if exchanges.adjacent else _drop_units
    leaves, cut = drop(exchanges, protection, costs, over, cascade)
    decision = Decision(
        leaves, exchanges, protection, cut, outside="over the budget", inside="fits the budget"
    )
    if not config.start_on:
        return decision
    left = sum(compress(costs, map(not_, decision.leaves)))
    return start_on_human(decision, config, lambda i: left + costs[i] <= target)


def _drop_adjacent(
    exchanges: Exchanges, protection: Protection, costs: list[int], over: int, cascade: bool
) -> tuple[bytearray, int]:
    """Units are contiguous: the cut is found in the running total of what may leave."""
    letters = exchanges.reading.letters
    may = window(exchanges, protection, len(letters), cascade=cascade)
    running = list(accumulate(map(mul, costs, may)))
    cut = min(len(letters), bisect_left(running, over) + 1)
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
