"""Settings are checked once, at construction, and errors name field and value."""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
import re
from typing import Any

import pytest

from agentstate_reducer import Background, MessageReducer, ReducerConfig

PUBLISHED = (
    "min_messages",
    "max_messages",
    "max_tokens",
    "target_tokens",
    "token_counter",
    "preserve_first",
    "cascade_tool_messages",
    "summarize_fn",
    "inject_summary",
    "summary_message_factory",
    "on_prune",
    "namespace_key",
    "dedupe_on_prune",
    "dedupe_window",
)


def hook(pruned: list[Any], namespace: Any) -> None:
    """Does nothing."""


def test_published_fields_keep_their_order_and_ours_are_keyword_only() -> None:
    """A configuration that was built by position means the same."""
    fields = dataclasses.fields(ReducerConfig)
    assert tuple(f.name for f in fields if not f.kw_only) == PUBLISHED
    assert {f.name for f in fields if f.kw_only} == {
        "context_window",
        "max_token_ratio",
        "keep",
        "start_on",
        "repair_tool_pairs",
        "on_reduce",
    }


def test_defaults_are_the_documented_ones() -> None:
    """10 and 20 messages, everything else off or its documented value."""
    config = ReducerConfig()
    assert (config.min_messages, config.max_messages, config.dedupe_window) == (10, 20, 10_000)
    assert config.namespace_key == "memory_namespace"
    assert config.preserve_first
    assert config.cascade_tool_messages
    assert config.dedupe_on_prune
    assert config.on_prune == ()


def test_a_configuration_cannot_change_and_keeps_its_hooks_as_a_tuple() -> None:
    """A list of hooks that is changed later changes nothing."""
    hooks = [hook]
    config = ReducerConfig(on_prune=hooks)
    hooks.clear()
    assert config.on_prune == (hook,)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.max_messages = 3  # type: ignore[misc]


def test_a_configuration_can_be_copied_pickled_and_replaced() -> None:
    """Also when the limit is a share of a context window."""
    config = ReducerConfig(context_window=1_000, max_token_ratio=0.5, on_prune=[hook])
    assert pickle.loads(pickle.dumps(config)) == copy.deepcopy(config) == config  # noqa: S301
    assert dataclasses.replace(config, preserve_first=False).context_window == 1_000


def test_a_share_of_the_context_window_triggers_pruning() -> None:
    """`context_window * max_token_ratio` is the limit and, without a target, the target."""
    messages = [{"role": "user", "content": str(i)} for i in range(10)]
    for size, left in ((20, 10), (18, 9), (10, 5)):
        config = ReducerConfig(context_window=size, max_token_ratio=0.5, token_counter=lambda _: 1)
        assert len(MessageReducer(config=config).reduce(messages).surviving) == left


