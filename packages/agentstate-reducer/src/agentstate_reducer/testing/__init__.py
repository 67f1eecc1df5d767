"""Hypothesis strategies for message histories, and a reading of their links of its own.

    from agentstate_reducer.testing import broken_links, histories

    @given(histories())
    def test_nothing_breaks(history):
        assert not broken_links(MessageReducer(2, 4).reduce(history).surviving)

Needs `hypothesis`, and for the forms `langchain` and `langchain_chunks` also `langchain-core`.
Nothing in the package imports this, and it shares no code with what it helps to test.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from hypothesis import strategies as st

from .forms import FORMS, Form
from .links import broken_links, scattered_links

__all__ = [
    "FORMS",
    "Step",
    "broken_links",
    "histories",
    "junk",
    "scattered_links",
    "scrambled",
    "scripts",
    "written",
]


class Step(NamedTuple):
    """A step of a conversation in no form yet; `keys` name the calls made or answered."""

    kind: str
    """system, human, ai, reasoning, call or results."""
    words: str = ""
    keys: tuple[str, ...] = ()


# One draw each, so that thousands of conversations are made in seconds.
_TURNS = st.sampled_from(  # human messages, rounds of calls, ai messages and notes of a turn
    list(itertools.product((1, 0, 2), (0, 1, 2), (1, 0), (0, 1)))
)
_ROUNDS = st.sampled_from(
    list(itertools.product(("direct", "turned", "thought", "late", "noted", "shared"), (1, 2, 3)))
)
_ENDS = st.sampled_from(  # calls, results and notes that a conversation ends in
    [*[(0, 0, 0)] * 12, *itertools.product((1, 2, 3), (0, 1, 2, 3), (0, 1))]
)
_SAID = st.lists(st.sampled_from(["", "w", "w" * 40, "also"]), min_size=1, max_size=4)


@st.composite
def scripts(draw: st.DrawFn, *, max_turns: int = 5, single_calls: bool = False) -> list[Step]:
    """Well-formed conversations: every call is answered but perhaps those of the last step.

    Keys of calls may repeat, results may be late, out of order or shared by two calls, and
    notes may stand anywhere. With `single_calls` each step is one message in every form.
    """
    said, keys, reused = itertools.cycle(draw(_SAID)), itertools.count(), draw(st.booleans())

    def call(count: int) -> Step:
        many = range(1 if single_calls else count)
        return Step("call", next(said), tuple(f"c{i if reused else next(keys)}" for i in many))

    def round_of_calls(way: str, count: int) -> list[Step]:
        first = call(count)
        answer = Step("results", next(said), first.keys)
        if way == "turned":
            return [first, answer._replace(keys=first.keys[::-1])]
        if way == "late":
            return [first, Step("human"), answer]
        if way == "noted":
            return [first, Step("system"), answer]
        if way == "shared" and not single_calls:
            second = call(count)
            return [first, second, answer._replace(keys=first.keys + second.keys)]
        if way == "thought" and not single_calls:
            return [Step("reasoning"), first, answer]
        return [first, answer]

    steps = [Step("system")] * draw(st.integers(0, 1))
    for humans, rounds, ais, notes in draw(st.lists(_TURNS, max_size=max_turns)):
        steps += [Step("human", next(said))] * humans
        for _ in range(rounds):
            steps += round_of_calls(*draw(_ROUNDS))
        steps += [Step("ai", next(said))] * ais + [Step("system")] * notes
    count, answered, notes = draw(_ENDS)
    if count:
        last = call(count)
        # Words beside the results would be a human message, which abandons what is unanswered.
        steps += [last, *[Step("results", "", last.keys[:answered])] * (answered > 0)]
        steps += [Step("system")] * notes
    return steps


def written(steps: list[Step], forms: list[str], *, ids: bool = True) -> list[Any]:
    """The messages of a script; calls take the forms in turn, results take that of their call.

    With `ids` the messages are named m0, m1, ... in their order.
    """
    turn = itertools.cycle(FORMS[name] for name in forms)
    waiting: dict[str, list[Form]] = {}
    messages: list[Any] = []
    form = next(turn)
    for step in steps:
        if step.kind == "call":
            form = next(turn)
            keys = step.keys[: form.most_calls]
            for key in keys:
                waiting.setdefault(key, []).append(form)
            messages += form.call(keys, step.words)
        elif step.kind == "results":
            told = [(waiting[key].pop(), key) for key in step.keys if waiting.get(key)]
            for owner, group in itertools.groupby(told, key=lambda pair: pair[0]):
                messages += owner.results(tuple(key for _, key in group), step.words)
        elif step.kind != "reasoning" or form.reasons:
            messages.append(form.say(step.kind, step.words))
    return _named(messages) if ids else messages


def _named(messages: list[Any]) -> list[Any]:
    for i, message in enumerate(messages):
        if isinstance(message, dict):
            message["id"] = f"m{i}"
        else:
            message.id = f"m{i}"
    return messages


@st.composite
def histories(draw: st.DrawFn, *, max_turns: int = 5, ids: bool = True) -> list[Any]:
    """Well-formed lists of messages in one wire form or in several mixed."""
    one = st.sampled_from(sorted(FORMS)).map(lambda name: [name])
    several = st.lists(st.sampled_from(sorted(FORMS)), min_size=2, max_size=4)
    forms = draw(st.one_of(one, one, one, several))
    return written(draw(scripts(max_turns=max_turns)), forms, ids=ids)


@st.composite
def scrambled(draw: st.DrawFn, *, ids: bool = True) -> list[Any]:
    """Histories of which messages are lost, moved and said twice."""
    messages = draw(histories(ids=ids))
    for _ in range(draw(st.integers(1, 4)) if messages else 0):
        i, j = (draw(st.integers(0, len(messages) - 1)) for _ in range(2))
        way = draw(st.sampled_from(["lose", "move", "repeat"]))
        message = messages[i] if way == "repeat" else messages.pop(i)
        if way != "lose":
            messages.insert(j, message)
        if not messages:
            break
    return messages


_KEYS: st.SearchStrategy[Any] = st.sampled_from([None, "", "c0", "c1", 7, True, [], {}])
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
    | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)
_KINDS = st.sampled_from(
    ["text", "image", "tool_use", "tool_result", "toolUse", "function_call", "reasoning", "x", None]
)
_BLOCKS = st.fixed_dictionaries(
    {},
    optional={
        "type": _KINDS,
        "id": _KEYS,
        "tool_use_id": _KEYS,
        "call_id": _KEYS,
        "text": _VALUES,
        "toolUse": st.fixed_dictionaries({"toolUseId": _KEYS}) | _VALUES,
        "toolResult": st.fixed_dictionaries({"toolUseId": _KEYS}) | _VALUES,
        "content": _VALUES,
        "input": _VALUES,
    },
)
_CALLS = st.fixed_dictionaries({}, optional={"id": _KEYS, "name": _VALUES, "function": _VALUES})
_ROLES: st.SearchStrategy[Any] = st.sampled_from(
    ["user", "AI", "HumanMessage", "tool", "function", "system", "critic", "", None, 5, []]
)
_ITEMS = st.sampled_from(["function_call", "function_call_output", "web_search_call", "reasoning"])
_FIELDS = {
    "role": _ROLES,
    "type": _ROLES | _ITEMS,
    "content": _VALUES | st.lists(_BLOCKS | _VALUES, max_size=3),
    "tool_calls": _VALUES | st.lists(_CALLS | _VALUES, max_size=3),
    "invalid_tool_calls": st.lists(_CALLS, max_size=2) | _VALUES,
    "tool_call_id": _KEYS,
    "call_id": _KEYS,
    "function_call": _VALUES | st.fixed_dictionaries({"name": _VALUES}),
    "additional_kwargs": _VALUES,
    "name": _VALUES,
    "id": _KEYS,
    "output": _VALUES,
}


class _Raising:
    """An object whose every field raises."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def _cyclic() -> Any:
    block: dict[str, Any] = {"type": "x"}
    block["content"] = block["text"] = [block, block]
    return {"role": "ai", "content": [block, block], "tool_calls": [block]}


def _deep() -> Any:
    value: Any = "w"
    for _ in range(60):
        value = [value]
    return {"role": "user", "content": value, "tool_calls": [{"id": "d", "args": value}]}


_DICTS = st.fixed_dictionaries({}, optional=_FIELDS)
_OBJECTS = _DICTS.map(lambda fields: type("Message", (), fields)())
_HOSTILE = st.sampled_from([_Raising, _cyclic, _deep]).map(lambda make: make())


@st.composite
def junk(draw: st.DrawFn) -> Any:
    """Anything that may stand in a list of messages: half messages, values, hostile objects."""
    return draw(st.one_of(_DICTS, _DICTS, _OBJECTS, _VALUES, _HOSTILE))
