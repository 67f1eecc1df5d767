"""Message lists stay bounded where they are stored, and what leaves is handed over once."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from agentstate_documents.testing.flow_contract.states import context_of, new_id
from agentstate_reducer import MessageReducer, ReducerConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    Connect = Callable[..., Any]  # a persistence; what it loads is not None in most tests


class Crash(BaseException):
    """The process dies here."""


class Deliveries:
    """A hook that keeps what it is given: namespace, key and content of each message."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, str, str]] = []

    def __call__(self, pruned: Any, namespace: Any) -> None:
        """Keep the batch."""
        self.seen += [
            (namespace, k, m["content"]) for m, k in zip(pruned, pruned.keys, strict=True)
        ]

    @property
    def texts(self) -> list[str]:
        """The contents, in the order they came."""
        return [text for _, _, text in self.seen]

    @property
    def keys(self) -> list[str]:
        """The keys, in the order they came."""
        return [key for _, key, _ in self.seen]


def reducing(*hooks: Any, **settings: Any) -> MessageReducer:
    """A reducer that keeps 2 of more than 4 messages."""
    limits = {"min_messages": 2, "max_messages": 4, "preserve_first": False}
    return MessageReducer(config=ReducerConfig(**{**limits, **settings}, on_prune=list(hooks)))


def talk(first: int, last: int) -> list[dict[str, Any]]:
    """Messages as CrewAI dumps them: without ids, with every optional field."""
    return [
        {
            "role": "assistant" if n % 2 else "user",
            "content": f"t{n}",
            "name": None,
            "tool_call_id": None,
            "tool_calls": None,
            "files": None,
        }
        for n in range(first, last)
    ]


def contents(messages: list[Any]) -> list[str]:
    """What the messages say."""
    return [message["content"] for message in messages]


