"""Put and get: what was stored comes back, whatever its size, shape and history."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import math
import os
import uuid
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agentstate_documents.testing.cipher import Keystream
from agentstate_documents.testing.saver_scenes import (
    Scenes,
    at,
    checkpoint,
    id_of,
    listed,
    put,
    put_chat,
)


class Colour(enum.Enum):
    """For a value of a type of the user's."""

    RED = "red"


@dataclasses.dataclass
class Point:
    """Likewise."""

    x: int
    colour: Colour = Colour.RED


VALUES: dict[str, Any] = {
    "none": None,
    "zero": 0,
    "false": False,
    "text": "",
    "list": [],
    "dict": {},
    "tuple": (),
    "nones": [None, None],
    "bytes": b"\x00\xff",
    "set": {1, 2},
    "deque": collections.deque([1, 2]),
    "decimal": Decimal("1.50"),
    "date": datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=2))),
    "uuid": uuid.UUID(int=7),
    "nested": {"a": [1, (2, [None])], "b": {"c": b""}},
    "mixed": [None, 0, "", [], {}, b"", (1,), "dup", "dup", {"a": 1}],
    "vector": [0.5, 1, -2.25],
    "enum": Colour.RED,
    "point": Point(1),
    "points": [Point(1), Point(2), Point(1)],
    "unicode": "ä€\U0001f600\x00",
}


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

    async def test_values_come_back_as_the_serializer_has_them(
        self, saver: Any, new: Any, thread: str
    ) -> None:
        """Empty, falsy and rich values are values, and as good as the serializer makes them."""
        serde = JsonPlusSerializer()
        want = {name: serde.loads_typed(serde.dumps_typed(v)) for name, v in VALUES.items()}
        config = await put(saver, at(thread), VALUES)
        config = await put(saver, config, VALUES)
        for found in (await saver.aget_tuple(config), await new().aget_tuple(at(thread))):
            assert found.checkpoint["channel_values"] == want

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
        """Plain entries of the config are metadata; ids are not, and keys are configurable's."""
        config = at(thread)
        config["configurable"].update(user="u1", list=[1], __own="x")
        config["metadata"] = {"thread_id": "t0", "run_id": "r1", "user": "other"}
        stored = await put(saver, config, {"a": 1}, writes={"a": 1})
        metadata = (await saver.aget_tuple(stored)).metadata
        assert metadata["run_id"] == "r1"
        assert not {"thread_id", "list", "__own", "writes"} & metadata.keys()
        assert stored["configurable"]["thread_id"] == thread

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

    async def test_encryption(self, saver: Any, new: Any, thread: str) -> None:
        """With an encrypting serializer everything reads back, and nothing without it.

        Threads that were stored plainly stay readable.
        """
        plain = await put(saver, at(thread), {"messages": ["plain " * 20]})
        serde = EncryptedSerializer(Keystream())
        writer = new(serde=serde)
        assert (await writer.aget_tuple(plain)).checkpoint["channel_values"]
        config = await put(writer, plain, {"messages": ["plain " * 20, "secret " * 20]})
        with pytest.raises(NotImplementedError, match="bytes\\+keystream"):
            await new().aget_tuple(config)
        await writer.aput_writes(config, [("messages", "secret " * 20)], "task")
        await writer.aput(plain, (await writer.aget_tuple(config)).checkpoint, {"step": 7}, {})
        found = await new(serde=serde).aget_tuple(at(thread))
        assert found.checkpoint["channel_values"]["messages"][1] == "secret " * 20
        assert found.pending_writes == [("task", "messages", "secret " * 20)]
        assert [t.metadata["step"] for t in await listed(new(serde=serde), at(thread))] == [7, 0]

    async def test_a_serializer_of_the_users_is_used_throughout(
        self, new: Any, thread: str
    ) -> None:
        """Whatever is stored went through the serializer that was given."""

        class Marking(JsonPlusSerializer):
            def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
                kind, data = super().dumps_typed(obj)
                return f"own:{kind}", data

            def loads_typed(self, data: tuple[str, bytes]) -> Any:
                kind, raw = data
                assert kind.startswith("own:")
                return super().loads_typed((kind[4:], raw))

        saver = new(serde=Marking())
        config = await put(saver, at(thread), {"a": [{"k": [1, None]}, "x"], "b": 1}, x=1)
        await saver.aput_writes(config, [("a", 1), ("__error__", "e")], "task")
        await saver.aprune([thread])
        [found] = await listed(new(serde=Marking()), at(thread), filter={"x": 1})
        assert found.checkpoint["channel_values"] == {"a": [{"k": [1, None]}, "x"], "b": 1}
        assert found.pending_writes is not None
        assert len(found.pending_writes) == 2

    async def test_an_allowlist_makes_a_clone(self, make_saver: Any, thread: str) -> None:
        """`with_allowlist` leaves the saver as it is, and the clone sees the same threads."""
        strict = make_saver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        config = await put(strict, at(thread), {"point": Point(3), "points": [Point(4), "x"]})
        blocked = (await strict.aget_tuple(config)).checkpoint["channel_values"]
        assert not isinstance(blocked["point"], Point)
        clone = strict.with_allowlist([(Point.__module__, "Point"), (Colour.__module__, "Colour")])
        assert clone is not strict
        await strict.aprune([thread])
        found = (await clone.aget_tuple(config)).checkpoint["channel_values"]
        assert found == {"point": Point(3), "points": [Point(4), "x"]}

    @pytest.fixture
    def random_text(self) -> Any:
        """Text that does not compress to nothing."""
        return lambda length: os.urandom(length // 2).hex()
