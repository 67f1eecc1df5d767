"""Messages without ids are handed over once, under a key that outlives the process."""

from __future__ import annotations

import copy
import operator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from langgraph_reducing_saver import ReducingSaver


def as_dict(role: str, text: str) -> Any:
    return {"role": {"human": "user", "ai": "assistant"}[role], "content": text}


def as_object(role: str, text: str) -> Any:
    return {"human": HumanMessage, "ai": AIMessage}[role](text)


class Added(TypedDict, total=False):
    messages: Annotated[list[Any], operator.add]
    n: int


class Replaced(TypedDict, total=False):
    messages: list[Any]
    n: int


def turns(kind: Any, make: Any, *, ask: bool = False, copies: bool = False) -> Any:
    """Two answers a turn and a step without one; `ask` waits for a person before the second."""

    def answer(name: str) -> Any:
        def node(state: Any) -> Any:
            if ask and name == "c":
                interrupt("?")
            said = make("ai", f"{name}{len(state['messages'])}")
            before = state["messages"] if kind is Replaced else []
            return {"messages": [*(copy.deepcopy(before) if copies else before), said]}

        return node

    builder = StateGraph(kind)
    builder.add_node("a", answer("a"))
    builder.add_node("b", lambda state: {"n": 1})
    builder.add_node("c", answer("c"))
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("b", "c")
    return lambda saver: builder.compile(checkpointer=saver)


async def send(thread: Any, kind: Any, message: Any) -> Any:
    """One turn; a channel without a reducer is given the whole list."""
    before = (await thread.state()).values.get("messages", []) if kind is Replaced else []
    return await thread.invoke({"messages": [*before, message]})


def by_key(batches: list[Any]) -> dict[str, Any]:
    """What a hook was handed, by key."""
    return {key: m for _, batch, keys in batches for key, m in zip(keys, batch, strict=True)}


STATES = [(Added, as_object), (Replaced, as_dict)]


@pytest.mark.parametrize(("kind", "make"), STATES)
@pytest.mark.parametrize("ask", [False, True])
async def test_each_message_is_handed_over_once_in_order(
    kind: Any, make: Any, ask: bool, chat: Any, memory: Any
) -> None:
    """Over several turns, whose puts overlap, and over interrupts; and none is given an id."""
    thread = chat(turns(kind, make, ask=ask), memory.reducer(), interrupts=ask)
    said = []
    for turn in range(5):
        text = f"u{turn}"
        seen = await send(thread, kind, make("human", text))
        if ask:
            seen = await thread.invoke(Command(resume="go"))
        said.append(text)
        said += [m["content"] if isinstance(m, dict) else m.content for m in seen["messages"][-2:]]
    messages = await thread.stored()
    stored = [m["content"] if isinstance(m, dict) else m.content for m in messages]
    assert not any(m.get("id") if isinstance(m, dict) else m.id for m in messages)
    assert memory.texts == said[1 : 1 + len(memory.texts)]
    assert [said[0], *said[1 + len(memory.texts) :]] == stored


@pytest.mark.parametrize("kind", [Added, Replaced])
async def test_a_conversation_that_repeats_itself_loses_and_doubles_nothing(
    kind: Any, chat: Any, memory: Any
) -> None:
    """Equal messages differ by their place alone, in the run that cut them and in the next."""
    builder = turns(kind, lambda role, text: as_dict("human", "again"))
    thread = chat(builder, memory.reducer(5, 6))
    for _ in range(6):
        await send(thread, kind, as_dict("human", "again"))
    assert len(memory.messages) + len(await thread.stored()) == 18
    keys = [key for _, _, batch in memory.batches for key in batch]
    assert len(set(keys)) == len(keys)


async def test_a_node_that_copies_its_messages_changes_nothing(chat: Any, memory: Any) -> None:
    """States of pydantic models and nodes that pass JSON about give back equal messages."""
    thread = chat(turns(Replaced, as_dict, copies=True), memory.reducer())
    for turn in range(5):
        await send(thread, Replaced, as_dict("human", f"u{turn}"))
    assert len(memory.texts) == len(set(memory.texts)) == 15 - len(await thread.stored())


