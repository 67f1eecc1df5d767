"""What a flow state is after it was stored and loaded."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel, ConfigDict, Field, computed_field

from agentstate_documents import StoredFormatUnknown
from agentstate_documents.flow_codec import dump, load, plain

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None, exclude_categories=()))
    | st.binary()
    | st.datetimes(timezones=st.none() | st.just(timezone(timedelta(minutes=-210))))
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.uuids()
    | st.decimals(allow_nan=False)
)
KEYS = st.sampled_from(["$", "$uuid", "$$tuple", "$items", "a", "", "a.b"]) | SCALARS
HASHABLE = st.recursive(SCALARS, lambda inner: st.tuples(inner, inner), max_leaves=4)
STATES = st.recursive(
    SCALARS | st.sets(HASHABLE) | st.frozensets(HASHABLE),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS | HASHABLE, inner, max_size=4)
    ),
    max_leaves=20,
)


def typed(value: Any) -> Any:
    """The value with the type of every part beside it, since 1 == 1.0 == True."""
    if isinstance(value, dict):
        return dict, [(typed(key), typed(item)) for key, item in value.items()]
    if isinstance(value, (set, frozenset)):
        return type(value), {typed(item) for item in value}
    if isinstance(value, (list, tuple)):
        return type(value), tuple(typed(item) for item in value)
    return type(value), repr(value)


def stored(value: Any) -> Any:
    """The value as it comes back from a database."""
    return load(dump(plain(value)))


@given(STATES)
def test_what_is_stored_comes_back_with_its_types(state: Any) -> None:
    """Every value of the documented types is the same after a reload, at any depth."""
    assert typed(stored(state)) == typed(state)


@given(STATES)
def test_a_copy_of_a_copy_is_the_same(state: Any) -> None:
    """Storing what was loaded stores the same bytes."""
    body = dump(plain(state))
    assert dump(plain(load(body))) == body


def test_numbers_json_cannot_write() -> None:
    """Infinities, negative zero and integers of thousands of digits are stored exactly."""
    numbers = [math.inf, -math.inf, 10**5_000, -(10**5_000)]
    assert stored(numbers) == numbers
    assert math.copysign(1, stored(-0.0)) == -1


def test_not_a_number_is_not_a_number() -> None:
    """NaN comes back as NaN and leaves its neighbours alone."""
    state = stored({"v": math.nan, "w": Decimal("sNaN"), "x": 1})
    assert math.isnan(state["v"])
    assert state["w"].is_snan()
    assert state["x"] == 1


def test_text_is_kept_to_the_character() -> None:
    """NUL and half an emoji, which databases refuse as text, are kept."""
    text = "a\x00b \ud83d \ud83d\ude00 😀 日本"
    assert stored({text: text}) == {text: text}


class Colour(Enum):
    RED = "red"


class Rank(IntEnum):
    LOW = 1


@dataclass(frozen=True)
class Point:
    x: int
    at: datetime


@dataclass
class Unfinished:
    begun: int
    ended: int = field(init=False)


class Section(str, Enum):
    TALK = "talk"


class Inner(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    when: datetime
    colour: Colour = Colour.RED
    raw: bytes = b"\xff\xfe"
    secret: str = Field(default="s3cret", exclude=True)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def year(self) -> int:
        return self.when.year


def test_models_dataclasses_enums_and_paths_become_plain() -> None:
    """Models and dataclasses come back as dicts, enums as their value, paths as text."""
    now = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc)
    state = {
        "models": [Inner(when=now)],
        "point": Point(1, now),
        "enum": Colour.RED,
        "name": Name("n"),
        Colour.RED: Rank.LOW,
        "path": PurePosixPath("/data/x"),
        "array": bytearray(b"x"),
        "points": {Point(1, now)},
        Point(2, now): "key",
    }
    loaded = stored(state)
    assert loaded["models"] == [{"when": now, "colour": "red", "raw": b"\xff\xfe"}]
    assert loaded["point"] == {"x": 1, "at": now}
    assert typed(loaded["enum"]) == typed("red")
    assert typed(loaded["red"]) == typed(1)
    assert typed(loaded["name"]) == typed("n")
    assert loaded["path"] == "/data/x"
    assert loaded["array"] == b"x"
    assert loaded["points"] == [{"x": 1, "at": now}]
    assert loaded[str(Point(2, now))] == "key"


class Spoken(BaseModel):
    """A state whose list is declared as messages."""

    messages: list[BaseMessage]


def test_a_field_keeps_what_a_subclass_adds() -> None:
    """A list declared as messages keeps the tool calls of the ai messages in it."""
    call = {"id": "c", "name": "f", "args": {}}
    copied = plain(Spoken(messages=[AIMessage("", tool_calls=[call])]))
    assert copied["messages"][0]["tool_calls"][0]["id"] == "c"


def test_a_key_is_what_will_be_loaded() -> None:
    """An enum that is also text is its value in the copy already, where keys are looked up."""
    (key,) = plain({Section.TALK: []})
    assert typed(key) == typed("talk")


def test_an_unset_field_is_left_out() -> None:
    """A dataclass that is not complete yet is stored as far as it is."""
    assert stored(Unfinished(begun=1)) == {"begun": 1}


def test_unknown_values_become_text_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    """A value of an unknown type is stored as its text, and its type is warned about once."""

    class Client:
        def __str__(self) -> str:
            return "a client"

    class Broken:
        def __str__(self) -> str:
            raise RuntimeError

    with caplog.at_level(logging.WARNING):
        loaded = stored({"a": Client(), "b": [Client()], "c": {Client()}, "d": Broken()})
    assert loaded["a"] == "a client"
    assert loaded["b"] == ["a client"]
    assert loaded["c"] == {"a client"}
    assert "Broken" in loaded["d"]
    assert sum("Client" in record.getMessage() for record in caplog.records) == 1


def test_a_copy_shares_nothing_with_the_live_state() -> None:
    """Changing the flow's state afterwards does not change what will be stored."""
    live = {"messages": [{"role": "user", "content": ["a"]}]}
    copy = plain(live)
    live["messages"][0]["content"].append("b")  # type: ignore[attr-defined]
    live["messages"].append({})
    assert copy == {"messages": [{"role": "user", "content": ["a"]}]}


