"""Deleting, pruning, copying: what stays is what it was."""

from __future__ import annotations

from typing import Any

import pytest

from agentstate_documents.testing.saver_scenes import (
    Scenes,
    at,
    checkpoint,
    id_of,
    ids,
    listed,
    put,
    put_chat,
)


class UpkeepContract(Scenes):
    """The operations that remove or duplicate what is stored."""

    async def test_deleting_a_thread_deletes_all_of_it(
        self, saver: Any, new: Any, thread: str
    ) -> None:
        """Every namespace goes, and writes whose checkpoint never came; it may be repeated."""
        configs = await put_chat(saver, thread, 30)
        await put(saver, at(thread, namespace="child:1"), {"a": 1})
        orphan = checkpoint({"a": 1})
        await saver.aput_writes(at(thread, orphan["id"]), [("a", 2)], "task")
        await saver.adelete_thread(thread)
        await saver.adelete_thread(thread)
        assert await listed(new(), {"configurable": {"thread_id": thread}}) == []
        for config in (at(thread), configs[-1], at(thread, namespace="child:1")):
            assert await new().aget_tuple(config) is None
        config = await saver.aput(at(thread), orphan, {}, {})
        assert (await new().aget_tuple(config)).pending_writes == []

    async def test_a_thread_goes_on_after_its_deletion(
        self, saver: Any, new: Any, thread: str
    ) -> None:
        """A put onto a checkpoint that was deleted starts the thread anew, whole."""
        configs = await put_chat(saver, thread, 3)
        await saver.adelete_thread(thread)
        config = await put(saver, configs[-1], {"messages": ["a" * 90, "b" * 90]})
        found = await new().aget_tuple(at(thread))
        assert found.config == config
        assert found.checkpoint["channel_values"]["messages"] == ["a" * 90, "b" * 90]

    async def test_threads_with_related_names(self, saver: Any, new: Any, thread: str) -> None:
        """A thread whose name begins like another's is another."""
        names = [thread, thread + "1", thread + "!", thread + "|", thread[:-1], thread + " "]
        for name in names:
            await put(saver, at(name), {"name": name})
        await saver.adelete_thread(thread)
        assert await new().aget_tuple(at(thread)) is None
        for name in names[1:]:
            found = await new().aget_tuple(at(name))
            assert found.checkpoint["channel_values"] == {"name": name}

    async def test_pruning_leaves_the_latest_of_each_namespace(
        self, saver: Any, new: Any, thread: str
    ) -> None:
        """The latest keeps its state, its writes and its parent's name; the rest is gone."""
        configs = await put_chat(saver, thread, 12)
        await saver.aput_writes(configs[-1], [("messages", "w"), ("__interrupt__", "i")], "task")
        await saver.aput_writes(configs[3], [("messages", "gone")], "task")
        for n in range(3):
            await put(saver, at(thread, namespace="child:1"), {"n": n})
        before = {ns: await new().aget_tuple(at(thread, namespace=ns)) for ns in ("", "child:1")}
        for _ in range(2):
            await saver.aprune([thread])
            for namespace, want in before.items():
                assert await listed(new(), at(thread, namespace=namespace)) == [want]
        assert await new().aget_tuple(configs[3]) is None

    async def test_pruning_while_a_run_goes_on(self, saver: Any, new: Any, thread: str) -> None:
        """A run on the latest checkpoint goes on, and writes it has begun are kept."""
        configs = await put_chat(saver, thread, 8)
        messages = (await saver.aget_tuple(at(thread))).checkpoint["channel_values"]["messages"]
        made = checkpoint({"messages": [*messages, "after"]})
        await saver.aput_writes(at(thread, made["id"]), [("messages", "early")], "task")
        await new().aprune([thread])
        await saver.aput(configs[-1], made, {}, {})
        found = await listed(new(), at(thread))
        assert [len(one.checkpoint["channel_values"]["messages"]) for one in found] == [9, 8]
        assert found[0].pending_writes == [("task", "messages", "early")]

    @pytest.mark.parametrize("strategy", ["delete", "delete_all"])
    async def test_pruning_may_delete(
        self, saver: Any, new: Any, thread: str, strategy: str
    ) -> None:
        """Both names LangGraph uses remove whole threads, the ones named alone."""
        for name in (thread, thread + "2", thread + "3"):
            await put_chat(saver, name, 3)
        await saver.aprune([thread, thread + "2"], strategy=strategy)
        assert await listed(new(), at(thread)) == await listed(new(), at(thread + "2")) == []
        assert len(await listed(new(), at(thread + "3"))) == 3

    async def test_misuse_is_refused_before_anything_happens(
        self, saver: Any, new: Any, thread: str
    ) -> None:
        """One id instead of several, and an unknown strategy, are named; nothing is deleted."""
        await put_chat(saver, thread, 2)
        with pytest.raises(TypeError, match="thread_ids"):
            await saver.aprune(thread)
        with pytest.raises(TypeError, match="run_ids"):
            await saver.adelete_for_runs(thread)
        with pytest.raises(ValueError, match="strategy"):
            await saver.aprune([thread], strategy="everything")
        with pytest.raises(ValueError, match="thread_id"):
            await saver.aprune([thread, ""], strategy="delete")
        assert len(await listed(new(), at(thread))) == 2

    async def test_nothing_to_do(self, saver: Any, thread: str) -> None:
        """Unknown threads and empty sequences are no error."""
        await saver.aprune([])
        await saver.aprune([thread])
        await saver.adelete_for_runs([])
        await saver.adelete_for_runs([thread])
        await saver.acopy_thread(thread, thread + "2")
        assert await listed(saver, at(thread + "2")) == []

    async def test_deleting_runs(self, saver: Any, new: Any, thread: str) -> None:
        """The runs' checkpoints go from every thread and namespace; others stay as they were."""
        other = thread + "2"
        runs = [f"{thread}-{n}" for n in range(3)]
        for name in (thread, other):
            configs = await put_chat(saver, name, 9, run_id=lambda turn: runs[turn // 3])
            await saver.aput_writes(configs[4], [("messages", "gone")], "task")
            await saver.aput_writes(configs[8], [("messages", "kept")], "task")
        child = await put(saver, at(thread, namespace="child:1"), {"n": 1}, run_id=runs[1])
        before = {name: await listed(new(), at(name)) for name in (thread, other)}
        await saver.adelete_for_runs([runs[1]])
        for name in (thread, other):
            assert await listed(new(), at(name)) == before[name][:3] + before[name][6:]
        assert await new().aget_tuple(child) is None
        await saver.adelete_for_runs(runs)
        assert await listed(new(), at(thread)) == await listed(new(), at(other)) == []

    @pytest.mark.parametrize("run_ids", [[None], ["None"], [""]])
    async def test_checkpoints_of_no_run_stay(
        self, saver: Any, new: Any, thread: str, run_ids: Any
    ) -> None:
        """No run id names a checkpoint that is of no run."""
        config = await put(saver, at(thread), {"n": 1})
        await put(saver, config, {"n": 2}, run_id=None)
        await saver.adelete_for_runs(run_ids)
        assert len(await listed(new(), at(thread))) == 2

    async def test_a_rollback_leaves_the_run_before(
        self, saver: Any, new: Any, thread: str
    ) -> None:
        """After deleting the newest run the thread goes on from the one before."""
        configs = await put_chat(saver, thread, 6, run_id=lambda turn: f"{thread}-{turn // 3}")
        await new().adelete_for_runs([f"{thread}-1"])
        found = await saver.aget_tuple(at(thread))
        assert found.config == configs[2]
        messages = found.checkpoint["channel_values"]["messages"]
        await put(saver, found.config, {"messages": [*messages, "again"]})
        found = await new().aget_tuple(at(thread))
        assert found.checkpoint["channel_values"]["messages"] == [*messages, "again"]

    @pytest.mark.parametrize("suffix", ["2", "!/\x00é", "x" * 3000])
    async def test_a_copy_is_the_thread(
        self, saver: Any, new: Any, thread: str, suffix: str
    ) -> None:
        """History, namespaces and writes are the same; afterwards the two are independent."""
        target = thread + suffix
        configs = await put_chat(saver, thread, 30)
        await saver.aput_writes(configs[7], [("messages", "w")], "task", "~1")
        await put(saver, at(thread, namespace="child:1"), {"n": 1})
        before = await listed(new(), {"configurable": {"thread_id": thread}})
        for _ in range(2):
            await saver.acopy_thread(thread, target)
            copied = await listed(new(), {"configurable": {"thread_id": target}})
            assert [one[1:3] for one in copied] == [one[1:3] for one in before]
            assert [one.pending_writes for one in copied] == [o.pending_writes for o in before]
        assert all(one.config["configurable"]["thread_id"] == target for one in copied)
        await saver.adelete_thread(thread)
        found = await new().aget_tuple(at(target))
        assert len(found.checkpoint["channel_values"]["messages"]) == 30
        await put(saver, found.config, {"messages": ["after"]})
        assert len(await listed(new(), at(target))) == 31
        await saver.adelete_thread(target)

    async def test_a_copy_onto_a_thread_that_went_on(
        self, saver: Any, new: Any, thread: str
    ) -> None:
        """Checkpoints of the same id give way; what the target has beyond them stays whole."""
        first = checkpoint({"messages": ["a" * 90, "b" * 90]})
        config = await saver.aput(at(thread), first, {}, {})
        await put(saver, config, {"messages": ["a" * 90, "b" * 90, "source"]})
        target = thread + "2"
        replaced = {**first, "channel_values": {"messages": ["x" * 90, "y" * 90]}}
        config = await saver.aput(at(target), replaced, {}, {})
        await put(saver, config, {"messages": ["x" * 90, "y" * 90, "target"]})
        for _ in range(2):
            await new().acopy_thread(thread, target)
            found = await listed(new(), at(target))
            assert [one.checkpoint["channel_values"]["messages"][1:] for one in found] == [
                ["y" * 90, "target"],
                ["b" * 90, "source"],
                ["b" * 90],
            ]

    async def test_a_copy_onto_itself(self, saver: Any, new: Any, thread: str) -> None:
        """Nothing happens."""
        await put_chat(saver, thread, 3)
        before = await listed(new(), at(thread))
        await saver.acopy_thread(thread, thread)
        assert await listed(new(), at(thread)) == before

    async def test_a_large_thread_is_copied_and_pruned(
        self, saver: Any, new: Any, thread: str, random_text: Any
    ) -> None:
        """Values in parts are copied, and made whole, like any other."""
        big = random_text(900_000)
        config = await put(saver, at(thread), {"messages": [big, "one"]})
        await saver.aput_writes(config, [("messages", big)], "task")
        config = await put(saver, config, {"messages": [big, "one", "two"]})
        await saver.acopy_thread(thread, thread + "2")
        await saver.aprune([thread])
        for name in (thread, thread + "2"):
            found = await new().aget_tuple(at(name))
            assert found.checkpoint["channel_values"]["messages"] == [big, "one", "two"]
        assert ids(await listed(new(), at(thread))) == [id_of(config)]
        assert len(await listed(new(), at(thread + "2"))) == 2
