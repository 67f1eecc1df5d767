"""on_prune: who gets which message, how often, and what becomes of a failure."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstate_reducer import MessageReducer, ReducerConfig
from agentstate_reducer._drivers import Call


def chat(*ids: Any) -> list[dict[str, Any]]:
    """Human messages with these ids."""
    return [{"id": i, "role": "user", "content": f"text {i}"} for i in ids]


def ids(messages: Any) -> list[Any]:
    """The ids of some messages."""
    return [m.get("id") for m in messages]


class Recorder:
    """A hook that keeps what it got, and raises while `failing`."""

    def __init__(self) -> None:
        self.batches: list[tuple[list[Any], Any]] = []
        self.keys: list[list[str | None]] = []
        self.failing: BaseException | None = None

    def __call__(self, pruned: Any, namespace: Any) -> None:
        if self.failing is not None:
            raise self.failing
        self.batches.append((list(pruned), namespace))
        self.keys.append(pruned.keys)

    @property
    def ids(self) -> list[list[Any]]:
        """The ids of each batch."""
        return [ids(batch) for batch, _ in self.batches]


def reducer(*hooks: Any, **settings: Any) -> MessageReducer:
    """One that keeps the newest message and prunes all others."""
    limits = {"min_messages": 1, "max_messages": 1, "preserve_first": False, **settings}
    return MessageReducer(config=ReducerConfig(on_prune=list(hooks), **limits))


def test_a_hook_gets_what_left_and_the_namespace_untouched() -> None:
    """The pruned messages arrive as the same objects, with the very namespace object."""
    hook, namespace = Recorder(), ["memories", {"user": 7}]
    messages = chat("a", "b", "c")
    reducer(hook).reduce(messages, namespace=namespace)
    (batch, seen) = hook.batches[0]
    assert [m is n for m, n in zip(batch, messages, strict=False)] == [True, True]
    assert seen is namespace


def test_keys_stand_beside_the_messages() -> None:
    """`keys` holds the id of each message as text, None for a message without one."""
    hook = Recorder()
    messages = [*chat("a", 7), {"role": "user", "content": "no id"}, *chat("z")]
    reducer(hook).reduce(messages)
    assert hook.keys == [["a", "7", None]]


def test_hooks_run_in_order_and_one_that_raises_does_not_stop_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A failing hook is logged without message content; the reduction and the next hook go on."""
    order: list[str] = []

    def first(pruned: list[Any], namespace: Any) -> None:
        order.append("first")
        raise ValueError(pruned[0]["content"])

    result = reducer(first, lambda p, n: order.append("second")).reduce(chat("secret", "b"))
    assert order == ["first", "second"]
    assert ids(result.surviving) == ["b"]
    assert "first failed: ValueError at" in caplog.text
    assert "secret" not in caplog.text


def test_a_hook_may_change_its_list() -> None:
    """Each hook has a list of its own; the result and the next hook see it whole."""
    hook = Recorder()
    result = reducer(lambda p, n: p.clear(), hook).reduce(chat("a", "b"))
    assert hook.ids == [["a"]]
    assert ids(result.pruned) == ["a"]


def test_overlapping_reductions_deliver_each_message_once() -> None:
    """A list reduced again and again while it grows reaches the hook message by message, once."""
    hook, messages = Recorder(), chat(*range(20))
    pruner = reducer(hook)
    pruned = [pruner.reduce(messages[:n]).pruned for n in range(2, 21)]
    assert hook.ids == [[i] for i in range(19)]
    assert ids(pruned[-1]) == list(range(19))  # the result is never filtered


