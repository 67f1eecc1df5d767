"""What holds for every conversation, in every wire form, and for arbitrary junk.

`HYPOTHESIS_PROFILE=nightly` runs 100,000 examples of each property, the default 200.
"""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from agentstate_reducer import MessageReducer, ReducerConfig, ReducerResult
from agentstate_reducer.testing import (
    FORMS,
    broken_links,
    histories,
    junk,
    scattered_links,
    scrambled,
    scripts,
    written,
)
from agentstate_reducer.testing.links import calls, results, role, ties


def cost(message: Any) -> int:
    """A counter that agrees with nothing built in: some messages are free."""
    return len(repr(message)) % 40


def kept(message: Any) -> bool:
    """Names about a quarter of the messages."""
    return cost(message) % 4 == 0


limits = st.one_of(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).map(
        lambda n: {"min_messages": n[0], "max_messages": n[0] + n[1]}
    ),
    st.tuples(st.integers(1, 400), st.integers(0, 300)).map(
        lambda n: {"target_tokens": n[0], "max_tokens": n[0] + n[1], "token_counter": cost}
    ),
)
options = st.fixed_dictionaries(
    {},
    optional={
        "preserve_first": st.just(False),
        "keep": st.just(kept),
        "start_on": st.just("human"),
    },
)
configs = st.builds(lambda *parts: ReducerConfig(**parts[0], **parts[1]), limits, options)
repairing = st.builds(
    lambda *parts: ReducerConfig(repair_tool_pairs=True, **parts[0], **parts[1]), limits, options
)
lists = st.one_of(histories(), histories(ids=False), scrambled(), st.lists(junk(), max_size=8))


def reduced(messages: list[Any], config: ReducerConfig) -> ReducerResult:
    """The result for the list, given in two halves."""
    half = len(messages) // 2
    return MessageReducer(config=config).reduce(messages[:half], messages[half:])


def positions(messages: list[Any], part: list[Any]) -> list[int]:
    """Where the objects of a part stand in the list; a second copy counts as the next one."""
    at, found = 0, []
    for message in part:
        while messages[at] is not message:
            at += 1
        found.append(at)
        at += 1
    return found


@given(lists, configs | repairing)
def test_surviving_and_pruned_partition_the_input(
    messages: list[Any], config: ReducerConfig
) -> None:
    """Every object is in one of the two, in its order, and the plan names the same ones."""
    result = reduced(messages, config)
    plan = MessageReducer(config=config).plan(messages)
    assert list(map(id, result.surviving)) == [id(messages[i]) for i in plan.surviving]
    assert list(map(id, result.pruned)) == [id(messages[i]) for i in plan.pruned]
    assert sorted([*plan.surviving, *plan.pruned]) == list(range(len(messages)))
    assert plan.surviving == tuple(sorted(plan.surviving))
    assert [v.leaves for v in plan.verdicts] == [
        i in set(plan.pruned) for i in range(len(messages))
    ]
    assert all(v.reason for v in plan.verdicts)


@given(histories() | scrambled(), configs | repairing)
def test_the_input_is_never_changed(messages: list[Any], config: ReducerConfig) -> None:
    """Neither the lists nor the messages are."""
    before = copy.deepcopy(messages)
    reduced(messages, config)
    assert messages == before


@given(histories(), configs | repairing)
def test_a_well_formed_history_stays_well_formed(
    messages: list[Any], config: ReducerConfig
) -> None:
    """No result loses its call and no call its result."""
    assume(not broken_links(messages))
    assert not broken_links(reduced(messages, config).surviving)


@given(lists, configs | repairing)
def test_reducing_twice_equals_reducing_once(messages: list[Any], config: ReducerConfig) -> None:
    """The second time nothing leaves."""
    once = reduced(messages, config).surviving
    twice = reduced(once, config)
    assert list(map(id, twice.surviving)) == list(map(id, once))
    assert not twice.pruned


@given(lists, repairing)
def test_repair_leaves_no_half_pair(messages: list[Any], config: ReducerConfig) -> None:
    """No result without its call, no call but the open one without its result, none apart."""
    surviving = reduced(messages, config).surviving
    assert not broken_links(surviving)
    assert not scattered_links(surviving)


@given(histories(), limits.filter(lambda limit: "max_tokens" in limit), options)
def test_the_budget_holds_or_only_protected_messages_remain(
    messages: list[Any], limit: dict[str, Any], option: dict[str, Any]
) -> None:
    """Above the target stands nothing that could have left."""
    assume(not broken_links(messages))
    config = ReducerConfig(**limit, **option)
    result = reduced(messages, config)
    total = sum(map(cost, messages))
    if total <= limit["max_tokens"]:
        assert not result.pruned
    elif sum(map(cost, result.surviving)) > limit["target_tokens"]:
        stays = set(positions(messages, result.surviving))
        assert stays == protected(messages, config)


