"""An assistant on LangGraph: a subgraph looks things up, and a person confirms some answers."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from agentstate_reducer import MessageReducer, ReducerConfig, store_hook

Opener = Callable[[MessageReducer], AbstractAsyncContextManager[Any]]


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]


def ask_for_facts(state: State) -> Any:
    """The model calls a tool; its call ids start anew in every turn, as some models' do."""
    call = {"name": "look_up", "args": {"about": state["messages"][-1].content}, "id": "call_0"}
    return {"messages": [AIMessage("", tool_calls=[call])]}


def look_up(state: State) -> Any:
    """The tool answers."""
    about = state["messages"][-1].tool_calls[0]["args"]["about"]
    return {"messages": [ToolMessage(f"facts on {about}", tool_call_id="call_0")]}


def consent(state: State) -> Any:
    """Some answers wait for a person, while the research goes on and its result has to wait."""
    if "ask me first" in question(state):
        interrupt("may I?")


def answer(state: State) -> Any:
    """The model answers."""
    return {"messages": [AIMessage(f"answer to {question(state)}")]}


def question(state: State) -> str:
    """What the user said last."""
    said = [m.content for m in state["messages"] if isinstance(m, HumanMessage)]
    return str(said[-1])


def assistant() -> Any:
    """The graph; its research is a subgraph that shares the messages, and so returns them all."""
    research = StateGraph(State)
    research.add_node("ask", ask_for_facts)
    research.add_node("look_up", look_up)
    research.add_edge(START, "ask")
    research.add_edge("ask", "look_up")
    graph = StateGraph(State)
    graph.add_node("research", research.compile())
    graph.add_node("consent", consent)
    graph.add_node("answer", answer)
    graph.add_edge(START, "research")
    graph.add_edge(START, "consent")
    graph.add_edge(["research", "consent"], "answer")
    graph.add_edge("answer", END)
    return graph


class LangGraphApp:
    """What the story needs of an application; `store` is the long-term memory, outside of it."""

    def __init__(self, opener: Opener, is_async: bool) -> None:
        self.store = InMemoryStore()
        self.said: dict[str, dict[str, Any]] = {}
        self.handed: Counter[str] = Counter()
        self._opener = opener
        # LangGraph's interrupt() needs Python 3.11 under ainvoke.
        self._is_async = is_async and sys.version_info >= (3, 11)
        self._process = contextlib.AsyncExitStack()
        self._graph: Any = None

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls, opener: Opener, is_async: bool) -> AsyncIterator[LangGraphApp]:
        """An application that has started and will stop."""
        app = cls(opener, is_async)
        await app.restart()
        try:
            yield app
        finally:
            await app._process.aclose()

    async def restart(self) -> None:
        """All that lived in the process is gone; the databases are opened again."""
        await self._process.aclose()
        self.handed.clear()
        hooks = [store_hook(self.store), self._count]
        config = ReducerConfig(min_messages=4, max_messages=8, on_prune=hooks)
        saver = await self._process.enter_async_context(self._opener(MessageReducer(config=config)))
        self._graph = assistant().compile(checkpointer=saver)

    def _count(self, pruned: Any, namespace: Any) -> None:
        self.handed.update(pruned.keys)

    async def say(self, user: str, text: str) -> bool:
        """One turn; true when it waits for consent."""
        return await self._run(user, {"messages": [HumanMessage(text)]})

    async def consent(self, user: str) -> None:
        """The turn that waited goes on."""
        assert not await self._run(user, Command(resume="yes"))

    async def stored(self, user: str) -> dict[str, Any]:
        """What is stored of the conversation, by key."""
        state = await self._call("get_state", self._config(user))
        return {message.id: message.content for message in state.values["messages"]}

    def remembered(self, user: str) -> dict[str, Any]:
        """What the long-term memory holds of a user, by key."""
        found = self.store.search(("memories", user), limit=1000)
        return {item.key: item.value["content"] for item in found}

    def namespaces(self) -> set[tuple[str, ...]]:
        """All namespaces the memory has."""
        return set(self.store.list_namespaces())

    async def _run(self, user: str, given: Any) -> bool:
        seen = await self._call("invoke", given, self._config(user))
        said = self.said.setdefault(user, {})
        said.update({message.id: message.content for message in seen["messages"]})
        return "__interrupt__" in seen

    def _config(self, user: str) -> Any:
        return {
            "configurable": {
                "thread_id": f"thread of {user}",
                "memory_namespace": ("memories", user),
            }
        }

    async def _call(self, name: str, *args: Any) -> Any:
        if self._is_async:
            return await getattr(self._graph, f"a{name}")(*args)
        return await asyncio.to_thread(getattr(self._graph, name), *args)
