"""What a process remembers: bounded, and never needed for the content."""

import math

from agentstate_documents.checkpoints.known import Channel, Known, Memory, Position


def known(prints, base=0):
    return Known(b"tag", {"c": Channel(tuple(prints), True, Position(base, base))})


def test_what_was_noted_is_found():
    """A checkpoint is found under its namespace, and the newest by id is the latest."""
    memory = Memory()
    memory.note("p", "", "2", known([b"a"]))
    memory.note("p", "", "1", known([b"b"]))
    memory.note("p", "child", "3", known([b"c"]))
    assert memory.find("p", "", "1").channels["c"].prints == (b"b",)
    assert memory.find("p", "", "3") is None
    assert memory.find("q", "", "1") is None
    assert memory.latest("p", "")[0] == "2"
    assert memory.latest("q", "") == ("", math.inf)


def test_memory_is_bounded_by_fingerprints():
    """The least recently used namespaces go; at no time is there more than the bound."""
    memory = Memory(max_fingerprints=100)
    for n in range(50):
        memory.note(f"p{n}", "", "1", known([bytes([i]) for i in range(20)]))
        assert memory._size <= 100
    assert memory.find("p0", "", "1") is None
    assert memory.find("p49", "", "1") is not None
    memory.note("huge", "", "1", known([b""] * 200))
    assert memory.find("huge", "", "1") is None


def test_a_namespace_keeps_few_checkpoints():
    """Of a long run the last few are kept."""
    memory = Memory()
    for n in range(30):
        memory.note("p", "", f"{n:02}", known([b"a"]))
    assert [n for n in range(30) if memory.find("p", "", f"{n:02}")] == [26, 27, 28, 29]


def test_positions_grow_with_what_is_put():
    """The end moves by what was put, and the span counts documents back to the base."""
    memory = Memory()
    assert memory.end("p", "") == Position(0, 0)
    assert memory.append_head("p", "", "1", 500) == Position(500, 1)
    memory.note("p", "", "1", known([b"a"], base=1))
    memory.append_writes("p", "", "1", 100, 2)
    assert memory.end("p", "") == Position(600, 3)
    assert memory.latest("p", "") == ("1", 3)


def test_writes_whose_heads_never_come_are_bounded():
    """Another process may put them all: only the latest are kept."""
    memory = Memory()
    for n in range(1000):
        memory.append_writes("p", "", f"{n:03}", 10, 1)
    before = memory.end("p", "")
    assert before.count - memory.append_head("p", "", "", 10).count < 20


def test_a_forgotten_thread_is_unknown():
    """Nothing of the thread is left, and others are."""
    memory = Memory()
    for partition in ("p", "q"):
        for namespace in ("", "child"):
            memory.note(partition, namespace, "1", known([b"a"]))
    memory.forget("p")
    assert memory.find("p", "", "1") is memory.find("p", "child", "1") is None
    assert memory.find("q", "child", "1") is not None
    memory.forget("q")
    assert memory._size == 0


def test_the_ratio_follows_what_was_measured():
    """Large bodies set the ratio, small ones do not."""
    memory = Memory()
    first = memory.ratio
    memory.measured(100, 1)
    assert memory.ratio == first
    for _ in range(9):
        memory.measured(10_000, 1_000)
    assert abs(memory.ratio - 0.1) < 0.01
