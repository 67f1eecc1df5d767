"""areduce: the same operation on an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import AsyncMock

import pytest

from agentstate_reducer import Background, MessageReducer, ReducerConfig
from agentstate_reducer._drivers import AsyncCallableError, Call, run

user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


def chat(*ids: Any) -> list[dict[str, Any]]:
    """Human messages with these ids."""
    return [{"id": i, "role": "user", "content": f"text {i}"} for i in ids]


def reducer(*hooks: Any, **settings: Any) -> MessageReducer:
    """One that keeps the newest message and prunes all others."""
    limits = {"min_messages": 1, "max_messages": 1, "preserve_first": False, **settings}
    return MessageReducer(config=ReducerConfig(on_prune=list(hooks), **limits))


class AsyncHook:
    """A hook by its async `__call__`."""

    def __init__(self) -> None:
        self.taken: list[Any] = []

    async def __call__(self, pruned: list[Any], namespace: Any) -> None:
        await asyncio.sleep(0)
        self.taken.extend(m["id"] for m in pruned)


async def _summarize(pruned: list[Any]) -> str:
    await asyncio.sleep(0)
    return f"text of {len(pruned)}"


async def _remember(taken: list[Any], pruned: list[Any], namespace: Any) -> None:
    await asyncio.sleep(0)
    taken.extend(m["id"] for m in pruned)


async def test_async_callables_are_awaited() -> None:
    """An async function, a partial of one, an async __call__ and a lambda around one all run."""
    hook = AsyncHook()
    taken: list[Any] = []
    late: list[Any] = []
    events: list[Any] = []

    async def on_reduce(event: Any) -> None:
        events.append(event)

    pruner = reducer(
        hook,
        functools.partial(functools.partial(_remember, taken)),
        lambda pruned, namespace: _remember(late, pruned, namespace),
        summarize_fn=_summarize,
        inject_summary=True,
        on_reduce=on_reduce,
    )
    result = await pruner.areduce(chat("a", "b"), chat("c"))
    assert hook.taken == taken == late == ["a", "b"]
    assert result.summary == "text of 2"
    assert len(result.surviving) == 3
    assert events[0].delivered == 6


@pytest.mark.parametrize("pruning", [True, False])
@pytest.mark.parametrize(
    "settings",
    [
        {"summarize_fn": _summarize},
        {"on_prune": [functools.partial(_remember, [])]},
        {"on_prune": [lambda p, n: None, AsyncHook()]},
        {"on_prune": [AsyncMock()]},
        {"on_reduce": _summarize},
    ],
)
def test_a_blocking_reduce_refuses_async_callables_at_every_call(
    settings: dict[str, Any], pruning: bool
) -> None:
    """The mistake shows at the first call, pruning or not, before anything has run."""
    pruner = MessageReducer(config=ReducerConfig(max_messages=4, min_messages=1, **settings))
    with pytest.raises(TypeError, match=r"is async: use `await areduce\(\.\.\.\)`"):
        pruner.reduce(chat(*range(9 if pruning else 1)))
    with pytest.raises(AsyncCallableError):
        run(pruner._steps(chat("a")))


def test_async_behind_background_is_no_obstacle() -> None:
    """Background runs an async hook by itself, so a blocking reduce accepts it."""
    hook = AsyncHook()
    background = Background(hook)
    reducer(background).reduce(chat("a", "b"))
    assert background.flush()
    assert hook.taken == ["a"]


def test_a_coroutine_in_disguise_is_refused_when_it_shows_and_nothing_is_lost() -> None:
    """A plain function that returns a coroutine: TypeError, no 'never awaited', claims released."""
    taken: list[Any] = []
    disguised = [True]

    def hook(pruned: list[Any], namespace: Any) -> Any:
        if disguised:
            return _remember(taken, pruned, namespace)
        taken.extend(m["id"] for m in pruned)
        return None

    pruner = reducer(hook)
    with pytest.raises(TypeError, match="hook is async"):
        pruner.reduce(chat("a", "b"))
    disguised.clear()
    pruner.reduce(chat("b"))
    assert taken == ["a"]


def test_an_awaitable_that_is_no_coroutine_is_refused_too() -> None:
    """Anything that would want awaiting is refused by a blocking reduce."""

    class Later:
        def __await__(self) -> Any:
            yield

    with pytest.raises(TypeError, match="is async"):
        reducer(lambda pruned, namespace: Later()).reduce(chat("a", "b"))
    summarized = reducer(summarize_fn=lambda pruned: _summarize(pruned))
    with pytest.raises(TypeError, match="is async"):
        summarized.reduce(chat("a", "b"))
    told = reducer(on_reduce=lambda event: _summarize([]))
    with pytest.raises(TypeError, match="is async"):
        told.reduce(chat("a"))


@pytest.mark.parametrize("name", ["keep", "token_counter", "summary_message_factory"])
def test_callables_that_nothing_awaits_must_be_plain(name: str) -> None:
    """An async keep, counter or factory is refused at construction, by name."""
    with pytest.raises(TypeError, match=f"{name} must be a plain function"):
        MessageReducer(config=ReducerConfig(**{name: _summarize}))  # type: ignore[arg-type]


async def test_sync_callables_run_in_a_worker_thread_with_the_callers_context() -> None:
    """Neither summariser, hook nor on_reduce blocks the loop; all see the context variables."""
    seen: list[tuple[str, bool]] = []
    loop_thread = threading.get_ident()

    def note(*args: Any) -> str:
        seen.append((user.get(), threading.get_ident() == loop_thread))
        return "text"

    user.set("ada")
    pruner = reducer(note, summarize_fn=note, on_reduce=note)
    await pruner.areduce(chat("a", "b"))
    assert seen == [("ada", False)] * 3


async def test_code_of_the_user_that_decides_runs_in_a_worker_thread() -> None:
    """Neither `keep` nor `token_counter` blocks the loop."""
    threads: set[int] = set()

    def note(message: Any) -> int:
        threads.add(threading.get_ident())
        return 1

    await reducer(keep=lambda m: not note(m)).areduce(chat("a", "b"))
    counted = MessageReducer(config=ReducerConfig(max_tokens=2, token_counter=note))
    assert len((await counted.areduce(chat("a", "b", "c"))).surviving) == 2
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("hooks", [[], [lambda p, n: None]])
async def test_with_nothing_to_call_nothing_leaves_the_loops_thread(
    hooks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without hooks, or with nothing pruned for them, no executor is asked for a thread."""

    def refuse(*args: Any) -> None:
        raise AssertionError("left the loop's thread")

    monkeypatch.setattr(asyncio.get_running_loop(), "run_in_executor", refuse)
    assert (await reducer(*hooks).areduce(chat("a"))).pruned == []
    if not hooks:
        assert len((await reducer().areduce(chat("a", "b"))).pruned) == 1