@pytest.mark.parametrize(
    ("window", "ratio", "limit"),
    [(100, 0.29, 29), (100, 0.57, 57), (300, 1 / 3, 100), (100, 0.999, 99), (128_000, 1, 128_000)],
)
def test_a_share_is_what_its_digits_say(window: int, ratio: float, limit: int) -> None:
    """No token is lost to binary fractions, and none is above the share."""
    config = ReducerConfig(context_window=window, max_token_ratio=ratio, token_counter=lambda _: 1)
    plan = MessageReducer(config=config).plan([{"role": "user", "content": ""}] * 2 * limit)
    assert plan.tokens_after == limit


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"min_messages": -1}, ValueError, "min_messages must not be negative, got -1"),
        ({"max_messages": -2}, ValueError, "max_messages must not be negative, got -2"),
        ({"dedupe_window": -1}, ValueError, "dedupe_window must not be negative, got -1"),
        ({"min_messages": True}, TypeError, "min_messages must be a whole number, got True"),
        ({"min_messages": None}, TypeError, "min_messages must be a whole number, got None"),
        ({"max_messages": "9"}, TypeError, "max_messages must be a whole number, got '9'"),
        ({"max_messages": 5}, ValueError, "min_messages=10 exceeds max_messages=5"),
        ({"min_messages": 30}, ValueError, "defaults are min_messages=10 and max_messages=20"),
        ({"max_tokens": 0}, ValueError, "max_tokens must be at least 1, got 0"),
        ({"max_tokens": True}, TypeError, "max_tokens must be a whole number, got True"),
        ({"max_tokens": 9, "target_tokens": 0}, ValueError, "target_tokens must be at least 1"),
        (
            {"max_tokens": 9, "target_tokens": 10},
            ValueError,
            "target_tokens=10 exceeds max_tokens=9",
        ),
        ({"target_tokens": 10}, ValueError, "target_tokens=10 needs max_tokens"),
        (
            {"context_window": 100, "max_token_ratio": 0.5, "target_tokens": 51},
            ValueError,
            "target_tokens=51 exceeds max_tokens=50",
        ),
        ({"context_window": 100}, ValueError, "context_window=100 and max_token_ratio=None"),
        ({"max_token_ratio": 0.5}, ValueError, "context_window=None and max_token_ratio=0.5"),
        (
            {"context_window": 100, "max_token_ratio": 0.5, "max_tokens": 7},
            ValueError,
            "max_tokens=7 excludes context_window=100",
        ),
        ({"max_token_ratio": 0.5, "max_tokens": 7}, ValueError, "max_tokens=7 excludes"),
        (
            {"context_window": 100, "max_token_ratio": 0},
            ValueError,
            "max_token_ratio must be above 0 and at most 1, got 0",
        ),
        (
            {"context_window": 100, "max_token_ratio": float("nan")},
            ValueError,
            "max_token_ratio must be above 0",
        ),
        (
            {"context_window": 100, "max_token_ratio": 1.5},
            ValueError,
            "max_token_ratio must be above 0 and at most 1, got 1.5",
        ),
        (
            {"context_window": 100, "max_token_ratio": True},
            TypeError,
            "max_token_ratio must be a number, got True",
        ),
        ({"context_window": 0, "max_token_ratio": 0.5}, ValueError, "context_window must be"),
        (
            {"context_window": 1, "max_token_ratio": 0.5},
            ValueError,
            "context_window=1 times max_token_ratio=0.5 is below 1 token",
        ),
        (
            {"context_window": 10**400, "max_token_ratio": 0.5},
            ValueError,
            f"context_window is too large, got 1{'0' * 400}",
        ),
        ({"keep": 3}, TypeError, "keep must be callable, got 3"),
        ({"token_counter": "x"}, TypeError, "token_counter must be callable, got 'x'"),
        ({"preserve_first": "system"}, TypeError, "preserve_first must be True or False"),
        ({"start_on": "ai"}, ValueError, "start_on must be 'human' or None, got 'ai'"),
        ({"namespace_key": ""}, ValueError, "namespace_key must not be empty"),
        ({"namespace_key": 3}, TypeError, "namespace_key must be text, got 3"),
        ({"inject_summary": True}, ValueError, "inject_summary=True needs summarize_fn"),
        (
            {"repair_tool_pairs": True, "cascade_tool_messages": False},
            ValueError,
            "repair_tool_pairs=True needs cascade_tool_messages=True",
        ),
        ({"on_prune": hook}, TypeError, "on_prune must be a list of hooks"),
        ({"on_prune": None}, TypeError, "on_prune must be a list of hooks, got None"),
        ({"on_prune": [hook, 3]}, TypeError, "on_prune must hold callables, got 3"),
    ],
)
def test_misuse_is_refused_by_name_and_value(
    fields: dict[str, Any], error: type[Exception], text: str
) -> None:
    """Before a reducer exists."""
    with pytest.raises(error, match=re.escape(text)):
        ReducerConfig(**fields)


def test_settings_that_are_ignored_are_checked_for_type_alone() -> None:
    """With a token limit the counts may be anything that is a whole number."""
    assert ReducerConfig(max_tokens=100, min_messages=30, max_messages=-1).max_tokens == 100
    with pytest.raises(TypeError, match="min_messages"):
        ReducerConfig(max_tokens=100, min_messages="30")  # type: ignore[arg-type]


def test_a_reducer_without_a_limit_takes_any_minimum() -> None:
    """`max_messages=None` never prunes, so no minimum exceeds it."""
    reducer = MessageReducer(config=ReducerConfig(min_messages=50, max_messages=None))
    assert len(reducer.reduce([{"role": "user", "content": ""}] * 99).surviving) == 99


def _generator(*_: Any) -> Any:
    yield


async def _async_generator(*_: Any) -> Any:
    yield


class _Yielding:
    def __call__(self, *_: Any) -> Any:
        yield


@pytest.mark.parametrize(
    "fn", [_generator, _async_generator, _Yielding(), functools.partial(_generator, 1)]
)
@pytest.mark.parametrize("name", ["summarize_fn", "keep", "on_reduce", "on_prune", "Background"])
def test_a_callable_that_yields_is_refused(name: str, fn: Any) -> None:
    """Calling a generator function runs nothing, and nobody would notice."""
    made = {
        "Background": lambda: Background(fn),
        "on_prune": lambda: ReducerConfig(on_prune=[fn]),
    }
    make = made.get(name, lambda: ReducerConfig(**{name: fn}))
    with pytest.raises(TypeError, match="must return, got"):
        make()
