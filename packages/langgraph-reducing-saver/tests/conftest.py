"""The five inner savers, and a conversation played on one of them."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agentstate_reducer import MessageReducer, ReducerConfig
from langgraph_reducing_saver import ReducingSaver

SAVERS = ("memory-sync", "memory-async", "sqlite-sync", "sqlite-async", "pg-sync", "pg-async")
DURABILITIES = ("sync", "async", "exit")


@pytest.fixture(scope="session")
def shared_postgresql(postgresql_server: str) -> str:
    """A PostgreSQL database with the saver's tables, for tests that use threads of their own."""
    name = f"shared_{uuid.uuid4().hex}"
    with psycopg.connect(f"{postgresql_server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    with PostgresSaver.from_conn_string(f"{postgresql_server}/{name}") as saver:
        saver.setup()
    return f"{postgresql_server}/{name}"


@dataclass
class Inner:
    """A saver, and the face of it that works."""

    saver: Any
    is_async: bool


@pytest.fixture(params=SAVERS)
async def inner(request: pytest.FixtureRequest) -> AsyncIterator[Inner]:
    """Each of LangGraph's savers, through each face it has."""
    kind, face = request.param.split("-")
    async with contextlib.AsyncExitStack() as stack:
        saver: Any
        if kind == "memory":
            saver = InMemorySaver()
        elif kind == "sqlite" and face == "sync":
            saver = stack.enter_context(SqliteSaver.from_conn_string(":memory:"))
        elif kind == "sqlite":
            opened = AsyncSqliteSaver.from_conn_string(":memory:")
            saver = await stack.enter_async_context(opened)
        else:
            url = request.getfixturevalue("shared_postgresql")
            if face == "sync":
                saver = stack.enter_context(PostgresSaver.from_conn_string(url))
            else:
                opened = AsyncPostgresSaver.from_conn_string(url)
                saver = await stack.enter_async_context(opened)
        yield Inner(saver, face == "async")


@pytest.fixture(params=DURABILITIES)
def durability(request: pytest.FixtureRequest) -> str:
    """When LangGraph stores checkpoints."""
    durability: str = request.param
    return durability


@dataclass
class Memory:
    """A reducer that keeps `keep` of more than `limit`, and what its hook was handed."""

    batches: list[tuple[Any, list[Any], list[Any]]] = field(default_factory=list)

    def reducer(self, keep: int = 4, limit: int = 6, **settings: Any) -> MessageReducer:
        """Return a reducer that hands over to this memory."""
        return MessageReducer(
            config=ReducerConfig(
                min_messages=keep, max_messages=limit, on_prune=[self.remember], **settings
            )
        )

    def remember(self, pruned: Any, namespace: Any) -> None:
        """The hook."""
        self.batches.append((namespace, list(pruned), list(pruned.keys)))

    @property
    def messages(self) -> list[Any]:
        """Every message that was handed over, in order."""
        return [message for _, batch, _ in self.batches for message in batch]

    @property
    def texts(self) -> list[str]:
        """What they say."""
        return [m["content"] if isinstance(m, dict) else m.content for m in self.messages]

    @property
    def ids(self) -> list[str]:
        """Their ids."""
        return [message.id for message in self.messages]

    @property
    def namespaces(self) -> list[Any]:
        """The namespaces of the batches."""
        return [namespace for namespace, _, _ in self.batches]


@pytest.fixture
def memory() -> Memory:
    """An empty memory."""
    return Memory()


@dataclass
class Chat:
    """A graph on a thread of its own, played through one face."""

    graph: Any
    is_async: bool
    durability: str | None
    config: dict[str, Any]

    async def invoke(self, given: Any, config: Any = None, **configurable: Any) -> Any:
        """Run the graph."""
        config = self._config(config, configurable)
        return await self._call("invoke", given, config, durability=self.durability)

    async def state(self, config: Any = None) -> Any:
        """Return the latest state, or that of a config."""
        return await self._call("get_state", config or self.config)

    async def stored(self, key: str = "messages") -> Any:
        """Return the stored list."""
        return (await self.state()).values[key]

    async def update(self, values: Any, config: Any = None, **more: Any) -> Any:
        """Change the state from outside."""
        return await self._call("update_state", config or self.config, values, **more)

    async def history(self) -> list[Any]:
        """Return all states, newest first."""
        if self.is_async:
            return [state async for state in self.graph.aget_state_history(self.config)]
        return await asyncio.to_thread(lambda: list(self.graph.get_state_history(self.config)))

    async def saved(self) -> Any:
        """Return the latest checkpoint as the wrapper reads it."""
        saver = self.graph.checkpointer
        if self.is_async:
            return await saver.aget_tuple(self.config)
        return await asyncio.to_thread(saver.get_tuple, self.config)

    def _config(self, config: Any, configurable: dict[str, Any]) -> dict[str, Any]:
        config = config or self.config
        return {**config, "configurable": {**config["configurable"], **configurable}}

    async def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if self.is_async:
            return await getattr(self.graph, f"a{name}")(*args, **kwargs)
        return await asyncio.to_thread(getattr(self.graph, name), *args, **kwargs)


@pytest.fixture
def chat(inner: Inner, durability: str) -> Callable[..., Chat]:
    """Compile a graph over each saver, through each face, in each durability."""

    def start(
        compiles: Callable[[Any], Any],
        reducer: MessageReducer,
        *,
        interrupts: bool = False,
        **options: Any,
    ) -> Chat:
        saver = ReducingSaver(inner.saver, reducer, **options)
        config = {"configurable": {"thread_id": uuid.uuid4().hex}}
        # LangGraph's interrupt() needs Python 3.11 under ainvoke; an async saver can be
        # called from another thread.
        is_async = inner.is_async and not (interrupts and sys.version_info < (3, 11))
        return Chat(compiles(saver), is_async, durability, config)

    return start


@pytest.fixture
def talk() -> Callable[[int], list[Any]]:
    """A conversation of so many messages with the ids m0, m1, ..."""
    return lambda count: [
        HumanMessage(f"h{i}", id=f"m{i}") if i % 2 == 0 else AIMessage(f"a{i}", id=f"m{i}")
        for i in range(count)
    ]
