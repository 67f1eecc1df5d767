"""Requests and bytes: what a turn costs, and that it stays so."""

import uuid
from collections import Counter

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from agentstate_documents import MemoryTable
from agentstate_documents.saver import DocumentSaver
from agentstate_documents.testing.cipher import Keystream
from agentstate_documents.testing.saver_graphs import chat_graph
from agentstate_documents.testing.saver_scenes import at, checkpoint
from agentstate_reducer import MessageReducer


class CountingTable(MemoryTable):
    """Counts requests, and bytes of bodies written and read."""

    def __init__(self):
        super().__init__(page_size=1000)
        self.count = Counter()

    def put(self, partition, writes):
        self.count["put"] += 1
        self.count["written"] += sum(len(write.document.body) for write in writes)
        super().put(partition, writes)

    def query(self, partition, **range_):
        page = super().query(partition, **range_)
        self.count["query"] += 1
        self.count["read"] += sum(len(document.body) for document in page.documents)
        return page

    def get(self, partition, sorts):
        self.count["get"] += 1
        return super().get(partition, sorts)

    @property
    def requests(self):
        return self.count["put"] + self.count["query"] + self.count["get"]


@pytest.fixture
def table():
    return CountingTable()


def message(n):
    """About 400 characters that are no other's."""
    kind = HumanMessage if n % 2 else AIMessage
    words = [uuid.uuid5(uuid.NAMESPACE_OID, f"{n} {i}").hex for i in range(12)]
    return kind(" ".join(words), id=str(n))


def grow(saver, turns, config=None):
    """A chat as a graph puts it, one message a step."""
    config, messages = config or at("t"), []
    for n in range(turns):
        found = saver.get_tuple(at("t"))
        messages = found.checkpoint["channel_values"]["messages"] if found else []
        config = saver.put(config, checkpoint({"messages": [*messages, message(n)]}), {}, {})
        yield config


def test_a_chat_turn_is_six_requests(table):
    """One read, three checkpoints, two sets of writes; a read when warm is one request."""
    graph = chat_graph(DocumentSaver(table))
    for _ in range(30):
        graph.invoke({"messages": ["question " * 40]}, at("t"))
        assert (table.count["query"], table.count["put"], table.count["get"]) == (1, 5, 0)
        table.count.clear()


def test_the_history_of_a_delta_channel_is_at_most_two_requests(table):
    """However far back its last snapshot lies, LangGraph has counted the steps to it."""
    config = at("t")
    for n in range(150):
        counted = {"counters_since_delta_snapshot": {"d": (n, n)}}
        value = {} if n else {"d": ["seed"]}
        config = DocumentSaver(table).put(config, checkpoint(value), counted, {})
        DocumentSaver(table).put_writes(config, [("d", n)], "task")
        table.count.clear()
        saver = DocumentSaver(table)
        told = saver.get_delta_channel_history(config=config, channels=["d"])["d"]
        assert [value for *_, value in told["writes"]] == list(range(n))
        assert table.count["query"] <= 2


def test_writes_that_overtake_their_checkpoints_cost_no_request(table):
    """Steps that are faster than the database put writes before the heads they belong to."""
    saver = DocumentSaver(table)
    config, said = at("t"), [message(n) for n in range(20)]
    made = [checkpoint({"messages": said[:n]}) for n in range(10, 20)]
    for one in made:
        saver.put_writes(at("t", one["id"]), [("messages", message(1))], "task")
    for one in made:
        config = saver.put(config, one, {}, {})
    table.count.clear()
    assert saver.get_tuple(at("t")).checkpoint["channel_values"]["messages"] == said[:19]
    assert table.count["query"] == 1


def test_many_small_steps_on_a_large_state_are_read_in_one_request(table):
    """A state that is worth more bytes than a query's documents hold is written again in time."""
    saver, config = DocumentSaver(table), at("t")
    large = "".join(uuid.uuid4().hex for _ in range(10_000))
    for n in range(1050):
        config = saver.put(config, checkpoint({"large": large, "n": n}), {}, {})
        if n > 930:
            table.count.clear()
            assert saver.get_tuple(config).checkpoint["channel_values"] == {"large": large, "n": n}
            assert table.count["query"] == 1


@pytest.mark.parametrize("reducer", [None, MessageReducer(max_messages=20, min_messages=10)])
def test_a_cold_read_is_at_most_two_requests(table, reducer):
    """A process that knows nothing reads a long thread in one more request at the most."""
    for config in grow(DocumentSaver(table, reducer=reducer), 120):
        table.count.clear()
        assert DocumentSaver(table).get_tuple(config)
        assert table.count["query"] <= 2


def test_storage_stays_flat_with_a_reducer(table):
    """A thousand messages in, each costs within 3 % what it did, and no read is longer.

    The list is written whole every dozen steps or so, so few steps do not tell the mean.
    """
    written, read = [], []
    saver = DocumentSaver(table, reducer=MessageReducer(max_messages=20, min_messages=10))
    for _ in grow(saver, 1000):
        written.append(table.count["written"])
        read.append(table.count["read"])
        table.count.clear()
    assert sum(written[-300:]) == pytest.approx(sum(written[20:320]), rel=0.03)
    assert max(read) < 18_000


def test_storage_is_linear_without_one(table):
    """Twice the turns are about twice the bytes, not four times."""
    totals = [table.count["written"] for _ in grow(DocumentSaver(table), 240)]
    assert totals[239] < 2.6 * totals[119]


def test_a_read_is_about_the_state(table):
    """However long the thread, what is read is the state and a little more."""
    saver = DocumentSaver(table)
    *_, config = grow(saver, 150)
    table.count.clear()
    found = saver.get_tuple(config)
    _, state = saver.serde.dumps_typed(found.checkpoint["channel_values"])
    assert table.count["read"] < 1.1 * len(state) + 8000


def test_encryption_costs_little(table):
    """Bodies are compressed before they are encrypted."""
    list(grow(DocumentSaver(table), 60))
    plain = table.count["written"]
    secret = CountingTable()
    list(grow(DocumentSaver(secret, serde=EncryptedSerializer(Keystream())), 60))
    assert secret.count["written"] < 1.25 * plain


def test_a_repeated_value_is_written_once(table):
    """A large value that does not change costs a few bytes a step."""
    saver, config = DocumentSaver(table), at("t")
    document = "".join(uuid.uuid4().hex for _ in range(300))
    for n in range(20):
        config = saver.put(config, checkpoint({"document": document, "n": n}), {}, {})
    assert table.count["written"] < 1.8 * len(document)
    assert saver.get_tuple(config).checkpoint["channel_values"] == {"document": document, "n": 19}