@pytest.mark.parametrize(("kind", "reading"), [(Added, False), (Replaced, True)])
async def test_a_crash_between_hand_over_and_store_repeats_the_keys(
    kind: Any, reading: bool, inner: Any, chat: Any, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next process hands over again what was not stored, under the same keys."""
    thread = chat(turns(kind, as_dict), memory.reducer())
    for turn in range(3):
        await send(thread, kind, as_dict("human", f"u{turn}"))
    name = "aput" if inner.is_async else "put"

    def down(config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        raise ConnectionError("the database is down")

    first = len(memory.batches)
    with monkeypatch.context() as patch:
        patch.setattr(inner.saver, name, down)
        with pytest.raises(ConnectionError):
            await send(thread, kind, as_dict("human", "u3"))
    lost = by_key(memory.batches[first:])
    again = type(memory)()
    thread.graph = turns(kind, as_dict)(ReducingSaver(inner.saver, again.reducer()))
    if reading:
        await thread.history()
    await send(thread, kind, as_dict("human", "u3"))
    repeated = by_key(again.batches)
    assert lost.items() <= repeated.items()
    assert not by_key(memory.batches[:first]).keys() & repeated.keys()


async def test_reading_in_the_middle_of_a_run_disturbs_nothing(
    inner: Any, chat: Any, memory: Any
) -> None:
    """Another thread looks at the state between two steps, as monitors do."""
    threads: list[Any] = []

    def watched(saver: Any) -> Any:
        def node(state: Any) -> Any:
            if not inner.is_async:
                threads[0].graph.get_state(threads[0].config)
            return {"messages": [as_dict("ai", f"w{len(state['messages'])}")]}

        builder = StateGraph(Added)
        builder.add_node("a", node)
        builder.add_node("b", node)
        builder.add_edge(START, "a")
        builder.add_edge("a", "b")
        return builder.compile(checkpointer=saver)

    threads.append(chat(watched, memory.reducer()))
    for turn in range(6):
        await threads[0].invoke({"messages": [as_dict("human", f"u{turn}")]})
    assert len(memory.messages) + len(await threads[0].stored()) == 18
    assert len({key for _, _, keys in memory.batches for key in keys}) == len(memory.messages)


async def test_updates_and_forks_keep_the_keys(chat: Any, memory: Any) -> None:
    """A message pruned again on another branch has the key it had; a copy changes nothing."""
    thread = chat(turns(Added, as_dict), memory.reducer())
    for turn in range(4):
        await send(thread, Added, as_dict("human", f"u{turn}"))
    count = len(memory.messages)
    latest = (await thread.history())[0].config
    copied = await thread.update(None, latest, as_node="__copy__")
    more = [as_dict("human", f"x{i}") for i in range(3)]
    for branch in (latest, latest, copied):
        await thread.update({"messages": more}, branch, as_node="c")
        assert len(memory.messages) == count + 3
    await thread.update({"messages": more})
    assert len(memory.texts) == len(set(memory.texts)) == count + 6


async def test_a_pending_write_with_the_whole_list_is_cut_like_the_list(
    inner: Any, chat: Any, memory: Any
) -> None:
    """Also after a restart, and a new message that says what an old one said is not cut."""

    def compiles(saver: Any) -> Any:
        def whole(state: Any) -> Any:
            return {"messages": [*state["messages"], as_dict("human", "u1")]}

        def asks(state: Any) -> Any:
            interrupt("?")
            return {"n": 1}

        builder = StateGraph(Replaced)
        builder.add_node("gen", lambda state: {"n": 0})
        builder.add_node("whole", whole)
        builder.add_node("asks", asks)
        builder.add_edge(START, "gen")
        builder.add_edge("gen", "whole")
        builder.add_edge("gen", "asks")
        return builder.compile(checkpointer=saver)

    thread = chat(compiles, memory.reducer(), interrupts=True)
    await thread.invoke({"messages": [as_dict("human", f"u{i}") for i in range(9)]})
    again = type(memory)()
    thread.graph = compiles(ReducingSaver(inner.saver, again.reducer()))
    await thread.invoke(Command(resume="go"))
    stored = [message["content"] for message in await thread.stored()]
    assert stored == ["u0", "u5", "u6", "u7", "u8", "u1"]
    assert (memory.texts, again.texts) == (["u1", "u2", "u3", "u4"], [])
