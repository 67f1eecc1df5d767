"""Subgraphs, parallel branches, time travel, forks, updates from outside, and DeltaChannel."""

from __future__ import annotations

import asyncio
import itertools
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages
from langgraph.types import Command, interrupt

from langgraph_reducing_saver import ReducingSaver


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]


def say(name: str) -> Any:
    return lambda state: {"messages": [AIMessage(name, id=name)]}


def ask(name: str) -> Any:
    def node(state: State) -> Any:
        interrupt("?")
        return {"messages": [AIMessage(name, id=name)]}

    return node


def chain(**nodes: Any) -> StateGraph[Any]:
    builder: Any = StateGraph(State)
    for name, node in nodes.items():
        builder.add_node(name, node)
    for before, after in itertools.pairwise([START, *nodes, END]):
        builder.add_edge(before, after)
    return builder


def as_node(inherit: Any) -> Any:
    return chain(s1=say("s1"), s2=ask("s2")).compile(checkpointer=inherit)


def called(inherit: Any) -> Any:
    graph = as_node(inherit)
    return lambda state: {"messages": graph.invoke(state)["messages"]}


def nested(inherit: Any) -> Any:
    return chain(below=as_node(inherit)).compile(checkpointer=inherit)


SUBGRAPHS = {
    "as a node": lambda: as_node(None),
    "with a memory of its own": lambda: as_node(True),
    "called in a node": lambda: called(None),
    "nested": lambda: nested(None),
}


@pytest.mark.parametrize("kind", SUBGRAPHS)
async def test_a_subgraph_that_was_interrupted_returns_no_pruned_message(
    kind: str, chat: Any, memory: Any, talk: Any
) -> None:
    """Its own list is reduced too, so what it gives back is in order and holds nothing old."""
    builder = chain(pre=say("pre"), sub=SUBGRAPHS[kind](), post=say("post"))
    thread = chat(
        lambda saver: builder.compile(checkpointer=saver), memory.reducer(), interrupts=True
    )
    await thread.invoke({"messages": talk(9)}, memory_namespace=("memories", "ada"))
    after = await thread.invoke(Command(resume="yes"), memory_namespace=("memories", "ada"))
    given = [message.id for message in after["messages"]]
    assert given == [name for name in [*(f"m{i}" for i in range(9)), *SAID] if name in given]
    stored = [message.id for message in await thread.stored()]
    assert stored[-3:] == ["s1", "s2", "post"]
    assert not set(memory.ids) & set(stored)
    assert len(memory.ids) == len(set(memory.ids))
    assert {*memory.ids, *stored} == {*(f"m{i}" for i in range(9)), *SAID}
    assert set(memory.namespaces) == {("memories", "ada")}


SAID = ["pre", "s1", "s2", "post"]


async def test_parallel_subgraphs_one_of_which_waits(chat: Any, memory: Any, talk: Any) -> None:
    """The finished one has written its whole list; what of it was pruned does not come back."""
    builder: Any = StateGraph(State)
    builder.add_node("pre", say("pre"))
    builder.add_node("one", chain(s=say("one")).compile())
    builder.add_node("two", chain(s=ask("two")).compile())
    builder.add_edge(START, "pre")
    builder.add_edge("pre", "one")
    builder.add_edge("pre", "two")
    thread = chat(
        lambda saver: builder.compile(checkpointer=saver), memory.reducer(), interrupts=True
    )
    await thread.invoke({"messages": talk(9)})
    before = [message.id for message in await thread.stored()]
    assert before == ["m0", "m6", "m7", "m8", "pre", "one"]
    after = await thread.invoke(Command(resume="yes"))
    assert [message.id for message in after["messages"]] == [*before, "two"]
    assert [message.id for message in await thread.stored()] == ["m0", "m8", "pre", "one", "two"]
    assert sorted(memory.ids) == [f"m{i}" for i in range(1, 8)]


async def test_a_subgraph_that_keeps_its_list_gives_back_nothing_that_left_the_root(
    chat: Any, memory: Any
) -> None:
    """Over restarts and turns that skip it, and though the two lists are cut at different steps."""
    turn, skipped = 0, (13, 14, 16)

    def says(name: str) -> Any:
        return lambda state: {"messages": [AIMessage(name, id=f"{turn}{name}")]}

    inner = chain(b=says("b")).compile(checkpointer=True)
    builder = StateGraph(State)
    builder.add_node("sub", inner)
    builder.add_node("c", says("c"))
    builder.add_conditional_edges(START, lambda state: "c" if turn in skipped else "sub")
    builder.add_edge("sub", "c")
    thread = chat(lambda saver: builder.compile(checkpointer=saver), memory.reducer(4, 8))
    for turn in range(10, 20):
        if turn in (14, 15, 18):
            saver = ReducingSaver(thread.graph.checkpointer.inner, memory.reducer(4, 8))
            thread.graph = builder.compile(checkpointer=saver)
        said = await thread.invoke({"messages": [HumanMessage("a", id=f"{turn}a")]})
        ids = [message.id for message in said["messages"]]
        assert ids == sorted(ids)
    stored = [message.id for message in await thread.stored()]
    assert stored == sorted(stored)
    names = {turn: "ac" if turn in skipped else "abc" for turn in range(10, 20)}
    everything = [f"{turn}{name}" for turn in names for name in names[turn]]
    assert sorted([*memory.ids, *stored]) == everything


