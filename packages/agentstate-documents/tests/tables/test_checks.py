"""What a table refuses before it sends anything."""

from __future__ import annotations

from typing import Any

import pytest

from agentstate_documents import Document, MemoryTable, Write
from agentstate_documents.tables.cosmosdb import CosmosDBTable
from agentstate_documents.tables.dynamodb import DynamoDBTable
from agentstate_documents.tables.firestore import FirestoreTable
from agentstate_documents.tables.sql import SQLTable


def test_a_put_of_more_bytes_than_a_table_takes_is_refused() -> None:
    """The error names the limit, and nothing is stored."""
    table = MemoryTable(max_body_bytes=100, max_transaction_bytes=150)
    with pytest.raises(ValueError, match="a put holds at most 150 bytes"):
        table.put("p", [Write(Document("a", b"1" * 100)), Write(Document("b", b"1" * 51))])
    assert table.partitions() == []


@pytest.mark.parametrize("name", [None, 5, b"documents"])
@pytest.mark.parametrize(
    "made",
    [
        lambda name: DynamoDBTable(name),
        lambda name: CosmosDBTable(name, "documents", endpoint="https://mine.example/"),
        lambda name: CosmosDBTable("agents", name, endpoint="https://mine.example/"),
        lambda name: FirestoreTable(name),
        lambda name: SQLTable("sqlite://", table_name=name),
    ],
)
def test_a_name_that_is_no_text_is_refused(made: Any, name: Any) -> None:
    """The error says which name, and what it was."""
    with pytest.raises(TypeError, match=r"(_name|collection) must be text, not "):
        made(name)
