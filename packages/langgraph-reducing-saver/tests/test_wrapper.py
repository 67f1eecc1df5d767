"""The wrapper itself: what it forwards, refuses, copies and looks like."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import os
import pickle
import subprocess
import sys
import textwrap
import uuid
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import StateGraph
from langgraph.graph.message import add_messages

from agentstate_reducer import MessageReducer, ReducerConfig
from langgraph_reducing_saver import ReducingSaver

BASE_NAMES = [name for name in dir(BaseCheckpointSaver) if not name.startswith("_")]
CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]


def wrapped(inner: Any = None, **options: Any) -> ReducingSaver:
    return ReducingSaver(inner or InMemorySaver(), MessageReducer(2, 4), **options)


@pytest.mark.parametrize("name", BASE_NAMES)
def test_every_name_of_the_base_class_is_forwarded(name: str) -> None:
    """What LangGraph adds to its base class has to be forwarded by name."""
    assert name in vars(ReducingSaver)


@pytest.mark.parametrize("name", BASE_NAMES)
def test_signatures_are_those_of_the_base_class(name: str) -> None:
    """LangGraph calls by position and by name, and inspects `put_writes`."""
    ours, theirs = getattr(ReducingSaver, name), getattr(BaseCheckpointSaver, name)
    if callable(theirs) and name != "serde":
        assert parameters(ours) == parameters(theirs)


def parameters(method: Any) -> Any:
    """Names, kinds and defaults, without annotations."""
    found = inspect.signature(method).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in found]


class Recorder(BaseCheckpointSaver[Any]):
    """Notes which method was called, with what."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Any] = []

    @property
    def config_specs(self) -> list[Any]:
        return ["a spec"]

    def __reduce__(self) -> Any:
        return Recorder, ()


def _recording(name: str) -> Any:
    is_async = inspect.iscoroutinefunction(getattr(BaseCheckpointSaver, name))

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.calls.append((name, args, kwargs))
        return name

    async def acall(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(self, *args, **kwargs)

    return acall if is_async else call


FORWARDED: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "get": ([CONFIG], {}),
    "delete_thread": (["t"], {}),
    "delete_for_runs": ([["r"]], {}),
    "copy_thread": (["a", "b"], {}),
    "prune": ([["t"]], {"strategy": "delete"}),
    "get_delta_channel_history": ([], {"config": CONFIG, "channels": ["c"]}),
    "get_next_version": (["1.5", None], {}),
}
for _name in FORWARDED:
    for _method in (_name, f"a{_name}"):
        if hasattr(BaseCheckpointSaver, _method):
            setattr(Recorder, _method, _recording(_method))


@pytest.mark.parametrize("name", FORWARDED)
async def test_what_is_called_reaches_the_inner_saver_as_it_came(name: str) -> None:
    """Both faces of every method that is none of the wrapper's business, and what they answer."""
    args, kwargs = FORWARDED[name]
    inner = Recorder()
    saver = wrapped(inner)
    assert getattr(saver, name)(*args, **kwargs) in (None, name)
    expected = [(name, tuple(args), kwargs)]
    if hasattr(saver, f"a{name}"):
        assert await getattr(saver, f"a{name}")(*args, **kwargs) in (None, f"a{name}")
        expected.append((f"a{name}", tuple(args), kwargs))
    assert inner.calls == expected
    assert saver.config_specs == ["a spec"]


def test_what_the_inner_class_lacks_is_left_to_the_base_class() -> None:
    """The platform and the conformance kit read capabilities off the class."""
    for inner in (InMemorySaver, PostgresSaver, SqliteSaver):
        saver = type(wrapped(inner() if inner is InMemorySaver else inner.__new__(inner)))
        for name in set(BASE_NAMES) - {"config_specs", "serde", "with_allowlist"}:
            lacking = getattr(inner, name) is getattr(BaseCheckpointSaver, name)
            assert (getattr(saver, name) is getattr(BaseCheckpointSaver, name)) == lacking, name
        assert issubclass(saver, ReducingSaver)
        assert saver.__name__ == "ReducingSaver"


def test_a_subclass_keeps_its_own_methods() -> None:
    """What a subclass adds is not taken for a capability the inner saver lacks."""

    class Mine(ReducingSaver):
        def prune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
            raise LookupError

    saver = Mine(InMemorySaver(), MessageReducer())
    assert isinstance(saver, Mine)
    with pytest.raises(LookupError):
        saver.prune(["t"])
    assert type(copy.copy(saver)).prune is Mine.prune


async def test_put_writes_has_a_task_path_and_forwards_it_where_it_is_taken() -> None:
    """The order of writes depends on it; older savers do not know it."""
    calls = []

    class Old(InMemorySaver):
        def put_writes(self, config: Any, writes: Any, task_id: str) -> None:  # type: ignore[override]
            calls.append("old")

        async def aput_writes(self, config: Any, writes: Any, task_id: str) -> None:  # type: ignore[override]
            calls.append("old")

    class New(InMemorySaver):
        def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
            calls.append(task_path)

    for inner in (Old(), New()):
        saver = wrapped(inner)
        assert "task_path" in inspect.signature(saver.put_writes).parameters
        saver.put_writes(CONFIG, [("c", 1)], "task", "~path")
        await saver.aput_writes(CONFIG, [("c", 1)], "task", task_path="~path")
    assert calls == ["old", "old", "~path", "~path"]


