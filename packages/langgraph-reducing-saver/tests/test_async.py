"""The event loop is never blocked, async callables run, and a run that fails loses nothing."""

from __future__ import annotations

import asyncio
import functools
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from agentstate_reducer import Background, MessageReducer, ReducerConfig, store_hook
from langgraph_reducing_saver import ReducingSaver

PATIENCE = 20
"""Seconds after which a blocked event loop is told apart from a busy machine."""


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]


def graph(saver: Any, store: Any = None) -> Any:
    builder = StateGraph(State)
    builder.add_node("a", lambda state: {"messages": [AIMessage("a")]})
    builder.add_edge(START, "a")
    return builder.compile(checkpointer=saver, store=store)


def config(user: str = "ada") -> Any:
    return {"configurable": {"thread_id": uuid.uuid4().hex, "memory_namespace": ("mem", user)}}


def human(count: int) -> Any:
    return {"messages": [HumanMessage(str(i), id=str(i)) for i in range(count)]}


async def until(event: threading.Event) -> None:
    """Keep the loop busy until another thread has set the event."""
    while not event.is_set():  # noqa: ASYNC110 - that thread knows no loop
        await asyncio.sleep(0)


SLOW: dict[str, Any] = {
    "a hook": lambda wait: {"on_prune": [lambda pruned, namespace: wait()]},
    "a summary": lambda wait: {"summarize_fn": lambda pruned: wait() or "summary"},
    "a token counter": lambda wait: {"max_tokens": 5, "token_counter": lambda m: wait() or 1},
    "a rule of what to keep": lambda wait: {"keep": lambda message: bool(wait())},
    "an observer": lambda wait: {"on_reduce": lambda event: wait()},
}


@pytest.mark.parametrize("what", SLOW)
async def test_the_event_loop_goes_on_while_a_callable_blocks(what: str) -> None:
    """The loop itself has to open the gate that the callable waits for."""
    gate, entered, passed = threading.Event(), threading.Event(), []

    def wait() -> None:
        entered.set()
        passed.append(gate.wait(PATIENCE))

    async def heart() -> None:
        await until(entered)
        gate.set()

    settings: Any = {"min_messages": 2, "max_messages": 3, **SLOW[what](wait)}
    saver = ReducingSaver(InMemorySaver(), MessageReducer(config=ReducerConfig(**settings)))
    beat = asyncio.create_task(heart())
    await graph(saver).ainvoke(human(8), config())
    await beat
    assert passed
    assert all(passed)


async def test_the_event_loop_goes_on_while_the_inner_saver_waits() -> None:
    """Each async method awaits the inner saver's async method; no sync one is called."""
    gate = asyncio.Event()

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a sync method was called on the event loop")

    class Slow(InMemorySaver):
        put = put_writes = get_tuple = list = delete_thread = refuse  # type: ignore[assignment]

        async def aput(self, *args: Any, **kwargs: Any) -> Any:
            await gate.wait()
            return InMemorySaver.put(self, *args, **kwargs)

        async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
            await gate.wait()
            InMemorySaver.put_writes(self, *args, **kwargs)

        async def aget_tuple(self, config: Any) -> Any:
            return InMemorySaver.get_tuple(self, config)

        async def alist(self, config: Any, **kwargs: Any) -> Any:
            for saved in InMemorySaver.list(self, config, **kwargs):
                yield saved

        async def adelete_thread(self, thread_id: str) -> None:
            InMemorySaver.delete_thread(self, thread_id)

    saver, where = ReducingSaver(Slow(), MessageReducer(2, 3)), config()
    run = asyncio.create_task(graph(saver).ainvoke(human(8), where))
    await asyncio.sleep(0)
    gate.set()
    await run
    assert [saved async for saved in saver.alist(where)]
    await saver.adelete_thread(where["configurable"]["thread_id"])
    assert await saver.aget_tuple(where) is None