def test_equal_ids_in_two_namespaces_are_two_messages() -> None:
    """Ids that an application chose per user do not collide between users."""
    hook = Recorder()
    pruner = reducer(hook)
    for user in ("ada", "bob", "ada"):
        pruner.reduce(chat("1", "2"), namespace=("memories", user))
    assert [n for _, n in hook.batches] == [("memories", "ada"), ("memories", "bob")]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (["a", "b"], ("a", "b"), True),
        ({"a": [1], "b": 2}, {"b": 2, "a": (1,)}, True),
        ({"a": 1}, {"a": 2}, False),
        (1, True, False),
        ("1", 1, False),
        (("a", "b"), ("a b",), False),
        ({1, 2}, {1, 2}, True),
        (None, (), False),
    ],
)
def test_what_counts_as_one_namespace(first: Any, second: Any, same: bool) -> None:
    """A JSON list is the tuple it was; anything unhashable works; types are told apart."""
    hook = Recorder()
    pruner = reducer(hook)
    pruner.reduce(chat("1", "2"), namespace=first)
    pruner.reduce(chat("1", "2"), namespace=second)
    assert len(hook.batches) == (1 if same else 2)


def test_two_hooks_are_served_independently() -> None:
    """What one hook failed to take is not repeated to the other."""
    bad, good = Recorder(), Recorder()
    bad.failing = OSError()
    pruner = reducer(bad, good)
    pruner.reduce(chat("a", "b"))
    bad.failing = None
    pruner.reduce(chat("b", "c"))
    assert (bad.ids, good.ids) == ([["a", "b"]], [["a"], ["b"]])


def test_what_was_delivered_is_known_to_one_reducer_alone() -> None:
    """Two reducers in a row, as a state annotation and a saver, each deliver to the same hook."""
    hook = Recorder()
    for pruner in (reducer(hook), reducer(hook)):
        pruner.reduce(chat("a", "b"))
    assert hook.ids == [["a"], ["a"]]


def test_messages_without_an_id_are_always_delivered() -> None:
    """Nothing tells an id-less message from its repetition, so it is delivered each time."""
    hook = Recorder()
    pruner = reducer(hook)
    messages = [{"role": "user", "content": "hi"}, *chat("z")]
    pruner.reduce(messages)
    pruner.reduce(messages)
    assert len(hook.batches) == 2


def test_dedupe_can_be_turned_off() -> None:
    """With dedupe_on_prune=False each reduction delivers all that it pruned."""
    hook = Recorder()
    pruner = reducer(hook, dedupe_on_prune=False)
    pruner.reduce(chat("a", "b"))
    pruner.reduce(chat("a", "b"))
    assert hook.ids == [["a"], ["a"]]


def test_the_window_forgets_the_oldest_key_and_what_is_in_use_stays() -> None:
    """dedupe_window bounds the remembered keys; pruning a message again makes its key young."""
    hook = Recorder()
    pruner = reducer(hook, dedupe_window=2)
    for pair in ("az", "bz", "az", "cz"):  # a is refreshed by its second pruning, so c pushes b out
        pruner.reduce(chat(*pair))
    assert hook.ids == [["a"], ["b"], ["c"]]
    pruner.reduce(chat("a", "z"))
    assert hook.ids == [["a"], ["b"], ["c"]]
    pruner.reduce(chat("b", "z"))
    assert hook.ids[-1] == ["b"]


def test_what_a_hook_failed_to_take_comes_first_next_time() -> None:
    """After a failure the messages come again, before new ones, though the list lost them."""
    hook = Recorder()
    pruner = reducer(hook)
    hook.failing = OSError()
    surviving = pruner.reduce(chat("a", "b", "c")).surviving
    hook.failing = None
    pruner.reduce(surviving, chat("d"))
    assert hook.ids == [["a", "b", "c"]]
    assert hook.keys == [["a", "b", "c"]]


def test_waiting_messages_come_also_when_nothing_is_pruned() -> None:
    """The next reduction with that namespace offers them again, pruning or not; others do not."""
    hook = Recorder()
    pruner = reducer(hook, max_messages=2)
    hook.failing = OSError()
    pruner.reduce(chat("a", "b", "c"), namespace="ada")
    hook.failing = None
    pruner.reduce(chat("x"), namespace="bob")
    assert hook.batches == []
    pruner.reduce(chat("c"), namespace="ada")
    assert hook.ids == [["a", "b"]]
    pruner.reduce(chat("c"), namespace="ada")
    assert len(hook.batches) == 1


