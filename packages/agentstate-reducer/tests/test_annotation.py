"""The LangGraph state annotation keeps the meaning of `add_messages`."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

from agentstate_reducer import MessageReducer, ReducerConfig

merge = MessageReducer().as_langgraph_reducer()


def said(messages: list[Any]) -> list[tuple[str, str]]:
    """(type, text) of LangChain messages."""
    return [(message.type, message.content) for message in messages]


@pytest.mark.parametrize(
    "new",
    ["hi", ("user", "hi"), ["hi"], [("human", "hi")], [["user", "hi"]], HumanMessage("hi")],
)
def test_strings_pairs_and_single_messages_become_messages(new: Any) -> None:
    """LangChain's where langchain_core is loaded, with an id each."""
    (message,) = merge([], new)
    assert isinstance(message, HumanMessage)
    assert message.content == "hi"
    assert message.id


def test_none_and_tuples_are_lists_of_nothing_and_of_messages() -> None:
    """A node that returns nothing changes nothing."""
    messages = [HumanMessage("a", id="1"), AIMessage("b", id="2")]
    assert merge(messages, None) == messages
    assert merge(None, tuple(messages)) == messages
    assert merge(None, None) == []


def test_strings_become_dicts_among_dicts_in_the_lists_own_words() -> None:
    """`role` or `type`, `human` or `user`, as the list has it."""
    assert merge([{"role": "human", "content": "a"}], "b")[1] == {"role": "human", "content": "b"}
    assert merge([{"type": "ai", "content": "a"}], "b")[1] == {"type": "user", "content": "b"}
    assert merge([{"role": "ai", "content": "a"}], ("system", "b"))[1]["role"] == "system"
    assert merge([SimpleNamespace(role="ai", content="")], "b")[1]["role"] == "user"


def test_dicts_stay_dicts_and_get_no_id() -> None:
    """Also among LangChain's messages."""
    plain = {"role": "user", "content": "b"}
    assert merge([HumanMessage("a", id="1")], plain)[1] is plain
    assert plain == {"role": "user", "content": "b"}


def test_a_message_with_a_known_id_takes_the_place_of_the_old_one() -> None:
    """Dicts and objects alike; the last of two new ones wins."""
    old = [HumanMessage("a", id="1"), AIMessage("b", id="2")]
    new = [AIMessage("c", id="2"), HumanMessage("d", id="1"), HumanMessage("e", id="1")]
    assert said(merge(old, new)) == [("human", "e"), ("ai", "c")]
    assert merge([{"role": "ai", "id": 7}], [{"role": "ai", "id": "7", "content": "x"}]) == [
        {"role": "ai", "id": "7", "content": "x"}
    ]


def test_remove_message_takes_its_message_out_and_leaves_no_trace() -> None:
    """Also one that was pruned before, and as a dict; a later message of that id comes back."""
    old = [HumanMessage("a", id="1"), AIMessage("b", id="2")]
    assert said(merge(old, [RemoveMessage(id="1")])) == [("ai", "b")]
    assert merge(old, [RemoveMessage(id="pruned")]) == old
    assert merge([{"role": "ai", "id": "1"}], [{"type": "remove", "id": "1"}]) == []
    again = [RemoveMessage(id="1"), HumanMessage("c", id="1")]
    assert said(merge(old, again)) == [("human", "c"), ("ai", "b")]
    assert merge(old, [{"role": "remove"}]) == old


def test_remove_all_keeps_what_comes_after_it() -> None:
    """The last one counts."""
    new = [
        RemoveMessage(id=REMOVE_ALL_MESSAGES),
        AIMessage("x", id="3"),
        RemoveMessage(id=REMOVE_ALL_MESSAGES),
        HumanMessage("y", id="1"),
    ]
    assert said(merge([HumanMessage("a", id="1")], new)) == [("human", "y")]


def test_objects_without_an_id_are_given_one() -> None:
    """In place, so that a write applied twice is one message; what cannot hold an id has none."""
    message = HumanMessage("a")
    assert merge([], message)[0] is message
    first = message.id
    assert first
    assert merge([message], message) == [message]
    assert message.id == first

    class Fixed:
        __slots__ = ()
        role, content, id = "user", "x", None

    fixed = Fixed()
    assert merge([], [fixed, SimpleNamespace(role="ai", content="")])[0] is fixed


