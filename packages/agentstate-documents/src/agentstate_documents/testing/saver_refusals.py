"""Bad input: refused by name, before anything is asked, stored or handed over."""

from __future__ import annotations

from typing import Any

import pytest

from agentstate_documents.testing.saver_scenes import Scenes, at, checkpoint, listed
from agentstate_reducer import MessageReducer, ReducerConfig


class Unnamed:
    """Something whose text is empty."""

    def __str__(self) -> str:
        return ""


class RefusalContract(Scenes):
    """What a saver does not take."""

    @pytest.mark.parametrize("config", [at(""), at(None), at(Unnamed()), {"configurable": {}}, {}])
    async def test_a_thread_needs_a_name(self, saver: Any, config: Any) -> None:
        """An empty or missing thread_id is refused by name."""
        with pytest.raises(ValueError, match="thread_id"):
            await saver.aget_tuple(config)
        with pytest.raises(ValueError, match="thread_id"):
            await saver.aput(config, checkpoint({}), {}, {})
        with pytest.raises(ValueError, match="thread_id"):
            await saver.aput_writes(config, [("a", 1)], "task")
        with pytest.raises(ValueError, match="thread_id"):
            await saver.adelete_thread("")
        with pytest.raises(ValueError, match="thread_id"):
            await saver.acopy_thread("x", "")
        with pytest.raises(ValueError, match="thread_id"):
            await listed(saver, at(""))

    @pytest.mark.parametrize("config", [None, "x", 5, [], {"configurable": "x"}])
    async def test_what_is_no_config_is_refused(self, saver: Any, thread: str, config: Any) -> None:
        """It says what a config looks like; only a listing takes None, for all threads."""
        with pytest.raises(ValueError, match="config must"):
            await saver.aget_tuple(config)
        with pytest.raises(ValueError, match="config must"):
            await saver.aput(config, checkpoint({}), {}, {})
        with pytest.raises(ValueError, match="config must"):
            await saver.aput_writes(config, [("a", 1)], "task")
        with pytest.raises(ValueError, match="config must"):
            await saver.aget_delta_channel_history(config=config, channels=["a"])
        if config is not None:
            with pytest.raises(ValueError, match="config must"):
                await listed(saver, config)
            with pytest.raises(ValueError, match="before must"):
                await listed(saver, at(thread), before=config)

    async def test_what_is_no_checkpoint_is_refused(self, saver: Any, thread: str) -> None:
        """Its id and its values are named; metadata may be missing."""
        made = checkpoint({"n": 1})
        for missing in ("id", "channel_values"):
            wrong = {name: value for name, value in made.items() if name != missing}
            with pytest.raises(ValueError, match=missing):
                await saver.aput(at(thread), wrong, {}, {})
        with pytest.raises(ValueError, match="checkpoint must"):
            await saver.aput(at(thread), None, {}, {})
        assert await saver.aget_tuple(at(thread)) is None
        found = await saver.aget_tuple(await saver.aput(at(thread), made, None, {}))
        assert found.checkpoint["channel_values"] == {"n": 1}
        assert found.metadata == {}

    async def test_checkpoint_ids_have_limits(self, saver: Any, thread: str) -> None:
        """An empty id and one too long to sort by are refused by name."""
        with pytest.raises(ValueError, match="checkpoint_id"):
            await saver.aput(at(thread), checkpoint({}, id="x" * 2000), {}, {})
        with pytest.raises(ValueError, match="id"):
            await saver.aput(at(thread), {**checkpoint({}), "id": ""}, {}, {})

    async def test_a_refused_put_has_handed_nothing_over(self, new: Any, thread: str) -> None:
        """No hook of the reducer is served for it."""
        taken: list[Any] = []
        hook = taken.append
        config = ReducerConfig(
            max_messages=2, min_messages=1, on_prune=[lambda pruned, namespace: hook(pruned)]
        )
        saver = new(reducer=MessageReducer(config=config))
        made = checkpoint({"messages": [{"role": "user", "content": str(n)} for n in range(9)]})
        for refused, told in ((at(""), made), (at(thread), {**made, "id": "x" * 999})):
            with pytest.raises(ValueError, match="_id must be"):
                await saver.aput(refused, told, {}, {})
        assert taken == []
        await saver.aput(at(thread), made, {}, {})
        assert len(taken) == 1
