"""What a plan says: verdicts, reasons, sizes, where the conversation starts, what it looks at."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from agentstate_reducer import MessageReducer, ReducerConfig
from agentstate_reducer._plan import make_plan

if TYPE_CHECKING:
    from collections.abc import Callable

SYSTEM, HUMAN, AI = ({"role": role, "content": ""} for role in ("system", "user", "ai"))


def ask(key: str) -> dict[str, Any]:
    """An ai message with a call."""
    return {"role": "ai", "content": "", "tool_calls": [{"id": key, "name": "f", "args": {}}]}


def tell(key: str) -> dict[str, Any]:
    """The result of a call."""
    return {"role": "tool", "content": "", "tool_call_id": key}


def config(low: int, high: int, **fields: Any) -> ReducerConfig:
    """Limits by count."""
    return ReducerConfig(min_messages=low, max_messages=high, **fields)


def leaving(settings: ReducerConfig, messages: list[Any]) -> tuple[int, ...]:
    """Indices of what leaves."""
    return MessageReducer(config=settings).plan(messages).pruned


def test_every_message_has_a_verdict_and_a_reason() -> None:
    """In words that name the rule."""
    messages = [
        SYSTEM,
        HUMAN,
        {"role": "critic"},
        tell("gone"),
        ask("a"),
        SYSTEM,
        tell("a"),
        {"role": "user", "content": "keep me"},
        HUMAN,
        AI,
        ask("b"),
        tell("b"),
    ]
    settings = config(4, 8, keep=lambda m: m.get("content") == "keep me")
    plan = MessageReducer(config=settings).plan(messages)
    assert [(v.leaves, v.reason) for v in plan.verdicts] == [
        (False, "first message"),
        (True, "in the window"),
        (False, "unknown message"),
        (False, "result without a call"),
        (True, "in the window"),
        (False, "system message"),
        (True, "with its call"),
        (False, "named by keep"),
        (False, "in the tail"),
        (False, "in the tail"),
        (False, "open exchange"),
        (False, "open exchange"),
    ]
    assert plan.tokens_before is plan.tokens_after is None


def test_reasons_of_token_mode() -> None:
    """The budget instead of the window."""
    settings = ReducerConfig(max_tokens=3, token_counter=lambda _: 1)
    plan = MessageReducer(config=settings).plan([SYSTEM, HUMAN, AI, HUMAN, AI])
    assert [v.reason for v in plan.verdicts] == [
        "first message",
        "over the budget",
        "over the budget",
        "fits the budget",
        "newest message",
    ]
    assert (plan.tokens_before, plan.tokens_after) == (5, 3)


def test_a_list_under_the_limit_stays_for_that_reason() -> None:
    """Whether or not it was looked into."""
    for settings in (config(1, 5), config(1, 5, repair_tool_pairs=True), ReducerConfig()):
        plan = MessageReducer(config=settings).plan([HUMAN, AI])
        assert {v.reason for v in plan.verdicts} == {"under the limit"}
        assert plan.surviving == (0, 1)
        assert plan.pruned == ()


def test_an_exchange_that_reaches_into_the_tail_stays() -> None:
    """Its reason says so."""
    use = {"role": "ai", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
    both = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}, "and"]}
    plan = MessageReducer(2, 4).plan([SYSTEM, HUMAN, use, both, HUMAN])
    assert plan.pruned == (1,)
    assert plan.verdicts[2].reason == "its exchange stays"


@pytest.mark.parametrize("mode", ["count", "tokens"])
def test_the_newest_message_stays_in_both_modes(mode: str) -> None:
    """A system note behind it does not count; a result counts, with its call."""
    settings = config(0, 1) if mode == "count" else ReducerConfig(max_tokens=1)
    assert leaving(settings, [SYSTEM, HUMAN, AI, SYSTEM]) == (1,)
    assert leaving(settings, [SYSTEM, ask("a"), HUMAN, tell("a")]) == (2,)


def test_first_message_off_lets_it_leave_with_its_exchange() -> None:
    """And on, it keeps its exchange whole."""
    messages = [ask("a"), tell("a"), HUMAN, AI, HUMAN]
    assert leaving(config(1, 2, preserve_first=False), messages) == (0, 1, 2, 3)
    assert leaving(config(1, 2), messages) == (2, 3)


def test_keep_that_raises_is_named() -> None:
    """With the message's index and the cause."""
    with pytest.raises(ValueError, match=r"keep raised KeyError.* for message 0") as caught:
        leaving(config(0, 1, keep=lambda m: m["nope"]), [HUMAN, AI])
    assert isinstance(caught.value.__cause__, KeyError)