class Restless(BaseModel):
    """Another thread changes it, so many times, while it is dumped."""

    changes: int
    error: Any = RuntimeError("dictionary changed size during iteration")

    def model_dump(self, **options: Any) -> dict[str, Any]:
        self.changes -= 1
        if self.changes >= 0:
            raise self.error
        return {"n": 1}


def test_a_state_that_changes_while_it_is_read_is_read_again() -> None:
    """A dictionary that another thread grows during the dump of a model breaks nothing."""
    assert plain(Restless(changes=3)) == {"n": 1}


@pytest.mark.parametrize(
    ("changes", "error", "raised"),
    [(100, RuntimeError("changed"), RuntimeError), (1, RecursionError(), ValueError)],
)
def test_a_state_that_cannot_be_read_is_an_error(changes: int, error: Any, raised: Any) -> None:
    """A model that never stands still, or goes on for ever, is not tried again and again."""
    with pytest.raises(raised):
        plain(Restless(changes=changes, error=error))


class Name(str):
    """Text with another name for its type."""


def test_a_state_that_contains_itself_is_refused() -> None:
    """A circular state is a ValueError and not a RecursionError or an endless loop."""
    state: dict[str, Any] = {}
    state["self"] = state
    with pytest.raises(ValueError, match="contains itself"):
        plain(state)
    with pytest.raises(ValueError, match="nested too deeply"):
        dump(state)


def test_reading_calls_nothing_but_the_listed_types() -> None:
    """A state that looks like a pickle, an import path or a tag of ours is data."""
    hostile = {
        "$type": "os.system",
        "nested": {"$uuid": "not a uuid"},
        "py/object": "os.system",
        "tuple": {"$tuple": [1]},
        "items": {"$items": [[1, 2]]},
        "twice": {"$$uuid": 1},
    }
    assert stored(hostile) == hostile


def test_a_later_version_s_values_are_refused() -> None:
    """A tag this version does not know is an error that names it, not a wrong value."""
    with pytest.raises(StoredFormatUnknown, match=r"\$matrix"):
        load(b'{"v": {"$matrix": [1]}}')
