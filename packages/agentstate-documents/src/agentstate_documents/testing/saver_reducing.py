"""`reducer=`: lists are bounded where they are stored, and nothing that leaves is lost."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage

from agentstate_documents.testing.saver_graphs import delta_graph
from agentstate_documents.testing.saver_scenes import Scenes, at, listed, put
from agentstate_reducer import MessageReducer, ReducerConfig


def talk(count: int) -> list[Any]:
    """Messages by turns, each with an id."""
    kinds = (HumanMessage, AIMessage)
    return [kinds[n % 2](f"message {n} " + "." * 40, id=str(n)) for n in range(count)]


def contents(found: Any, channel: str = "messages") -> list[str]:
    """The numbers of the messages stored."""
    return [message.id for message in found.checkpoint["channel_values"][channel]]


class ReducingContract(Scenes):
    """A saver with a reducer of 4 to 6 messages, and what its hook was given."""

    @pytest.fixture
    def taken(self) -> list[tuple[Any, Any]]:
        """Namespace and id of each message that left, in order."""
        return []

    @pytest.fixture
    def reducer(self, taken: list[tuple[Any, Any]]) -> MessageReducer:
        """Prunes above six messages down to four."""

        def take(pruned: Any, namespace: Any) -> None:
            taken.extend((namespace, message.id) for message in pruned)

        return MessageReducer(
            config=ReducerConfig(
                max_messages=6, min_messages=4, preserve_first=False, on_prune=[take]
            )
        )

    async def test_what_is_stored_is_reduced(
        self, new: Any, thread: str, reducer: Any, taken: Any
    ) -> None:
        """The newest stay, the rest is handed over once, and the list given is not changed."""
        messages = talk(8)
        config = at(thread)
        config["configurable"]["memory_namespace"] = ("memories", "u1")
        saver = new(reducer=reducer)
        stored = await put(saver, config, {"messages": messages, "other": talk(9)})
        assert len(messages) == 8
        found = await new().aget_tuple(stored)
        assert contents(found) == ["4", "5", "6", "7"]
        assert contents(found, "other") == [str(n) for n in range(9)]
        assert taken == [(("memories", "u1"), str(n)) for n in range(4)]

    @pytest.mark.parametrize("how", ["delete_thread", "prune"])
    async def test_a_deleted_thread_leaves_its_namespace_to_nobody(
        self, new: Any, thread: str, reducer: Any, taken: Any, how: str
    ) -> None:
        """Whoever starts a thread of that name does not write into another user's memory."""
        saver = new(reducer=reducer)
        config = at(thread)
        config["configurable"]["memory_namespace"] = ("memories", "u1")
        await put(saver, config, {"messages": talk(8)})
        if how == "prune":
            await saver.aprune([thread], strategy="delete")
        else:
            await saver.adelete_thread(thread)
        taken.clear()
        await put(saver, at(thread), {"messages": talk(8)})
        assert {namespace for namespace, _ in taken} == {("memories", thread)}

    @pytest.mark.parametrize("how", ["delete_thread", "prune"])
    async def test_a_deleted_thread_may_begin_with_the_same_words(
        self, new: Any, thread: str, how: str
    ) -> None:
        """It is another conversation: what leaves it is handed over, under keys of its own."""
        keys: list[str] = []

        def take(pruned: Any, namespace: Any) -> None:
            keys.extend(pruned.keys)

        config = ReducerConfig(
            max_messages=6, min_messages=4, preserve_first=False, on_prune=[take]
        )
        saver = new(reducer=MessageReducer(config=config))
        words = [{"role": "user", "content": f"{n}"} for n in range(9)]
        for _ in range(3):
            begun = await put(saver, at(thread), {"other": 1})
            await put(saver, await put(saver, begun, {"messages": words[:8]}), {"messages": words})
            if how == "prune":
                await saver.aprune([thread], strategy="delete")
            else:
                await saver.adelete_thread(thread)
        assert len(keys) == len(set(keys)) == 15

    async def test_a_long_conversation_stays_bounded(
        self, new: Any, thread: str, reducer: Any, taken: Any
    ) -> None:
        """Over many turns, each in a new saver, what left and what is stored are all there was."""
        messages: list[Any] = []
        config = at(thread)
        for message in talk(40):
            saver = new(reducer=reducer)
            found = await saver.aget_tuple(at(thread))
            messages = found.checkpoint["channel_values"]["messages"] if found else []
            config = await put(
                saver, found.config if found else config, {"messages": [*messages, message]}
            )
            assert (
                len((await new().aget_tuple(config)).checkpoint["channel_values"]["messages"]) <= 6
            )
        found = await new().aget_tuple(at(thread))
        assert [one for _, one in taken] + contents(found) == [str(n) for n in range(40)]
        assert len(await listed(new(), at(thread))) == 40

    async def test_several_channels_and_namespaces(
        self, new: Any, thread: str, reducer: Any
    ) -> None:
        """Every channel named is reduced, in subgraphs too, and others are left alone."""
        saver = new(reducer=reducer, messages_key=["messages", "notes"])
        for namespace in ("", "child:1"):
            values = {"messages": talk(8), "notes": tuple(talk(9)), "other": talk(7)}
            await put(saver, at(thread, namespace=namespace), values)
            found = await new().aget_tuple(at(thread, namespace=namespace))
            assert [len(contents(found, c)) for c in ("messages", "notes", "other")] == [4, 4, 7]

    async def test_pending_writes_bring_nothing_back(
        self, new: Any, thread: str, reducer: Any
    ) -> None:
        """Writes computed from the list before it was reduced are read without what left it."""
        messages = talk(8)
        saver = new(reducer=reducer)
        config = await put(saver, at(thread), {"messages": messages})
        new_one = AIMessage("new", id="new")
        await saver.aput_writes(config, [("messages", [*messages, new_one])], "task1")
        await saver.aput_writes(config, [("messages", [RemoveMessage(id="1")])], "task2")
        for found in (
            await new(reducer=reducer).aget_tuple(config),
            *await listed(new(reducer=reducer), at(thread)),
        ):
            written = [[message.id for message in value] for *_, value in found.pending_writes]
            assert written == [["4", "5", "6", "7", "new"], []]

    async def test_a_failing_reducer_fails_no_put(self, new: Any, thread: str, caplog: Any) -> None:
        """The list is stored as it came, and the log says so."""

        def broken(messages: Any) -> int:
            raise ZeroDivisionError

        reducer = MessageReducer(config=ReducerConfig(max_tokens=5, token_counter=broken))
        config = await put(new(reducer=reducer), at(thread), {"messages": talk(8)})
        assert len(contents(await new().aget_tuple(config))) == 8
        assert "stored unreduced" in caplog.text

    async def test_delta_channels_keep_every_message(
        self, make_saver: Any, thread: str, reducer: Any
    ) -> None:
        """Between snapshots nothing is lost; at one, the list is reduced."""
        for turn in range(9):
            question = HumanMessage(f"question {turn}", id=str(uuid.uuid4()))
            graph = delta_graph(make_saver(reducer=reducer))
            await graph.ainvoke({"messages": [question]}, at(thread))
        state = await graph.aget_state(at(thread))
        texts = [message.content for message in state.values["messages"]]
        assert texts[-2] == "question 8"
        assert texts[0::2] == [f"question {n}" for n in range(9 - len(texts) // 2, 9)]
        assert len(texts) < 18
