"""LangMem extracts memories from what leaves a LangGraph thread, off the request path.

The reducer says when: a message is handed over as it leaves the window. LangMem says what: its
manager extracts memories from it and consolidates them with those the store has.

    pip install langgraph-reducing-saver langgraph langmem
    python examples/langmem_pairing.py
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langmem import create_memory_store_manager

from agentstate_reducer import Background, MessageReducer, ReducerConfig
from langgraph_reducing_saver import ReducingSaver

DIMENSIONS = 64


class ScriptedExtractor(BaseChatModel):
    """Stands in for the chat model of LangMem: it remembers each "I like ..." it is shown."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Any:
        """Need no tools: the script knows LangMem's."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        liked = sorted(set(re.findall(r"I like (\w+)", messages[-1].text)))
        calls = [
            {"name": "Memory", "args": {"content": f"likes {what}"}, "id": f"like-{what}"}
            for what in liked
        ]
        reply = AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Embed words by their hashes: deterministic, local, and good enough to find a word again."""
    vectors = []
    for text in texts:
        vector = [0.0] * DIMENSIONS
        for word in re.findall(r"\w+", text.lower()):
            vector[hashlib.blake2b(word.encode(), digest_size=1).digest()[0] % DIMENSIONS] += 1.0
        vectors.append(vector)
    return vectors


def open_store() -> InMemoryStore:
    """A store with an index: LangMem never passes one itself, and searches by text."""
    return InMemoryStore(index={"dims": DIMENSIONS, "embed": embed, "fields": ["content"]})


def remember_with_langmem(store: BaseStore, model: BaseChatModel) -> Callable[..., None]:
    """Return a hook that extracts memories into the namespace it is given."""
    manager = create_memory_store_manager(model, namespace=("memories", "{user_id}"), store=store)

    def remember(pruned: list[Any], namespace: tuple[str, ...]) -> None:
        manager.invoke({"messages": pruned}, config={"configurable": {"user_id": namespace[-1]}})

    return remember


class State(TypedDict):
    """The messages of the conversation."""

    messages: Annotated[list[Any], add_messages]


def build_graph(background: Background) -> Any:
    """A graph of one step; use your own model and nodes."""
    config = ReducerConfig(min_messages=2, max_messages=4, on_prune=[background])
    builder = StateGraph(State)
    builder.add_node("answer", lambda _: {"messages": [AIMessage("Noted.")]})
    builder.add_edge(START, "answer")
    return builder.compile(
        checkpointer=ReducingSaver(InMemorySaver(), MessageReducer(config=config))
    )


def main() -> None:
    """Two users tell what they like; print what is remembered of each."""
    store = open_store()
    background = Background(remember_with_langmem(store, ScriptedExtractor()))
    graph = build_graph(background)
    for user, likes in (("alice", ["rice", "tea", "cats"]), ("bob", ["jazz", "rain", "maps"])):
        for what in [*likes, "talking", "silence"]:
            graph.invoke(
                {"messages": [HumanMessage(f"I like {what}.")]},
                {"configurable": {"thread_id": user, "memory_namespace": ("memories", user)}},
            )
    background.close()
    for user in ("alice", "bob"):
        found = store.search(("memories", user), limit=100)
        print(user, sorted(item.value["content"]["content"] for item in found))


if __name__ == "__main__":
    main()
