"""DynamoDB keeps the table contract, over boto3 and over aiobotocore."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from agentstate_documents.tables.dynamodb import AioDynamoDBTable, DynamoDBTable
from agentstate_documents.testing.table_contract import TableContract
from servers.faults import Fault, FaultProxy

OPERATIONS = ["PutItem", "Query", "TransactWriteItems", "Scan"]
BATCHES = ["BatchGetItem", "BatchWriteItem"]


@pytest.fixture(scope="module")
def table_name() -> str:
    """One table for these tests; each has partitions of its own."""
    return f"documents-{uuid.uuid4()}"


@pytest.mark.usefixtures("aws_environment")
class TestDynamoDB(TableContract):
    """The contract, on the blocking and on the awaiting table."""

    @pytest.fixture
    def endpoint(self, dynamodb_endpoint: str) -> str:
        """Where the database answers."""
        return dynamodb_endpoint

    @pytest.fixture
    def table(self, endpoint: str, table_name: str) -> Iterator[DynamoDBTable]:
        """The table over boto3."""
        table = DynamoDBTable(table_name, endpoint_url=endpoint)
        yield table
        table.close()

    @pytest.fixture
    async def async_table(self, endpoint: str, table_name: str) -> AsyncIterator[AioDynamoDBTable]:
        """The table over aiobotocore."""
        table = AioDynamoDBTable(table_name, endpoint_url=endpoint)
        yield table
        await table.close()


@pytest.mark.usefixtures("short_waits")
class TestBusyDynamoDB(TestDynamoDB):
    """The contract, while the database throttles each operation and leaves batches undone."""

    @pytest.fixture
    def endpoint(self, fault_proxy: FaultProxy) -> str:
        """A database that has no time at first."""
        for operation in OPERATIONS:
            fault_proxy.inject(Fault(operation, times=2, error="ThrottlingException"))
        for operation in BATCHES:
            fault_proxy.inject(Fault(operation, times=3, unprocessed=7))
        return fault_proxy.endpoint
