"""Background: a hook off the request path."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import logging
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

import agentstate_reducer._pool as module
from agentstate_reducer import Background, MessageReducer, ReducerConfig
from agentstate_reducer.integration import run

user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


class Gate:
    """A hook that waits at a gate for each batch, and keeps what went through."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.open = threading.Event()
        self.taken: list[tuple[Any, Any]] = []

    def __call__(self, pruned: list[Any], namespace: Any) -> None:
        self.entered.release()
        assert self.open.wait(10)
        self.taken.append((namespace, list(pruned)))


def noop(pruned: list[Any], namespace: Any) -> None:
    """A hook that can be pickled."""


def threads() -> list[threading.Thread]:
    """The workers that are alive."""
    return [t for t in threading.enumerate() if t.name == "agentstate-background"]


def run_script(script: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *args],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_caller_does_not_wait_and_keeps_its_list() -> None:
    """The batch is a copy with its keys, taken when it was handed over."""
    gate, keys = Gate(), []

    def hook(pruned: Any, namespace: Any) -> None:
        gate(pruned, namespace)
        keys.append(pruned.keys)

    background = Background(hook)
    pruned = [{"id": "a", "role": "user"}]
    assert background(pruned, "ada")
    pruned.clear()
    assert not background.flush(0)
    gate.open.set()
    assert background.flush()
    assert gate.taken == [("ada", [{"id": "a", "role": "user"}])]
    assert keys == [["a"]]


def test_keys_of_an_adapter_arrive_too() -> None:
    """A message without an id keeps the key that came with it from the reducer."""
    keys: list[Any] = []

    def hook(pruned: Any, namespace: Any) -> None:
        keys.extend(pruned.keys)

    background = Background(hook)
    pruner = MessageReducer(config=ReducerConfig(0, 1, on_prune=[background], preserve_first=False))
    messages = [{"role": "user", "content": str(n)} for n in range(3)]
    run(pruner._steps(messages, keys=lambda i: f"position {i}" if i else None))
    assert background.flush()
    assert keys == [None, "position 1"]


def test_batches_of_a_namespace_keep_their_order_and_others_overtake_them() -> None:
    """One namespace is served one batch at a time; another does not wait behind it."""
    gate, seen = Gate(), []

    def hook(pruned: list[Any], namespace: Any) -> None:
        if namespace == "slow":
            gate(pruned, namespace)
        seen.append((namespace, *pruned))
        if namespace == "fast" and pruned == [3]:
            gate.open.set()

    background = Background(hook, workers=2)
    for n in range(4):
        background([n], "slow")
        background([n], "fast")
    assert background.flush()
    assert [n for name, n in seen if name == "slow"] == [0, 1, 2, 3]
    assert [name for name, _ in seen[:4]] == ["fast"] * 4


def test_no_more_than_workers_run_at_once() -> None:
    """`workers` bounds the threads, whatever the number of namespaces."""
    gate, others = Gate(), threads()
    background = Background(gate, workers=2)
    for n in range(6):
        background([n], n)
    for _ in range(2):
        assert gate.entered.acquire(timeout=10)
    assert len(set(threads()).difference(others)) == 2
    assert not gate.entered.acquire(blocking=False)
    gate.open.set()
    assert background.flush()
    assert len(gate.taken) == 6


def test_threads_end_when_there_is_no_work() -> None:
    """An idle pool holds no thread, and starts one again with the next batch."""
    background = Background(noop)
    for _ in range(3):
        background([1], "ada")
        assert background.flush()
        for thread in threads():
            thread.join(10)
        assert threads() == []