def test_versions_are_made_by_the_inner_saver(inner: Any) -> None:
    """A thread that exists goes on with its own kind of versions."""
    version = wrapped(inner.saver).get_next_version(None, None)
    assert type(version) is type(inner.saver.get_next_version(None, None))
    assert wrapped(inner.saver).get_next_version(version, None) > version


async def test_a_thread_that_exists_can_be_wrapped(inner: Any, chat: Any, memory: Any) -> None:
    """An existing conversation is reduced at its next put, and nothing of it is lost."""
    builder = StateGraph(State).add_node("a", lambda state: {})
    builder.set_entry_point("a")
    plain = chat(lambda _: builder.compile(checkpointer=inner.saver), memory.reducer())
    sent = [HumanMessage(str(i), id=str(i)) for i in range(10)]
    await plain.invoke({"messages": sent})
    plain.graph = builder.compile(checkpointer=ReducingSaver(inner.saver, memory.reducer()))
    await plain.invoke({"messages": [HumanMessage("next", id="next")]})
    stored = [message.id for message in await plain.stored()]
    assert stored == ["0", "7", "8", "9", "next"]
    assert memory.ids == ["1", "2", "3", "4", "5", "6"]


def test_attributes_of_the_inner_saver_are_reachable() -> None:
    """`setup`, `conn` and whatever else it has."""
    with SqliteSaver.from_conn_string(":memory:") as inner:
        saver = wrapped(inner)
        saver.setup()
        assert saver.conn is inner.conn
        assert saver.serde is inner.serde
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = saver.nothing_such


def test_a_copy_shares_the_inner_saver_and_a_pickle_does_not() -> None:
    """Copying and pickling neither recurse nor lose the class."""
    saver = wrapped(Recorder())
    twin = copy.copy(saver)
    assert twin.inner is saver.inner
    assert twin._reduction is saver._reduction
    for other in (copy.deepcopy(saver), pickle.loads(pickle.dumps(saver))):  # noqa: S301
        assert type(other) is type(saver)
        assert other.inner is not saver.inner
        assert other.reducer is other._reduction.reducer
    twice = ReducingSaver(saver, saver.reducer)
    other = pickle.loads(pickle.dumps(twice))  # noqa: S301
    assert type(other) is type(twice)
    assert other.reducer is other.inner.reducer


def test_an_instance_without_an_inner_saver_has_no_attributes() -> None:
    """What copies and debuggers ask for before it is filled ends in AttributeError."""
    blank = object.__new__(ReducingSaver)
    for name in ("inner", "conn", "__deepcopy__"):
        with pytest.raises(AttributeError):
            getattr(blank, name)


def test_context_managers_enter_the_inner_saver_if_it_is_one() -> None:
    """`with` and `async with` give the wrapper back."""
    entered = []

    class Managed(InMemorySaver):
        def __enter__(self) -> Any:
            entered.append("enter")
            return self

        def __exit__(self, *reason: object) -> None:
            entered.append("exit")

        async def __aenter__(self) -> Any:
            entered.append("aenter")
            return self

        async def __aexit__(self, *reason: object) -> None:
            entered.append("aexit")

    async def both(saver: ReducingSaver) -> None:
        with saver as one:
            assert one is saver
        async with saver as other:
            assert other is saver

    asyncio.run(both(wrapped(Managed())))
    asyncio.run(both(wrapped(Recorder())))
    assert entered == ["enter", "exit", "aenter", "aexit"]


def test_the_inner_saver_may_reduce_already() -> None:
    """The same reducer is applied once; another one, or other channels, are a mistake."""
    reductions: list[Any] = []
    config = ReducerConfig(min_messages=2, max_messages=4, on_reduce=reductions.append)
    reducer = MessageReducer(config=config)
    once = ReducingSaver(InMemorySaver(), reducer)
    twice = ReducingSaver(once, reducer)
    messages = [{"role": "user", "content": str(i), "id": str(i)} for i in range(8)]
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"messages": messages}}
    twice.put(CONFIG, checkpoint, {}, checkpoint["channel_versions"])
    assert len(reductions) == 1
    with pytest.raises(ValueError, match="another reducer"):
        ReducingSaver(once, MessageReducer(2, 4))
    with pytest.raises(ValueError, match="chat"):
        ReducingSaver(once, reducer, messages_key="chat")


