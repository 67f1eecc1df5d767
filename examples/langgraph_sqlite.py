"""A LangGraph agent whose threads stay bounded in SQLite, with a memory for each user.

Run it twice: the second run goes on where the first one stopped.

    python examples/langgraph_sqlite.py
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.sqlite import SqliteStore

from agentstate_reducer import MessageReducer, ReducerConfig, RememberFn, store_hook
from langgraph_reducing_saver import ReducingSaver


class ScriptedModel(BaseChatModel):
    """Stands in for a chat model, so that the example needs no network: replace it with yours."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        """Need no tools: the script knows the one there is."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        turn = sum(isinstance(message, HumanMessage) for message in messages)
        last = messages[-1]
        if isinstance(last, HumanMessage) and "weather" in last.text:
            call = {"name": "weather", "args": {"city": "Kyoto"}, "id": f"call-{last.id}"}
            reply = AIMessage("", tool_calls=[call])
        else:
            reply = AIMessage(f"Noted. I can see {turn} of your messages.")
        return ChatResult(generations=[ChatGeneration(message=reply)])


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"In {city} it is clear, 21 degrees, with a light wind from the west."


def open_store(path: Path) -> SqliteStore:
    """The long-term memory of every user, in a file."""
    store = SqliteStore(sqlite3.connect(path, check_same_thread=False, isolation_level=None))
    store.setup()
    return store


def open_saver(path: Path, remember: RememberFn) -> BaseCheckpointSaver[str]:
    """Threads in a file, each kept between 10 and 20 messages; what leaves goes to `remember`."""
    reducer = MessageReducer(
        config=ReducerConfig(min_messages=10, max_messages=20, on_prune=[remember])
    )
    inner = SqliteSaver(sqlite3.connect(path, check_same_thread=False))
    return ReducingSaver(inner, reducer)


def build_agent(saver: BaseCheckpointSaver[str]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """An agent with one tool, over any checkpointer."""
    return create_agent(ScriptedModel(), [weather], system_prompt="Be brief.", checkpointer=saver)


def main() -> None:
    """Talk for twelve turns, then show what is stored where."""
    store = open_store(Path("memories.db"))
    agent = build_agent(open_saver(Path("threads.db"), store_hook(store)))
    config = {
        "configurable": {
            "thread_id": "thread-1",  # short-term: the conversation
            "memory_namespace": ("memories", "alice"),  # long-term: the user
        }
    }
    for turn in range(12):
        asked = f"Turn {turn}: how is the weather?" if turn % 2 else f"Turn {turn}: remember this."
        agent.invoke({"messages": [HumanMessage(asked)]}, config)

    stored = agent.get_state(config).values["messages"]
    remembered = store.search(("memories", "alice"), limit=1000)
    print(f"{len(stored)} messages in the thread, {len(remembered)} in the memory of alice.")


if __name__ == "__main__":
    main()