def test_a_list_that_still_holds_waiting_messages_does_not_double_them() -> None:
    """A message that waits and is pruned again, with id or without, is offered once."""
    for message in (chat("a")[0], {"role": "user", "content": "no id"}):
        for dedupe in (True, False):
            hook = Recorder()
            pruner = reducer(hook, dedupe_on_prune=dedupe)
            hook.failing = OSError()
            pruner.reduce([message, *chat("z")])
            pruner.reduce([message, *chat("z")])
            hook.failing = None
            pruner.reduce([message, *chat("b", "z")])
            assert [b for b, _ in hook.batches] == [[message, *chat("b")]]


def test_at_most_the_window_waits_and_the_oldest_go_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A hook that fails for good does not fill the memory, whatever the number of namespaces."""
    hook = Recorder()
    pruner = reducer(hook, dedupe_window=3)
    hook.failing = OSError()
    pruner.reduce(chat("a", "b", "z"), namespace="ada")
    with caplog.at_level(logging.WARNING):
        pruner.reduce(chat("c", "d", "e", "z"), namespace="bob")
    assert "2 messages dropped, 2 so far" in caplog.text
    hook.failing = None
    pruner.reduce(chat("z"), namespace="ada")
    pruner.reduce(chat("z"), namespace="bob")
    assert hook.ids == [["c", "d", "e"]]


def test_what_had_its_turn_is_not_dropped_in_place_of_what_waits() -> None:
    """The oldest that still waits goes, also when older ones were delivered in between."""
    hook = Recorder()
    bounded = reducer(hook, dedupe_window=3)
    hook.failing = ValueError("down")
    bounded.reduce(chat("a0", "a1", "a2", "a3", "a4"), namespace="a")  # a0 is one too many
    hook.failing = None
    bounded.reduce([], namespace="a")
    hook.failing = ValueError("down")
    bounded.reduce(chat("b0", "b1", "b2", "b3", "b4"), namespace="b")  # and b0
    hook.failing = None
    bounded.reduce([], namespace="b")
    assert hook.ids == [["a1", "a2", "a3"], ["b1", "b2", "b3"]]


def test_what_waits_for_other_namespaces_costs_a_reduction_nothing() -> None:
    """With a full window of waiting namespaces, one more is not compared with each of them."""
    hashed = 0

    class Tenant:
        def __hash__(self) -> int:
            nonlocal hashed
            hashed += 1
            return id(self)

    hook = Recorder()
    pruner = reducer(hook, dedupe_window=200)
    hook.failing = OSError()
    tenants = [Tenant() for _ in range(300)]
    for n, tenant in enumerate(tenants):
        pruner.reduce(chat(n, "z"), namespace=tenant)
    before = hashed
    pruner.reduce(chat("a", "z"), namespace=tenants[0])
    assert hashed - before < 20
    hook.failing = None
    for tenant in tenants:
        pruner.reduce(chat("z"), namespace=tenant)
    assert hook.ids == [["a"], *([n] for n in range(101, 300))]


def test_messages_that_had_to_go_are_taken_again_from_the_list() -> None:
    """A message dropped from the waiting ones counts as never delivered."""
    hook = Recorder()
    pruner = reducer(hook, dedupe_window=1)
    hook.failing = OSError()
    pruner.reduce(chat("a", "b", "z"))
    hook.failing = None
    pruner.reduce(chat("a", "b", "z"))
    assert sorted(hook.ids[0]) == ["a", "b"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_leaves_nothing_claimed(error: type[BaseException]) -> None:
    """A BaseException passes through, and the messages come again."""
    hook = Recorder()
    pruner = reducer(hook)
    hook.failing = error()
    with pytest.raises(error):
        pruner.reduce(chat("a", "z"))
    hook.failing = None
    pruner.reduce(chat("z"))
    assert hook.ids == [["a"]]


def test_a_hook_may_reduce_with_its_own_reducer() -> None:
    """No lock is held while a hook runs, so a hook that calls the reducer again gets through."""
    seen: list[Any] = []

    def hook(pruned: list[Any], namespace: Any) -> None:
        seen.append(ids(pruned))
        if len(seen) == 1:
            pruner.reduce(chat("x", "z"))

    pruner = reducer(hook)
    pruner.reduce(chat("a", "z"))
    assert seen == [["a"], ["x"]]


def test_a_message_on_its_way_is_not_given_to_a_second_thread_and_comes_again_on_failure() -> None:
    """While one thread is in the hook another leaves its messages alone, until it fails."""
    entered, leave = threading.Event(), threading.Event()
    seen: list[Any] = []

    def hook(pruned: list[Any], namespace: Any) -> None:
        seen.append(ids(pruned))
        if len(seen) == 1:
            entered.set()
            assert leave.wait(10)
            raise OSError

    pruner = reducer(hook)
    slow = threading.Thread(target=pruner.reduce, args=(chat("a", "z"),))
    slow.start()
    assert entered.wait(10)
    pruner.reduce(chat("a", "z"))
    assert seen == [["a"]]
    leave.set()
    slow.join()
    pruner.reduce(chat("z"))
    assert seen == [["a"], ["a"]]


def test_a_failure_that_another_thread_made_up_for_is_not_repeated() -> None:
    """Between a hook's failure and the end of that reduction another may have delivered."""
    hook = Recorder()
    pruner = reducer(hook)
    hook.failing = OSError()
    steps = pruner._steps(chat("a", "z"))
    call = next(steps)
    assert isinstance(call, Call)
    with pytest.raises(OSError):  # noqa: PT011 - its own
        call.fn(*call.args)
    error, hook.failing = hook.failing, None
    pruner.reduce(chat("z"))
    with pytest.raises(StopIteration):
        steps.throw(error)
    pruner.reduce(chat("z"))
    assert hook.ids == [["a"]]


