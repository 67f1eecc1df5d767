"""The conversations a saver is measured with; what they need is in every saver's environment.

- chat: a model that answers once; six calls of the saver.
- tools: a model that calls a tool three times before it answers, so eight messages in nine
  checkpoints; eighteen calls.
- exit: the chat, stored at the end of each turn (`durability="exit"`).
- delta: the chat with its messages in a `DeltaChannel`, a snapshot every 100 updates.
"""

from __future__ import annotations

import pydoc_data.topics
import re
import uuid
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import _messages_delta_reducer

PROSE = re.sub(r"\s+", " ", " ".join(pydoc_data.topics.topics.values()))
CALLS = {"chat": 6, "tools": 18, "exit": 2, "delta": 8}  # of a saver in a turn, at most
TOOL_CALLS = 3


class DeltaState(TypedDict):
    """The messages as LangGraph stores them in increments."""

    messages: Annotated[list[Any], DeltaChannel(_messages_delta_reducer, snapshot_frequency=100)]


def text(number: int, length: int) -> str:
    """English prose, from another place for each number."""
    start = number * length % len(PROSE)
    passage = PROSE[start : start + length]
    return passage + (PROSE * (length // len(PROSE) + 1))[: length - len(passage)]


class Conversation:
    """One thread of a graph over a saver; every message has `length` characters."""

    def __init__(self, saver: Any, shape: str, length: int = 400) -> None:
        self._length = length
        self._said = 0
        self._durability: Any = "exit" if shape == "exit" else "async"
        builder = StateGraph(DeltaState if shape == "delta" else MessagesState)
        builder.add_node("model", self._tool_model if shape == "tools" else self._answer)
        builder.add_edge(START, "model")
        if shape == "tools":
            builder.add_node("tools", self._tool)
            builder.add_conditional_edges("model", _calls, {True: "tools", False: END})
            builder.add_edge("tools", "model")
        self._graph = builder.compile(checkpointer=saver)

    def turn(self) -> int:
        """A question and what follows; returns how many messages the thread then has.

        All of them but the first, which no reducer removes here, are the newest that were said.
        """
        question: Any = {"messages": [self._say(HumanMessage)]}
        config: Any = {"configurable": {"thread_id": "a customer"}}
        result = self._graph.invoke(question, config, durability=self._durability)
        found = [message.content for message in result["messages"][1:]]
        said = range(self._said - len(found), self._said)
        assert found == [text(number, self._length) for number in said], "messages are lost"
        return len(found) + 1

    def _say(self, kind: Any, **fields: Any) -> Any:
        content = text(self._said, self._length)
        self._said += 1
        return kind(content, id=str(uuid.uuid4()), **fields)

    def _answer(self, _: Any) -> dict[str, Any]:
        return {"messages": [self._say(AIMessage)]}

    def _tool_model(self, state: Any) -> dict[str, Any]:
        recent = state["messages"][-2 * TOOL_CALLS :]
        if all(not isinstance(message, HumanMessage) for message in recent):
            return self._answer(state)
        call = {"name": "search", "args": {"query": "x"}, "id": str(uuid.uuid4())}
        return {"messages": [self._say(AIMessage, tool_calls=[call])]}

    def _tool(self, state: Any) -> dict[str, Any]:
        call = state["messages"][-1].tool_calls[0]["id"]
        return {"messages": [self._say(ToolMessage, tool_call_id=call)]}


def _calls(state: Any) -> bool:
    return bool(state["messages"][-1].tool_calls)