def test_misuse_is_refused_with_a_hint() -> None:
    """A saver that was not opened, a store, a class and something that is no reducer."""
    for inner in (InMemorySaver, object(), PostgresSaver.from_conn_string("postgresql://")):
        with pytest.raises(TypeError, match="opened first"):
            ReducingSaver(inner, MessageReducer())  # type: ignore[arg-type]
    for reducer in (None, lambda messages: messages):
        with pytest.raises(TypeError, match="MessageReducer"):
            ReducingSaver(InMemorySaver(), reducer)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="messages_key"):
        wrapped(messages_key=[1])
    for empty in ("", [], ()):
        with pytest.raises(ValueError, match="messages_key"):
            wrapped(messages_key=empty)


@pytest.mark.parametrize(
    "config", [None, {}, {"configurable": None}, {"configurable": {}}, {"thread_id": "t"}]
)
def test_a_put_that_names_no_thread_is_refused_before_any_hook(config: Any, memory: Any) -> None:
    """Nothing is handed over for a checkpoint that no saver can store."""
    saver = ReducingSaver(InMemorySaver(), memory.reducer(1, 2))
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"messages": ["a", "b", "c", "d"]}}
    for put in (saver.put, lambda *args: asyncio.run(saver.aput(*args))):
        with pytest.raises(ValueError, match="thread_id"):
            put(config, checkpoint, {}, {})
    assert memory.batches == []


@pytest.mark.parametrize("more", [{}, {"checkpoint_ns": None}])
async def test_a_put_that_names_no_graph_is_stored_in_the_root(
    more: dict[str, Any], inner: Any, memory: Any
) -> None:
    """Most savers refuse such a config, which must not happen after the hooks were served."""
    saver = ReducingSaver(inner.saver, memory.reducer(1, 2))
    config: Any = {"configurable": {"thread_id": uuid.uuid4().hex, **more}}
    given = copy.deepcopy(config)
    messages = [HumanMessage(str(i), id=str(i)) for i in range(4)]
    checkpoint: Any = {
        **empty_checkpoint(),
        "channel_values": {"messages": messages},
        "channel_versions": {"messages": 1},
    }
    put = saver.aput if inner.is_async else functools.partial(asyncio.to_thread, saver.put)
    stored = await put(config, checkpoint, {}, {"messages": 1})
    assert stored["configurable"]["checkpoint_ns"] == ""
    assert memory.ids == ["1", "2"]
    assert config == given


async def test_a_thread_that_prune_deletes_leaves_its_namespace_to_nobody(memory: Any) -> None:
    """Whoever starts a thread of that name does not write into another user's memory."""

    class Pruning(InMemorySaver):
        def prune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None: ...

        async def aprune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None: ...

    saver = ReducingSaver(Pruning(), memory.reducer(1, 2, dedupe_on_prune=False))

    def put(**more: Any) -> None:
        messages = [HumanMessage(str(i), id=str(i)) for i in range(4)]
        checkpoint: Any = {**empty_checkpoint(), "channel_values": {"messages": messages}}
        saver.put({"configurable": {**CONFIG["configurable"], **more}}, checkpoint, {}, {})

    for strategy in ("keep_latest", "delete"):
        put(memory_namespace=(strategy,))
        saver.prune(["t"], strategy=strategy)
        put()
        put(memory_namespace=(strategy, "again"))
        await saver.aprune(["t"], strategy=strategy)
        put()
    kept = [("keep_latest",), ("keep_latest", "again")]
    gone = [("delete",), ("delete", "again")]
    assert memory.namespaces[:4] == [kept[0], kept[0], kept[1], kept[1]]
    assert memory.namespaces[4:] == [gone[0], ("memories", "t"), gone[1], ("memories", "t")]


def test_strict_msgpack_restores_the_types_of_the_state() -> None:
    """The allowlist of a graph reaches a clone of the inner saver and leaves that one alone."""
    script = """
        from typing import Annotated, TypedDict
        from agentstate_reducer import MessageReducer, ReducerConfig
        from langchain_core.messages import HumanMessage
        from langgraph.checkpoint.memory import InMemorySaver
        from langgraph.graph import StateGraph
        from langgraph.graph.message import add_messages
        from langgraph_reducing_saver import ReducingSaver
        from pydantic import BaseModel

        class Doc(BaseModel):
            a: int

        class State(TypedDict):
            messages: Annotated[list, add_messages]
            doc: Doc

        inner = InMemorySaver()
        before = inner.serde
        builder = StateGraph(State).add_node("a", lambda state: {"doc": Doc(a=1)})
        builder.set_entry_point("a")
        graph = builder.compile(checkpointer=ReducingSaver(inner, MessageReducer(2, 3)))
        config = {"configurable": {"thread_id": "t"}}
        for i in range(3):
            graph.invoke({"messages": [HumanMessage(str(n)) for n in range(3)]}, config)
        values = graph.get_state(config).values
        assert type(values["doc"]) is Doc, values
        assert len(values["messages"]) == 3
        assert inner.serde is before
        plain = inner.get_tuple(config).checkpoint["channel_values"]["doc"]
        assert type(plain) is dict, plain
    """
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        env={**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true"},
        check=True,
    )


def test_without_anything_to_allow_the_wrapper_is_its_own_clone() -> None:
    """As in the base class."""
    saver = wrapped()
    assert saver.with_allowlist([]) is saver