def test_eight_threads_deliver_each_message_once() -> None:
    """Threads that reduce the same growing list at the same time deliver no message twice."""
    barrier, hook = threading.Barrier(8), Recorder()
    pruner = reducer(hook)

    def work() -> None:
        barrier.wait()
        for n in range(2, 40):
            pruner.reduce(chat(*range(n)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(i for batch in hook.ids for i in batch) == dict.fromkeys(range(38), 1)


@settings(max_examples=100)
@given(failures=st.lists(st.lists(st.booleans(), max_size=30), min_size=3, max_size=3))
def test_any_pattern_of_failures_loses_nothing_and_repeats_nothing(
    failures: list[list[bool]],
) -> None:
    """Three threads share a reducer whose hook fails at random: each message comes once."""
    taken: Counter[tuple[Any, Any]] = Counter()
    lock, script = threading.Lock(), [f for run in zip(*failures, strict=False) for f in run]

    def hook(pruned: list[Any], namespace: Any) -> None:
        with lock:
            if script and script.pop():
                raise OSError
            taken.update((namespace, i) for i in ids(pruned))

    pruner, barrier = reducer(hook, min_messages=2, max_messages=3), threading.Barrier(3)

    def work() -> None:
        barrier.wait()
        for n in range(1, 12):
            for namespace in ("ada", "bob"):
                pruner.reduce(chat(*range(n)), namespace=namespace)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    script.clear()
    for namespace in ("ada", "bob"):
        pruner.reduce(chat(11), namespace=namespace)
    assert taken == {(n, i): 1 for n in ("ada", "bob") for i in range(9)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_process_that_forks_while_a_thread_reduces_leaves_the_child_able_to() -> None:
    """What the thread is in the middle of is finished first."""
    script = """
        import os, signal, threading, time, warnings
        from agentstate_reducer import MessageReducer, ReducerConfig
        warnings.simplefilter("ignore", DeprecationWarning)
        looked_up, hashes = threading.Event(), []
        class Namespace:
            def __hash__(self):
                hashes.append(1)
                if len(hashes) == 2:  # among what the hook has had
                    looked_up.set()
                    time.sleep(0.2)
                return 1
        settings = {"min_messages": 1, "max_messages": 1, "preserve_first": False}
        reducer = MessageReducer(config=ReducerConfig(on_prune=[lambda *args: None], **settings))
        chat = [{"id": key, "role": "user", "content": ""} for key in "ab"]
        thread = threading.Thread(target=reducer.reduce, args=(chat, None, Namespace()))
        thread.start()
        looked_up.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(5)
            reducer.reduce(chat, namespace="ada")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        thread.join()
        reducer.reduce(chat, namespace="ada")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
