"""The ready hooks, and the namespaces they write to."""

from __future__ import annotations

import asyncio
import enum
import pickle
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from agentstate_reducer import (
    Background,
    MessageReducer,
    ReducerConfig,
    crewai_memory_hook,
    scope_from_namespace,
    store_hook,
    store_namespace,
)

LABELS = st.text(alphabet="a%./\0l2EF", min_size=1) | st.sampled_from(["langgraph", "%6Canggraph"])


class Label(str, enum.Enum):
    """A label with a name in the program."""

    ADA = "ada"


def reducer(*hooks: Any) -> MessageReducer:
    """One that keeps the newest message and prunes all others."""
    return MessageReducer(config=ReducerConfig(1, 1, on_prune=list(hooks), preserve_first=False))


def stored(store: InMemoryStore, namespace: tuple[str, ...]) -> dict[str, Any]:
    """What a namespace of a store holds, by key."""
    return {item.key: item.value for item in store.search(namespace, limit=1000)}


@pytest.mark.parametrize(
    ("namespace", "labels"),
    [
        (("memories", "ada"), ("memories", "ada")),
        (["memories", 7, 1.5], ("memories", "7", "1%2E5")),
        ("ada", ("ada",)),
        ("a/b", ("a/b",)),
        ("/flow/42", ("flow", "42")),
        ("/a", ("/a",)),
        (("a.b", "c\0d", "100%"), ("a%2Eb", "c%00d", "100%25")),
        (("langgraph", "langgraph"), ("%6Canggraph", "langgraph")),
        (("%6Canggraph",), ("%256Canggraph",)),
        (("users", Label.ADA), ("users", "ada")),
        (Label.ADA, ("ada",)),
    ],
)
def test_a_namespace_becomes_labels(namespace: Any, labels: tuple[str, ...]) -> None:
    """Tuples, lists, texts and CrewAI paths become what a store accepts."""
    assert store_namespace(namespace) == labels


@pytest.mark.parametrize("convert", [store_namespace, scope_from_namespace])
@pytest.mark.parametrize(
    ("namespace", "text"),
    [
        (None, "namespace is None: a memory needs to know whose it is"),
        ((), "empty label"),
        ("", "empty label"),
        (("a", ""), "empty label"),
        ("/a//b", "empty label"),
        ("//", "empty label"),
        (("a", None), "got NoneType"),
        (("a", True), "got bool"),
        ({"user": 1}, "got dict"),
        ((("a",),), "got tuple"),
    ],
)
def test_what_is_no_namespace_is_refused_with_the_reason(
    convert: Any, namespace: Any, text: str
) -> None:
    """Nothing, an empty label (a root everybody shares) and other types are a ValueError."""
    with pytest.raises(ValueError, match=text):
        convert(namespace)