def test_keep_protects_whole_exchanges() -> None:
    """By any of its messages."""
    messages = [SYSTEM, ask("a"), tell("a"), HUMAN, AI, HUMAN]
    assert leaving(config(1, 2, keep=lambda m: m["role"] == "tool"), messages) == (3, 4)


class TestStartOnHuman:
    """`start_on="human"`: what stays of the conversation starts on a human message."""

    def test_the_tail_is_shortened_to_its_first_human_message(self) -> None:
        """Notes do not count."""
        messages = [SYSTEM, HUMAN, AI, HUMAN, AI, SYSTEM, HUMAN, AI]
        plan = make_plan(messages, config(4, 6, start_on="human"))
        assert plan.pruned == (1, 2, 3, 4)
        assert plan.verdicts[4].reason == "before the human message that starts"

    def test_exchanges_before_it_leave_whole(self) -> None:
        """Also one that the cut went through."""
        messages = [SYSTEM, HUMAN, ask("a"), tell("a"), AI, HUMAN, AI]
        assert leaving(config(4, 5, start_on="human"), messages) == (1, 2, 3, 4)
        use = {"role": "ai", "content": [{"type": "tool_use", "id": "a"}]}
        both = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}, "and"]}
        messages = [SYSTEM, HUMAN, use, both, AI, HUMAN, AI]
        assert leaving(config(4, 5, start_on="human"), messages) == (1, 2, 3, 4)

    def test_without_one_the_newest_before_it_stays_in_front(self) -> None:
        """A user message that answers a call does not lead."""
        messages = [SYSTEM, HUMAN, AI, HUMAN, ask("a"), tell("a"), ask("b"), tell("b")]
        plan = make_plan(messages, config(2, 5, start_on="human"))
        assert plan.pruned == (1, 2, 4, 5)
        assert plan.verdicts[3].reason == "human message that starts"

    def test_something_protected_before_it_leaves_the_tail_as_it_is(self) -> None:
        """Shortening would gain nothing."""
        kept = {"role": "ai", "content": "kept"}
        messages = [SYSTEM, HUMAN, AI, kept, AI, HUMAN, AI]
        settings = config(5, 6, start_on="human", keep=lambda m: m is kept)
        assert leaving(settings, messages) == (1,)
        orphan = [SYSTEM, HUMAN, AI, tell("x"), AI, HUMAN, AI]
        assert leaving(config(5, 6, start_on="human"), orphan) == (1,)

    def test_in_front_of_the_open_and_of_the_newest_exchange_stays_a_question(self) -> None:
        """The tail begins where they begin, before the cut."""
        messages = [SYSTEM, HUMAN, AI, HUMAN, ask("a"), tell("a"), tell("x"), tell("y")]
        assert leaving(config(1, 4, start_on="human"), messages) == (1, 2)
        late = [SYSTEM, HUMAN, AI, ask("a"), HUMAN, tell("a")]
        assert leaving(config(1, 4, start_on="human"), late) == (2, 4)

    def test_in_token_mode_it_stays_only_when_it_fits(self) -> None:
        """The budget goes first."""
        messages = [SYSTEM, HUMAN, AI, AI, AI]
        for target, left in ((3, (1, 2, 3)), (4, (2, 3))):
            settings = ReducerConfig(
                max_tokens=7,
                target_tokens=target,
                token_counter=lambda m: 2 if m is AI else 1,
                start_on="human",
            )
            assert leaving(settings, messages) == left

    def test_without_any_human_message_nothing_changes(self) -> None:
        """There is nothing to start on."""
        assert leaving(config(1, 2, start_on="human"), [SYSTEM, AI, AI, AI]) == (1, 2)
        assert leaving(config(0, 2, start_on="human"), [SYSTEM, SYSTEM, SYSTEM]) == ()


