"""How an application uses the core, for type checkers to agree with. Nothing here runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from typing_extensions import assert_type

from agentstate_reducer import (
    DEFAULT_NAMESPACE_KEY,
    Background,
    MessageReducer,
    Plan,
    ReduceEvent,
    ReducerConfig,
    ReducerResult,
    RememberFn,
    crewai_memory_hook,
    default_summary_messages_factory,
    resolve_token_counter,
    scope_from_namespace,
    store_hook,
    store_namespace,
)


def remember(pruned: list[Any], namespace: Any) -> None:
    """A hook."""


async def remember_later(pruned: list[Any], namespace: Any) -> None:
    """A hook for coroutines."""


def summarise(pruned: list[Any]) -> str:
    """The text that stands for them."""
    return f"{len(pruned)} messages"


def noted(event: ReduceEvent) -> None:
    """What a reduction did."""
    assert_type(event.messages_before, int)
    assert_type(event.tokens_after, int | None)


hooks: list[RememberFn] = [remember, remember_later, Background(remember_later)]
config = ReducerConfig(
    min_messages=4,
    max_messages=8,
    preserve_first=False,
    summarize_fn=summarise,
    inject_summary=True,
    on_prune=hooks,
    namespace_key=DEFAULT_NAMESPACE_KEY,
    keep=lambda message: "keep" in str(message),
    start_on="human",
    repair_tool_pairs=True,
    on_reduce=noted,
)
by_tokens = ReducerConfig(context_window=128_000, max_token_ratio=0.75, token_counter=len)
reducer = MessageReducer(config=config)
short = MessageReducer(10, 20)

result = reducer.reduce([{"role": "user"}], ({"role": "user"} for _ in range(3)), ("users", "1"))
assert_type(result, ReducerResult)
assert_type(result.surviving, list[Any])
assert_type(result.summary, str | None)
assert_type(reducer.plan([]), Plan)
assert_type(reducer.plan([]).pruned, tuple[int, ...])
annotated: Callable[[Any, Any], list[Any]] = reducer.as_langgraph_reducer()


async def awaited() -> None:
    """The same without blocking."""
    assert_type(await reducer.areduce(None, [], namespace="users"), ReducerResult)
    unawaited: Awaitable[ReducerResult] = reducer.areduce([])
    await unawaited


pool = Background(remember, workers=1, max_pending=10)
assert_type(pool.flush(timeout=1.0), bool)
assert_type(pool.dropped, int)
pool.close()
durable = Background(remember_later, spool=Path("memory.db"), max_attempts=3)
assert_type(durable.spool, str | None)
assert_type(durable.dead_letters, int)

assert_type(store_namespace(("users", 1)), tuple[str, ...])
assert_type(scope_from_namespace("users"), str)
assert_type(resolve_token_counter(None)("text"), int)
assert_type(default_summary_messages_factory("text", 3), list[Any])
store_hook(object(), render=lambda message: {"text": str(message)})
crewai_memory_hook(object())
