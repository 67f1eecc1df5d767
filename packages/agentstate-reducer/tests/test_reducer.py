"""MessageReducer: its arguments, copies, events, and the face for adapters."""

from __future__ import annotations

import copy
import enum
import functools
import pickle
import subprocess
import sys
from collections import UserList, deque
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

import agentstate_reducer
from agentstate_reducer import MessageReducer, Plan, ReduceEvent, ReducerConfig, ReducerResult
from agentstate_reducer.integration import run


def chat(*ids: Any) -> list[dict[str, Any]]:
    """Human messages with these ids."""
    return [{"id": i, "role": "user", "content": f"text {i}"} for i in ids]


def remember(pruned: list[Any], namespace: Any) -> None:
    """A hook that can be pickled."""


class Role(enum.Enum):
    """A role as an enum."""

    USER = "narrator"


class Said(BaseModel):
    """A message of a framework of its own; iterable, as every pydantic model is."""

    role: str | Role
    content: str = ""


@pytest.mark.parametrize("argument", ["existing", "new"])
@pytest.mark.parametrize(
    "value",
    [
        {"role": "user", "content": "x"},
        {},
        "hello",
        b"hello",
        HumanMessage("x"),
        Said(role="user"),
        Said(role="narrator"),
        Said(role=Role.USER),
        42,
    ],
)
def test_one_message_is_refused_and_told_to_go_into_a_list(argument: str, value: Any) -> None:
    """A dict, a text, bytes, a message object and a number are no list of messages."""
    pattern = f"{argument} must be an iterable of messages, got one {type(value).__name__}: put it"
    with pytest.raises(TypeError, match=pattern):
        MessageReducer().reduce(**{argument: value})


def test_any_iterable_of_messages_is_taken_and_none_changed() -> None:
    """Lists, tuples, generators and nothing at all; existing comes before new."""
    messages = chat("a", "b", "c")
    pruner = MessageReducer()
    for existing, new in (
        (messages, None),
        (tuple(messages), ()),
        (None, (m for m in messages)),
        ({m["id"]: m for m in messages[:1]}.values(), messages[1:]),
    ):
        assert pruner.reduce(existing, new).surviving == messages
    assert pruner.reduce() == ReducerResult([], [], None)
    surviving = pruner.reduce(messages).surviving
    surviving.clear()
    assert len(messages) == 3


def test_the_reducer_gives_no_message_an_id() -> None:
    """A message without an id stays without one, whatever is called; ids that exist stay."""
    messages = [{"role": "user", "content": str(n)} for n in range(3)]
    config = ReducerConfig(1, 2, on_prune=[remember], summarize_fn=lambda pruned: "text")
    result = MessageReducer(config=config).reduce([*messages, {"id": 7, "role": "user"}])
    assert result.surviving == [messages[0], {"id": 7, "role": "user"}]
    assert result.pruned == messages[1:]


def test_a_list_of_any_kind_and_name_is_a_list() -> None:
    """A sequence is never one message, though its class be called like a role."""

    class Agent(list[Any]):
        pass

    class Model(UserList[Any]):
        role = "assistant"

    for kind in (Agent, Model, deque):
        assert len(MessageReducer().reduce(kind(chat("a", "b"))).surviving) == 2


def test_a_config_of_another_kind_is_refused() -> None:
    """A dict for a config is a TypeError at construction."""
    with pytest.raises(TypeError, match="config must be a ReducerConfig, got dict"):
        MessageReducer(config={"max_messages": 3})  # type: ignore[arg-type]


def test_plan_decides_and_calls_no_callback() -> None:
    """The plan shows what would leave; neither summariser nor hook runs."""

    def refuse(*args: Any) -> Any:
        raise AssertionError

    config = ReducerConfig(1, 2, summarize_fn=refuse, on_prune=[refuse], on_reduce=refuse)
    plan = MessageReducer(config=config).plan(m for m in chat("a", "b", "c"))
    assert isinstance(plan, Plan)
    assert (plan.pruned, plan.surviving) == ((1,), (0, 2))