async def test_a_failing_async_hook_is_isolated_and_its_messages_come_again() -> None:
    """As in reduce: logged, the others run, the messages wait."""
    failing, taken = [True], list[Any]()

    async def hook(pruned: list[Any], namespace: Any) -> None:
        if failing:
            raise StopAsyncIteration
        taken.extend(m["id"] for m in pruned)

    other = AsyncHook()
    pruner = reducer(hook, other)
    await pruner.areduce(chat("a", "b"))
    failing.clear()
    await pruner.areduce(chat("b"))
    assert taken == other.taken == ["a"]


async def test_a_stop_iteration_of_a_sync_callable_is_an_error_like_any_other() -> None:
    """It neither hangs the future nor ends the operation early."""

    def hook(pruned: list[Any], namespace: Any) -> None:
        next(iter(()))

    other = AsyncHook()
    await reducer(hook, other).areduce(chat("a", "b"))
    assert other.taken == ["a"]


async def test_two_tasks_on_one_list_deliver_once() -> None:
    """While one task awaits the hook the other leaves its messages alone."""
    hook = AsyncHook()
    pruner = reducer(hook)
    await asyncio.gather(*(pruner.areduce(chat(*range(9))) for _ in range(5)))
    assert hook.taken == list(range(8))


@pytest.mark.parametrize("disguised", [False, True])
async def test_cancelled_while_a_hook_awaits_nothing_is_lost(disguised: bool) -> None:
    """The hook, or what it returned, is cancelled with the task, and gets the messages again."""
    entered, taken = asyncio.Event(), list[Any]()

    async def hook(pruned: list[Any], namespace: Any) -> None:
        if not entered.is_set():
            entered.set()
            await asyncio.Event().wait()
        taken.extend(m["id"] for m in pruned)

    pruner = reducer((lambda *args: hook(*args)) if disguised else hook)
    task = asyncio.create_task(pruner.areduce(chat("a", "b")))
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await pruner.areduce(chat("b"))
    assert taken == ["a"]


