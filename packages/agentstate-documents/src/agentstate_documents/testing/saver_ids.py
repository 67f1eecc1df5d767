"""Ids and namespaces of any text."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from agentstate_documents.testing.saver_scenes import Scenes, at, checkpoint, listed, put

HOSTILE = [
    "a/b\\c?d#e",
    "..",
    ".",
    "__x__",
    "_",
    "%2F%00",
    " leading and trailing ",
    "\x00\x01\n\t",
    "quote'\"`;--",
    "a!b|c:d",
    "\ud83d half",
    "ÄÖÜ ß é é",
    "日本語" * 20,
    "\U0001f600" * 800,
    "long" * 750,
    "CASE",
    "case",
    "~n",
    '"h0',
]


class IdContract(Scenes):
    """Whatever text names a thread or a namespace, it is that thread and no other."""

    @pytest.mark.parametrize("hostile", HOSTILE)
    async def test_threads_of_any_name(
        self, saver: Any, new: Any, thread: str, hostile: str
    ) -> None:
        """Put, write, read, list, copy and delete work under any thread id."""
        name = hostile + thread
        config = await put(saver, at(name), {"messages": ["a" * 50]}, mark=thread)
        await saver.aput_writes(config, [("messages", "w")], "task")
        config = await put(saver, config, {"messages": ["a" * 50, "b"]}, mark=thread)
        found = await new().aget_tuple(at(name))
        assert found.config == config
        assert found.parent_config["configurable"]["thread_id"] == name
        assert found.checkpoint["channel_values"]["messages"] == ["a" * 50, "b"]
        everywhere = await listed(new(), None, filter={"mark": thread})
        assert {one.config["configurable"]["thread_id"] for one in everywhere} == {name}
        await saver.aprune([name])
        assert len(await listed(new(), at(name))) == 1
        await saver.adelete_thread(name)
        assert await new().aget_tuple(at(name)) is None

    async def test_bare_hostile_threads_are_apart(self, saver: Any, new: Any) -> None:
        """The names alone are as many threads."""
        for number, name in enumerate(HOSTILE):
            await put(saver, at(name), {"number": number})
        for number, name in enumerate(HOSTILE):
            found = await new().aget_tuple(at(name))
            assert found.checkpoint["channel_values"] == {"number": number}
        for name in HOSTILE:
            await saver.adelete_thread(name)

    async def test_namespaces_of_any_name(self, saver: Any, new: Any, thread: str) -> None:
        """Each is its own, found, listed and pruned by its own name."""
        deep = "|".join(f"node:{uuid.uuid4()}" for _ in range(30))
        names = ["", "a", "a|b", "a:1|b:2", deep, deep + "|x", *HOSTILE]
        for number, name in enumerate(names):
            config = await put(saver, at(thread, namespace=name), {"n": [number, "x" * 40]})
            await put(saver, config, {"n": [number, "x" * 40, "y"]})
        await saver.aprune([thread])
        found = await listed(new(), {"configurable": {"thread_id": thread}})
        assert [one.config["configurable"]["checkpoint_ns"] for one in found] == names[::-1]
        for number, name in enumerate(names):
            one = await new().aget_tuple(at(thread, namespace=name))
            assert one.checkpoint["channel_values"]["n"] == [number, "x" * 40, "y"]
        await saver.adelete_thread(thread)
        assert await listed(new(), {"configurable": {"thread_id": thread}}) == []

    @pytest.mark.parametrize("task", ["a!r", "a/b", "", "\x00", "é" * 400, "T", "t"])
    async def test_tasks_of_any_name(self, saver: Any, new: Any, thread: str, task: str) -> None:
        """A task id is given back as it was."""
        config = await put(saver, at(thread), {"a": 1})
        await saver.aput_writes(config, [("ch!an/nel", 1), ("__error__", 2)], task, "~p!")
        await saver.aput_writes(config, [("a", 3)], task + "x", "~p!")
        found = await new().aget_tuple(config)
        assert sorted(found.pending_writes) == sorted(
            [(task, "ch!an/nel", 1), (task, "__error__", 2), (task + "x", "a", 3)]
        )

    @pytest.mark.parametrize("id", ["1", "a/b#c?", "ns!x", "2026-01-01T00:00:00", "é", "~", '"'])
    async def test_checkpoint_ids_of_any_form(
        self,
        saver: Any,
        new: Any,
        thread: str,
        id: str,  # noqa: A002
    ) -> None:
        """A checkpoint id need not be a uuid."""
        config = await saver.aput(at(thread), checkpoint({"a": ["x" * 50]}, id=id), {}, {})
        child = checkpoint({"a": ["x" * 50, "y"]}, id=id + "1")
        await saver.aput(config, child, {}, {})
        assert (await new().aget_tuple(config)).checkpoint["id"] == id
        assert (await new().aget_tuple(at(thread))).checkpoint["channel_values"] == (
            child["channel_values"]
        )
        assert [one.checkpoint["id"] for one in await listed(new(), at(thread))] == [id + "1", id]

    async def test_ids_sort_by_their_text(self, saver: Any, new: Any, thread: str) -> None:
        """The latest is the greatest text, also where one id begins with another."""
        order = ["1", "1 ", "10", "1a", "2", "Z", "a", "a!", "aa", "é", "日"]
        for id_ in order[::2] + order[1::2]:
            await saver.aput(at(thread), checkpoint({"id": id_}, id=id_), {}, {})
        found = await listed(new(), at(thread))
        assert [one.checkpoint["id"] for one in found] == sorted(order, reverse=True)
        assert (await new().aget_tuple(at(thread))).checkpoint["id"] == max(order)

    @pytest.mark.parametrize("thread_id", [7, uuid.UUID(int=7)])
    async def test_other_types_are_their_text(self, saver: Any, new: Any, thread_id: Any) -> None:
        """A number or a UUID names the thread its text names."""
        await saver.adelete_thread(str(thread_id))
        config = await put(saver, at(thread_id), {"a": 1})
        assert config["configurable"]["thread_id"] == str(thread_id)
        for name in (thread_id, str(thread_id)):
            assert (await new().aget_tuple(at(name))).config == config
        await saver.adelete_thread(thread_id)
        assert await new().aget_tuple(at(str(thread_id))) is None