def test_an_error_of_keep_or_of_the_counter_comes_out() -> None:
    """They decide what leaves; without their answer nothing is decided."""
    for name, limits in (("keep", {}), ("token_counter", {"max_tokens": 1})):
        settings: dict[str, Any] = {name: lambda m: 1 / 0, **limits}
        with pytest.raises(ValueError, match=name):
            MessageReducer(config=ReducerConfig(1, 2, **settings)).reduce(chat("a", "b", "c"))


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))],  # noqa: S301
)
def test_copies_carry_the_configuration_and_no_memory(duplicate: Any) -> None:
    """What hooks have had and the summaries stay behind; the settings come along."""
    original = MessageReducer(config=ReducerConfig(1, 1, on_prune=[remember], preserve_first=False))
    original.reduce(chat("a", "b"))
    twin = duplicate(original)
    assert twin.config == original.config
    events: list[ReduceEvent] = []
    object.__setattr__(twin.config, "on_reduce", events.append)
    twin.reduce(chat("a", "b"))
    assert events[0].delivered == 1


def test_a_subclass_is_copied_as_itself() -> None:
    """Copies are of the same class."""

    class Mine(MessageReducer):
        pass

    assert type(copy.copy(Mine(1, 2))) is Mine


def test_every_reduction_is_reported_in_numbers() -> None:
    """on_reduce hears of each one: counts, tokens, durations, never a message."""
    events: list[ReduceEvent] = []
    config = ReducerConfig(
        max_tokens=3,
        target_tokens=2,
        preserve_first=False,
        token_counter=lambda m: 1,
        summarize_fn=lambda pruned: "text",
        inject_summary=True,
        on_prune=[lambda pruned, namespace: None] * 2,
        on_reduce=events.append,
    )
    pruner = MessageReducer(config=config)
    pruner.reduce(chat("a"), namespace="ada")
    pruner.reduce(chat("a", "b", "c", "d"), namespace="bob")
    quiet, busy = events
    assert (quiet.namespace, quiet.pruned, quiet.delivered, quiet.summarized) == (
        "ada",
        0,
        0,
        False,
    )
    assert (busy.messages_before, busy.messages_after, busy.pruned) == (4, 4, 2)
    assert (busy.tokens_before, busy.tokens_after) == (4, 2)
    assert (busy.delivered, busy.summarized) == (4, True)
    assert min(busy.plan_seconds, busy.summary_seconds, busy.hooks_seconds) >= 0


def test_a_report_that_fails_breaks_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """What on_reduce raises is logged."""
    config = ReducerConfig(1, 1, preserve_first=False, on_reduce=lambda event: 1 / 0)
    assert len(MessageReducer(config=config).reduce(chat("a", "b")).surviving) == 1
    assert "ZeroDivisionError at" in caplog.text


class Callable_:  # noqa: N801
    """A hook object without a name of its own."""

    def __call__(self, *args: Any) -> None:
        raise ZeroDivisionError


def test_logs_name_the_hook_and_the_place(caplog: pytest.LogCaptureFixture) -> None:
    """An object is named by its class, a partial by the function inside."""
    hooks: list[Any] = [Callable_(), functools.partial(int, "x")]
    config = ReducerConfig(1, 1, on_prune=hooks, preserve_first=False)
    MessageReducer(config=config).reduce(chat("a", "b"))
    assert "on_prune hook Callable_ failed: ZeroDivisionError at" in caplog.text
    assert "on_prune hook int failed: TypeError" in caplog.text


def test_keys_name_messages_without_an_id() -> None:
    """They are asked for messages that leave and have no id, and deliver each key once."""
    seen: list[Any] = []
    asked: list[int] = []

    def hook(pruned: Any, namespace: Any) -> None:
        seen.append(pruned.keys)

    config = ReducerConfig(1, 1, on_prune=[hook], preserve_first=False)
    pruner = MessageReducer(config=config)

    def key(index: int) -> str | None:
        asked.append(index)
        return f"at {index}"

    messages = [{"role": "user", "content": "x"}, *chat("a"), {"role": "user", "content": "y"}]
    for _ in range(2):
        run(pruner._steps(messages, "ada", keys=key))
    assert seen == [["at 0", "a"]]
    assert set(asked) == {0}


def test_importing_the_core_loads_the_standard_library_alone_and_little_of_it() -> None:
    """No third party, and nothing for network, databases, processes or event loops."""
    script = (
        "import sys; before = set(sys.modules); import agentstate_reducer; "
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert done.stderr == ""
    assert loaded - set(sys.stdlib_module_names) == {"agentstate_reducer"}
    heavy = {"asyncio", "sqlite3", "concurrent", "http", "email", "unittest", "socket", "ssl"}
    assert loaded & heavy == set()


def test_the_public_names_are_there() -> None:
    """Everything that is exported exists, and nothing is exported twice."""
    names = agentstate_reducer.__all__
    assert len(set(names)) == len(names)
    assert all(getattr(agentstate_reducer, name) is not None for name in names)
