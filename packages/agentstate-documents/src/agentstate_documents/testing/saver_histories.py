"""Checkpoints built on checkpoints: each keeps its own state, whatever becomes of the others."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base.id import uuid6

from agentstate_documents.testing.saver_scenes import (
    Scenes,
    at,
    checkpoint,
    id_of,
    listed,
    put,
    put_chat,
)


class HistoryContract(Scenes):
    """Threads that grow, change, fork, repeat and replace."""

    async def test_a_list_may_change_in_every_way(self, saver: Any, new: Any, thread: str) -> None:
        """Grown, cut, edited, shuffled, emptied, repeated: every checkpoint keeps its own."""
        base = [f"message {n} " + "." * 60 for n in range(30)]
        lists: list[Any] = [
            base[:8],
            base[:9],
            base[3:10],
            [*base[3:6], "edited", *base[7:10]],
            [base[0], *base[5:12]],
            base,
            base[::-1],
            [],
            base[:3] * 3,
            [*base[:3], None, *base[3:6], 0],
            tuple(base),
            base[:8],
        ]
        configs = [at(thread)]
        for messages in lists:
            configs.append(await put(saver, configs[-1], {"messages": messages}))
        for config, messages in zip(configs[1:], map(list, lists), strict=True):
            found = await new().aget_tuple(config)
            assert found.checkpoint["channel_values"]["messages"] == messages
        assert [
            t.checkpoint["channel_values"]["messages"] for t in await listed(new(), at(thread))
        ] == list(map(list, lists))[::-1]

    async def test_a_fork_does_not_touch_its_sibling(
        self, saver: Any, new: Any, thread: str
    ) -> None:
        """Two checkpoints on one parent, with equal versions, keep what each was given."""
        configs = await put_chat(saver, thread, 4)
        base = (await saver.aget_tuple(configs[1])).checkpoint["channel_values"]["messages"]
        left = await put(saver, configs[1], {"messages": [*base, "left " * 20]})
        right = await put(saver, configs[1], {"messages": [*base, "right " * 20]})
        left = await put(saver, left, {"messages": [*base, "left " * 20, "and on"]})
        reader = new()
        for config, tail in ((left, ["left " * 20, "and on"]), (right, ["right " * 20])):
            found = await reader.aget_tuple(config)
            assert found.checkpoint["channel_values"]["messages"] == [*base, *tail]
        assert (await reader.aget_tuple(right)).parent_config == configs[1]
        latest = await reader.aget_tuple(at(thread))
        assert latest.config == left
        old = await reader.aget_tuple(configs[3])
        assert len(old.checkpoint["channel_values"]["messages"]) == 4

    async def test_the_latest_is_by_id(self, saver: Any, new: Any, thread: str) -> None:
        """The greatest id is the latest, whenever it was put and whatever its time says."""
        newest, older = checkpoint({"n": 2}), checkpoint({"n": 1})
        newest["id"], older["id"] = older["id"], newest["id"]
        older["ts"] = newest["ts"] = "2026-01-01T00:00:00+00:00"
        await saver.aput(at(thread), newest, {}, {})
        await saver.aput(at(thread), older, {}, {})
        for reader in (saver, new()):
            assert (await reader.aget_tuple(at(thread))).checkpoint["id"] == newest["id"]

    async def test_a_clock_may_be_behind(self, saver: Any, new: Any, thread: str) -> None:
        """A checkpoint whose id sorts before its parent's is found with its whole state."""
        early = str(uuid6())
        configs = await put_chat(saver, thread, 3)
        messages = (await saver.aget_tuple(configs[-1])).checkpoint["channel_values"]["messages"]
        made = checkpoint({"messages": [*messages, "late"]}, id=early)
        config = await saver.aput(configs[-1], made, {}, {})
        found = await new().aget_tuple(config)
        assert found.checkpoint["channel_values"]["messages"] == [*messages, "late"]
        assert found.parent_config == configs[-1]
        assert len(await listed(new(), at(thread))) == 4

    async def test_the_same_put_again_changes_nothing(
        self, saver: Any, new: Any, thread: str
    ) -> None:
        """A repeated put, as after a lost reply, leaves one checkpoint, as it was."""
        configs = await put_chat(saver, thread, 2)
        made = checkpoint({"messages": ["a" * 50, "b" * 50]})
        for writer in (saver, saver, new()):
            config = await writer.aput(configs[-1], made, {"step": 2}, {})
        found = await listed(new(), at(thread))
        assert len(found) == 3
        assert found[0].config == config
        assert found[0].checkpoint == made

    async def test_an_id_may_be_put_anew(self, saver: Any, new: Any, thread: str) -> None:
        """A put under an existing id replaces it; what was built on the old one stays right."""
        configs = await put_chat(saver, thread, 4)
        before = {id_of(t.config): t for t in await listed(new(), at(thread))}
        stale = new()
        assert await stale.aget_tuple(at(thread))
        for target in (configs[1], configs[3]):
            parent = before[id_of(target)].parent_config
            made = checkpoint({"messages": ["replaced " * 9], "turn": -1}, id=id_of(target))
            await new().aput(parent, made, {"step": 9}, {})
        tail = before[id_of(configs[3])].checkpoint["channel_values"]["messages"]
        added = await put(stale, configs[3], {"messages": [*tail, "on the old one"]})
        reader = new()
        for config in (configs[1], configs[3]):
            found = await reader.aget_tuple(config)
            assert found.checkpoint["channel_values"]["messages"] == ["replaced " * 9]
        for config in (configs[0], configs[2]):
            assert await reader.aget_tuple(config) == before[id_of(config)]
        found = await reader.aget_tuple(added)
        assert found.checkpoint["channel_values"]["messages"] == [*tail, "on the old one"]
        assert len(await listed(reader, at(thread))) == 5

    async def test_long_threads_cross_pages(self, saver: Any, new: Any, thread: str) -> None:
        """The latest and every older checkpoint of a long thread are found cold."""
        configs = await put_chat(saver, thread, 40)
        for config in configs[::13]:
            await saver.aput_writes(config, [("messages", n) for n in range(3)], "task")
        reader = new()
        found = await reader.aget_tuple(at(thread))
        assert len(found.checkpoint["channel_values"]["messages"]) == 40
        for turn in (0, 1, 20, 38):
            found = await new().aget_tuple(configs[turn])
            assert found.checkpoint["channel_values"]["turn"] == turn
            assert len(found.checkpoint["channel_values"]["messages"]) == turn + 1