async def test_old_checkpoints_keep_their_messages(chat: Any, memory: Any) -> None:
    """Time travel, a fork and a replay start from the list as it was stored then."""
    builder = chain(a=lambda state: {"messages": [AIMessage(f"a{len(state['messages'])}")]})
    thread = chat(lambda saver: builder.compile(checkpointer=saver), memory.reducer())
    for turn in range(4):
        await thread.invoke({"messages": [HumanMessage(f"u{turn}")]})
    history = await thread.history()
    old = next(s for s in reversed(history) if len(s.values.get("messages", [])) == 6)
    before = [message.content for message in old.values["messages"]]
    fork = await thread.update({"messages": [HumanMessage("forked")]}, old.config)
    state = await thread.state(fork)
    assert [message.content for message in state.values["messages"]][-1] == "forked"
    assert len(state.values["messages"]) == 5
    await thread.invoke(None, fork)
    await thread.invoke(None, old.config)
    again = await thread.state(old.config)
    assert [message.content for message in again.values["messages"]] == before
    head = await thread.state(history[0].config)
    assert head.values["messages"] == history[0].values["messages"]


async def test_messages_pruned_without_a_namespace_go_where_the_thread_belongs(
    chat: Any, memory: Any
) -> None:
    """`update_state` and `__copy__` carry no configuration of the user's."""
    builder = chain(a=lambda state: {"messages": [AIMessage("a")]})
    thread = chat(lambda saver: builder.compile(checkpointer=saver), memory.reducer())
    await thread.invoke({"messages": [HumanMessage("u")]}, memory_namespace=["memories", "ada"])
    await thread.update({"messages": [HumanMessage(f"x{i}") for i in range(8)]}, as_node="a")
    await thread.update(None, (await thread.history())[0].config, as_node="__copy__")
    assert memory.texts == ["a", *(f"x{i}" for i in range(4))]
    assert memory.namespaces == [["memories", "ada"]]
    assert len(await thread.stored()) == 5


async def test_a_deleted_thread_leaves_its_namespace_to_nobody(chat: Any, memory: Any) -> None:
    """Whoever starts a thread of that name does not write into another user's memory."""
    builder = chain(a=lambda state: {"messages": [AIMessage("a")]})
    thread = chat(lambda saver: builder.compile(checkpointer=saver), memory.reducer())
    for _ in range(4):
        await thread.invoke({"messages": [HumanMessage("u")]}, memory_namespace=("m", "ada"))
    name = thread.config["configurable"]["thread_id"]
    saver = thread.graph.checkpointer
    if thread.is_async:
        await saver.adelete_thread(name)
    else:
        await asyncio.to_thread(saver.delete_thread, name)
    assert set(memory.namespaces) == {("m", "ada")}
    memory.batches.clear()
    for _ in range(4):
        await thread.invoke({"messages": [HumanMessage("u")]})
    assert set(memory.namespaces) == {("memories", name)}


async def test_only_the_configurable_part_of_the_call_names_the_namespace(
    chat: Any, memory: Any, talk: Any
) -> None:
    """Web servers repeat thread and user in `metadata`, sometimes others."""
    builder = chain(a=say("a"))
    thread = chat(lambda saver: builder.compile(checkpointer=saver), memory.reducer())
    thread.config["metadata"] = {"thread_id": "other", "memory_namespace": "other"}
    await thread.invoke({"messages": talk(9)}, memory_namespace=("memories", "ada"))
    await thread.invoke({"messages": talk(9)}, memory_namespace=())
    assert set(memory.namespaces) == {("memories", "ada")}


def delta(frequency: int) -> Any:
    channel = DeltaChannel(_messages_delta_reducer, snapshot_frequency=frequency)
    return TypedDict("schema", {"messages": Annotated[list, channel]})


@pytest.mark.parametrize("frequency", [1, 5, 100])
async def test_a_delta_channel_is_reduced_where_it_is_stored_whole(
    frequency: int, chat: Any, memory: Any
) -> None:
    """Between its snapshots nothing is pruned, and nothing is ever lost or doubled."""
    builder: Any = StateGraph(delta(frequency))
    builder.add_node("a", lambda state: {"messages": [AIMessage(f"a{len(state['messages'])}")]})
    builder.add_edge(START, "a")
    thread = chat(lambda saver: builder.compile(checkpointer=saver), memory.reducer())
    for turn in range(12):
        await thread.invoke({"messages": [HumanMessage(f"u{turn}")]})
    after = await thread.stored()
    assert bool(memory.messages) == (frequency < 100)
    assert len(after) == 5 or frequency > 1
    ids = [*memory.ids, *(message.id for message in after)]
    assert len(ids) == len(set(ids)) == 24
    assert after[0].content == "u0"
    assert after[-2].content == "u11"


async def test_removing_a_pruned_message_from_a_delta_channel_is_harmless(
    chat: Any, memory: Any, talk: Any
) -> None:
    """Such channels tolerate unknown ids."""
    builder: Any = StateGraph(delta(1))
    builder.add_node("a", lambda state: {"messages": [RemoveMessage("m1"), AIMessage("a", id="a")]})
    builder.add_node("ask", lambda state: (interrupt("?"), say("asked")(state))[1])
    builder.add_edge(START, "a")
    builder.add_edge("a", "ask")
    thread = chat(
        lambda saver: builder.compile(checkpointer=saver), memory.reducer(), interrupts=True
    )
    await thread.invoke({"messages": talk(9)})
    await thread.invoke(Command(resume="yes"))
    assert [message.id for message in await thread.stored()][-2:] == ["a", "asked"]
