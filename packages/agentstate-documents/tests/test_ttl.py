"""`ttl_seconds`: gone when it is said, and nothing that lives leans on what is gone."""

import random

import pytest

from agentstate_documents import MemoryTable
from agentstate_documents.saver import DocumentSaver
from agentstate_documents.testing.saver_scenes import at, checkpoint

TTL = 1000


class Clock:
    """Time as the test says."""

    def __init__(self):
        self.now = 1_800_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def table():
    return MemoryTable(page_size=100)


@pytest.fixture
def new(table, clock):
    def made(ttl_seconds=TTL):
        return DocumentSaver(table, ttl_seconds=ttl_seconds, clock=clock)

    return made


def put(saver, config, values):
    return saver.put(config, checkpoint(values), {}, {})


def documents(table, thread="t"):
    return table.query(thread, limit=100).documents


def test_an_expired_checkpoint_is_gone(new, clock):
    """After the TTL it is neither got nor listed, though the database still has it."""
    first = put(new(), at("t"), {"messages": ["x" * 50]})
    clock.now += TTL * 0.6
    second = put(new(), first, {"messages": ["x" * 50, "y"]})
    clock.now += TTL * 0.5
    assert new().get_tuple(first) is None
    assert [t.config for t in new().list(at("t"))] == [second]
    assert new().get_tuple(at("t")).parent_config == first
    clock.now += TTL * 0.6
    assert new().get_tuple(at("t")) is None
    assert list(new().list(at("t"))) == list(new().list(None)) == []


def test_every_document_expires(table, clock):
    """Heads, writes, parts and names all carry an expiry in whole seconds, half a TTL later."""
    table = MemoryTable(max_body_bytes=64, page_size=100)
    saver = DocumentSaver(table, ttl_seconds=TTL, clock=clock)
    config = put(saver, at("long" * 500), {"messages": ["x" * 50]})
    saver.put_writes(config, [("messages", "w"), ("__error__", "e")], "task")
    [partition] = table.partitions()
    expiries = {document.expires_at for document in documents(table, partition)}
    [expiry] = expiries
    assert type(expiry) is int
    assert TTL * 1.5 <= expiry - clock.now <= TTL * 1.5 + 2


def test_without_a_ttl_nothing_expires(table, new):
    """No document has an expiry."""
    config = put(new(None), at("t"), {"messages": ["x" * 50]})
    new(None).put_writes(config, [("messages", "w")], "task")
    assert {document.expires_at for document in documents(table)} == {None}


@pytest.mark.parametrize("seed", range(12))
def test_what_lives_is_whole(table, new, clock, seed):
    """Over many TTLs, with a database that removes at once, what has not expired reads whole."""
    rng = random.Random(seed)
    saver, config, messages, alive = new(), at("t"), [], []
    for n in range(60):
        messages = [*messages[-rng.randint(3, 12) :], f"message {n} " + "." * 40]
        values = {"messages": messages, "constant": "c" * 200}
        config = put(saver, config, values)
        alive.append((clock.now, config, values))
        clock.now += rng.choice([1, 50, TTL * 0.3, TTL * 0.7])
        table.remove_expired(clock.now)
        saver = rng.choice([saver, saver, new()])
        if rng.random() < 0.3:
            saver.get_tuple(at("t"))
        for when, stored, want in alive[-8:]:
            found = new().get_tuple(stored)
            if clock.now < when + TTL:
                assert found.checkpoint["channel_values"] == want
            elif clock.now > when + TTL + 1:
                assert found is None


def test_a_slow_put_lives_no_longer(clock):
    """A head leans on what outlives it, however long the put before it took."""

    class SlowTable(MemoryTable):
        def put(self, partition, writes):
            super().put(partition, writes)
            clock.now += TTL * 0.1

    table = SlowTable()
    saver = DocumentSaver(table, ttl_seconds=TTL, clock=clock)
    config = put(saver, at("t"), {"messages": ["x" * 90]})
    clock.now += TTL * 0.45
    config = put(saver, config, {"messages": ["x" * 90, "y"]})
    clock.now += TTL * 0.89
    table.remove_expired(clock.now)
    found = DocumentSaver(table, ttl_seconds=TTL, clock=clock).get_tuple(config)
    assert found.checkpoint["channel_values"]["messages"] == ["x" * 90, "y"]


def test_leaning_pays_within_half_a_ttl(table, new, clock):
    """A lively thread is told as changes, and is not written whole at every step."""
    saver = new()
    messages = [f"{n} {random.Random(n).random()} " for n in range(40)]
    config = put(saver, at("t"), {"messages": messages})
    for _ in range(5):
        clock.now += TTL * 0.05
        config = put(saver, config, {"messages": messages})
    sizes = [len(d.body) for d in documents(table)]
    assert max(sizes[1:]) < sizes[0]


def test_a_ttl_may_be_turned_on_and_off(table, new, clock):
    """What shall stay for ever leans on nothing that expires."""
    config = put(new(), at("t"), {"messages": ["x" * 90]})
    eternal = new(None)
    assert eternal.get_tuple(config)
    config = put(eternal, config, {"messages": ["x" * 90, "y"]})
    config = put(eternal, config, {"messages": ["x" * 90, "y", "z"]})
    later = new()
    assert later.get_tuple(config)
    put(later, config, {"messages": ["x" * 90, "y", "z", "w"]})
    clock.now += 2 * TTL
    table.remove_expired(clock.now)
    found = list(new(None).list(at("t")))
    assert [len(t.checkpoint["channel_values"]["messages"]) for t in found] == [3, 2]


def test_an_expired_id_may_be_used_again(new, clock):
    """A put under an id whose checkpoint has expired is simply there."""
    made = checkpoint({"messages": ["old " * 9]})
    new().put(at("t"), made, {}, {})
    clock.now += TTL + 1
    again = {**made, "channel_values": {"messages": ["new " * 9]}}
    config = new().put(at("t"), again, {}, {})
    assert new().get_tuple(config).checkpoint["channel_values"]["messages"] == ["new " * 9]


def test_upkeep_prolongs_no_life(table, new, clock):
    """What is made whole or copied expires when it would have."""
    saver = new()
    config = put(saver, at("t"), {"messages": ["x" * 90]})
    config = put(saver, config, {"messages": ["x" * 90, "y"]})
    [first, *_] = {document.expires_at for document in documents(table)}
    clock.now += TTL * 0.4
    new().copy_thread("t", "copy")
    new().prune(["t"])
    assert {d.expires_at for d in (*documents(table), *documents(table, "copy"))} == {first}
    clock.now += TTL * 0.7
    assert new().get_tuple(at("t")) is new().get_tuple(at("copy")) is None


@pytest.mark.parametrize("ttl_seconds", [0, -1, float("nan"), float("inf"), 1e12, 10**400])
def test_a_ttl_is_above_nought(table, ttl_seconds):
    """Also one that ends after every calendar is refused by name."""
    with pytest.raises(ValueError, match="ttl_seconds must be above 0"):
        DocumentSaver(table, ttl_seconds=ttl_seconds)


@pytest.mark.parametrize("ttl_seconds", ["60", True, [60]])
def test_a_ttl_is_a_number(table, ttl_seconds):
    """Anything else is refused by name."""
    with pytest.raises(TypeError, match="ttl_seconds must be a number"):
        DocumentSaver(table, ttl_seconds=ttl_seconds)
