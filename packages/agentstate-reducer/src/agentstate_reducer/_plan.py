"""The decision about one list: who leaves, who stays, and why."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from typing import Any, NamedTuple

from ._config import ReducerConfig

_FLIP = bytes.maketrans(b"\0\1", b"\1\0")


class Verdict(NamedTuple):
    """What happens to one message, and why."""

    leaves: bool
    reason: str


class Plan:
    """What leaves one list of messages, why, and at what size. Performs nothing.

    `pruned` and `surviving` are input indices, `verdicts` has one entry per input index.
    `tokens_before` and `tokens_after` cover the whole list and are None in count mode.
    """

    __slots__ = (
        "_why",
        "leaves",
        "over_limit",
        "pressure",
        "repairs",
        "size",
        "tokens_after",
        "tokens_before",
    )

    def __init__(
        self,
        size: int,
        leaves: bytes | None = None,
        repairs: bytes | None = None,
        pressure: float = 0.0,
    ) -> None:
        self.size = size  # messages in the list
        self.leaves = leaves  # one byte per message, 1 when it leaves; None when nothing does
        self.repairs = repairs  # likewise, for what `repair_tool_pairs` removes
        self.pressure = pressure  # size of the list as a share of the limit that triggers
        self.over_limit = False  # whether something leaves because of the limit
        self.tokens_before: int | None = None
        self.tokens_after: int | None = None
        self._why: Callable[[int], str] | None = None

    @property
    def pruned(self) -> tuple[int, ...]:
        """Indices of the messages that leave."""
        return () if self.leaves is None else tuple(compress(range(self.size), self.leaves))

    @property
    def surviving(self) -> tuple[int, ...]:
        """Indices of the messages that stay."""
        if self.leaves is None:
            return tuple(range(self.size))
        return tuple(compress(range(self.size), self.leaves.translate(_FLIP)))

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One verdict and reason per input index."""
        raise NotImplementedError

    @property
    def gap(self) -> int:
        """Input index in front of which a summary block stands."""
        raise NotImplementedError

    def split(self, messages: list[Any]) -> tuple[list[Any], list[Any]]:
        """(surviving, pruned): the messages themselves, in their order."""
        if self.leaves is None:
            return list(messages), []
        stay = self.leaves.translate(_FLIP)
        return list(compress(messages, stay)), list(compress(messages, self.leaves))

    def only_repairs(self) -> Plan:
        """The plan in which only what `repair_tool_pairs` removes leaves: for a failed summary."""
        raise NotImplementedError


def make_plan(
    messages: list[Any],
    config: ReducerConfig,
    counter: Any = None,
    is_summary: Callable[[Any], bool] | None = None,
) -> Plan:
    """The plan for one list. Asks `keep`, the counter and `is_summary`, and nothing else."""
    raise NotImplementedError