def test_a_full_backlog_refuses_with_a_counted_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Queued and running batches count; each refusal is one warning."""
    gate = Gate()
    background = Background(gate, workers=1, max_pending=2)
    answers = [bool(background([n], "ada")) for n in range(4)]
    assert answers == [True, True, False, False]
    assert background.dropped == 2
    assert "a batch refused, 2 so far" in caplog.text
    gate.open.set()
    assert background.flush()
    assert len(gate.taken) == 2


def test_a_refused_batch_is_offered_again_by_the_reducer() -> None:
    """What the pool could not take is not lost: it comes first with the next reduction."""
    gate = Gate()
    background = Background(gate, max_pending=1)
    pruner = MessageReducer(config=ReducerConfig(1, 1, on_prune=[background], preserve_first=False))
    chat = [{"id": str(n), "role": "user", "content": ""} for n in range(4)]
    pruner.reduce(chat[:2])
    pruner.reduce(chat[1:3])
    assert background.dropped == 1
    gate.open.set()
    assert background.flush()
    pruner.reduce(chat[2:])
    assert background.flush()
    assert [[m["id"] for m in batch] for _, batch in gate.taken] == [["0"], ["1", "2"]]


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, StopIteration])
def test_no_exception_kills_the_pool(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged without its text, and fifty later batches are done."""
    seen: list[Any] = []

    def hook(pruned: list[Any], namespace: Any) -> None:
        if pruned == ["bad"]:
            raise error("secret")
        seen.extend(pruned)

    background = Background(hook)
    for n in range(50):
        background(["bad"], n % 3)
        background([n], n % 3)
    assert background.flush()
    assert sorted(seen) == list(range(50))
    assert error.__name__ in caplog.text
    assert "secret" not in caplog.text


def test_an_async_hook_is_awaited_in_the_callers_context() -> None:
    """Sync and async hooks see the context variables of the reduction that pruned."""
    seen: list[Any] = []

    async def hook(pruned: list[Any], namespace: Any) -> None:
        await asyncio.sleep(0)
        seen.append((user.get(), *pruned))

    backgrounds = [Background(hook), Background(lambda p, n: seen.append((user.get(), *p)))]
    for name in ("ada", "bob"):
        user.set(name)
        for background in backgrounds:
            background([1], None)
    user.set("nobody")
    assert [b.flush() for b in backgrounds] == [True, True]
    assert sorted(seen) == [("ada", 1), ("ada", 1), ("bob", 1), ("bob", 1)]


def test_an_awaitable_that_is_no_coroutine_is_awaited() -> None:
    """Whatever the hook returns to be awaited is awaited."""
    seen: list[Any] = []

    class Later:
        def __await__(self) -> Any:
            seen.append("awaited")
            yield from asyncio.sleep(0).__await__()

    background = Background(lambda pruned, namespace: Later())
    background([1], None)
    assert background.flush()
    assert seen == ["awaited"]


def test_close_waits_and_leaves_the_object_usable() -> None:
    """After close() the next batch is taken as before: a warm serverless runtime goes on."""
    gate = Gate()
    background = Background(gate)
    background([1], None)
    assert not background.close(0.01)
    gate.open.set()
    assert background.close()
    background([2], None)
    assert background.close()
    assert [batch for _, batch in gate.taken] == [[1], [2]]