@pytest.mark.parametrize("fails", [False, True])
async def test_cancelled_while_a_thread_is_in_a_hook_its_outcome_counts(fails: bool) -> None:
    """The thread goes on: what it takes is not repeated, what it fails to take comes again."""
    entered, leave, left = threading.Event(), threading.Event(), threading.Event()
    calls: list[Any] = []

    def hook(pruned: list[Any], namespace: Any) -> None:
        calls.append([m["id"] for m in pruned])
        if len(calls) == 1:
            entered.set()
            assert leave.wait(10)
            left.set()
            if fails:
                raise OSError

    pruner = reducer(hook)
    executor, watcher = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
    asyncio.get_running_loop().set_default_executor(executor)
    task = asyncio.create_task(pruner.areduce(chat("a", "b")))
    await asyncio.get_running_loop().run_in_executor(watcher, entered.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    leave.set()
    watcher.shutdown()
    await asyncio.to_thread(left.wait)  # the only worker: the hook is over when this runs
    await pruner.areduce(chat("b"))
    assert calls == ([["a"], ["a"]] if fails else [["a"]])


async def test_cancelled_before_a_thread_was_free_nothing_is_lost() -> None:
    """A hook that never started is not called later, and its messages come again."""
    leave, calls = threading.Event(), []
    executor = ThreadPoolExecutor(1)
    asyncio.get_running_loop().set_default_executor(executor)
    blocker = asyncio.create_task(asyncio.to_thread(leave.wait))
    pruner = reducer(lambda pruned, namespace: calls.append([m["id"] for m in pruned]))
    await asyncio.sleep(0)
    task = asyncio.create_task(pruner.areduce(chat("a", "b")))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    leave.set()
    await blocker
    await pruner.areduce(chat("b"))
    assert calls == [["a"]]


def test_a_thread_that_comes_too_late_does_not_call_the_hook() -> None:
    """Once the operation gave up a claim, the call that was to serve it does nothing."""
    calls: list[Any] = []
    pruner = reducer(lambda pruned, namespace: calls.append(len(pruned)))
    steps = pruner._steps(chat("a", "b"))
    call = next(steps)
    assert isinstance(call, Call)
    steps.close()
    assert not call.fn(*call.args)
    assert calls == []
    pruner.reduce(chat("b"))
    assert calls == [1]


async def test_sync_and_async_faces_agree() -> None:
    """The same history, reduced step by step by both faces, gives the same lists and deliveries."""
    outcomes = []
    for asynchronous in (False, True):
        taken: list[Any] = []
        pruner = reducer(
            lambda pruned, namespace, taken=taken: taken.append((namespace, pruned.keys)),
            min_messages=2,
            max_messages=4,
            summarize_fn=lambda pruned: f"{len(pruned)}",
            inject_summary=True,
        )
        surviving: list[Any] = []
        for n in range(12):
            args = (surviving, chat(n), ("memories", n % 2))
            result = await pruner.areduce(*args) if asynchronous else pruner.reduce(*args)
            surviving = result.surviving
        outcomes.append((surviving, taken))
    assert outcomes[0] == outcomes[1]
