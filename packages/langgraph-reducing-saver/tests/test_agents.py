"""Ready-made agents: tools, approval by a person, summaries by middleware."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command


@tool
def look_up(n: int) -> str:
    """Look something up."""
    return f"found {n}"


class Scripted(GenericFakeChatModel):
    """A model that says what a script says, and takes tools."""

    def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
        return self


def asking(*ns: int) -> AIMessage:
    """Two calls in one message; ids start at the same number in every turn, as local models do."""
    calls = [{"name": "look_up", "args": {"n": n}, "id": f"call_{n}"} for n in ns]
    return AIMessage("", tool_calls=calls)


def script() -> Iterator[AIMessage]:
    while True:
        yield asking(0, 1)
        yield AIMessage("found both")


def whole(messages: list[Any]) -> bool:
    """Whether each call is answered, and each answer follows its call."""
    open_calls: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in open_calls:
                return False
            open_calls.remove(message.tool_call_id)
        elif open_calls:
            return False
        open_calls += [call["id"] for call in getattr(message, "tool_calls", [])]
    return not open_calls


@pytest.mark.parametrize("keep", [0, 1, 2, 5])
async def test_an_agent_with_tools_never_stores_half_an_exchange(
    keep: int, chat: Any, memory: Any
) -> None:
    """Whatever the window, in every checkpoint but one that waits for results."""

    def compiles(saver: Any) -> Any:
        return create_agent(Scripted(messages=script()), [look_up], checkpointer=saver)

    thread = chat(compiles, memory.reducer(keep, keep + 2))
    for turn in range(4):
        seen = await thread.invoke({"messages": [HumanMessage(f"u{turn}")]})
        assert whole(seen["messages"])
        assert whole(await thread.stored())
    assert len(memory.ids) == len(set(memory.ids))
    assert len(memory.ids) + len(await thread.stored()) == 20


@pytest.mark.parametrize("keep", [0, 2])
async def test_calls_that_wait_at_an_interrupt_are_not_pruned(
    keep: int, chat: Any, memory: Any, talk: Any
) -> None:
    """The tool node finds them when the run goes on."""

    class State(TypedDict):
        messages: Annotated[list[Any], add_messages]

    def model(state: State) -> Any:
        last = state["messages"][-1]
        return {"messages": [AIMessage("done") if isinstance(last, ToolMessage) else asking(1, 2)]}

    builder = StateGraph(State)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([look_up]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    thread = chat(
        lambda saver: builder.compile(checkpointer=saver, interrupt_before=["tools"]),
        memory.reducer(keep, 3),
    )
    await thread.invoke({"messages": talk(7)})
    assert [call["id"] for call in (await thread.stored())[-1].tool_calls] == ["call_1", "call_2"]
    after = await thread.invoke(None)
    assert [m.content for m in after["messages"][-3:]] == ["found 1", "found 2", "done"]
    assert whole(await thread.stored())


async def test_a_person_approves_calls_from_a_reduced_checkpoint(
    chat: Any, memory: Any, talk: Any
) -> None:
    """The calls they approved are made, and none vanishes."""

    def compiles(saver: Any) -> Any:
        return create_agent(
            Scripted(messages=script()),
            [look_up],
            middleware=[HumanInTheLoopMiddleware(interrupt_on={"look_up": True})],
            checkpointer=saver,
        )

    thread = chat(compiles, memory.reducer(0, 3), interrupts=True)
    await thread.invoke({"messages": [*talk(6), HumanMessage("go")]})
    decisions = [{"type": "approve"}, {"type": "reject", "message": "no"}]
    after = await thread.invoke(Command(resume={"decisions": decisions}))
    results = {m.tool_call_id: m.content for m in after["messages"] if isinstance(m, ToolMessage)}
    assert results["call_0"] == "found 0"
    assert results["call_1"].endswith("no")
    assert after["messages"][-1].content == "found both"
    assert whole(await thread.stored())


async def test_summarization_middleware_works_beside_the_wrapper(chat: Any, memory: Any) -> None:
    """It clears and rewrites the list in the graph; the wrapper cuts what is stored."""

    def compiles(saver: Any) -> Any:
        summaries = Scripted(messages=iter([AIMessage(f"sum{i}") for i in range(40)]))
        middleware: Any = SummarizationMiddleware(
            model=summaries, trigger=("messages", 5), keep=("messages", 2)
        )
        answers = Scripted(messages=iter([AIMessage(f"x{i}") for i in range(40)]))
        return create_agent(answers, [], middleware=[middleware], checkpointer=saver)

    thread = chat(compiles, memory.reducer())
    for turn in range(8):
        await thread.invoke({"messages": [HumanMessage(f"u{turn}")]})
    stored = [message.content for message in await thread.stored()]
    assert "sum" in stored[0]
    assert stored[-2:] == ["u7", "x7"]
    assert len(stored) <= 6