async def test_with_nothing_to_call_no_thread_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reducing itself is fast, and a hop for each put would not be."""

    async def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("left the thread of the event loop")

    saver, where = ReducingSaver(InMemorySaver(), MessageReducer(2, 3)), config()
    await graph(saver).ainvoke(human(8), where)
    monkeypatch.setattr(asyncio, "to_thread", refuse)
    saved = await saver.aget_tuple(where)
    assert saved is not None
    await saver.aput(saved.config, saved.checkpoint, {}, {})


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("hook", ["awaited", "in a thread", "behind Background"])
async def test_hooks_write_to_async_stores(kind: str, hook: str, shared_postgresql: str) -> None:
    """Such a store refuses to be called on the event loop and has to be awaited, or left."""
    url = shared_postgresql if kind == "postgresql" else ":memory:"
    savers: Any = {"sqlite": AsyncSqliteSaver, "postgresql": AsyncPostgresSaver}
    stores: Any = {"sqlite": AsyncSqliteStore, "postgresql": AsyncPostgresStore}
    async with (
        savers[kind].from_conn_string(url) as inner,
        stores[kind].from_conn_string(url) as store,
    ):
        await store.setup()

        def put(pruned: Any, namespace: Any) -> None:
            for message, key in zip(pruned, pruned.keys, strict=True):
                store.put(namespace, key, {"content": message.content})

        hooks: dict[str, Any] = {
            "awaited": store_hook(store),
            "in a thread": put,
            "behind Background": Background(put),
        }
        reducer = MessageReducer(
            config=ReducerConfig(min_messages=4, max_messages=6, on_prune=[hooks[hook]])
        )
        where = config(uuid.uuid4().hex)
        bounded = graph(ReducingSaver(inner, reducer), store)
        for turn in range(8):
            await bounded.ainvoke({"messages": [HumanMessage(f"u{turn}")]}, where)
        if hook == "behind Background":
            assert await asyncio.to_thread(hooks[hook].flush, PATIENCE)
        stored = (await bounded.aget_state(where)).values["messages"]
        kept = await store.asearch(where["configurable"]["memory_namespace"], limit=100)
        assert len(kept) + len(stored) == 16
        assert not {item.key for item in kept} & {message.id for message in stored}


class Remembering:
    """An object with an async `__call__`."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    async def __call__(self, pruned: Any, namespace: Any) -> None:
        await asyncio.sleep(0)
        self.ids += pruned.keys

    async def named(self, pruned: Any, namespace: Any, *, why: str = "") -> None:
        await self(pruned, namespace)


@pytest.mark.parametrize("kind", ["object", "method", "partial"])
async def test_an_async_hook_runs_or_is_refused(kind: str) -> None:
    """It is awaited under `ainvoke`; a blocking run says what to do, at its first put."""
    remember = Remembering()
    hook = {
        "object": remember,
        "method": remember.named,
        "partial": functools.partial(remember.named, why="x"),
    }[kind]
    reducer = MessageReducer(config=ReducerConfig(min_messages=2, max_messages=3, on_prune=[hook]))
    bounded = graph(ReducingSaver(InMemorySaver(), reducer))
    await bounded.ainvoke(human(8), config())
    assert remember.ids == ["1", "2", "3", "4", "5", "6"]
    with pytest.raises(TypeError, match="async"):
        await asyncio.to_thread(bounded.invoke, human(1), config())


async def test_hooks_see_the_context_of_the_call(inner: Any, chat: Any) -> None:
    """Whoever keeps the user of a request in a context variable finds it there."""
    user: ContextVar[str] = ContextVar("user", default="nobody")
    seen: set[str] = set()
    for hook in (lambda *_: seen.add(user.get()), Background(lambda *_: seen.add(user.get()))):
        config = ReducerConfig(min_messages=2, max_messages=3, on_prune=[hook])
        thread = chat(graph, MessageReducer(config=config))
        user.set("ada")
        await thread.invoke(human(8))
        if isinstance(hook, Background):
            assert await asyncio.to_thread(hook.flush, PATIENCE)
    assert seen == {"ada"}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_a_sync_run_in_a_worker_thread_works_over_an_async_saver(
    kind: str, shared_postgresql: str
) -> None:
    """Those savers bridge to their loop, which our wrapper must not hold up."""
    savers: Any = {"sqlite": AsyncSqliteSaver, "postgresql": AsyncPostgresSaver}
    url = shared_postgresql if kind == "postgresql" else ":memory:"
    async with savers[kind].from_conn_string(url) as inner:
        bounded, where = graph(ReducingSaver(inner, MessageReducer(2, 3))), config()
        for _ in range(4):
            await asyncio.to_thread(bounded.invoke, human(2), where)
        assert len((await bounded.aget_state(where)).values["messages"]) == 3


async def test_one_wrapper_serves_two_event_loops() -> None:
    """One after the other, as in scripts and tests; nothing is attached to the first."""
    bounded = graph(ReducingSaver(InMemorySaver(), MessageReducer(2, 3)))
    for _ in range(2):
        await asyncio.to_thread(lambda: asyncio.run(bounded.ainvoke(human(8), config())))


