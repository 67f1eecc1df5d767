"""Settings of a reducer: the fields, their defaults and their validation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from ._drivers import refuse_generator

DEFAULT_NAMESPACE_KEY = "memory_namespace"
"""Under which adapters look for the namespace, in the config of a call or in the state."""

RememberFn = Callable[[list[Any], Any], Any]
"""A hook: `(pruned, namespace)`, plain or async; what it returns is ignored."""

_SWITCHES = (
    "preserve_first",
    "cascade_tool_messages",
    "inject_summary",
    "dedupe_on_prune",
    "repair_tool_pairs",
)
_CALLABLES = ("token_counter", "keep", "summarize_fn", "summary_message_factory", "on_reduce")


@dataclass(frozen=True)
class ReducerConfig:
    """Everything a reducer is told, checked once, at construction.

    With `max_tokens` or `context_window` the reducer works by tokens and ignores the count
    settings; else it works by count, and with `max_messages=None` it never prunes.

    Raises `TypeError` for a value of the wrong kind and `ValueError` for one out of range or
    in conflict with another; the text names the field and the value.

        >>> ReducerConfig(min_messages=4, max_messages=8).max_messages
        8
    """

    min_messages: int = 10
    max_messages: int | None = 20
    max_tokens: int | None = None
    target_tokens: int | None = None
    token_counter: Callable[[Any], int] | None = None
    preserve_first: bool = True
    cascade_tool_messages: bool = True
    summarize_fn: Callable[[list[Any]], Any] | None = None
    inject_summary: bool = False
    summary_message_factory: Callable[[str, int], list[Any]] | None = None
    on_prune: Sequence[RememberFn] = ()
    namespace_key: str = DEFAULT_NAMESPACE_KEY
    dedupe_on_prune: bool = True
    dedupe_window: int = 10_000
    _: KW_ONLY
    context_window: int | None = None
    max_token_ratio: float | None = None
    keep: Callable[[Any], bool] | None = None
    start_on: Literal["human"] | None = None
    repair_tool_pairs: bool = False
    on_reduce: Callable[[Any], object] | None = None

    def __post_init__(self) -> None:
        self._check_types()
        self._check_hooks()
        self._check_token_limits()
        self._check_counts()
        self._check_combinations()

    @property
    def token_limit(self) -> int | None:
        """Tokens above which pruning starts; None when the reducer works by count."""
        if self.context_window is None or self.max_token_ratio is None:
            return self.max_tokens
        below = int(self.context_window * self.max_token_ratio)
        # A product of binary fractions may miss the whole number that the digits say.
        above = min(below + 1, self.context_window)
        return above if above / self.context_window <= self.max_token_ratio else below

    @property
    def token_target(self) -> int | None:
        """Tokens that pruning goes down to; None when the reducer works by count."""
        return self.token_limit if self.target_tokens is None else self.target_tokens

    def _check_types(self) -> None:
        for name in ("min_messages", "dedupe_window"):
            _require_int(name, getattr(self, name))
        for name in ("max_messages", "max_tokens", "target_tokens", "context_window"):
            if getattr(self, name) is not None:
                _require_int(name, getattr(self, name))
        for name in _SWITCHES:
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}")
        for name in _CALLABLES:
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise TypeError(f"{name} must be callable, got {getattr(self, name)!r}")
            refuse_generator(name, getattr(self, name))
        if not isinstance(self.namespace_key, str):
            raise TypeError(f"namespace_key must be text, got {self.namespace_key!r}")

    def _check_hooks(self) -> None:
        if callable(self.on_prune) or not isinstance(self.on_prune, (list, tuple)):
            raise TypeError(f"on_prune must be a list of hooks, got {self.on_prune!r}")
        for hook in self.on_prune:
            if not callable(hook):
                raise TypeError(f"on_prune must hold callables, got {hook!r}")
            refuse_generator("an on_prune hook", hook)
        object.__setattr__(self, "on_prune", tuple(self.on_prune))

    def _check_token_limits(self) -> None:
        for name in ("max_tokens", "target_tokens", "context_window"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        self._check_window_share()
        limit = self.token_limit
        if self.target_tokens is None:
            return
        if limit is None:
            raise ValueError(
                f"target_tokens={self.target_tokens} needs max_tokens, or context_window "
                "and max_token_ratio"
            )
        if self.target_tokens > limit:
            raise ValueError(f"target_tokens={self.target_tokens} exceeds max_tokens={limit}")

    def _check_window_share(self) -> None:
        window, ratio = self.context_window, self.max_token_ratio
        if window is None and ratio is None:
            return
        if self.max_tokens is not None:
            raise ValueError(
                f"max_tokens={self.max_tokens} excludes context_window={window} "
                f"and max_token_ratio={ratio!r}"
            )
        if window is None or ratio is None:
            raise ValueError(
                "context_window and max_token_ratio go together, "
                f"got context_window={window} and max_token_ratio={ratio!r}"
            )
        if isinstance(ratio, bool) or not isinstance(ratio, (int, float)):
            raise TypeError(f"max_token_ratio must be a number, got {ratio!r}")
        if not 0 < ratio <= 1:
            raise ValueError(f"max_token_ratio must be above 0 and at most 1, got {ratio}")
        if window > sys.maxsize:
            raise ValueError(f"context_window is too large, got {window}")
        if self.token_limit == 0:
            raise ValueError(
                f"context_window={window} times max_token_ratio={ratio} is below 1 token"
            )

    def _check_counts(self) -> None:
        if self.dedupe_window < 0:
            raise ValueError(f"dedupe_window must not be negative, got {self.dedupe_window}")
        if self.token_limit is not None:
            return
        for name in ("min_messages", "max_messages"):
            if getattr(self, name) is not None and getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if self.max_messages is not None and self.min_messages > self.max_messages:
            raise ValueError(
                f"min_messages={self.min_messages} exceeds max_messages={self.max_messages}; "
                "the defaults are min_messages=10 and max_messages=20, so set both"
            )

    def _check_combinations(self) -> None:
        if self.start_on not in (None, "human"):
            raise ValueError(f"start_on must be 'human' or None, got {self.start_on!r}")
        if not self.namespace_key:
            raise ValueError("namespace_key must not be empty, got ''")
        if self.inject_summary and self.summarize_fn is None:
            raise ValueError("inject_summary=True needs summarize_fn")
        if self.repair_tool_pairs and not self.cascade_tool_messages:
            raise ValueError(
                "repair_tool_pairs=True needs cascade_tool_messages=True: "
                "results that stay without their call cannot be repaired"
            )


def _require_int(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
