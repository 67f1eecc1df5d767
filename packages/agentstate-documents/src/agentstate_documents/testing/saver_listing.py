"""`list`: newest first, filtered, bounded, over namespaces and threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


class ListingContract(Scenes):
    """What `list` yields, and in which order."""

    async def test_newest_first_and_whole(self, saver: Any, new: Any, thread: str) -> None:
        """Every checkpoint comes as `get_tuple` has it, the newest first."""
        configs = await put_chat(saver, thread, 9)
        await saver.aput_writes(configs[4], [("messages", "w")], "task")
        found = await listed(new(), at(thread))
        assert ids(found) == [id_of(config) for config in reversed(configs)]
        for one in found:
            assert await saver.aget_tuple(one.config) == one

    async def test_limit(self, saver: Any, thread: str) -> None:
        """A limit bounds, none is all, and nought or less is nothing."""
        configs = await put_chat(saver, thread, 4)
        for limit, count in ((1, 1), (3, 3), (9, 4), (None, 4), (0, 0), (-1, 0)):
            found = await listed(saver, at(thread), limit=limit)
            assert ids(found) == [id_of(config) for config in reversed(configs)][:count]

    async def test_before_is_exclusive(self, saver: Any, thread: str) -> None:
        """Only what sorts below the id given comes, known or not."""
        configs = await put_chat(saver, thread, 5)
        found = await listed(saver, at(thread), before=configs[3])
        assert ids(found) == [id_of(configs[n]) for n in (2, 1, 0)]
        found = await listed(saver, at(thread), before=configs[3], limit=1)
        assert ids(found) == [id_of(configs[2])]
        assert await listed(saver, at(thread), before=configs[0]) == []
        unknown = at(thread, id_of(configs[2]) + "0")
        assert len(await listed(saver, at(thread), before=unknown)) == 3
        assert len(await listed(saver, at(thread), before=at(thread))) == 5

    async def test_filter(self, saver: Any, thread: str) -> None:
        """Metadata is compared for equality, all of it, before the limit counts."""
        await put_chat(saver, thread, 6, score=0.75, even=lambda turn: turn % 2 == 0)
        for wanted, steps in (
            ({"even": True}, [4, 2, 0]),
            ({"even": True, "step": 2}, [2]),
            ({"score": 0.75, "source": "loop"}, [5, 4, 3, 2, 1, 0]),
            ({"score": 0.5}, []),
            ({"absent": None}, []),
            ({}, [5, 4, 3, 2, 1, 0]),
        ):
            found = await listed(saver, at(thread), filter=wanted)
            assert [one.metadata["step"] for one in found] == steps
        found = await listed(saver, at(thread), filter={"even": True}, limit=2)
        assert [one.metadata["step"] for one in found] == [4, 2]

    async def test_one_checkpoint(self, saver: Any, thread: str) -> None:
        """A config that names a checkpoint lists that one, if it passes."""
        configs = await put_chat(saver, thread, 4)
        assert ids(await listed(saver, configs[1])) == [id_of(configs[1])]
        assert await listed(saver, configs[1], before=configs[1]) == []
        assert len(await listed(saver, configs[1], before=configs[2])) == 1
        assert await listed(saver, configs[1], filter={"step": 2}) == []
        assert await listed(saver, at(thread, "unknown")) == []

    async def test_all_namespaces_newest_first(self, saver: Any, new: Any, thread: str) -> None:
        """Without a namespace all of the thread's come, merged by id."""
        want = []
        for n in range(9):
            namespace = ("", "child:1", "child:1|x:2")[n % 3]
            made = checkpoint({"n": n})
            await saver.aput(at(thread, namespace=namespace), made, {"n": n}, {})
            want.append(at(thread, made["id"], namespace))
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        found = await listed(new(), config)
        assert [one.config for one in found] == want[::-1]
        found = await listed(new(), config, limit=4, before=want[7])
        assert [one.config for one in found] == want[6:2:-1]
        found = await listed(new(), at(thread, namespace="child:1"))
        assert [one.checkpoint["channel_values"]["n"] for one in found] == [7, 4, 1]
        config["configurable"]["checkpoint_id"] = id_of(want[4])
        assert [one.config for one in await listed(new(), config)] == [want[4]]

    @pytest.mark.parametrize("config", [None, {"configurable": {}}])
    async def test_all_threads(self, saver: Any, new: Any, thread: str, config: Any) -> None:
        """Without a thread all threads come, newest first over all of them."""
        threads = [thread, thread + "!/é", "long" + thread * 30]
        want = [await put(saver, at(threads[n % 3]), {"n": n}, mark=thread) for n in range(6)]
        found = await listed(new(), config, filter={"mark": thread})
        assert [one.config for one in found] == want[::-1]
        found = await listed(new(), config, filter={"mark": thread}, limit=2)
        assert [one.config for one in found] == want[:3:-1]
        for name in threads:
            await saver.adelete_thread(name)
        assert await listed(new(), config, filter={"mark": thread}) == []

    async def test_nothing_to_list(self, saver: Any, thread: str) -> None:
        """Unknown threads and namespaces are empty."""
        assert await listed(saver, at(thread)) == []
        assert await listed(saver, {"configurable": {"thread_id": thread}}) == []
        await put(saver, at(thread), {"a": 1})
        assert await listed(saver, at(thread, namespace="other")) == []

    async def test_a_listing_may_be_left(self, saver: Any, thread: str) -> None:
        """Whoever stops early, or puts meanwhile, disturbs nothing."""
        configs = await put_chat(saver, thread, 5)
        listing = saver.alist(at(thread))
        for turn in (4, 3, 2):
            found = await listing.__anext__()
            assert found.checkpoint["channel_values"]["turn"] == turn
            await put(saver, configs[-1], {"turn": 100 + turn})
        await listing.aclose()
        assert len(await listed(saver, at(thread))) == 8