def test_chunks_become_messages() -> None:
    """What streaming leaves in a list is stored as it would be without; its id stays its own."""
    call = {"name": "f", "args": '{"x": 1}', "id": "c", "index": 0}
    chunk = AIMessageChunk("a", tool_call_chunks=[call])
    old = [HumanMessage("q", id="1"), AIMessageChunk("b", id="2")]
    merged = merge(old, [chunk])
    assert [type(message) for message in merged] == [HumanMessage, AIMessage, AIMessage]
    assert merged == add_messages(old, [chunk])
    assert merged[-1].tool_calls[0]["args"] == {"x": 1}
    assert merge(merged, [chunk]) == merged


@pytest.mark.parametrize(
    "new",
    [
        (message for message in [HumanMessage("a")]),
        {"a": HumanMessage("a")}.values(),
        {"a"},
        deque([HumanMessage("a")]),
        b"a",
    ],
)
def test_what_is_neither_a_list_nor_a_message_is_refused(new: Any) -> None:
    """It would be stored as one message of an unknown shape."""
    with pytest.raises(TypeError, match=f"a message or a list of them, got {type(new).__name__}"):
        merge([], new)


def test_the_lists_that_come_in_are_not_changed() -> None:
    """The result is a list of its own."""
    old, new = [HumanMessage("a", id="1")], [HumanMessage("b", id="1")]
    assert merge(old, new) is not old
    assert said(old) == [("human", "a")]


def test_without_langchain_core_strings_become_dicts() -> None:
    """The core never imports it."""
    code = (
        "import sys; from agentstate_reducer import MessageReducer\n"
        "print(MessageReducer().as_langgraph_reducer()([], 'hi'))\n"
        "assert not [m for m in sys.modules if m.startswith('langchain')]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[{'role': 'user', 'content': 'hi'}]"


def test_it_merges_then_prunes() -> None:
    """Ids replace, RemoveMessage removes, tuples become messages; then the window is applied."""
    heard: list[Any] = []

    def hook(pruned: Any, namespace: Any) -> None:
        heard.append((namespace, pruned.keys))

    config = ReducerConfig(2, 3, preserve_first=False, on_prune=[hook])
    bounded = MessageReducer(config=config).as_langgraph_reducer()
    state = bounded([], [HumanMessage("a", id="1"), HumanMessage("b", id="2")])
    state = bounded(state, [HumanMessage("b again", id="2"), RemoveMessage(id="1")])
    assert [m.content for m in state] == ["b again"]
    state = bounded(state, [HumanMessage(str(n), id=str(n)) for n in range(3, 6)])
    assert [m.id for m in state] == ["4", "5"]
    assert heard == [(None, ["2", "3"])]


def test_it_takes_two_positional_arguments() -> None:
    """LangGraph looks at the signature to tell a reducer from other metadata."""
    kinds = [p.kind.name for p in inspect.signature(merge).parameters.values()]
    assert kinds == ["POSITIONAL_OR_KEYWORD"] * 2
    assert MessageReducer().as_langgraph_reducer()() == []


updates = st.lists(
    st.one_of(
        st.builds(HumanMessage, content=st.text(max_size=3), id=st.sampled_from("abcd")),
        st.builds(AIMessage, content=st.text(max_size=3), id=st.sampled_from("abcd")),
        st.tuples(st.sampled_from(["user", "ai"]), st.text(max_size=3)),
        st.sampled_from("abcd").map(lambda key: RemoveMessage(id=key)),
    ),
    max_size=6,
)


@given(st.lists(updates, max_size=5))
def test_it_agrees_with_add_messages(rounds: list[list[Any]]) -> None:
    """Round after round, where `add_messages` does not raise."""
    ours: list[BaseMessage] = []
    theirs: list[BaseMessage] = []
    for update in rounds:
        known = {message.id for message in theirs}
        valid = []
        for message in update:
            if not isinstance(message, RemoveMessage):
                known.add(getattr(message, "id", None))
            if not isinstance(message, RemoveMessage) or message.id in known:
                valid.append(message)
        ours, theirs = merge(ours, valid), add_messages(theirs, valid)
        assert said(ours) == said(theirs)
