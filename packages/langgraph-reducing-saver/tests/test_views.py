"""What is stored, what the running graph sees, and what the hooks get."""

from __future__ import annotations

import asyncio
import copy
import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send

from agentstate_reducer import MessageReducer, ReducerConfig
from langgraph_reducing_saver import ReducingSaver


class State(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    steps: int


def answering(schema: Any = State, say: Any = AIMessage) -> Any:
    """A graph of three steps, the one in the middle without a message."""
    builder = StateGraph(schema)
    builder.add_node("a", lambda state: {"messages": [say(f"a{len(state['messages'])}")]})
    builder.add_node("b", lambda state: {"steps": state.get("steps", 0) + 1})
    builder.add_node("c", lambda state: {"messages": [say(f"c{len(state['messages'])}")]})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("b", "c")
    builder.add_edge("c", END)
    return lambda saver: builder.compile(checkpointer=saver)


async def test_the_run_keeps_the_long_list_and_the_next_one_starts_from_the_short(
    chat: Any, memory: Any
) -> None:
    """All durabilities and savers store the same; every message left once, in order."""
    thread = chat(answering(), memory.reducer())
    lengths = []
    for turn in range(5):
        seen = await thread.invoke({"messages": [HumanMessage(f"u{turn}")]})
        lengths.append((len(seen["messages"]), len(await thread.stored())))
    assert lengths == [(3, 3), (6, 6), (9, 5), (8, 5), (8, 5)]
    texts = [message.content for message in await thread.stored()]
    assert memory.texts == ["a1", "c2", "u1", "a4", "c5", "u2", "a7", "c8", "u3", "a6"]
    assert texts == ["u0", "c7", "u4", "a6", "c7"]
    assert set(memory.namespaces) == {("memories", thread.config["configurable"]["thread_id"])}


@pytest.mark.parametrize("durability", ["sync"], indirect=True)
async def test_no_checkpoint_holds_the_long_list_once_it_was_cut(chat: Any, memory: Any) -> None:
    """Also those of steps that did not touch the list, which some savers store whole."""
    thread = chat(answering(), memory.reducer())
    for turn in range(4):
        await thread.invoke({"messages": [HumanMessage(f"u{turn}")]})
    assert max(len(state.values.get("messages", [])) for state in await thread.history()) == 6


def test_nothing_that_is_put_is_changed(memory: Any) -> None:
    """The checkpoint holds the live lists of the running graph, and LangGraph goes on with it."""
    messages = [{"role": "user", "content": str(i), "id": str(i)} for i in range(9)]
    checkpoint: Any = {
        **empty_checkpoint(),
        "channel_values": {"messages": messages, "falsy": 0, "none": None, "empty": []},
    }
    metadata: Any = {"source": "loop", "step": 1}
    before = copy.deepcopy((checkpoint, metadata))
    saver = ReducingSaver(InMemorySaver(), memory.reducer())
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    versions = dict.fromkeys(checkpoint["channel_values"], 1)
    checkpoint["channel_versions"] = versions
    before[0]["channel_versions"] = dict(versions)
    saver.put(config, checkpoint, metadata, versions)
    assert (checkpoint, metadata) == before
    saved = saver.get_tuple(config)
    assert saved is not None
    stored = saved.checkpoint["channel_values"]
    assert [message["id"] for message in stored.pop("messages")] == ["0", "5", "6", "7", "8"]
    assert stored == {"falsy": 0, "none": None, "empty": []}


@pytest.mark.parametrize("value", ["text", {"role": "user"}, None, 7, {"messages": [1] * 9}])
def test_a_channel_that_holds_no_list_is_left_alone(value: Any, memory: Any) -> None:
    """Whatever lies under the key."""
    saver = ReducingSaver(InMemorySaver(), memory.reducer())
    checkpoint: Any = {
        **empty_checkpoint(),
        "channel_values": {"messages": value},
        "channel_versions": {"messages": 1},
    }
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    saver.put(config, checkpoint, {}, {"messages": 1})
    saved = saver.get_tuple(config)
    assert saved is not None
    assert saved.checkpoint["channel_values"] == {"messages": value}


def test_a_tuple_stays_a_tuple(memory: Any) -> None:
    """Some states hold their messages in one; a serializer may make a list of it later."""
    received: list[Any] = []

    class Watched(InMemorySaver):
        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            received.append(checkpoint["channel_values"]["messages"])
            return super().put(config, checkpoint, metadata, new_versions)

    saver = ReducingSaver(Watched(), memory.reducer())
    messages = tuple(HumanMessage(str(i), id=str(i)) for i in range(9))
    checkpoint: Any = {
        **empty_checkpoint(),
        "channel_values": {"messages": messages},
        "channel_versions": {"messages": 1},
    }
    for put in (saver.put, lambda *args: asyncio.run(saver.aput(*args))):
        put({"configurable": {"thread_id": "t"}}, checkpoint, {}, {"messages": 1})
    assert received == [(messages[0], *messages[5:])] * 2
    assert memory.ids == ["1", "2", "3", "4"]


async def test_several_channels_are_reduced_each_by_its_own_content(chat: Any, memory: Any) -> None:
    """`messages_key` may be a list of names."""

    class Noting(State, total=False):
        notes: Annotated[list[Any], operator.add]

    thread = chat(answering(Noting), memory.reducer(), messages_key=["messages", "notes"])
    notes = [{"role": "user", "content": f"n{i}", "id": f"n{i}"} for i in range(8)]
    await thread.invoke({"messages": [HumanMessage("u")], "notes": notes})
    assert [note["id"] for note in await thread.stored("notes")] == ["n0", "n4", "n5", "n6", "n7"]
    assert len(await thread.stored()) == 3
    assert memory.texts == ["n1", "n2", "n3"]


async def test_a_graph_whose_whole_state_is_a_list(chat: Any, memory: Any) -> None:
    """Its channel is called `__root__`."""
    builder: Any = StateGraph(Annotated[list[Any], add_messages])
    builder.add_node("a", lambda state: [AIMessage("a")])
    builder.add_edge(START, "a")
    thread = chat(
        lambda saver: builder.compile(checkpointer=saver), memory.reducer(), messages_key="__root__"
    )
    for turn in range(4):
        await thread.invoke([HumanMessage(f"u{turn}")])
    assert len((await thread.state()).values) == 5


async def test_the_functional_api_is_stored_as_it_is(chat: Any, memory: Any) -> None:
    """Its state lies in one value of the user's, under no key of its own."""

    def compiles(saver: Any) -> Any:
        @entrypoint(checkpointer=saver)
        def workflow(given: Any, *, previous: Any = None) -> Any:
            messages = [*(previous or []), given]
            return entrypoint.final(value=len(messages), save=messages)

        return workflow

    thread = chat(compiles, memory.reducer())
    assert [await thread.invoke({"role": "user", "content": str(i)}) for i in range(8)] == [
        *range(1, 9)
    ]
    assert memory.messages == []


async def test_the_functional_api_can_be_reduced_by_the_name_of_its_value(
    chat: Any, memory: Any
) -> None:
    """A workflow that saves a list of messages has it under `__previous__`."""

    def compiles(saver: Any) -> Any:
        @entrypoint(checkpointer=saver)
        def workflow(given: Any, *, previous: Any = None) -> Any:
            messages = [*(previous or []), given]
            return entrypoint.final(value=len(messages), save=messages)

        return workflow

    thread = chat(compiles, memory.reducer(), messages_key="__previous__")
    sent = [{"role": "user", "content": str(i)} for i in range(8)]
    assert [await thread.invoke(message) for message in sent] == [1, 2, 3, 4, 5, 6, 7, 6]
    assert memory.texts == ["1", "2"]


async def test_fan_out_with_send_is_reduced_and_keeps_its_arguments(chat: Any, memory: Any) -> None:
    """What `Send` carries is stored as it is; the list it came from is short all the same."""
    builder = StateGraph(State)
    builder.add_node("plan", lambda state: {"messages": [AIMessage("plan")]})
    builder.add_node("work", lambda given: {"messages": [AIMessage(f"done {given['n']}")]})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", lambda state: [Send("work", {"n": n}) for n in range(12)])
    thread = chat(lambda saver: builder.compile(checkpointer=saver), memory.reducer(12, 13))
    await thread.invoke({"messages": [HumanMessage("go")]})
    stored = [message.content for message in await thread.stored()]
    assert stored == ["go", *(f"done {n}" for n in range(12))]
    assert memory.texts == ["plan"]


async def test_a_summary_is_made_once_and_stands_in_the_list_as_one_of_its_kind(
    chat: Any, memory: Any
) -> None:
    """One block, of the classes around it, with an id; no prune is summed up twice."""
    asked: list[list[str]] = []

    def summarize(pruned: list[Any]) -> str:
        asked.append([message.content for message in pruned])
        return f"summary {len(asked)}"

    thread = chat(answering(), memory.reducer(summarize_fn=summarize, inject_summary=True))
    for turn in range(6):
        await thread.invoke({"messages": [HumanMessage(f"u{turn}")]})
    stored = await thread.stored()
    assert [type(message) for message in stored[1:3]] == [HumanMessage, AIMessage]
    assert stored[1].content.endswith(f"summary {len(asked)}")
    assert sum("summary" in message.content for message in stored) == 1
    assert all(message.id for message in stored)
    assert len(asked) == len({tuple(texts) for texts in asked})
    assert not any("summary" in text or text == "OK" for text in memory.texts)
    assert len(set(memory.ids)) == len(memory.ids) == 18 - 5


async def test_the_same_ids_in_two_conversations_reach_both_memories(
    chat: Any, memory: Any, talk: Any
) -> None:
    """Ids the application made are unique within a namespace only."""
    thread = chat(answering(), memory.reducer())
    for user in ("ada", "bob"):
        thread.config = {"configurable": {"thread_id": f"{thread.config}{user}"}}
        await thread.invoke({"messages": talk(9)}, memory_namespace=("memories", user))
    for user in ("ada", "bob"):
        ids = [
            message.id
            for namespace, batch, _ in memory.batches
            for message in batch
            if namespace == ("memories", user)
        ]
        assert ids[:5] == ["m1", "m2", "m3", "m4", "m5"]


@pytest.mark.parametrize(
    "failing",
    [{"keep": lambda message: 1 / 0}, {"max_tokens": 10, "token_counter": lambda message: 1 / 0}],
)
async def test_a_reducer_that_fails_stores_the_list_as_it_came(
    failing: dict[str, Any], chat: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The run goes on, and the log names the thread and no message."""
    settings: dict[str, Any] = {"min_messages": 4, "max_messages": 6, **failing}
    thread = chat(answering(), MessageReducer(config=ReducerConfig(**settings)))
    for _ in range(4):
        await thread.invoke({"messages": [HumanMessage("a secret")]})
    assert len(await thread.stored()) == 12
    (said,) = {record.getMessage() for record in caplog.records if record.levelname == "ERROR"}
    assert thread.config["configurable"]["thread_id"] in said
    assert "Error at " in said
    assert "secret" not in caplog.text
