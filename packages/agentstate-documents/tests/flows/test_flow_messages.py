"""Which lists of a flow state a message key names."""

from __future__ import annotations

from typing import Any

import pytest

from agentstate_documents.flow_messages import check_keys, find_lists


def paths(state: dict[str, Any], *keys: str) -> list[str]:
    """The paths found, with slashes between their parts."""
    return ["/".join(slot.path) for slot in find_lists(state, check_keys(keys))]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("messages", ["messages"]),
        ("chat.history", ["chat/history"]),
        ("agent_threads.*", ["agent_threads/ana", "agent_threads/bob"]),
        ("agent_threads.a*", ["agent_threads/ana"]),
        ("rooms.*.messages", ["rooms/0/messages", "rooms/2/messages"]),
        ("rooms.2.messages", ["rooms/2/messages"]),
        ("pair.*.messages", ["pair/0/messages"]),
        ("pair.*", []),
        ("a.b", ["a.b"]),
        ("odd[1]", ["odd[1]"]),
        ("numbered.*", ["numbered/1"]),
        ("missing", []),
        ("missing.*.deep", []),
        ("text", []),
        ("chat", []),
        ("messages.0.content", []),
        ("messages.0.content.deeper", []),
    ],
)
def test_keys_may_be_dotted_and_patterns(key: str, expected: list[str]) -> None:
    """A key, a path with dots or a pattern names lists; anything that is no list is left out."""
    state = {
        "messages": [{"content": "hello"}],
        "chat": {"history": []},
        "agent_threads": {"ana": [], "bob": [], "count": 2},
        "rooms": [{"messages": []}, {"messages": "none"}, {"messages": ()}],
        "pair": ({"messages": []}, []),
        "a.b": [],
        "a": {"b": []},
        "odd[1]": [],
        "numbered": {1: []},
        "text": "messages",
    }
    assert paths(state, key) == expected


def test_a_list_named_twice_is_found_once() -> None:
    """Keys that overlap do not reduce a list twice."""
    assert paths({"a": [], "b": []}, "*", "a", "b") == ["a", "b"]


def test_a_tuple_stays_a_tuple() -> None:
    """What replaces a tuple is a tuple again, and a list a list."""
    state: dict[str, Any] = {"t": (1, 2), "l": [1, 2]}
    for slot in find_lists(state, ("t", "l")):
        slot.replace([3])
    assert state == {"t": (3,), "l": [3]}


@pytest.mark.parametrize("key", ["", "a..b", ".a", "a.", (), ["a", ""]])
def test_an_empty_key_is_refused(key: Any) -> None:
    """A key that can name nothing is a mistake, told before anything is stored."""
    with pytest.raises(ValueError, match="messages_key"):
        check_keys(key)


@pytest.mark.parametrize("key", [[1], [None], ["a", b"b"]])
def test_a_key_that_is_no_text_is_refused(key: Any) -> None:
    """Only text names a list."""
    with pytest.raises(TypeError, match="messages_key"):
        check_keys(key)
