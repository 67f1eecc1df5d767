"""Pending writes: beside their checkpoint, once, in order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.base.id import uuid6

from agentstate_documents.testing.saver_scenes import Scenes, at, checkpoint, id_of, listed, put


class WritesContract(Scenes):
    """What `put_writes` stored is pending at its checkpoint, and nowhere else."""

    async def _pending(self, saver: Any, config: Any) -> list[tuple[str, str, Any]]:
        found = await saver.aget_tuple(config)
        writes: list[tuple[str, str, Any]] = found.pending_writes
        return writes

    async def test_many_writes_keep_their_order(self, saver: Any, new: Any, thread: str) -> None:
        """Thirty writes of a task come in the order they were written."""
        config = await put(saver, at(thread), {"a": 1})
        await saver.aput_writes(config, [("a", n) for n in range(30)], "task")
        assert await self._pending(new(), config) == [("task", "a", n) for n in range(30)]

    async def test_tasks_are_ordered_by_path_then_id(self, saver: Any, thread: str) -> None:
        """Writes come by task path, then task id, then index, whoever wrote first."""
        config = await put(saver, at(thread), {"a": 1})
        for task, path in (("b", "~2"), ("c", "~1"), ("a", "~2"), ("z", "")):
            await saver.aput_writes(config, [("a", task), ("a", task * 2)], task, path)
        assert [value for _, _, value in await self._pending(saver, config)] == [
            *("z", "zz"),
            *("c", "cc"),
            *("a", "aa"),
            *("b", "bb"),
        ]

    async def test_task_path_by_position_and_by_name(self, saver: Any, thread: str) -> None:
        """The path orders writes whichever way it is given."""
        config = await put(saver, at(thread), {"a": 1})
        await saver.aput_writes(config, [("a", 2)], task_id="x", task_path="~2")
        await saver.aput_writes(config, [("a", 1)], "y", "~1")
        assert [value for *_, value in await self._pending(saver, config)] == [1, 2]

    @pytest.mark.parametrize("value", [None, 0, "", [], {}, b"", False])
    async def test_empty_values_are_values(self, saver: Any, thread: str, value: Any) -> None:
        """A write of nothing is a write."""
        config = await put(saver, at(thread), {"a": 1})
        await saver.aput_writes(config, [("a", value), ("__error__", value)], "task")
        assert sorted(await self._pending(saver, config), key=str) == sorted(
            [("task", "a", value), ("task", "__error__", value)], key=str
        )

    async def test_no_writes_are_no_writes(self, saver: Any, thread: str) -> None:
        """An empty call stores nothing and raises nothing."""
        config = await put(saver, at(thread), {"a": 1})
        await saver.aput_writes(config, [], "task")
        assert await self._pending(saver, config) == []

    async def test_regular_writes_are_written_once(self, saver: Any, new: Any, thread: str) -> None:
        """A repetition, also by another process, changes nothing; missing indices are added."""
        config = await put(saver, at(thread), {"a": 1})
        await saver.aput_writes(config, [("a", "first"), ("b", "second")], "task", "~1")
        await new().aput_writes(config, [("a", "other"), ("b", "other")], "task", "~1")
        assert await self._pending(new(), config) == [
            ("task", "a", "first"),
            ("task", "b", "second"),
        ]
        await new().aput_writes(config, [("a", "x"), ("b", "x"), ("c", "third")], "task", "~1")
        assert [value for *_, value in await self._pending(new(), config)] == [
            "first",
            "second",
            "third",
        ]

    async def test_special_writes_are_replaced(self, saver: Any, new: Any, thread: str) -> None:
        """Errors, interrupts and the like keep the last value, and block no success."""
        config = await put(saver, at(thread), {"a": 1})
        await saver.aput_writes(config, [("__error__", "boom")], "task")
        await saver.aput_writes(config, [("__error__", "bang")], "task")
        await saver.aput_writes(config, [("__resume__", 1), ("__resume__", 2)], "task")
        await new().aput_writes(config, [("a", "success")], "task")
        assert sorted(await self._pending(new(), config), key=str) == [
            ("task", "__error__", "bang"),
            ("task", "__resume__", 2),
            ("task", "a", "success"),
        ]

    async def test_mixed_calls(self, saver: Any, new: Any, thread: str) -> None:
        """Special writes between regular ones take no index from them, and are both kept."""
        config = await put(saver, at(thread), {"a": 1})
        mixed = [("__interrupt__", "stop"), ("a", 1), ("__scheduled__", True), ("b", 2)]
        await saver.aput_writes(config, mixed, "task")
        again = [("__interrupt__", "stop again"), ("a", "x"), ("c", 3), ("b", "x")]
        await new().aput_writes(config, again, "task")
        assert sorted(await self._pending(new(), config), key=str) == [
            ("task", "__interrupt__", "stop again"),
            ("task", "__scheduled__", True),
            ("task", "a", 1),
            ("task", "b", 2),
            ("task", "c", 3),
        ]

    async def test_writes_may_come_before_their_checkpoint(
        self, saver: Any, new: Any, thread: str
    ) -> None:
        """Writes alone make no checkpoint, and are there when it comes."""
        made = checkpoint({"a": 1})
        await saver.aput_writes(at(thread, made["id"]), [("a", 2)], "task")
        assert await new().aget_tuple(at(thread)) is None
        assert await listed(new(), at(thread)) == []
        config = await saver.aput(at(thread), made, {}, {})
        assert await self._pending(new(), config) == [("task", "a", 2)]

    async def test_a_put_leaves_writes_alone(self, saver: Any, new: Any, thread: str) -> None:
        """Neither a child nor a repetition of the checkpoint touches its writes."""
        made = checkpoint({"a": 1})
        config = await saver.aput(at(thread), made, {}, {})
        await saver.aput_writes(config, [("a", 2), ("__interrupt__", "stop")], "task")
        await new().aput(at(thread), {**made, "channel_values": {"a": 5}}, {}, {})
        await put(saver, config, {"a": 3})
        assert len(await self._pending(new(), config)) == 2

    async def test_large_writes(self, saver: Any, new: Any, thread: str, random_text: Any) -> None:
        """A write larger than a document, and one added to it later, come back."""
        text = random_text(1_000_000)
        config = await put(saver, at(thread), {"a": 1})
        await saver.aput_writes(config, [("a", text), ("__error__", text[::-1])], "task")
        await new().aput_writes(config, [("a", "x"), ("a", "added")], "task")
        assert sorted(await self._pending(new(), config), key=lambda w: (w[1], w[2][:5])) == sorted(
            [("task", "__error__", text[::-1]), ("task", "a", text), ("task", "a", "added")],
            key=lambda w: (w[1], w[2][:5]),
        )

    async def test_writes_need_a_checkpoint(self, saver: Any, thread: str) -> None:
        """A config without a checkpoint_id is refused by name."""
        with pytest.raises(ValueError, match="checkpoint_id"):
            await saver.aput_writes(at(thread), [("a", 1)], "task")

    async def test_namespaces_are_separate(self, saver: Any, new: Any, thread: str) -> None:
        """Writes of a subgraph are not its parent's, under one checkpoint id."""
        made = checkpoint({"a": 1})
        for namespace in ("", "child:1", "child:1|x:2"):
            await saver.aput(at(thread, namespace=namespace), made, {}, {})
            config = at(thread, made["id"], namespace)
            await saver.aput_writes(config, [("a", namespace)], "task")
        for namespace in ("", "child:1", "child:1|x:2"):
            config = at(thread, made["id"], namespace)
            assert await self._pending(new(), config) == [("task", "a", namespace)]

    async def test_many_writers(self, saver: Any, new: Any, thread: str) -> None:
        """Concurrent tasks, and rivals for one task, lose nothing and double nothing."""
        config = await put(saver, at(thread), {"a": 1})
        savers = [new() for _ in range(4)]
        await asyncio.gather(
            *(savers[n % 4].aput_writes(config, [("a", n)] * 2, f"task{n}") for n in range(8)),
            *(savers[n].aput_writes(config, [("b", 0)] * (n + 1), "rival") for n in range(4)),
        )
        pending = await self._pending(new(), config)
        assert [w for w in pending if w[0] != "rival"] == [
            (f"task{n}", "a", n) for n in range(8) for _ in range(2)
        ]
        assert len([w for w in pending if w[0] == "rival"]) == 4

    async def test_two_writers_of_a_thread(self, saver: Any, new: Any, thread: str) -> None:
        """Two processes that go on from the same checkpoint each keep their own branch."""
        start = await put(saver, at(thread), {"messages": ["start " * 20]})

        async def write(name: str) -> tuple[Any, list[str]]:
            own = new()
            messages = ["start " * 20]
            await own.aget_tuple(start)
            config = start
            for turn in range(6):
                messages = [*messages, f"{name} {turn} " * 20]
                config = await put(own, config, {"messages": messages})
            return config, messages

        for config, messages in await asyncio.gather(write("one"), write("two")):
            found = await new().aget_tuple(config)
            assert found.checkpoint["channel_values"]["messages"] == messages
        assert len(await listed(new(), at(thread))) == 13

    async def test_a_late_write_brings_nothing_back(
        self, saver: Any, new: Any, thread: str
    ) -> None:
        """Writes to a checkpoint of a deleted thread make no checkpoint."""
        config = await put(saver, at(thread), {"a": 1})
        await new().adelete_thread(thread)
        await saver.aput_writes(config, [("a", 2)], "task")
        assert await new().aget_tuple(at(thread)) is None
        assert await new().aget_tuple(config) is None
        await saver.adelete_thread(thread)

    async def test_writes_of_an_unknown_checkpoint(self, saver: Any, thread: str) -> None:
        """Writes under an id that never comes disturb neither the latest nor the list."""
        config = await put(saver, at(thread), {"a": 1})
        await saver.aput_writes(at(thread, str(uuid6())), [("a", n) for n in range(3)], "task")
        found = await saver.aget_tuple(at(thread))
        assert id_of(found.config) == id_of(config)
        assert found.pending_writes == []
