"""The saver contract on memory tables, at the real and at a tiny document limit."""

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from agentstate_documents import MemoryTable, Page, envelope
from agentstate_documents.saver import DocumentSaver
from agentstate_documents.testing.cipher import Keystream
from agentstate_documents.testing.saver_contract import SaverContract
from agentstate_documents.testing.saver_histories import HistoryContract
from agentstate_documents.testing.saver_listing import ListingContract
from agentstate_documents.testing.saver_scenes import at, checkpoint
from agentstate_documents.testing.saver_states import StateContract
from agentstate_documents.testing.saver_upkeep import UpkeepContract
from agentstate_documents.testing.saver_writes import WritesContract
from agentstate_reducer import MessageReducer


class TestDocumentSaver(SaverContract):
    @pytest.fixture
    def make_saver(self):
        table = MemoryTable()
        return lambda **options: DocumentSaver(table, **options)


class HaltingTable(MemoryTable):
    """Every other page is empty and has a cursor, as a database may answer."""

    def query(self, partition, *, cursor=None, **range_):
        if cursor is None or not cursor.startswith("="):
            return Page([], "=" + (cursor or ""))
        return super().query(partition, cursor=cursor[1:] or None, **range_)


class TestEmptyPages(
    StateContract, HistoryContract, WritesContract, ListingContract, UpkeepContract
):
    """A page without documents is not the end."""

    @pytest.fixture
    def make_saver(self):
        table = HaltingTable()
        return lambda **options: DocumentSaver(table, **options)

    @pytest.fixture
    def random_text(self):
        return lambda length: "0123456789abcdef" * (length // 50_000)


class TestTinyDocuments(SaverContract):
    """Every body in parts, every page short."""

    @pytest.fixture
    def make_saver(self):
        table = MemoryTable(max_body_bytes=64, max_transaction_documents=8, page_size=3)
        return lambda **options: DocumentSaver(table, **options)

    @pytest.fixture
    def random_text(self):
        return lambda length: "0123456789abcdef" * (length // 50_000)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"serde": "x"}, TypeError),
        ({"serde": 5}, TypeError),
        ({"reducer": ""}, TypeError),
        ({"reducer": 0}, TypeError),
        ({"messages_key": 5}, TypeError),
        ({"messages_key": None}, TypeError),
        ({"messages_key": ["messages", 5]}, TypeError),
        ({"messages_key": ""}, ValueError),
        ({"messages_key": []}, ValueError),
        ({"messages_key": ()}, ValueError),
        ({"messages_key": 5, "reducer": MessageReducer()}, TypeError),
    ],
)
def test_options_of_a_wrong_type_are_refused_by_name(options, error):
    """At construction, also those that would not be used."""
    with pytest.raises(error, match=f"{next(iter(options))} must"):
        DocumentSaver(MemoryTable(), **options)


async def test_setting_up_and_closing_are_the_tables():
    """It is asked to, on both faces."""
    calls = []

    class Table(MemoryTable):
        def setup(self):
            calls.append("setup")

        def close(self):
            calls.append("close")

    saver = DocumentSaver(Table())
    saver.setup()
    saver.close()
    await saver.asetup()
    await saver.aclose()
    assert calls == ["setup", "close"] * 2


class Upper(EncryptedSerializer):
    """Does something to values besides encrypting them."""

    def dumps_typed(self, obj):
        return super().dumps_typed(obj.upper() if isinstance(obj, str) else obj)


def test_an_encrypting_serializer_of_the_users_is_given_every_value():
    """What its class does besides is done to values, list elements and writes."""
    saver = DocumentSaver(MemoryTable(), serde=Upper(Keystream()))
    config = saver.put(at("t"), checkpoint({"text": "value", "messages": ["one", "two"]}), {}, {})
    saver.put_writes(config, [("text", "written")], "task")
    found = saver.get_tuple(config)
    assert found.checkpoint["channel_values"] == {"text": "VALUE", "messages": ["ONE", "TWO"]}
    assert found.pending_writes == [("task", "text", "WRITTEN")]


@pytest.mark.parametrize("thread", ["t", "a long name " * 60])
def test_every_body_is_encrypted(thread):
    """Heads, writes, replaced and rewritten heads, copies and names, whatever put them there."""
    table = MemoryTable(page_size=1000)
    saver = DocumentSaver(table, serde=EncryptedSerializer(Keystream()))
    config, messages = at(thread, namespace="n" * 300), ["one of some length", "two of some length"]
    for n in range(4):
        messages = [*messages, f"{n} of some length"]
        made = checkpoint({"messages": messages})
        config = saver.put(config, made, {"run_id": f"r{n}"}, {})
        for index in (1, 2):
            saver.put_writes(config, [("messages", n)] * index + [("__error__", n)], "task" * 40)
    saver.put(config, {**made, "channel_values": {"messages": ["replaced"]}}, {}, {})
    saver.copy_thread(thread, thread + "2")
    saver.copy_thread(thread, thread + "2")
    saver.delete_for_runs(["r1"])
    saver.prune([thread])
    kinds = set()
    for partition in table.partitions():
        for document in table.query(partition).documents:
            assert envelope.sealed_frame(document.body[1:]) is not None, document.sort
            kinds.add(document.sort.rpartition("!")[2][:1])
    assert kinds >= {"f", "h", "r", "1"}