async def test_a_sync_saver_stays_sync(shared_postgresql: str) -> None:
    """What the inner saver cannot do under `ainvoke`, the wrapper cannot do either."""
    with (
        PostgresSaver.from_conn_string(shared_postgresql) as postgresql,
        SqliteSaver.from_conn_string(":memory:") as sqlite,
    ):
        for inner in (postgresql, sqlite):
            with pytest.raises(NotImplementedError):
                await graph(ReducingSaver(inner, MessageReducer(2, 3))).ainvoke(human(1), config())


async def test_forty_conversations_at_once(inner: Any, memory: Any) -> None:
    """One wrapper and one reducer; each message arrives once, under its own namespace."""
    bounded = graph(ReducingSaver(inner.saver, memory.reducer()))

    def ids(user: int, turn: int) -> Any:
        return {"messages": [HumanMessage(f"{user}-{turn}", id=f"{user}-{turn}")]}

    async def play(user: int) -> int:
        where = config(str(user))
        for turn in range(5):
            await bounded.ainvoke(ids(user, turn), where)
        return len((await bounded.aget_state(where)).values["messages"])

    def play_sync(user: int) -> int:
        where = config(str(user))
        for turn in range(5):
            bounded.invoke(ids(user, turn), where)
        return len(bounded.get_state(where).values["messages"])

    if inner.is_async:
        lengths = await asyncio.gather(*map(play, range(40)))
    else:
        with ThreadPoolExecutor(16) as pool:
            lengths = await asyncio.to_thread(lambda: list(pool.map(play_sync, range(40))))
    assert set(lengths) == {5}
    assert len(memory.ids) == len(set(memory.ids)) == 40 * 5
    for namespace, batch, _ in memory.batches:
        assert {m.id.split("-")[0] for m in batch if m.type == "human"} <= {namespace[1]}


async def test_a_run_cancelled_in_a_hook_loses_nothing() -> None:
    """What the hook was about to take, it has taken or gets again."""
    entered, gate, handed = threading.Event(), threading.Event(), []

    def hook(pruned: Any, namespace: Any) -> None:
        entered.set()
        assert gate.wait(PATIENCE)
        handed.extend(pruned.keys)

    reducer = MessageReducer(config=ReducerConfig(min_messages=2, max_messages=3, on_prune=[hook]))
    bounded, where = graph(ReducingSaver(InMemorySaver(), reducer)), config()
    run = asyncio.create_task(bounded.ainvoke(human(6), where))
    await until(entered)
    run.cancel()
    asyncio.get_running_loop().call_soon(gate.set)
    with pytest.raises(asyncio.CancelledError):
        await run
    await bounded.ainvoke({"messages": [HumanMessage("x", id="x")]}, where)
    stored = [message.id for message in (await bounded.aget_state(where)).values["messages"]]
    assert {*handed, *stored} >= {"0", "1", "2", "3", "4", "5", "x"}


async def test_a_failing_put_comes_after_the_hand_over_and_a_retry_hands_over_nothing(
    inner: Any, memory: Any, chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can be lost between the two, and this process knows what it delivered."""
    thread = chat(graph, memory.reducer(2, 3))
    name = "aput" if inner.is_async else "put"

    def down(*args: Any) -> Any:
        raise ConnectionError("throttled")

    with monkeypatch.context() as patch:
        patch.setattr(inner.saver, name, down)
        with pytest.raises(ConnectionError):
            await thread.invoke(human(6))
    await thread.invoke(human(6))
    assert [message.id for message in await thread.stored()][:2] == ["0", "5"]
    assert memory.ids[:4] == ["1", "2", "3", "4"]
    assert len(set(memory.ids)) == len(memory.ids)


async def test_encrypted_checkpoints_are_reduced(memory: Any) -> None:
    """The inner saver's serializer is the only one there is."""
    inner = InMemorySaver(serde=EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef"))
    bounded, where = graph(ReducingSaver(inner, memory.reducer())), config()
    for turn in range(5):
        await bounded.ainvoke({"messages": [HumanMessage(f"u{turn}")]}, where)
    assert len((await bounded.aget_state(where)).values["messages"]) == 5
    kinds = {kind for kind, _ in inner.blobs.values()}
    assert "msgpack+aes" in kinds
    assert all(kind.endswith("+aes") for kind in kinds - {"empty"})
