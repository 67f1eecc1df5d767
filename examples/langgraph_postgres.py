"""A LangGraph agent on PostgreSQL: bounded threads, and a memory for each user, in one database.

Run it twice: the second run goes on where the first one stopped.

    pip install langgraph-reducing-saver langgraph langgraph-checkpoint-postgres "psycopg[binary]"
    python examples/langgraph_postgres.py postgresql://user:password@localhost:5432/agents
"""

from __future__ import annotations

import sys
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.postgres import PostgresStore

from agentstate_reducer import MessageReducer, ReducerConfig, store_hook
from langgraph_reducing_saver import ReducingSaver


class State(TypedDict):
    """The messages of the conversation."""

    messages: Annotated[list[Any], add_messages]


def answer(state: State) -> dict[str, Any]:
    """Stand in for a model, so that the example needs no network: call yours here."""
    return {"messages": [AIMessage(f"I can see {len(state['messages'])} messages.")]}


def build_graph(saver: BaseCheckpointSaver[Any]) -> Any:
    """A graph of one step; use your own nodes."""
    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


def main(url: str) -> None:
    """Talk for fifteen turns as two users, then show what is stored where."""
    with PostgresSaver.from_conn_string(url) as inner, PostgresStore.from_conn_string(url) as store:
        inner.setup()
        store.setup()
        config = ReducerConfig(min_messages=10, max_messages=20, on_prune=[store_hook(store)])
        graph = build_graph(ReducingSaver(inner, MessageReducer(config=config)))
        for user in ("alice", "bob"):
            where: Any = {
                "configurable": {
                    "thread_id": f"{user}-1",  # short-term: the conversation
                    "memory_namespace": ("memories", user),  # long-term: the user
                }
            }
            for turn in range(15):
                graph.invoke({"messages": [HumanMessage(f"{user} says {turn}")]}, where)
            stored = graph.get_state(where).values["messages"]
            remembered = store.search(("memories", user), limit=1000)
            print(f"{user}: {len(stored)} messages in the thread, {len(remembered)} in the memory.")


if __name__ == "__main__":
    main(sys.argv[1])