def test_close_leaves_nothing_behind_that_is_handed_over_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A batch that another thread brings at the last moment is run as well."""
    seen: list[int] = []
    started: list[threading.Thread] = []
    background = Background(lambda pruned, namespace: seen.extend(pruned))
    flush = module.Pool.flush

    def flush_and_bring(pool: Any, timeout: float | None) -> bool:
        done = flush(pool, timeout)
        background([1], None)
        return done

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", lambda thread: started.append(thread))
        patch.setattr(module.Pool, "flush", flush_and_bring)
        assert background.close()
    (worker,) = started
    worker.start()
    worker.join(10)
    assert seen == [1]


def test_unhashable_namespaces_have_lanes_too() -> None:
    """A list from JSON is a namespace like any other."""
    gate = Gate()
    gate.open.set()
    background = Background(gate)
    background([1], ["memories", {"user": 1}])
    assert background.flush()
    assert gate.taken == [(["memories", {"user": 1}], [1])]


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"fn": 3}, TypeError, "fn must be callable, got 3"),
        ({"workers": 0}, ValueError, "workers must be at least 1, got 0"),
        ({"workers": True}, TypeError, "workers must be a whole number, got True"),
        ({"max_pending": 0}, ValueError, "max_pending must be at least 1, got 0"),
        ({"max_pending": "9"}, TypeError, "max_pending must be a whole number, got '9'"),
        ({"max_attempts": 0}, ValueError, "max_attempts must be at least 1, got 0"),
        ({"max_attempts": 2.5}, TypeError, "max_attempts must be a whole number, got 2.5"),
        ({"spool": 3}, TypeError, "spool must be a path, got 3"),
    ],
)
def test_misuse_is_named_at_construction(
    arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    """The error names the field and the value."""
    with pytest.raises(error, match=text):
        Background(**{"fn": noop, **arguments})


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))],  # noqa: S301
)
def test_copies_start_empty(duplicate: Any) -> None:
    """A copy or pickle carries the settings and none of the work."""
    original = Background(noop, 3, 7)
    original.dropped = 2
    twin = duplicate(original)
    assert (twin.fn, twin.workers, twin.max_pending, twin.dropped) == (noop, 3, 7, 0)
    assert twin is not original
    assert twin.flush()


def test_the_end_of_the_process_waits_for_queued_work(tmp_path: Path) -> None:
    """A script that ends right after the hand-over leaves nothing undone."""
    script = """
        import sys, time
        from agentstate_reducer import Background
        def hook(pruned, namespace):
            time.sleep(0.05)
            with open(sys.argv[1], "a") as file:
                file.write(f"{namespace}{pruned[0]} ")
        background = Background(hook, workers=2)
        for n in range(4):
            background([n], "a"); background([n], "b")
    """
    path = tmp_path / "done"
    done = run_script(script, str(path))
    assert (done.returncode, done.stderr) == (0, "")
    words = path.read_text().split()
    assert [w for w in words if w[0] == "a"] == ["a0", "a1", "a2", "a3"]
    assert len(words) == 8


def test_work_handed_over_while_the_process_ends_is_done(tmp_path: Path) -> None:
    """Where no thread can be started any more the batch runs in the caller's."""
    script = """
        import atexit, sys
        from agentstate_reducer import Background
        def hook(pruned, namespace):
            with open(sys.argv[1], "a") as file:
                file.write("done ")
        background = Background(hook)
        atexit.register(background, [1], None)
    """
    path = tmp_path / "done"
    assert run_script(script, str(path)).stderr == ""
    assert path.read_text() == "done "


def test_without_a_thread_to_be_had_the_batch_runs_in_the_callers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is lost when the machine or an ending interpreter refuses a thread."""
    seen: list[Any] = []

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    background = Background(lambda pruned, namespace: seen.extend(pruned))
    background([1], None)
    assert seen == [1]
    assert background.flush(0)


def test_the_end_of_the_process_waits_while_batches_are_done(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What the interpreter calls last: it waits batch by batch, and gives up on a stuck one."""
    monkeypatch.setattr(module, "EXIT_SECONDS", 10.0)
    gate, stuck = Gate(), Gate()
    background = Background(gate)
    for n in range(3):
        background([n], None)
    opener = threading.Timer(0.01, gate.open.set)
    opener.start()
    module._drain_all()
    assert [batch for _, batch in gate.taken] == [[0], [1], [2]]
    monkeypatch.setattr(module, "EXIT_SECONDS", 0.01)
    other = Background(stuck)
    other([1], None)
    module._drain_all()
    assert "the process ends with 1 batches undone" in caplog.text
    stuck.open.set()
    assert other.flush()


def test_the_end_of_the_process_waits_for_what_comes_after_a_close_in_vain() -> None:
    """Only what was queued then was given up."""
    gate = Gate()
    background = Background(gate)
    background([1], None)
    assert not background.close(0.01)
    background([2], None)
    opener = threading.Timer(0.05, gate.open.set)
    opener.start()
    module._drain_all()
    assert [batch for _, batch in gate.taken] == [[1], [2]]


