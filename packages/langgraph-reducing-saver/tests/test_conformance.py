"""LangGraph's conformance kit finds in the wrapper what it finds in the inner saver, and passes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate

from agentstate_reducer import MessageReducer
from langgraph_reducing_saver import ReducingSaver

BASE = {"put", "put_writes", "get_tuple", "list", "delete_thread"}
METHODS = ["get_tuple", "put", "put_writes", "delete_thread"]
METHODS += ["delete_for_runs", "copy_thread", "prune", "get_next_version"]


async def test_the_wrapper_is_what_the_inner_saver_is(inner: Any) -> None:
    """Each capability of the inner saver is detected and passes, and no other is detected."""
    saver = ReducingSaver(inner.saver, MessageReducer(10, 20))

    async def create() -> AsyncIterator[Any]:
        yield saver if inner.is_async else awaitable(saver)

    report = await validate(checkpointer_test(name="wrapped")(create))
    results = {name: result for name, result in report.results.items() if result.detected}
    # Savers of PostgreSQL prune since 3.2.
    prunes = type(inner.saver).prune is not BaseCheckpointSaver.prune
    assert set(results) == (BASE | {"prune"} if prunes else BASE)
    assert [r.failures for r in results.values() if r.failures or not r.tests_passed] == []
    assert report.passed_all()
    assert report.passed_all_base()


def awaitable(saver: Any) -> Any:
    """The sync face of a saver under the async names, since the kit calls no other."""

    class Awaitable(BaseCheckpointSaver[Any]):
        async def alist(self, config: Any, **options: Any) -> AsyncIterator[Any]:
            for found in await asyncio.to_thread(lambda: list(saver.list(config, **options))):
                yield found

    def in_a_thread(name: str) -> Any:
        async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(getattr(saver, name), *args, **kwargs)

        return call

    for name in METHODS:
        if getattr(type(saver), name) is not getattr(BaseCheckpointSaver, name):
            setattr(Awaitable, f"a{name}", in_a_thread(name))
    return Awaitable(serde=saver.serde)
