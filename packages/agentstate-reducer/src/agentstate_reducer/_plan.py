"""The decision about one list: who leaves, who stays, and why."""

from __future__ import annotations

from copy import copy
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

from ._budget import decide_by_tokens
from ._exchanges import Exchanges, Reading, read
from ._repair import broken_pairs
from ._tokens import resolve_token_counter
from ._window import Decision, decide_by_count

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ._config import ReducerConfig
    from ._tokens import TokenCounter

_FLIP = bytes.maketrans(b"\0\1", b"\1\0")


class Verdict(NamedTuple):
    """What happens to one message, and why."""

    leaves: bool
    reason: str


class _Grounds(NamedTuple):
    """What a plan was made from: enough to say why."""

    block: Collection[int]  # the messages of a summary, set aside
    broken: dict[int, str]  # what repair removes, and why
    rest: Reading  # everything else
    decision: Decision | None  # about the rest, when it is over the limit


class Plan:
    """What leaves one list of messages, why, and at what size. Performs nothing.

    `leaves` has one byte per message, 1 when it leaves, and is None when nothing does;
    `repairs` likewise for what `repair_tool_pairs` removes. `over_limit` says whether anything
    leaves because of the limit, `pressure` is the size as a share of the limit that triggers.

        >>> from agentstate_reducer._config import ReducerConfig
        >>> turns = [{"role": "user", "content": "Hi"}, {"role": "ai", "content": "Hello"}] * 2
        >>> config = ReducerConfig(min_messages=2, max_messages=3, preserve_first=False)
        >>> plan = make_plan(turns, config)
        >>> plan.pruned, plan.surviving
        ((0, 1), (2, 3))
        >>> plan.verdicts[0]
        Verdict(leaves=True, reason='in the window')
    """

    __slots__ = ("_costs", "_grounds", "leaves", "over_limit", "pressure", "repairs", "size")

    def __init__(
        self,
        size: int,
        pressure: float,
        *,
        leaves: bytes | None = None,
        repairs: bytes | None = None,
        over_limit: bool = False,
        costs: list[int] | None = None,
        grounds: _Grounds | None = None,
    ) -> None:
        self.size, self.pressure = size, pressure
        self.leaves, self.repairs, self.over_limit = leaves, repairs, over_limit
        self._costs, self._grounds = costs, grounds

    @property
    def block(self) -> Collection[int]:
        """Input indices of the messages of an old summary; none where they were not looked for."""
        return self._grounds.block if self._grounds else ()

    @property
    def pruned(self) -> tuple[int, ...]:
        """Input indices of the messages that leave."""
        return () if self.leaves is None else tuple(compress(range(self.size), self.leaves))

    @property
    def surviving(self) -> tuple[int, ...]:
        """Input indices of the messages that stay."""
        everyone = range(self.size)
        stay = everyone if self.leaves is None else compress(everyone, self.leaves.translate(_FLIP))
        return tuple(stay)

    @property
    def tokens_before(self) -> int | None:
        """Tokens of the whole list; None in count mode."""
        return None if self._costs is None else sum(self._costs)

    @property
    def tokens_after(self) -> int | None:
        """Tokens of the messages that stay; None in count mode."""
        if self._costs is None or self.leaves is None:
            return self.tokens_before
        return sum(compress(self._costs, self.leaves.translate(_FLIP)))

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One verdict and reason per input index."""
        leaves = self.leaves or bytes(self.size)
        if self._grounds is None:
            return (Verdict(leaves=False, reason="under the limit"),) * self.size
        reasons = _reasons(self._grounds, self.size, over_limit=self.over_limit)
        return tuple(map(Verdict, map(bool, leaves), reasons))

    @property
    def gap(self) -> int:
        """Input index in front of which a summary of what leaves stands.

        The first gap at or behind the first message that leaves which is not inside an
        exchange that stays. Asks for a plan in which something leaves because of the limit.
        """
        grounds = self._grounds
        if self.leaves is None or grounds is None or grounds.decision is None:
            raise ValueError("a summary has no place: nothing leaves because of the limit")
        gap, at = self.leaves.index(1), grounds.rest.at
        for unit in grounds.decision.exchanges.joined():
            if at[unit[0]] < gap <= at[unit[-1]] and not grounds.decision.leaves[unit[0]]:
                gap = at[unit[-1]] + 1
        return gap

    def split(self, messages: list[Any]) -> tuple[list[Any], list[Any]]:
        """(surviving, pruned): the same objects, in their order."""
        if self.leaves is None:
            return list(messages), []
        first, end = self.leaves.index(1), self.leaves.rindex(1) + 1
        if self.leaves.count(1) == end - first:
            return messages[:first] + messages[end:], messages[first:end]
        stay = self.leaves.translate(_FLIP)
        return list(compress(messages, stay)), list(compress(messages, self.leaves))

    def only_repairs(self) -> Plan:
        """The plan in which nothing leaves because of the limit: for a summary that failed."""
        return Plan(
            self.size,
            self.pressure,
            leaves=self.repairs,
            repairs=self.repairs,
            costs=self._costs,
            grounds=self._grounds and self._grounds._replace(decision=None),
        )


def make_plan(
    messages: list[Any],
    config: ReducerConfig,
    counter: TokenCounter | None = None,
    find_summaries: Callable[[list[Any]], Collection[int]] | None = None,
) -> Plan:
    """The plan for one list. Asks `keep`, the counter and `find_summaries`, and nothing else.

    `find_summaries` says at which indices messages of an old summary stand: they count for
    nothing, and leave when anything leaves because of the limit. In count mode a list under the
    limit is not looked into.
    """
    size, limit = len(messages), config.token_limit
    if limit is None and not config.repair_tool_pairs and not _exceeds(size, config.max_messages):
        return Plan(size, _share(size, config.max_messages))
    reading = read(messages)
    costs = None
    if limit is not None:
        costs = (counter or resolve_token_counter(config.token_counter)).costs(reading)
        total = sum(costs)
        if total <= limit and not config.repair_tool_pairs:
            return Plan(size, _share(total, limit), costs=costs)
    block = frozenset(find_summaries(messages)) if find_summaries else frozenset()
    rest = reading.without(block)
    broken = broken_pairs(rest) if config.repair_tool_pairs else {}
    rest = rest.without(broken)
    decision, pressure = _decide(rest, config, costs)
    grounds = _Grounds(block, broken, rest, decision)
    repairs = _flags(size, broken) if broken else None
    over_limit = decision is not None and any(decision.leaves)
    return Plan(
        size,
        pressure,
        leaves=_leaves(size, grounds) if over_limit else repairs,
        repairs=repairs,
        over_limit=over_limit,
        costs=costs,
        grounds=grounds,
    )


def without_block(plan: Plan) -> Plan:
    """The plan in which the old summary stays: for a prune that no new one sums up."""
    spared = copy(plan)
    flags = enumerate(plan.leaves or b"")
    spared.leaves = bytes(leaves and i not in plan.block for i, leaves in flags)
    return spared


def _decide(
    rest: Reading, config: ReducerConfig, costs: list[int] | None
) -> tuple[Decision | None, float]:
    if costs is None or config.token_limit is None or config.token_target is None:
        size = len(rest.messages)
        over = _exceeds(size, config.max_messages)
        decision = decide_by_count(Exchanges(rest), config) if over else None
        return decision, _share(size, config.max_messages)
    costs = costs if len(costs) == len(rest.at) else [costs[i] for i in rest.at]
    total = sum(costs)
    if total <= config.token_limit:
        return None, _share(total, config.token_limit)
    decision = decide_by_tokens(Exchanges(rest), config, costs, total - config.token_target)
    return decision, _share(total, config.token_limit)


def _exceeds(size: int, limit: int | None) -> bool:
    return limit is not None and size > limit


def _share(size: float, limit: int | None) -> float:
    if not size or limit is None:
        return 0.0
    return size / limit if limit else float("inf")


def _flags(size: int, indices: Collection[int]) -> bytes:
    flags = bytearray(size)
    for i in indices:
        flags[i] = 1
    return bytes(flags)


def _leaves(size: int, grounds: _Grounds) -> bytes:
    decided = grounds.decision.leaves if grounds.decision else b""
    if len(decided) == size:
        return bytes(decided)
    gone = compress(grounds.rest.at, decided)
    return _flags(size, [*grounds.block, *grounds.broken, *gone])


def _reasons(grounds: _Grounds, size: int, *, over_limit: bool) -> list[str]:
    reasons = ["under the limit"] * size
    for i in grounds.block:
        reasons[i] = "summary that a new one replaces" if over_limit else "summary"
    for i, reason in grounds.broken.items():
        reasons[i] = reason
    if grounds.decision:
        for i, reason in zip(grounds.rest.at, grounds.decision.reasons(), strict=True):
            reasons[i] = reason
    return reasons
