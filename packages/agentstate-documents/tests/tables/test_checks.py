"""What a table refuses before it sends anything."""

from __future__ import annotations

import pytest

from agentstate_documents import Document, MemoryTable, Write


def test_a_put_of_more_bytes_than_a_table_takes_is_refused() -> None:
    """The error names the limit, and nothing is stored."""
    table = MemoryTable(max_body_bytes=100, max_transaction_bytes=150)
    with pytest.raises(ValueError, match="a put holds at most 150 bytes"):
        table.put("p", [Write(Document("a", b"1" * 100)), Write(Document("b", b"1" * 51))])
    assert table.partitions() == []