class TestSummaryBlocks:
    """Messages of an old summary are set aside before any decision."""

    block: ClassVar = {"role": "user", "content": "summary"}

    def plan(self, settings: ReducerConfig, messages: list[Any]) -> Any:
        """The plan that knows the block."""
        at = [i for i, message in enumerate(messages) if message is self.block]
        return make_plan(messages, settings, None, lambda given: at)

    def test_they_count_for_nothing_and_leave_with_anything_else(self) -> None:
        """Trigger and window are those of the other messages."""
        messages = [SYSTEM, self.block, self.block, HUMAN, AI, HUMAN]
        assert self.plan(config(2, 4), messages).pruned == ()
        plan = self.plan(config(2, 3), messages)
        assert plan.pruned == (1, 2, 3)
        assert plan.verdicts[1].reason == "summary that a new one replaces"
        assert plan.pressure == pytest.approx(4 / 3)
        assert plan.gap == 1

    def test_they_cost_nothing_against_the_budget(self) -> None:
        """It comes on top of the limit, and shows in the totals."""
        messages = [SYSTEM, self.block, HUMAN, AI, HUMAN]
        settings = ReducerConfig(max_tokens=4, token_counter=lambda _: 1)
        plan = self.plan(settings, messages)
        assert (plan.pruned, plan.tokens_before) == ((), 5)

    def test_repair_alone_leaves_them(self) -> None:
        """Nothing would replace them."""
        messages = [SYSTEM, self.block, tell("x"), HUMAN]
        plan = self.plan(config(2, 9, repair_tool_pairs=True), messages)
        assert plan.pruned == (2,)
        assert not plan.over_limit
        assert plan.verdicts[1].reason == "summary"
        with pytest.raises(ValueError, match="a summary has no place"):
            _ = plan.gap

    def test_a_failed_summary_leaves_the_repairs(self) -> None:
        """What the limit would have taken stays, the old summary too."""
        messages = [SYSTEM, self.block, tell("x"), HUMAN, AI, HUMAN]
        plan = self.plan(config(1, 3, repair_tool_pairs=True), messages)
        assert plan.pruned == (1, 2, 3, 4)
        spared = plan.only_repairs()
        assert spared.pruned == (2,)
        assert spared.split(messages) == ([m for m in messages if m != tell("x")], [tell("x")])
        assert {v.reason for v in spared.verdicts} == {
            "summary",
            "result without a call",
            "under the limit",
        }
        assert make_plan([HUMAN], config(0, 1)).only_repairs().pruned == ()

    def test_the_gap_is_not_inside_an_exchange(self) -> None:
        """It moves behind the exchange that stays."""
        messages = [SYSTEM, ask("a"), HUMAN, tell("a"), HUMAN, AI, HUMAN]
        settings = config(1, 2, keep=lambda m: m["role"] == "tool")
        plan = make_plan(messages, settings)
        assert (plan.pruned, plan.gap) == ((2, 4, 5), 4)

    def test_the_gap_of_a_usual_list_is_where_the_first_message_left(self) -> None:
        """Never in front of index 0 when that stays."""
        assert make_plan([SYSTEM, HUMAN, AI, HUMAN], config(1, 2)).gap == 1
        assert make_plan([HUMAN, AI, HUMAN], config(1, 2, preserve_first=False)).gap == 0
        messages = [SYSTEM, ask("a"), tell("a"), HUMAN, ask("b"), tell("b")]
        assert make_plan(messages, config(2, 3)).gap == 1


