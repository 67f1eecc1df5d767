"""The reading of links that the properties trust finds the faults it is there to find."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given

from agentstate_reducer.testing import broken_links, histories, scattered_links, scrambled
from agentstate_reducer.testing.links import calls, results, role

USER = {"role": "user", "content": ""}
AI = {"role": "ai", "content": ""}
NOTE = {"role": "system", "content": ""}
THINK = {"type": "reasoning"}


def ask(*keys: Any) -> dict[str, Any]:
    """An ai message with calls."""
    return {"role": "ai", "tool_calls": [{"id": key} for key in keys]}


def tell(key: Any) -> dict[str, Any]:
    """A result."""
    return {"role": "tool", "tool_call_id": key}


def item(key: str) -> dict[str, Any]:
    """A Responses item that calls."""
    return {"type": "function_call", "call_id": key}


def output(key: str) -> dict[str, Any]:
    """A Responses item that answers."""
    return {"type": "function_call_output", "call_id": key}


@pytest.mark.parametrize(
    ("messages", "broken"),
    [
        ([USER, ask("a"), tell("a"), AI], []),
        ([tell("a")], ["result 0 has no call"]),
        ([ask("a"), tell("a"), tell("a")], ["result 2 has no call"]),
        ([ask("a"), USER], ["call 0 has no result"]),
        ([ask("a", "b"), tell("b"), NOTE], []),
        ([ask("a"), ask("b")], ["call 0 has no result"]),
        ([item("a"), THINK, item("b"), output("a")], []),
        ([item("a"), NOTE, item("b")], ["call 0 has no result"]),
        ([THINK, NOTE, item("b")], []),
        ([item("a"), item("b"), USER, item("c")], ["call 0 has no result", "call 1 has no result"]),
    ],
)
def test_half_pairs_are_found(messages: list[Any], broken: list[str]) -> None:
    """Results without a call, calls without a result; the open exchange may wait."""
    assert broken_links(messages) == broken


@pytest.mark.parametrize(
    ("messages", "scattered"),
    [
        ([ask("a", "b"), tell("b"), tell("a"), AI], []),
        ([ask("a"), NOTE, tell("a"), AI], ["result 2 is away from call 0"]),
        ([ask("a"), NOTE, tell("a")], []),
        ([item("a"), THINK, item("b"), output("b"), output("a"), AI], []),
        ([item("a"), AI, output("a"), AI], ["result 2 is away from call 0"]),
    ],
)
def test_results_away_from_their_call_are_found(messages: list[Any], scattered: list[str]) -> None:
    """Those of the open exchange may be away."""
    assert scattered_links(messages) == scattered


@pytest.mark.parametrize(
    ("message", "asked", "answered"),
    [
        ({"role": "ai", "content": [{"type": "function_call", "call_id": "a"}]}, ["a"], []),
        (
            {"role": "user", "content": [{"type": "function_call_output", "call_id": "a"}]},
            [],
            ["a"],
        ),
        (SimpleNamespace(type="function", name="f"), [], [("by name", "f")]),
        (type("ToolMessage", (), {})(), [], [None]),
        ({"role": "ai", "function_call": {"name": "f"}}, [("by name", "f")], []),
        (None, [], []),
    ],
)
def test_calls_and_results_are_read_in_every_form(
    message: Any, asked: list[Any], answered: list[Any]
) -> None:
    """As the forms are documented."""
    assert (calls(message), results(message)) == (asked, answered)


def test_a_field_that_raises_is_not_there() -> None:
    """As for the product."""

    class Raising:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError

    assert role(Raising()) == "unknown"


@given(histories())
def test_histories_are_well_formed(messages: list[Any]) -> None:
    """In every form."""
    assert not broken_links(messages)


def test_scrambled_histories_are_often_broken() -> None:
    """Else they would test nothing."""
    found = [0, 0]

    @given(scrambled())
    def look(messages: list[Any]) -> None:
        found[bool(broken_links(messages))] += 1

    look()
    assert min(found) > 5
