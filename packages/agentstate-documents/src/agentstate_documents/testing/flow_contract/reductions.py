"""Message lists stay bounded where they are stored, whatever they hold; nothing else changes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from agentstate_documents.testing.flow_contract.messages import (
    Deliveries,
    contents,
    reducing,
    talk,
)
from agentstate_documents.testing.flow_contract.states import new_id

if TYPE_CHECKING:
    from agentstate_documents.testing.flow_contract.states import Connect


class ReductionContract:
    """A reducer inside the saves."""

    def test_only_the_message_list_changes(self, connect: Connect) -> None:
        """Pruning touches nothing else, and the live state not at all."""
        persistence, flow = connect(reducer=reducing()), new_id()
        others: dict[str, Any] = {
            "a": None,
            "b": "",
            "c": [],
            "d": {},
            "e": False,
            "f": 0,
            "g.h": 1,
            "1": [1],
        }
        state = {"id": flow, "messages": talk(0, 30), **others}
        persistence.save_state(flow, "m", state)
        loaded = connect().load_state(flow)
        assert contents(loaded.pop("messages")) == ["t28", "t29"]
        assert loaded == {"id": flow, **others}
        assert state["messages"] == talk(0, 30)

    def test_a_state_without_messages_is_stored_as_it_is(self, connect: Connect) -> None:
        """A missing list, or a value that is none, is left alone."""
        persistence = connect(reducer=reducing())
        for value in ({}, {"messages": "none yet"}, {"messages": None}, {"messages": {"a": 1}}):
            flow = new_id()
            persistence.save_state(flow, "m", {"id": flow, **value})
            assert persistence.load_state(flow) == {"id": flow, **value}

    def test_where_the_namespace_comes_from(self, connect: Connect) -> None:
        """The persistence, else the state, as it is there, else the flow; empty is absent."""

        def namespace_of(value: Any = None, **options: Any) -> Any:
            deliveries, flow = Deliveries(), new_id()
            persistence = connect(reducer=reducing(deliveries, namespace_key="tenant"), **options)
            state = {"id": flow, "messages": talk(0, 6), "tenant": value, "user": "ann"}
            persistence.save_state(flow, "m", state)
            (found,) = {namespace for namespace, _, _ in deliveries.seen}
            return "fallback" if found == f"/flow/{flow}" else found

        assert namespace_of(("memories", 7)) == ("memories", 7)
        empty: list[Any] = [None, "", " ", (), []]
        assert [namespace_of(v) for v in empty] == ["fallback"] * 5
        assert namespace_of("/a", namespace="/b") == "/b"
        assert namespace_of("/a", namespace=lambda state, flow: ("u", state["user"])) == (
            "u",
            "ann",
        )
        assert namespace_of("/a", namespace=lambda state, flow: "") == "/a"

    def test_a_namespace_function_sees_the_state_as_it_was_saved(self, connect: Connect) -> None:
        """Also for the second list, when the first one has been reduced."""
        deliveries, flow = Deliveries(), new_id()
        persistence = connect(
            reducer=reducing(deliveries),
            messages_key=["messages", "asides"],
            namespace=lambda state, flow: state["messages"][0]["content"],
        )
        state = {"id": flow, "messages": talk(0, 6), "asides": talk(10, 16)}
        persistence.save_state(flow, "m", state)
        assert len(deliveries.texts) == 8
        assert {namespace for namespace, _, _ in deliveries.seen} == {"t0"}

    def test_an_async_namespace_is_refused(self, connect: Connect) -> None:
        """What nobody awaits names no memory: nothing is handed over, nothing stored."""

        async def namespace(state: Any, flow: str) -> str:
            return "/a"

        deliveries, flow = Deliveries(), new_id()
        persistence = connect(reducer=reducing(deliveries), namespace=namespace)
        with pytest.raises(TypeError, match="namespace is async"):
            persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, 6)})
        assert deliveries.seen == []
        assert persistence.load_state(flow) is None

    def test_several_lists_are_kept_bounded(self, connect: Connect) -> None:
        """Keys with dots and patterns name lists of their own, each with its own history."""
        deliveries, flow = Deliveries(), new_id()
        keys = ["messages", "chat.history", "agent_threads.*"]
        persistence = connect(reducer=reducing(deliveries), messages_key=keys)
        threads = {"ann": talk(20, 26), "bob": tuple(talk(30, 36))}
        state = {"id": flow, "messages": talk(0, 6), "chat": {"history": talk(10, 16)}}
        for _ in range(2):
            persistence.save_state(flow, "m", {**state, "agent_threads": threads})
        loaded = connect().load_state(flow)
        assert contents(loaded["messages"]) == ["t4", "t5"]
        assert contents(loaded["chat"]["history"]) == ["t14", "t15"]
        assert contents(loaded["agent_threads"]["ann"]) == ["t24", "t25"]
        assert isinstance(loaded["agent_threads"]["bob"], tuple)
        assert sorted(deliveries.texts) == sorted(
            f"t{n}" for first in (0, 10, 20, 30) for n in range(first, first + 4)
        )

    def test_tool_exchanges_leave_whole(self, connect: Connect) -> None:
        """Calls that are null break nothing, and no result is stored without its call."""
        persistence, flow = connect(reducer=reducing(min_messages=1, max_messages=2)), new_id()
        call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        exchange = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "r", "tool_call_id": "c1", "tool_calls": None},
        ]
        messages = [*talk(0, 1), *exchange, *talk(1, 2), "junk", None, *talk(2, 3)]
        persistence.save_state(flow, "m", {"id": flow, "messages": messages})
        assert persistence.load_state(flow)["messages"] == ["junk", None, *talk(2, 3)]

    def test_a_failing_reducer_stores_the_whole_list(
        self, connect: Connect, caplog: pytest.LogCaptureFixture
    ) -> None:
        """An error in a callback, a TypeError too, costs no state; its text is not logged."""

        def broken(message: Any) -> bool:
            raise TypeError("secret content")

        deliveries, flow = Deliveries(), new_id()
        persistence = connect(reducer=reducing(deliveries, keep=broken))
        with caplog.at_level(logging.ERROR):
            persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, 6)})
        assert persistence.load_state(flow)["messages"] == talk(0, 6)
        assert deliveries.seen == []
        assert "stored unreduced" in caplog.text
        assert "secret content" not in caplog.text

    def test_an_async_hook_is_refused(self, connect: Connect) -> None:
        """CrewAI saves in blocking calls: a hook that wants awaiting is a mistake that is told."""

        async def hook(pruned: Any, namespace: Any) -> None: ...

        persistence, flow = connect(reducer=reducing(hook)), new_id()
        with pytest.raises(TypeError, match="async"):
            persistence.save_state(flow, "m", {"id": flow, "messages": []})

    def test_a_summary_stays_one_block(self, connect: Connect) -> None:
        """Restored three times without its ids, a block is rolled on and never a memory."""
        flow, deliveries, asked = new_id(), Deliveries(), []

        def summarize(pruned: list[Any]) -> str:
            asked.append(contents(pruned))
            return f"S{len(asked)}"

        settings = {"summarize_fn": summarize, "inject_summary": True}
        connect().save_state(flow, "m", {"id": flow, "messages": []})
        for first in (0, 6, 12, 18):
            persistence = connect(reducer=reducing(deliveries, **settings))
            state = persistence.load_state(flow)
            for message in state["messages"]:
                message.pop("id", None)  # as validation by CrewAI's models does
            state["messages"] += talk(first, first + 6)
            persistence.save_state(flow, "m", state)
            persistence.save_state(flow, "m", state)
        stored = connect().load_state(flow)["messages"]
        assert [m["role"] for m in stored] == ["user", "assistant", "user", "assistant"]
        assert "S4" in stored[0]["content"]
        assert contents(stored)[1:] == ["OK", "t22", "t23"]
        assert deliveries.texts == [f"t{n}" for n in range(22)]
        assert len(asked) == 4

    @pytest.mark.parametrize("kind", [list, tuple, frozenset, dict])
    def test_what_is_nested_too_deeply_is_refused(self, connect: Connect, kind: Any) -> None:
        """The limit is named before a hook is served, and what keeps to it comes back."""

        def nested(levels: int) -> Any:
            deep: Any = "x"
            for _ in range(levels):
                deep = {"k": deep, "l": 1} if kind is dict else kind([deep])
            return deep

        deliveries, flow = Deliveries(), new_id()
        persistence = connect(reducer=reducing(deliveries))
        state = {"id": flow, "messages": talk(0, 6)}
        for levels in (100, 300, 400):
            with pytest.raises(ValueError, match="more than 100 deep"):
                persistence.save_state(flow, "m", {**state, "deep": nested(levels)})
        assert deliveries.seen == []
        persistence.save_state(flow, "m", {**state, "deep": nested(99)})
        assert connect().load_state(flow)["deep"] == nested(99)

    def test_a_hook_may_look_at_its_flow(self, connect: Connect) -> None:
        """A hook that loads the flow it was called for sees what is stored, and goes on."""
        flow, found = new_id(), list[Any]()
        persistence = connect(
            reducer=reducing(lambda p, ns: found.append(persistence.load_state(flow)))  # type: ignore[has-type]
        )
        persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, 6)})
        assert found == [None]
        assert contents(persistence.load_state(flow)["messages"]) == ["t4", "t5"]
