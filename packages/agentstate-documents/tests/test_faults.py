"""The faulty table fails when it is told to, and is otherwise the table."""

import pytest

from agentstate_documents import Document, MemoryTable, TableUnavailable, Write
from agentstate_documents.testing.faults import FaultyTable, Stopped


class Noting(MemoryTable):
    def __init__(self):
        super().__init__()
        self.calls = []

    def setup(self):
        self.calls.append("setup")

    def close(self):
        self.calls.append("close")


def test_what_is_not_counted_passes():
    """Setting up and closing are the table's, and so are its limits."""
    table = Noting()
    faulty = FaultyTable(table, at=1)
    faulty.setup()
    faulty.close()
    assert table.calls == ["setup", "close"]
    assert faulty.limits is table.limits


@pytest.mark.parametrize("after", [False, True])
def test_the_named_request_fails_once(after):
    """Before or after it was carried out; the others are answered."""
    table = MemoryTable()
    faulty = FaultyTable(table, at=2, after=after, error=TableUnavailable)
    faulty.put("p", [Write(Document("a", b"1"))])
    with pytest.raises(TableUnavailable):
        faulty.put("p", [Write(Document("b", b"2"))])
    assert [d and d.sort for d in faulty.get("p", ["a", "b"])] == ["a", "b" if after else None]
    assert faulty.partitions() == ["p"]
    assert faulty.requests == 4


def test_a_stopped_process_does_nothing_more():
    """Every later request is refused, too."""
    table = MemoryTable()
    faulty = FaultyTable(table, at=1)
    for _ in range(2):
        with pytest.raises(Stopped):
            faulty.put("p", [Write(Document("a", b"1"))])
    assert table.partitions() == []


def test_half_a_delete():
    """A delete that stops half way has removed the first half."""
    table = MemoryTable()
    table.put("p", [Write(Document(sort, b"")) for sort in "abc"])
    faulty = FaultyTable(table, at=1, after=True, half=True)
    with pytest.raises(Stopped):
        faulty.delete("p", ["a", "b", "c"])
    assert [document.sort for document in table.query("p").documents] == ["c"]
