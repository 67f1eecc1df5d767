"""A run that stopped goes on from a reduced checkpoint as if nothing had been cut."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, interrupt


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]


def beside_an_interrupt(node: Any) -> Any:
    """A graph in which `node` finishes while its sibling waits for a person."""

    def asks(state: State) -> Any:
        interrupt("?")
        return {"messages": [AIMessage("yes", id="yes")]}

    builder = StateGraph(State)
    builder.add_node("gen", lambda state: {"messages": [AIMessage("gen", id="gen")]})
    builder.add_node("node", node)
    builder.add_node("asks", asks)
    builder.add_edge(START, "gen")
    for name in ("node", "asks"):
        builder.add_edge("gen", name)
        builder.add_edge(name, END)
    return lambda saver: builder.compile(checkpointer=saver)


SIBLINGS = {
    "appends": ([AIMessage("x", id="x")], ["m0", "m6", "m7", "m8", "gen", "yes", "x"]),
    "removes a pruned message": (
        [RemoveMessage(id="m1")],
        ["m0", "m6", "m7", "m8", "gen", "yes"],
    ),
    "edits a pruned message": (
        [AIMessage("edited", id="m1")],
        ["m0", "m6", "m7", "m8", "gen", "yes"],
    ),
    "removes a stored message": ([RemoveMessage(id="m7")], ["m0", "m6", "m8", "gen", "yes"]),
    "starts anew with a pruned message": (
        [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("kept", id="m2")],
        ["m2"],
    ),
}


@pytest.mark.parametrize("case", SIBLINGS)
async def test_what_a_sibling_wrote_about_pruned_messages_is_dropped(
    case: str, chat: Any, memory: Any, talk: Any
) -> None:
    """Writes computed from the long list neither brick the thread nor revive what left."""
    written, expected = SIBLINGS[case]
    node = beside_an_interrupt(lambda state: {"messages": written})
    thread = chat(node, memory.reducer(4, 8), interrupts=True)
    await thread.invoke({"messages": talk(9)})
    await thread.stored()  # a thread that cannot be read is lost
    await thread.invoke(Command(resume="ok"))
    assert [message.id for message in await thread.stored()] == expected
    assert memory.ids == ["m1", "m2", "m3", "m4", "m5"]


async def test_a_node_may_return_the_whole_list(chat: Any, memory: Any, talk: Any) -> None:
    """A node that returns the list it was given plus one message revives nothing."""

    def whole(state: State) -> Any:
        return {"messages": [*state["messages"], AIMessage("x", id="x")]}

    thread = chat(beside_an_interrupt(whole), memory.reducer(), interrupts=True)
    await thread.invoke({"messages": talk(9)})
    await thread.invoke(Command(resume="ok"))
    stored = [message.id for message in await thread.stored()]
    assert stored[0] == "m0"
    assert not set(stored) & set(memory.ids)
    assert {"x", "yes"} <= set(stored)


@pytest.mark.parametrize("durability", ["sync"], indirect=True)
async def test_a_cleanup_beside_an_interrupt_in_a_very_long_thread(
    chat: Any, memory: Any, talk: Any
) -> None:
    """However many messages were pruned at once, their removal leaves a thread that can be read."""

    def cleanup(state: State) -> Any:
        return {"messages": [RemoveMessage(m.id) for m in state["messages"][:-2]]}

    thread = chat(beside_an_interrupt(cleanup), memory.reducer(), interrupts=True)
    await thread.invoke({"messages": talk(2_500)})
    await thread.invoke(Command(resume="ok"))
    assert [message.id for message in await thread.stored()] == ["m2499", "gen", "yes"]


@pytest.mark.parametrize("durability", ["sync", "async"], indirect=True)
async def test_a_crash_after_a_cleanup_node_leaves_a_usable_thread(
    inner: Any, memory: Any, talk: Any, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies between `put_writes` and the next `put`: read, resume and go on work."""
    builder = StateGraph(State)
    builder.add_node("gen", lambda state: {"messages": [AIMessage("gen")]})
    builder.add_node(
        "cleanup", lambda state: {"messages": [RemoveMessage(m.id) for m in state["messages"][:-2]]}
    )
    builder.add_edge(START, "gen")
    builder.add_edge("gen", "cleanup")
    builder.add_edge("cleanup", END)
    thread = chat(lambda saver: builder.compile(checkpointer=saver), memory.reducer())
    name = "aput" if inner.is_async else "put"
    put = getattr(inner.saver, name)

    def down(config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        if metadata.get("step") == 2:
            raise ConnectionError("the database is down")
        return put(config, checkpoint, metadata, versions)

    monkeypatch.setattr(inner.saver, name, down)
    with pytest.raises(ConnectionError):
        await thread.invoke({"messages": talk(9)})
    monkeypatch.undo()
    await thread.stored()
    await thread.invoke(None)
    await thread.update({"messages": [HumanMessage("fix", id="q")]}, as_node="cleanup")
    after = await thread.invoke({"messages": [HumanMessage("again", id="z")]})
    assert "z" in [message.id for message in after["messages"]]
    assert memory.ids == [f"m{i}" for i in range(1, 6)]
