"""Put and get: what was stored comes back, whatever its size and shape."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver

from agentstate_documents.testing.saver_scenes import Scenes, at, checkpoint, listed, put


class StateContract(Scenes):
    """What `put` stored is what `get_tuple` finds."""

    async def test_nothing_is_there_at_first(self, saver: Any, thread: str) -> None:
        """An unknown thread, and an unknown checkpoint of a known one, are None."""
        assert await saver.aget_tuple(at(thread)) is None
        await put(saver, at(thread), {"a": 1})
        assert await saver.aget_tuple(at(thread, str(uuid6()))) is None
        assert await saver.aget_tuple(at(thread, "0")) is None
        assert await saver.aget_tuple(at(thread, namespace="other")) is None

    async def test_a_checkpoint_comes_back_whole(self, saver: Any, new: Any, thread: str) -> None:
        """Config, checkpoint with unknown keys, metadata and parent come back equal."""
        first = await put(saver, at(thread), {"a": 1})
        made = checkpoint({"a": 2})
        made["pending_sends"] = ["kept"]  # type: ignore[typeddict-unknown-key]
        metadata = {"source": "loop", "step": 3, "parents": {"": "x"}, "own": [1, 2.5, None]}
        config = await saver.aput(first, made, metadata, {})
        assert config == at(thread, made["id"])
        for found in (await saver.aget_tuple(config), await new().aget_tuple(at(thread))):
            assert found.config == config
            assert found.checkpoint == made
            assert found.metadata == metadata
            assert found.parent_config == first
            assert found.pending_writes == []

    async def test_an_absent_value_stays_absent(self, saver: Any, new: Any, thread: str) -> None:
        """A channel with a version and no value has none afterwards, one with None has None."""
        made = checkpoint({"none": None})
        made["channel_versions"]["absent"] = 2
        await saver.aput(at(thread), made, {}, made["channel_versions"])
        found = await new().aget_tuple(at(thread))
        assert found.checkpoint["channel_values"] == {"none": None}
        assert found.checkpoint["channel_versions"] == made["channel_versions"]

    async def test_a_value_may_go(self, saver: Any, new: Any, thread: str) -> None:
        """A channel that has no value any more does not get its parent's."""
        config = await put(saver, at(thread), {"a": "x" * 100, "b": ["y" * 100]})
        await put(saver, config, {"b": ["y" * 100]})
        found = await new().aget_tuple(at(thread))
        assert found.checkpoint["channel_values"] == {"b": ["y" * 100]}

    async def test_metadata_keeps_its_types(self, saver: Any, thread: str) -> None:
        """Floats, nested lists, sets and not-a-number come back as what they were."""
        told = {"score": 0.75, "n": 3, "nested": {"x": [1.5, None, True]}, "empty": set()}
        config = await put(saver, at(thread), {"a": 1}, **told, v=math.nan, w=math.inf)
        metadata = (await saver.aget_tuple(config)).metadata
        assert {name: metadata[name] for name in told} == told
        assert type(metadata["score"]) is float
        assert type(metadata["n"]) is int
        assert math.isnan(metadata["v"])
        assert metadata["w"] == math.inf

    async def test_metadata_takes_from_the_config_what_langgraph_does(
        self, saver: Any, thread: str
    ) -> None:
        """Plain entries of the config are metadata, as LangGraph's saver has it but for writes."""
        config = at(thread)
        config["configurable"].update(user="u1", plan="free", list=[1], __own="x")
        config["metadata"] = {"thread_id": "t0", "run_id": "r1", "user": "other"}
        savers: list[Any] = [saver, InMemorySaver()]
        found = []
        for each in savers:
            stored = await put(each, config, {"a": 1}, writes={"a": 1})
            assert stored["configurable"]["thread_id"] == thread
            found.append((await each.aget_tuple(stored)).metadata)
        metadata, of_langgraph = found
        assert {**metadata, "writes": {"a": 1}} == of_langgraph
        assert metadata["plan"] == "free"
        assert not {"thread_id", "list", "__own", "writes"} & metadata.keys()

    @pytest.mark.parametrize("version", ["00000001.0.5", "00000001.1.0.1234", 1, 1.5])
    async def test_versions_of_any_kind(self, saver: Any, thread: str, version: Any) -> None:
        """Texts with one or two dots, integers and floats are versions."""
        made = checkpoint({"a": [1, "x"]}, version=version)
        config = await saver.aput(at(thread), made, {}, {"a": version})
        found = await saver.aget_tuple(config)
        assert found.checkpoint["channel_versions"] == {"a": version}

    async def test_the_next_version_is_of_the_same_kind(self, saver: Any) -> None:
        """Versions grow, and a thread that has texts keeps texts."""
        assert saver.get_next_version(None, None) == 1
        assert saver.get_next_version(4, None) == 5
        text = saver.get_next_version("00000000000000000000000000000009.0.123", None)
        assert text > "00000000000000000000000000000009.0.123"
        assert saver.get_next_version(text, None) > text

    async def test_what_was_put_is_not_touched(self, saver: Any, thread: str) -> None:
        """Neither the checkpoint nor the metadata given is changed or kept."""
        messages: list[Any] = [HumanMessage("hello", id="1")]
        made = checkpoint({"messages": messages})
        metadata = {"source": "input", "step": -1, "parents": {}}
        before = copy.deepcopy((made, metadata))
        config = await saver.aput(at(thread), made, metadata, {"messages": 1})
        assert (made, metadata) == before
        messages.append(AIMessage("more", id="2"))
        found = await saver.aget_tuple(config)
        assert (
            found.checkpoint["channel_values"]["messages"]
            == before[0]["channel_values"]["messages"]
        )

    async def test_what_was_read_is_the_readers(self, saver: Any, thread: str) -> None:
        """Changing what was read changes nothing that is read later."""
        config = await put(saver, at(thread), {"list": [["x" * 50]], "dict": {"a": ["y" * 50]}})
        config = await put(saver, config, {"list": [["x" * 50], "z"], "dict": {"a": ["y" * 50]}})
        for found in [await saver.aget_tuple(config), *await listed(saver, at(thread))]:
            found.checkpoint["channel_values"]["list"][0].append("changed")
            found.checkpoint["channel_values"]["dict"]["a"].append("changed")
            found.checkpoint["channel_versions"]["list"] = "changed"
            found.metadata["step"] = "changed"
        found = await saver.aget_tuple(config)
        assert found.checkpoint["channel_values"]["list"] == [["x" * 50], "z"]
        assert found.checkpoint["channel_values"]["dict"] == {"a": ["y" * 50]}
        assert found.metadata["step"] == 0

    async def test_large_states(self, saver: Any, new: Any, thread: str, random_text: Any) -> None:
        """Three megabytes of state and a message of ten come back, and can be built upon."""
        state = [random_text(500_000) for _ in range(6)]
        config = await put(saver, at(thread), {"messages": state})
        config = await put(saver, config, {"messages": [*state, "small"]})
        huge = HumanMessage(random_text(10_000_000), id="huge")
        await put(saver, config, {"messages": [*state[:1], huge]})
        reader = new()
        found = await reader.aget_tuple(config)
        assert found.checkpoint["channel_values"]["messages"] == [*state, "small"]
        found = await reader.aget_tuple(at(thread))
        assert found.checkpoint["channel_values"]["messages"] == [*state[:1], huge]
        await saver.adelete_thread(thread)
        assert await reader.aget_tuple(at(thread)) is None
