"""DynamoDB keeps the table contract, over boto3 and over aiobotocore."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from agentstate_documents.tables.dynamodb import AioDynamoDBTable, DynamoDBTable
from agentstate_documents.testing.table_contract import TableContract


@pytest.fixture(scope="module")
def table_name() -> str:
    """One table for the tests of this module; each has partitions of its own."""
    return f"documents-{uuid.uuid4()}"


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")


class TestDynamoDB(TableContract):
    """The contract, on the blocking and on the awaiting table."""

    @pytest.fixture
    def table(self, dynamodb_endpoint: str, table_name: str) -> Iterator[DynamoDBTable]:
        table = DynamoDBTable(table_name, endpoint_url=dynamodb_endpoint)
        yield table
        table.close()

    @pytest.fixture
    async def async_table(
        self, dynamodb_endpoint: str, table_name: str
    ) -> AsyncIterator[AioDynamoDBTable]:
        table = AioDynamoDBTable(table_name, endpoint_url=dynamodb_endpoint)
        yield table
        await table.close()
