"""Roles, ids and words of messages of every shape, hostile ones included."""

from __future__ import annotations

import enum
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    HumanMessage,
    ToolMessage,
    messages_to_dict,
)
from pydantic import BaseModel

from agentstate_reducer import MessageReducer, ReducerConfig
from agentstate_reducer._messages import calls_of, id_of, role_of
from agentstate_reducer._words import fingerprint, text_of
from agentstate_reducer.testing import histories, junk


class Role(enum.Enum):
    """A role that is no text."""

    HUMAN = "User"


class Name(str, enum.Enum):
    """An id that is text and more."""

    A = "a"


class AssistantMessage:
    """A message that says what it is by its class alone."""

    content = "x"


class Hostile:
    """An object whose every attribute raises, its class too."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class HostileList(list[Any]):
    """A list that cannot be looked into."""

    def __iter__(self) -> Any:
        raise RuntimeError


def cycle() -> Any:
    """A message whose content and calls contain themselves."""
    block: dict[str, Any] = {"type": "x"}
    block["content"] = block["text"] = block["again"] = [block, block]
    return {"role": "ai", "content": [block, block], "tool_calls": [block]}


def googol() -> Any:
    """A number of more digits than Python writes."""
    return {"role": "user", "content": 10**5_000}


def well() -> Any:
    """A message nested deeper than Python can follow."""
    value: Any = "w"
    for _ in range(50_000):
        value = [value]
    return {"role": "user", "content": value, "tool_calls": [{"id": "d", "args": value}]}


@pytest.mark.parametrize(
    ("message", "letter"),
    [
        ({"role": "user"}, "h"),
        ({"role": "Human"}, "h"),
        ({"role": "ASSISTANT"}, "a"),
        ({"role": "agent"}, "a"),
        ({"role": "model"}, "a"),
        ({"role": "developer"}, "s"),
        ({"role": "SystemMessage"}, "s"),
        ({"role": "tool"}, "t"),
        ({"role": "function"}, "f"),
        ({"type": "AIMessageChunk"}, "a"),
        ({"type": "HumanMessageChunk"}, "h"),
        ({"type": "toolchunk"}, "t"),
        ({"role": "critic", "type": "human"}, "u"),
        ({"role": None, "type": "human"}, "h"),
        ({"role": "", "type": "human"}, "h"),
        ({"role": 7, "type": "human"}, "h"),
        ({"role": ["user"]}, "u"),
        ({"type": "chunk"}, "u"),
        ({"type": "function_call", "call_id": "a"}, "a"),
        ({"type": "custom_tool_call_output", "call_id": "a"}, "t"),
        ({"type": "web_search_call"}, "a"),
        ({"type": "reasoning"}, "a"),
        ({"role": Role.HUMAN}, "h"),
        ({}, "u"),
        (SimpleNamespace(role=Role.HUMAN), "h"),
        (SimpleNamespace(type="tool"), "t"),
        (AssistantMessage(), "a"),
        (HumanMessage("x"), "h"),
        (ChatMessage(role="user", content="x"), "h"),
        (ChatMessage(role="critic", content="x"), "u"),
        (HumanMessage("x", role="assistant"), "a"),
        ("user", "u"),
        (None, "u"),
    ],
)
def test_roles_are_read_from_role_then_type_then_class(message: Any, letter: str) -> None:
    """In any case, as text or Enum, with the endings of class names."""
    assert role_of(message) == letter


def test_a_list_of_one_form_is_read_like_its_messages() -> None:
    """A word that wants a closer look among plain ones gets it."""
    objects = [HumanMessage("a"), HumanMessage("b", role="critic"), ChatMessage("c", role="ai")]
    dicts = [{"role": "user"}, {"role": Role.HUMAN}, {"role": "critic"}, {"type": "human"}]
    typed = [{"type": "human"}, {"type": "ai"}, {"type": "web_search_call"}]
    reducer = MessageReducer(config=ReducerConfig(0, 1, preserve_first=False))
    for messages in (objects, dicts, typed, [*objects, *dicts]):
        verdicts = reducer.plan([*messages, *messages]).verdicts[: len(messages)]
        unknown = [role_of(message) == "u" for message in messages]
        assert [verdict.reason == "unknown message" for verdict in verdicts] == unknown


class Envelope(BaseModel):
    """A model that says its role, and what was said in `data`."""

    type: str
    data: dict[str, Any]
    content: None = None


PARTS = [
    {"role": "user", "parts": [{"text": "a" * 40}]},
    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
    {"role": "model", "parts": [{"text": "a" * 40}]},
]
ELSEWHERE = {
    "parts": PARTS,
    "objects with parts": [SimpleNamespace(**message) for message in PARTS],
    "objects with data": [
        Envelope(type=kind, data={"content": "a" * 40}) for kind in ("human", "ai") * 2
    ],
    "messages_to_dict": messages_to_dict(
        [
            HumanMessage("a" * 40),
            AIMessage("", tool_calls=[{"id": "c", "name": "f", "args": {}}]),
            ToolMessage("", tool_call_id="c"),
            AIMessage("a" * 40),
        ]
    ),
}


@pytest.mark.parametrize("form", ELSEWHERE)
@pytest.mark.parametrize("beside", [[], [{"role": "user", "content": "", "type": "human"}]])
def test_messages_whose_content_stands_elsewhere_never_leave(form: str, beside: list[Any]) -> None:
    """Their calls are not read, so a pair could be cut; their words cost tokens."""
    messages = ELSEWHERE[form] * 2
    plan = MessageReducer(config=ReducerConfig(0, 1)).plan([*messages, *beside])
    assert plan.pruned == ()
    assert [v.reason for v in plan.verdicts[1:-1]] == ["unknown message"] * 6 + (
        ["unknown message"] if beside else []
    )
    plan = MessageReducer(config=ReducerConfig(max_tokens=1)).plan(messages)
    assert plan.pruned == ()
    assert plan.tokens_before is not None
    assert plan.tokens_before >= 8 * 4 + 4 * 10


def test_an_extra_role_beside_the_type_wins_in_a_list_of_objects_too() -> None:
    """LangChain keeps fields that it does not declare."""
    objects = [HumanMessage("a"), HumanMessage("b", role="critic"), HumanMessage("c")]
    plan = MessageReducer(config=ReducerConfig(0, 1, preserve_first=False)).plan(objects)
    assert plan.pruned == (0,)


@pytest.mark.parametrize(
    ("message", "key"),
    [
        ({"id": "a", "tracking_id": "b"}, "a"),
        ({"id": "", "tracking_id": "b"}, "b"),
        ({"id": None, "message_id": 7}, "7"),
        ({"id": 0}, "0"),
        ({"id": 1.5}, "1.5"),
        ({"id": True, "message_id": "c"}, "c"),
        ({"id": ["a"]}, None),
        ({"id": Name.A}, "a"),
        ({"id": 10**5_000}, None),
        (SimpleNamespace(id="a"), "a"),
        ({}, None),
    ],
)
def test_ids_are_text_or_numbers(message: Any, key: str | None) -> None:
    """`id`, else `tracking_id`, else `message_id`; anything else is no id."""
    assert id_of(message) == key


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"content": "a b"}, "a b"),
        ({"content": None}, ""),
        ({"content": ["a", {"type": "text", "text": "b"}, {"text": "c"}]}, "a b c"),
        ({"content": [{"type": "image", "data": "A"}, {"refusal": "no"}]}, "no"),
        ({"content": [{"type": "tool_result", "content": [{"text": "r"}]}]}, "r"),
        ({"content": [{"toolResult": {"content": [{"text": "r"}]}}]}, "r"),
        ({"content": [{"type": "thinking", "thinking": "hm"}]}, ""),
        ({"content": {"text": "a"}}, "a"),
        ({"content": {"answer": 42}}, '{"answer": 42}'),
        ({"content": 42}, "42"),
        ({"content": 10**5_000}, ""),
        ({"content": [SimpleNamespace(type="text", text="a")]}, "a"),
        ({"type": "function_call_output", "call_id": "a", "output": "r"}, "r"),
        (AIMessage(["a", {"type": "text", "text": "b"}]), "a b"),
        ({"content": HostileList([1])}, ""),
    ],
)
def test_the_words_of_a_message_are_plain_text(message: Any, words: str) -> None:
    """Of any content shape, without images, calls and thinking."""
    assert text_of(message) == words


@given(histories(), st.booleans())
def test_a_fingerprint_survives_storage_and_ignores_the_id(
    messages: list[Any], renamed: bool
) -> None:
    """Dicts come back from JSON; an id that was given later changes nothing."""
    for message in messages:
        if isinstance(message, dict):
            back = json.loads(json.dumps(message))
            if renamed:
                back["id"] = "other"
            assert fingerprint(back) == fingerprint(message)


def test_results_are_linked_by_block_when_the_message_names_no_call() -> None:
    """A tool message may hold result blocks, one for each call."""
    asked = {"role": "ai", "content": [{"type": "tool_use", "id": key} for key in "ab"]}
    blocks = [{"type": "tool_result", "tool_use_id": key} for key in "ab"]
    messages = [asked, {"role": "tool", "content": blocks}, {"role": "user", "content": ""}]
    assert MessageReducer(config=ReducerConfig(0, 1, preserve_first=False)).plan(
        messages
    ).pruned == (0, 1)


def test_a_fingerprint_tells_role_name_content_and_links_apart() -> None:
    """And nothing else."""
    plain = {"role": "user", "content": "a"}
    others = [
        {"role": "ai", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "user", "content": ["a"]},
        {"role": "user", "content": "a", "name": "n"},
        {"role": "ai", "content": "a", "tool_calls": [{"id": "c"}]},
        {"role": "tool", "content": "a", "tool_call_id": "c"},
        {"type": "function_call_output", "output": "b", "call_id": "c"},
    ]
    assert len({fingerprint(m) for m in [plain, *others]}) == 1 + len(others)
    assert fingerprint({**plain, "id": "x", "extra": 1}) == fingerprint(plain)


def test_a_fingerprint_is_that_of_the_plain_values() -> None:
    """Tuples, enums, objects and LangChain messages as what storage makes of them."""
    block = SimpleNamespace(type="text", text="a")
    odd = {
        "role": Role.HUMAN,
        "content": (block, Role.HUMAN, {2, 1}, b"\x01", 1 + 2j, {1: "x"}, "\ud83d"),
    }
    plain = {
        "role": "user",
        "content": [vars(block), "User", ["1", "2"], "01", "(1+2j)", {"1": "x"}, "\ud83d"],
    }
    assert fingerprint(odd) == fingerprint(plain)
    result = ToolMessage("r", tool_call_id="c", name="n")
    assert fingerprint(result) == fingerprint(result.model_dump())


@given(junk())
def test_no_shape_raises(message: Any) -> None:
    """Whatever stands in a list of messages has a role, words, links and a fingerprint."""
    assert role_of(message) in "hastfu"
    assert isinstance(text_of(message), str)
    assert len(fingerprint(message)) == 24
    assert isinstance(calls_of(message), list)
    assert isinstance(id_of(message), str | None)


@pytest.mark.parametrize(
    "make", [Hostile, cycle, well, googol, lambda: {"content": HostileList([1])}]
)
def test_hostile_messages_stay_or_leave_whole(make: Any) -> None:
    """Neither mode raises; nothing is looked into without end."""
    messages = [{"role": "user", "content": "a"}, make(), {"role": "user", "content": "b"}] * 2
    for config in (
        ReducerConfig(0, 1),
        ReducerConfig(max_tokens=5, repair_tool_pairs=True),
    ):
        result = MessageReducer(config=config).reduce(messages)
        assert len(result.surviving) + len(result.pruned) == 6
    assert role_of(messages[1]) in "hau"
    assert id_of(messages[1]) is None
    assert len(fingerprint(messages[1])) == 24
    assert isinstance(text_of(messages[1]), str)


def test_thousands_of_calls_in_one_message_are_read_in_linear_time() -> None:
    """Named twice, they are each one call."""
    keys = [f"c{i}" for i in range(20_000)]
    message = {
        "role": "ai",
        "content": [{"type": "tool_use", "id": key} for key in keys],
        "tool_calls": [{"id": key} for key in keys],
    }
    assert calls_of(message) == keys