def test_a_pool_made_new_in_a_child_takes_work() -> None:
    """What a fork calls in the child leaves every pool empty and usable."""
    seen: list[Any] = []
    background = Background(lambda pruned, namespace: seen.extend(pruned))
    module._hold_all()
    module._forget_all()
    assert background.flush(0)
    background([1], None)
    assert background.flush()
    assert seen == [1]


@pytest.mark.parametrize("closed", [False, True])
def test_a_hook_that_blocks_for_ever_does_not_hold_the_process_for_ever(closed: bool) -> None:
    """The wait at the end is bounded and says what was left; after a close() in vain it is over."""
    script = """
        import logging, sys, threading
        logging.basicConfig(format="%(message)s")
        import agentstate_reducer._pool as module
        from agentstate_reducer import Background
        module.EXIT_SECONDS = 0.05
        background = Background(lambda pruned, namespace: threading.Event().wait())
        background([1], None); background([2], None)
        if sys.argv[1] == "True":
            assert not background.close(0.05)
    """
    done = run_script(script, str(closed))
    assert done.returncode == 0
    assert ("the process ends with 2 batches undone" in done.stderr) is not closed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_works_and_leaves_the_parents_work_alone(tmp_path: Path) -> None:
    """The child starts with an empty queue and no threads; the parent does its work once."""
    script = """
        import os, sys, threading, warnings
        from agentstate_reducer import Background
        warnings.simplefilter("ignore", DeprecationWarning)
        entered, leave = threading.Event(), threading.Event()
        def hook(pruned, namespace):
            if pruned == ["parent"]:
                entered.set(); leave.wait()
            with open(sys.argv[1], "a") as file:
                file.write(f"{pruned[0]} ")
        background = Background(hook)
        background(["parent"], None)
        entered.wait()
        child = os.fork()
        if child == 0:
            assert background.flush(0)
            background(["child"], None)
            assert background.flush(10)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        leave.set()
    """
    path = tmp_path / "done"
    assert run_script(script, str(path)).stderr == ""
    assert path.read_text() == "child parent "


def test_a_namespace_that_changes_meanwhile_is_delivered_as_it_was() -> None:
    """The batch belongs to whom it was handed over for."""
    gate, seen = threading.Event(), []

    def hook(pruned: list[Any], namespace: Any) -> None:
        gate.wait(30)
        seen.append(namespace)

    background, namespace = Background(hook), ["memories", "ada"]
    background(["x"], namespace)
    namespace[1] = "bob"
    gate.set()
    assert background.flush(30)
    assert seen == [["memories", "ada"]]


def test_a_hook_that_waits_for_its_own_batch_is_told() -> None:
    """`flush()` in the hook would never end; with a time it ends then."""
    told: list[Any] = []

    def hook(pruned: list[Any], namespace: Any) -> None:
        told.append(background.flush(0.01))
        try:
            background.flush()
        except RuntimeError as error:
            told.append(str(error))

    background = Background(hook)
    background(["x"])
    assert background.flush(30)
    assert told == [False, "flush() and close() in the hook would wait for its own batch"]


def test_a_log_that_raises_does_not_stop_the_threads(caplog: pytest.LogCaptureFixture) -> None:
    """What follows a failure runs, whatever the log does with it."""
    seen: list[Any] = []

    def hook(pruned: list[Any], namespace: Any) -> None:
        seen.extend(pruned)
        if pruned == [1]:
            raise ValueError

    def refuse(record: Any) -> bool:
        raise ZeroDivisionError

    logger = logging.getLogger("agentstate_reducer")
    logger.addFilter(refuse)
    try:
        background = Background(hook, workers=1)
        for n in (1, 2):
            background([n])
        assert background.flush(30)
    finally:
        logger.removeFilter(refuse)
    assert seen == [1, 2]