@given(histories(), limits.filter(lambda limit: "max_tokens" in limit))
def test_the_budget_is_used(messages: list[Any], limit: dict[str, Any]) -> None:
    """The newest exchange that leaves would not have fitted."""
    assume(not broken_links(messages))
    result = reduced(messages, ReducerConfig(**limit))
    if result.pruned:
        gone = set(positions(messages, result.pruned))
        newest = max((unit for unit in units(messages) if unit <= gone), key=min)
        left = sum(map(cost, result.surviving))
        assert left + sum(cost(messages[i]) for i in newest) > limit["target_tokens"]


@given(histories(), limits.filter(lambda limit: "max_messages" in limit), options)
def test_count_mode_takes_what_is_in_the_window(
    messages: list[Any], limit: dict[str, Any], option: dict[str, Any]
) -> None:
    """Exchanges leave whose human and ai members all stand in the window, none protected."""
    assume(not broken_links(messages))
    option = {name: value for name, value in option.items() if name != "start_on"}
    config = ReducerConfig(**limit, **option)
    gone = set(positions(messages, reduced(messages, config).pruned))
    expected: set[int] = set()
    if len(messages) > limit["max_messages"]:
        cut, safe = len(messages) - limit["min_messages"], protected(messages, config)
        for unit in units(messages):
            spoken = [i for i in unit if role(messages[i]) in ("human", "ai")]
            if spoken and max(spoken) < cut and not unit & safe:
                expected |= unit
    assert gone == expected


@given(histories(), limits, st.booleans())
def test_start_on_human_starts_what_stays_on_a_human_message(
    messages: list[Any], limit: dict[str, Any], first: bool
) -> None:
    """Behind notes and index 0, unless no human message is at hand or an exchange is in the way."""
    assume(not broken_links(messages))
    config = ReducerConfig(**limit, start_on="human", preserve_first=first)
    result = reduced(messages, config)
    stays = positions(messages, result.surviving)
    if not result.pruned:
        return
    apart = next(unit for unit in units(messages) if 0 in unit) if first else set()
    body = [i for i in stays if i not in apart and role(messages[i]) in ("human", "ai", "result")]
    if not body or leads(messages[body[0]]):
        return
    begins = next(unit for unit in units(messages) if body[0] in unit)
    older = [i for i in range(min(begins)) if leads(messages[i]) and i not in apart]
    later = [i for i in body if leads(messages[i])]
    in_the_way = protected(messages, config) & set(range(later[0] if later else len(messages)))
    assert (
        in_the_way & set(body)
        or len(begins) > 1
        or (not later and not older)
        or ("max_tokens" in limit and not later)
    )


@given(scripts(single_calls=True), limits, options)
def test_wire_forms_agree(script: Any, limit: dict[str, Any], option: dict[str, Any]) -> None:
    """The same conversation is pruned at the same places in whatever form it is written."""
    option = {name: value for name, value in option.items() if name != "keep"}
    if "token_counter" in limit:
        limit = {**limit, "token_counter": lambda _: 30}
    script = [step._replace(words="w") for step in script]
    config = ReducerConfig(**limit, **option)
    reducer = MessageReducer(config=config)
    plans = {reducer.plan(written(script, [form])).pruned for form in FORMS if form != "legacy"}
    assert len(plans) == 1


@given(st.lists(junk() | histories().map(lambda h: h[0] if h else None), max_size=8), configs)
def test_junk_never_raises(messages: list[Any], config: ReducerConfig) -> None:
    """Also with the built-in counter, and whether or not pairs are repaired."""
    reduced(messages, config)
    reduced(messages, ReducerConfig(max_tokens=20, repair_tool_pairs=True))


def units(messages: list[Any]) -> list[set[int]]:
    """Exchanges by the oracle's reading: calls, their results, and what Responses items adjoin."""
    groups = [{i} for i in range(len(messages))]
    for one, other in ties(messages):
        first = next(group for group in groups if one in group)
        second = next(group for group in groups if other in group)
        if first is not second:
            first |= second
            groups.remove(second)
    return groups


def leads(message: Any) -> bool:
    """Whether it is a human message that answers nothing."""
    return role(message) == "human" and not results(message)


def protected(messages: list[Any], config: ReducerConfig) -> set[int]:
    """What never leaves, by the oracle's reading, exchanges whole."""
    spoken = [i for i, m in enumerate(messages) if role(m) in ("human", "ai", "result")]
    safe = {i for i, m in enumerate(messages) if role(m) in ("system", "unknown")}
    if config.preserve_first and messages:
        safe.add(0)
    if config.keep:
        safe |= {i for i, m in enumerate(messages) if config.keep(m)}
    safe |= set(spoken[-1:])
    voices = [i for i in spoken if role(messages[i]) != "result"]
    if voices and calls(messages[voices[-1]]):
        safe.add(voices[-1])
    for unit in units(messages):
        lone = len(unit) == 1 and role(messages[min(unit)]) in ("result", "reasoning")
        if unit & safe or lone:
            safe |= unit
    return safe