def test_pressure_is_the_share_of_the_limit() -> None:
    """Infinite above a limit of nothing."""
    assert make_plan([HUMAN] * 5, config(1, 2)).pressure == pytest.approx(2.5)
    assert make_plan([HUMAN] * 5, config(0, 0)).pressure == float("inf")
    assert make_plan([], config(0, 0)).pressure == 0
    assert make_plan([HUMAN] * 5, ReducerConfig(max_messages=None)).pressure == 0
    settings = ReducerConfig(max_tokens=2, token_counter=lambda _: 1)
    assert make_plan([HUMAN] * 5, settings).pressure == pytest.approx(2.5)


class Key(str):
    """A dict key that counts how often it is looked up."""

    looked_up = 0

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Key.looked_up += 1
        return str.__eq__(self, other)


class Counted:
    """An object that counts how often a field of it is read."""

    looked_up = 0

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __getattribute__(self, name: str) -> Any:
        Counted.looked_up += name != "__dict__"
        return object.__getattribute__(self, name)


def counted_dict(**fields: Any) -> dict[str, Any]:
    """A plain dict whose keys count."""
    return {Key(name): value for name, value in fields.items()}


def conversation(make: Any, turns: int) -> list[Any]:
    """Turns with two calls each."""
    messages = [make(role="system", content="")]
    for i in range(turns):
        calls = [{"id": f"{i}{k}", "name": "f", "args": {}} for k in "ab"]
        messages.append(make(role="user", content=""))
        messages.append(make(role="assistant", content="", tool_calls=calls))
        messages += [make(role="tool", content="", tool_call_id=call["id"]) for call in calls]
        messages.append(make(role="assistant", content=""))
    return messages


@pytest.mark.parametrize("counts", [Key, Counted])
@pytest.mark.parametrize(
    "settings",
    [
        config(10, 20),
        config(10, 20, start_on="human", repair_tool_pairs=True),
        ReducerConfig(max_tokens=200, token_counter=lambda _: 4),
        ReducerConfig(max_tokens=200),
    ],
)
def test_each_message_is_looked_at_a_constant_number_of_times(
    counts: Any, settings: ReducerConfig
) -> None:
    """Twice the conversation takes twice the look-ups, no more."""
    make = counted_dict if counts is Key else Counted
    looks = []
    for turns in (100, 200, 400):
        messages = conversation(make, turns)
        counts.looked_up = 0
        assert make_plan(messages, settings).pruned
        looks.append(counts.looked_up)
    assert looks[2] - looks[1] <= 2 * (looks[1] - looks[0]) + 50
    assert looks[0] > 0


def lines_run(action: Callable[[], object]) -> int:
    """How many lines of Python an action executes."""
    count, before = 0, sys.gettrace()

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("stray", [[], [SYSTEM]])
def test_the_reasons_of_one_long_exchange_take_a_constant_effort_each(stray: list[Any]) -> None:
    """Twice the results take twice the work, whether or not they stand behind their call."""
    work = []
    for size in (100, 200):
        calls = [call for i in range(size) for call in ask(str(i))["tool_calls"]]
        asked = {**ask("a"), "tool_calls": calls}
        messages = [SYSTEM, asked, *stray, *(tell(str(i)) for i in range(size)), HUMAN, HUMAN]
        plan = make_plan(messages, config(1, 2))
        work.append(lines_run(lambda plan=plan: plan.verdicts))
        assert [v.reason for v in plan.verdicts].count("with its call") == size
    assert work[1] <= 2 * work[0]


def test_under_the_limit_no_message_is_looked_at() -> None:
    """Count mode asks for the length alone."""
    messages = conversation(Counted, 3)
    Counted.looked_up = 0
    assert MessageReducer(10, 20).plan(messages).pruned == ()
    assert Counted.looked_up == 0


def test_a_plan_does_not_touch_unread_lists() -> None:
    """Iterators of tool calls are not consumed: only lists and tuples are looked into."""
    calls = iter([{"id": "a"}])
    message = SimpleNamespace(role="ai", content="", tool_calls=calls)
    assert leaving(config(0, 1), [HUMAN, message, HUMAN]) == (1,)
    assert list(calls) == [{"id": "a"}]
