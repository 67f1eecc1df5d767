"""What a reduction came to: its result, and the report about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any


@dataclass
class ReducerResult:
    """What one reduction came to. `surviving` is the list to go on with, `pruned` what left it.

    `summary` is the text for `pruned`, None without `summarize_fn` or when nothing was summed up.
    """

    surviving: list[Any] = field(default_factory=list)
    pruned: list[Any] = field(default_factory=list)
    summary: str | None = None


@dataclass(frozen=True)
class ReduceEvent:
    """What one reduction did, in numbers alone; durations in seconds.

    `delivered` adds up the messages each hook took, earlier ones that had waited included.
    `tokens_after` is what stayed, without a new summary; tokens are None in count mode.
    """

    namespace: Any
    messages_before: int
    messages_after: int
    pruned: int
    delivered: int
    summarized: bool
    tokens_before: int | None
    tokens_after: int | None
    plan_seconds: float
    summary_seconds: float
    hooks_seconds: float


class Clock:
    """Tells how long each part of an operation took."""

    def __init__(self) -> None:
        self._at = perf_counter()

    def lap(self) -> float:
        """Seconds since the last lap, or the start."""
        before, self._at = self._at, perf_counter()
        return self._at - before