class HistoryContract:
    """The message lists of a state."""

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

    def test_saves_that_overlap_hand_over_once(self, connect: Connect) -> None:
        """A live list that is saved again and again delivers each message that leaves once."""
        deliveries = Deliveries()
        persistence, flow = connect(reducer=reducing(deliveries)), new_id()
        for last in (6, 6, 6, 7, 9, 9):
            persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, last)})
        assert deliveries.texts == [f"t{n}" for n in range(7)]
        assert len(set(deliveries.keys)) == 7

    def test_equal_messages_are_different_messages(self, connect: Connect) -> None:
        """People repeat themselves: each repetition is handed over, also after a restart."""
        flow, same = new_id(), {"role": "user", "content": "yes"}
        deliveries = Deliveries()
        first = connect(reducer=reducing(deliveries))
        for count in (6, 6, 7):
            first.save_state(flow, "m", {"id": flow, "messages": [same] * count})
        assert len(deliveries.seen) == 5
        second = connect(reducer=reducing(deliveries))
        live = second.load_state(flow)
        live["messages"] += [same] * 4
        second.save_state(flow, "m", live)
        second.save_state(flow, "m", live)
        assert len(set(deliveries.keys)) == len(deliveries.keys) == 9

    def test_a_restart_goes_on_where_the_history_stood(self, connect: Connect) -> None:
        """Over processes that load and go on, every message is handed over once."""
        flow, deliveries = new_id(), Deliveries()
        connect().save_state(flow, "m", {"id": flow, "messages": []})
        for start in range(0, 40, 5):
            persistence = connect(reducer=reducing(deliveries))
            state = persistence.load_state(flow)
            for n in range(start, start + 5):
                state["messages"] += talk(n, n + 1)
                persistence.save_state(flow, "m", state)
        assert deliveries.texts == [f"t{n}" for n in range(len(deliveries.texts))]
        assert len(set(deliveries.keys)) == len(deliveries.texts) >= 35

    def test_a_crash_before_the_write_repeats_under_the_same_keys(self, connect: Connect) -> None:
        """What was handed over and not stored comes again, and a key tells that it does."""

        def crash(pruned: Any, namespace: Any) -> None:
            raise Crash

        flow, before, after = new_id(), Deliveries(), Deliveries()
        setup = connect(reducer=reducing())
        setup.save_state(flow, "m", {"id": flow, "messages": [{"role": "system", "content": "s"}]})
        setup.save_state(
            flow,
            "m",
            {"id": flow, "messages": [{"role": "system", "content": "s"}, *talk(0, 6)]},
        )
        for hooks, failing in (([before, crash], True), ([after], False)):
            process = connect(reducer=reducing(*hooks))
            state = process.load_state(flow)
            state["messages"] += talk(6, 9)
            if failing:
                with pytest.raises(Crash):
                    process.save_state(flow, "m", state)
            else:
                process.save_state(flow, "m", state)
        assert before.seen == after.seen
        assert before.texts == ["t4", "t5", "t6"]

    def test_looking_at_a_running_flow_changes_nothing(self, connect: Connect) -> None:
        """A load in the middle of a run does not make its messages new ones."""
        deliveries = Deliveries()
        persistence, flow = connect(reducer=reducing(deliveries)), new_id()
        for last in range(5, 12):
            persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, last)})
            persistence.load_state(flow)
        assert deliveries.texts == [f"t{n}" for n in range(len(deliveries.texts))]

    def test_a_state_brought_back_by_other_means_keeps_its_keys(self, connect: Connect) -> None:
        """A process that saves the whole history without loading numbers it like the first."""
        flow, first, second = new_id(), Deliveries(), Deliveries()
        for deliveries, last in ((first, 8), (second, 8)):
            persistence = connect(reducer=reducing(deliveries))
            persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, last)})
        assert second.seen == first.seen

    def test_a_deleted_flow_starts_anew(self, connect: Connect) -> None:
        """A new flow under an old id is bounded and complete."""
        deliveries = Deliveries()
        persistence, flow = connect(reducer=reducing(deliveries)), new_id()
        persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, 8)})
        persistence.delete(flow)
        persistence.save_state(flow, "m", {"id": flow, "messages": talk(20, 28)})
        assert deliveries.texts == [f"t{n}" for n in (*range(6), *range(20, 26))]

    def test_flows_do_not_share_what_was_delivered(self, connect: Connect) -> None:
        """The same ids and texts in two flows reach the memories of both users."""
        deliveries = Deliveries()
        persistence = connect(reducer=reducing(deliveries))
        for user in ("ann", "bob"):
            messages = [{**m, "id": f"m{n}"} for n, m in enumerate(talk(0, 6))]
            persistence.save_state(
                flow := new_id(),
                "m",
                {"id": flow, "messages": messages, "memory_namespace": f"/user/{user}"},
            )
        assert Counter(namespace for namespace, _, _ in deliveries.seen) == {
            "/user/ann": 4,
            "/user/bob": 4,
        }
        assert deliveries.keys[:4] == ["m0", "m1", "m2", "m3"]

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

    def test_the_newest_state_is_stored_last(self, connect: Connect) -> None:
        """Of two saves at once, the one that copied the state later is what stays."""
        flow, inside, go_on = new_id(), threading.Event(), threading.Event()

        def slow(pruned: Any, namespace: Any) -> None:
            inside.set()
            go_on.wait(30)

        persistence = connect(reducer=reducing(slow))
        state: dict[str, Any] = {"id": flow, "messages": talk(0, 6), "done": ["one"]}
        older = threading.Thread(target=persistence.save_state, args=(flow, "m", state))
        older.start()
        assert inside.wait(30)
        state["done"].append("two")
        newer = threading.Thread(target=persistence.save_state, args=(flow, "m", state))
        newer.start()
        newer.join(0.2)  # the chance to overtake, which it must not use
        go_on.set()
        older.join()
        newer.join()
        assert persistence.load_state(flow)["done"] == ["one", "two"]

    def test_a_waiting_state_is_reduced_too(self, connect: Connect) -> None:
        """Pausing hands over once, together with the saves around it."""
        deliveries, flow = Deliveries(), new_id()
        persistence = connect(reducer=reducing(deliveries))
        state = {"id": flow, "messages": talk(0, 6)}
        persistence.save_state(flow, "m", state)
        persistence.save_pending_feedback(flow, context_of(flow), state)
        resumed = connect(reducer=reducing(deliveries))
        live, _ = resumed.load_pending_feedback(flow)
        assert contents(live["messages"]) == ["t4", "t5"]
        live["messages"] += talk(6, 10)
        resumed.save_state(flow, "m", live)
        assert deliveries.texts == [f"t{n}" for n in range(8)]

    def test_a_hook_may_look_at_its_flow(self, connect: Connect) -> None:
        """A hook that loads the flow it was called for sees what is stored, and goes on."""
        flow, found = new_id(), []
        persistence = connect(
            reducer=reducing(lambda p, ns: found.append(persistence.load_state(flow)))
        )
        persistence.save_state(flow, "m", {"id": flow, "messages": talk(0, 6)})
        assert found == [None]
        assert contents(persistence.load_state(flow)["messages"]) == ["t4", "t5"]
