"""The fault proxy does to a real client what it says."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from servers.faults import Fault, FaultProxy


@pytest.fixture
def client(fault_proxy: FaultProxy) -> Iterator[Any]:
    """A client behind the proxy that repeats nothing by itself."""
    client = boto3.client(
        "dynamodb",
        endpoint_url=fault_proxy.endpoint,
        region_name="eu-central-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}),
    )
    yield client
    client.close()


@pytest.fixture
def table(client: Any) -> str:
    """A table with one key, `k`."""
    name = f"t{uuid.uuid4().hex}"
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
    )
    return name


def item(key: str) -> dict[str, Any]:
    """An item with a key alone."""
    return {"k": {"S": key}}


def test_a_request_is_refused_as_often_as_asked(
    fault_proxy: FaultProxy, client: Any, table: str
) -> None:
    """A throttled request never reaches the database; the next one does."""
    fault_proxy.inject(Fault("PutItem", error="ThrottlingException"))
    with pytest.raises(ClientError, match="ThrottlingException"):
        client.put_item(TableName=table, Item=item("a"))
    assert "Item" not in client.get_item(TableName=table, Key=item("a"))
    client.put_item(TableName=table, Item=item("a"))
    assert client.get_item(TableName=table, Key=item("a"))["Item"] == item("a")
    assert fault_proxy.operations()[1:] == ["PutItem", "GetItem", "PutItem", "GetItem"]


@pytest.mark.parametrize("undone", [1, 3, 9])
def test_entries_of_a_batch_are_left_undone(
    fault_proxy: FaultProxy, client: Any, table: str, undone: int
) -> None:
    """The last entries come back as unprocessed, and only the others were carried out."""
    keys = [item(f"k{n}") for n in range(3)]
    fault_proxy.inject(Fault("BatchWriteItem", unprocessed=undone))
    puts = [{"PutRequest": {"Item": key}} for key in keys]
    reply = client.batch_write_item(RequestItems={table: puts})
    assert reply["UnprocessedItems"] == {table: puts[max(0, 3 - undone) :]}
    client.batch_write_item(RequestItems=reply["UnprocessedItems"])

    fault_proxy.inject(Fault("BatchGetItem", unprocessed=undone))
    request = {table: {"Keys": keys, "ConsistentRead": True}}
    reply = client.batch_get_item(RequestItems=request)
    left = {"Keys": keys[max(0, 3 - undone) :], "ConsistentRead": True}
    assert reply["UnprocessedKeys"] == {table: left}
    assert len(reply["Responses"].get(table, [])) == max(0, 3 - undone)


@pytest.mark.parametrize(("moment", "carried_out"), [("before", False), ("after", True)])
def test_a_connection_is_cut(
    fault_proxy: FaultProxy, client: Any, table: str, moment: str, carried_out: bool
) -> None:
    """A client cannot tell a lost request from a lost reply, so both can be had."""
    fault_proxy.inject(Fault("PutItem", hang_up=moment))
    with pytest.raises(ConnectionClosedError):
        client.put_item(TableName=table, Item=item("a"))
    assert ("Item" in client.get_item(TableName=table, Key=item("a"))) is carried_out
