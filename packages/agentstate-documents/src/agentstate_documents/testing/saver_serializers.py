"""`serde=`: every value goes through the serializer that was given, and comes back by it."""

from __future__ import annotations

import collections
import dataclasses
import enum
import uuid
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agentstate_documents.errors import DocumentError
from agentstate_documents.testing.cipher import Keystream
from agentstate_documents.testing.saver_scenes import Scenes, at, listed, put


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


class SerializerContract(Scenes):
    """What serializers, ciphers and allowlists make of values."""

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

    async def test_encryption(self, saver: Any, new: Any, thread: str) -> None:
        """With an encrypting serializer everything reads back, and nothing without it.

        Threads that were stored plainly stay readable.
        """
        plain = await put(saver, at(thread), {"messages": ["plain " * 20]})
        serde = EncryptedSerializer(Keystream())
        writer = new(serde=serde)
        assert (await writer.aget_tuple(plain)).checkpoint["channel_values"]
        config = await put(writer, plain, {"messages": ["plain " * 20, "secret " * 20]})
        with pytest.raises(DocumentError, match="another serializer or key") as refused:
            await new().aget_tuple(config)
        assert "bytes+keystream" in str(refused.value.__cause__)
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