@given(st.lists(LABELS, min_size=1).map(tuple), st.lists(LABELS, min_size=1).map(tuple))
@example(("a", "b"), ("a.b",))
def test_no_two_tuples_share_labels(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    """The labels are accepted by a store, lead back to the tuple, and differ where tuples do."""
    labels = store_namespace(first)
    InMemoryStore().put(labels, "k", {})
    assert tuple(map(unquote, labels)) == first
    assert (labels == store_namespace(second)) == (first == second)


@given(LABELS, LABELS)
@example("/a", "a")
@example("/a/b", "a/b")
def test_no_two_texts_share_labels(first: str, second: str) -> None:
    """A text and a path never end up in one place, except where they are refused."""

    def labels(text: str) -> Any:
        try:
            return store_namespace(text)
        except ValueError:
            return text, "refused"

    assert (labels(first) == labels(second)) == (first == second)


@pytest.mark.parametrize(
    ("namespace", "scope"),
    [
        (("memories", "ada"), "/memories/ada"),
        (["a/b", "100%", 7], "/a%2Fb/100%25/7"),
        ("/flow/42", "/flow/42"),
        ("user/ada", "/user/ada"),
        ("/user/ada/", "/user/ada"),
        ("ada", "/ada"),
        (("users", Label.ADA), "/users/ada"),
    ],
)
def test_a_namespace_becomes_a_scope(namespace: Any, scope: str) -> None:
    """Labels are joined and escaped; a path stays a path."""
    assert scope_from_namespace(namespace) == scope


@given(st.lists(LABELS, min_size=1).map(tuple))
def test_a_scope_leads_back_to_its_labels(namespace: tuple[str, ...]) -> None:
    """No two tuples share a scope: splitting and unquoting gives the labels."""
    scope = scope_from_namespace(namespace)
    assert tuple(map(unquote, scope[1:].split("/"))) == namespace


def test_what_leaves_arrives_in_the_store_under_its_id() -> None:
    """Role normalised, content as plain text, name and calls where there are any."""
    store = InMemoryStore()
    call = {"name": "f", "args": {"x": 1}, "id": "c1"}
    pruner = reducer(store_hook(store))
    pruner.reduce(
        [
            HumanMessage([{"type": "text", "text": "Hi"}], id="1", name="ada"),
            AIMessage("", id="2", tool_calls=[call]),
            ToolMessage("42", tool_call_id="c1", id="3"),
            {"role": "user", "content": "newest"},
        ],
        namespace=["memories", "ada.l"],
    )
    assert stored(store, ("memories", "ada%2El")) == {
        "1": {"role": "human", "content": "Hi", "name": "ada"},
        "2": {"role": "ai", "content": "", "tool_calls": [{**call}]},
        "3": {"role": "tool", "content": "42"},
    }


def test_calls_are_kept_in_one_shape() -> None:
    """OpenAI dicts and objects give the same id, name and args as LangChain's."""
    store = InMemoryStore()
    function = {"name": "f", "arguments": '{"x": 1}'}
    as_object = SimpleNamespace(id="c", function=SimpleNamespace(**function))
    store_hook(store)(
        [
            {"id": "1", "role": "assistant", "tool_calls": [{"id": "c", "function": function}]},
            {"id": "2", "role": "assistant", "tool_calls": [as_object]},
        ],
        "ada",
    )
    kept = {
        "role": "ai",
        "content": "",
        "tool_calls": [{"id": "c", "name": "f", "args": '{"x": 1}'}],
    }
    assert stored(store, ("ada",)) == {"1": kept, "2": kept}


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (
            {"tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "x"}}]},
            {"id": "c", "name": "f", "args": "x"},
        ),
        (
            {"content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"x": 1}}]},
            {"id": "c", "name": "f", "args": {"x": 1}},
        ),
        (
            {"content": [{"toolUse": {"toolUseId": "c", "name": "f", "input": {"x": 1}}}]},
            {"id": "c", "name": "f", "args": {"x": 1}},
        ),
        (
            {"role": None, "type": "function_call", "call_id": "c", "name": "f", "arguments": "x"},
            {"id": "c", "name": "f", "args": "x"},
        ),
        (
            {"function_call": {"name": "f", "arguments": "x"}},
            {"id": None, "name": "f", "args": "x"},
        ),
        (
            {"invalid_tool_calls": [{"id": "c", "name": "f", "args": "{", "error": "no JSON"}]},
            {"id": "c", "name": "f", "args": "{"},
        ),
        (
            {
                "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}],
                "tool_calls": [{"id": "c", "name": "f", "args": {"x": 1}}],
            },
            {"id": "c", "name": "f", "args": {"x": 1}},
        ),
    ],
)
def test_calls_are_kept_wherever_a_message_holds_them(
    message: dict[str, Any], call: dict[str, Any]
) -> None:
    """Beside the content, in it, or as the message itself; named twice, they are one."""
    store = InMemoryStore()
    store_hook(store)([{"id": "1", "role": "assistant", **message}], "ada")
    assert stored(store, ("ada",))["1"]["tool_calls"] == [call]


def test_a_repeated_message_overwrites_itself() -> None:
    """With id or without, the same message under the same namespace is one entry."""
    store = InMemoryStore()
    messages = [{"id": 7, "role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    for _ in range(2):
        store_hook(store)(list(messages), "ada")
    assert sorted(v["content"] for v in stored(store, ("ada",)).values()) == ["a", "b"]
    assert "7" in stored(store, ("ada",))


def test_render_replaces_the_value_and_none_skips() -> None:
    """What to keep of a message, and whether, is up to render."""
    store = InMemoryStore()
    hook = store_hook(store, render=lambda m: {"said": m["content"]} if m["content"] else None)
    hook([{"id": "1", "content": "x"}, {"id": "2", "content": ""}], "ada")
    assert stored(store, ("ada",)) == {"1": {"said": "x"}}


def test_a_refused_namespace_is_explained_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A reduction without a namespace goes on, and the log says why nothing was stored."""
    chat = [{"id": str(n), "role": "user", "content": "secret"} for n in range(3)]
    assert len(reducer(store_hook(InMemoryStore())).reduce(chat).pruned) == 2
    assert "the namespace is None" in caplog.text
    assert "secret" not in caplog.text


class AsyncOnly:
    """A store with `aput` alone."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    async def aput(self, *row: Any) -> None:
        await asyncio.sleep(0)
        self.rows.append(row)


class AsyncPut(AsyncOnly):
    """A store whose `put` is async, without `aput`."""

    put = AsyncOnly.aput
    aput = None  # type: ignore[assignment]


class AsyncBatches(BaseStore):
    """A LangGraph store whose sync half is not implemented."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def batch(self, ops: Any) -> Any:
        raise NotImplementedError

    async def abatch(self, ops: Any) -> Any:
        self.rows.extend((op.namespace, op.key, op.value) for op in ops)
        return [None for _ in ops]


ROW = (("ada",), "1", {"role": "human", "content": "Hi"})


@pytest.mark.parametrize("kind", [AsyncOnly, AsyncPut, AsyncBatches])
async def test_an_async_store_is_awaited(kind: Any) -> None:
    """Under areduce, and in Background under reduce."""
    chat = [{"id": "1", "role": "user", "content": "Hi"}, {"id": "2", "role": "user"}]
    store = kind()
    await reducer(store_hook(store)).areduce(chat, namespace="ada")
    assert store.rows == [ROW]
    store = kind()
    background = Background(store_hook(store))
    reducer(background).reduce(chat, namespace="ada")
    assert await asyncio.to_thread(background.flush)
    assert store.rows == [ROW]


@pytest.mark.parametrize("kind", [AsyncOnly, AsyncPut, AsyncBatches])
def test_an_async_store_is_refused_by_a_blocking_reduce(kind: Any) -> None:
    """TypeError instead of a memory that stays empty."""
    chat = [{"id": "1", "role": "user", "content": "Hi"}, {"id": "2", "role": "user"}]
    with pytest.raises(TypeError, match="is async"):
        reducer(store_hook(kind())).reduce(chat, namespace="ada")


def test_a_store_that_cannot_put_at_all_raises() -> None:
    """An unimplemented put without an aput is the hook's failure, nothing else."""

    class Broken:
        def put(self, *row: Any) -> None:
            raise NotImplementedError

    with pytest.raises(NotImplementedError):
        store_hook(Broken())([{"id": "1"}], "ada")
    with pytest.raises(TypeError, match="store must have put or aput, got int"):
        store_hook(3)


def test_a_render_that_cannot_be_called_is_refused_at_once() -> None:
    """Not only in the log of each delivery."""
    with pytest.raises(TypeError, match="render must be callable, got 'text'"):
        store_hook(SimpleNamespace(put=print), render="text")  # type: ignore[arg-type]


class PickledStore:
    """A store that can be pickled."""

    def put(self, *row: Any) -> None:
        """Forget it."""


def test_a_reducer_with_a_ready_hook_can_be_pickled() -> None:
    """When the store can, the hook can."""
    pruner = reducer(store_hook(PickledStore()))
    twin = pickle.loads(pickle.dumps(pruner))  # noqa: S301
    assert isinstance(twin.config.on_prune[0].args[0], PickledStore)


class Memory:
    """Remembers as CrewAI's memory does: scopes below a scope are listed with it, in pages."""

    def __init__(self, root: str = "") -> None:
        self.root = root
        self.records: list[Any] = []
        self.listed = 0

    def remember(self, content: str, **fields: Any) -> None:
        assert set(fields) == {"scope", "categories", "metadata", "importance"}
        record = {**fields, "scope": self.root + fields["scope"], "content": content}
        self.records.append(SimpleNamespace(**record))

    def list_records(self, scope: str, limit: int, offset: int) -> list[Any]:
        self.listed += 1
        found = [r for r in self.records if r.scope.startswith(self.root + scope)]
        return found[offset : offset + limit]


def test_messages_become_memories_with_everything_given() -> None:
    """Content, scope, categories, importance and key are there, so no model is asked."""
    memory = Memory()
    chat = [
        {"id": "1", "role": "user", "content": "I like tea"},
        {"id": "2", "role": "assistant", "content": " ", "tool_calls": []},
        {"id": "3", "role": "user", "content": "bye"},
    ]
    reducer(crewai_memory_hook(memory)).reduce(chat, namespace=("user", "ada"))
    assert [vars(r) for r in memory.records] == [
        {
            "content": "I like tea",
            "scope": "/user/ada",
            "categories": ["conversation", "human"],
            "metadata": {"agentstate_key": "1"},
            "importance": 0.5,
        }
    ]


@pytest.mark.parametrize("root", ["", "/flow/chat"])
def test_what_the_scope_holds_is_not_remembered_again(root: str) -> None:
    """A new process repeats nothing; a scope below with the same key does not count."""
    memory = Memory(root)
    hook = crewai_memory_hook(memory)
    batch = [{"id": str(n), "role": "user", "content": f"line {n}"} for n in range(3)]
    hook(batch[:1], "/user/ada/below")
    for _ in range(2):
        hook(batch, "/user/ada")
    assert len(memory.records) == 4
    assert memory.listed == 3  # once per batch


def test_a_long_scope_is_listed_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is missed beyond the first page."""
    monkeypatch.setattr("agentstate_reducer._hooks._PAGE_RECORDS", 2)
    memory = Memory()
    hook = crewai_memory_hook(memory)
    batch = [{"role": "user", "content": f"line {n}"} for n in range(4)]
    hook(batch, "ada")
    hook(batch, "ada")
    assert len(memory.records) == 4
    assert memory.listed == 4


def test_a_namespace_that_would_be_the_root_is_refused() -> None:
    """None and an empty text never end up in the scope everybody shares."""
    memory = Memory()
    for namespace in (None, "", "/"):
        with pytest.raises(ValueError, match="namespace"):
            crewai_memory_hook(memory)([{"role": "user", "content": "x"}], namespace)
    assert memory.records == []
    with pytest.raises(TypeError, match="memory must have remember, got int"):
        crewai_memory_hook(3)
