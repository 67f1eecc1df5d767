"""Stored bytes that are damaged: an error of this layer that names the item, or no harm at all."""

import dataclasses
from collections import OrderedDict

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agentstate_documents import DocumentError, MemoryTable, Write, steps
from agentstate_documents.drivers import run
from agentstate_documents.flow_reduction import FlowReduction
from agentstate_documents.flows import Flows
from agentstate_documents.model import AFTER_LAST_SORT, FIRST_SORT
from agentstate_documents.saver import DocumentSaver
from agentstate_documents.testing.saver_scenes import at, checkpoint
from agentstate_reducer import MessageReducer

MESSAGES = [{"role": "user", "content": f"my secret {n}"} for n in range(6)]


def flows_in(table):
    return Flows(lambda: table, reduction=FlowReduction(MessageReducer(2, 4)))


def filled(limit):
    """A table with a thread and a flow, and how each can be read."""
    table = MemoryTable(max_body_bytes=limit)
    saver, flows = DocumentSaver(table), flows_in(table)
    config = saver.put(at("t"), checkpoint({"messages": MESSAGES[:5], "n": 1}, id="1"), {}, {})
    config = saver.put(config, checkpoint({"messages": MESSAGES, "n": 2}, id="2"), {}, {})
    saver.put_writes(config, [("messages", MESSAGES[:1])], "task")
    flows.save("f", "m", {"id": "f", "messages": MESSAGES, "s": {1}})
    return table, {
        "t": (
            lambda: DocumentSaver(table).get_tuple(at("t")),
            lambda: list(DocumentSaver(table).list(None)),
            lambda: DocumentSaver(table).prune(["t"]),
            lambda: DocumentSaver(table).put_writes(config, [("a", 1), ("b", 2)], "task"),
        ),
        "flow!f": (
            lambda: flows_in(table).load("f"),
            lambda: flows_in(table).list(),
            lambda: flows_in(table).save("f", "m", {"id": "f", "messages": MESSAGES}),
        ),
    }


def damaged(body):
    """Each bit flipped, each length, and bytes of no meaning."""
    for at_byte in range(len(body)):
        yield body[:at_byte]
        for bit in range(0, 8, 3):
            yield body[:at_byte] + bytes([body[at_byte] ^ 1 << bit]) + body[at_byte + 1 :]
    yield bytes(range(40))
    yield b"\1" + bytes(range(40))
    yield b"\1no digest"


def documents(table, partition):
    return run(steps.documents(partition, low=FIRST_SORT, high=AFTER_LAST_SORT), table)


@pytest.mark.parametrize("limit", [64, 400_000])
@pytest.mark.parametrize("partition", ["t", "flow!f"])
def test_damage_is_an_error_of_the_layer(limit, partition):
    """Whatever byte is damaged, nothing but a `DocumentError` is raised, without any content."""
    table, readers = filled(limit)
    whole = documents(table, partition)
    texts = []
    for document in whole.values():
        for body in damaged(document.body):
            for read in readers[partition]:
                table.delete(partition, list(documents(table, partition)))
                for other in whole.values():
                    table.put(partition, [Write(other)])
                table.put(partition, [Write(dataclasses.replace(document, body=body))])
                try:
                    read()
                except DocumentError as error:
                    texts.append(str(error))
    assert len(texts) > len(whole)
    assert "secret" not in "".join(texts)


def test_a_wrong_key_is_named_as_one():
    """What cannot be decrypted may be whole: the text says so, and the cause is the cipher's."""
    table = MemoryTable()

    def saver(key):
        serde = EncryptedSerializer.from_pycryptodome_aes(JsonPlusSerializer(), key=key)
        return DocumentSaver(table, serde=serde)

    config = saver(b"a" * 16).put(at("t"), checkpoint({"n": 1}), {}, {})
    with pytest.raises(DocumentError, match="serializer or key") as refused:
        saver(b"b" * 16).get_tuple(config)
    assert "MAC" in str(refused.value.__cause__)
    assert config["configurable"]["checkpoint_id"] in str(refused.value)


def test_what_may_be_better_the_next_time_is_not_damage():
    """A serializer that asks a key service says itself that it cannot reach it."""

    class Unreachable(JsonPlusSerializer):
        def loads_typed(self, data):
            raise ConnectionError("no key service")

    table = MemoryTable()
    config = DocumentSaver(table).put(at("t"), checkpoint({"n": 1}), {}, {})
    with pytest.raises(ConnectionError, match="no key service"):
        DocumentSaver(table, serde=Unreachable()).get_tuple(config)


def test_a_serializer_may_have_dictionaries_of_its_own():
    """What it makes of a checkpoint is a kind of dictionary, and no damage."""

    class Ordered(JsonPlusSerializer):
        def loads_typed(self, data):
            value = super().loads_typed(data)
            if isinstance(value, list):
                return [OrderedDict(v) if isinstance(v, dict) else v for v in value]
            return value

    table = MemoryTable()
    config = DocumentSaver(table).put(at("t"), checkpoint({"n": 1}), {"step": 1}, {})
    found = DocumentSaver(table, serde=Ordered()).get_tuple(config)
    assert found.checkpoint["channel_values"] == {"n": 1}
    assert found.metadata["step"] == 1


def test_a_damaged_flow_can_be_deleted():
    """Nothing has to be read to delete it."""
    table, _ = filled(400_000)
    for document in documents(table, "flow!f").values():
        table.put("flow!f", [Write(dataclasses.replace(document, body=b"\1no digest"))])
    flows_in(table).delete("f")
    assert documents(table, "flow!f") == {}
