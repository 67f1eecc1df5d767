"""The table contract on the reference table, at its real and at tiny limits."""

import pytest

from agentstate_documents import Document, MemoryTable, Write
from agentstate_documents.testing.table_contract import TableContract


class TestMemoryTable(TableContract):
    @pytest.fixture
    def table(self):
        return MemoryTable()


class TestTinyMemoryTable(TableContract):
    @pytest.fixture
    def table(self):
        return MemoryTable(
            max_body_bytes=600,
            max_transaction_documents=8,
            max_transaction_bytes=600,
            page_size=24,
        )


def test_expired_documents_stay_until_they_are_removed():
    """A row is there after its expiry, and gone, with its partition, once it is removed."""
    table = MemoryTable()
    table.put("p", [Write(Document("a", b"", 100)), Write(Document("b", b"", 200))])
    table.put("q", [Write(Document("a", b"", 100)), Write(Document("b", b""))])
    table.remove_expired(99)
    assert len(table.query("p").documents) == 2
    table.remove_expired(100)
    assert [document.sort for document in table.query("p").documents] == ["b"]
    table.remove_expired(200)
    assert table.partitions() == ["q"]


@pytest.mark.parametrize(
    "limits",
    [
        {"max_body_bytes": 63},
        {"max_transaction_documents": 7},
        {"max_transaction_bytes": 389_999},
        {"page_size": 0},
    ],
)
def test_limits_too_small_to_work_with_are_refused(limits):
    """By name, at construction."""
    with pytest.raises(ValueError, match=f"{next(iter(limits))} must be"):
        MemoryTable(**limits)


@pytest.mark.parametrize("name", ["max_body_bytes", "max_transaction_documents", "page_size"])
def test_limits_are_numbers(name):
    """Anything else is refused by name."""
    with pytest.raises(TypeError, match=f"{name} must be a whole number"):
        MemoryTable(**{name: "300"})
