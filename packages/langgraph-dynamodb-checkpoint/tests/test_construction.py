"""What the saver makes of its arguments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from aiobotocore.session import get_session

from agentstate_documents.errors import TableUnavailable
from agentstate_documents.tables.dynamodb import AioDynamoDBTable
from agentstate_documents.tables.threaded import Threaded
from agentstate_documents.testing.saver_scenes import at, checkpoint
from langgraph_dynamodb_checkpoint import DynamoDBSaver
from servers.faults import FaultProxy

Make = Callable[..., DynamoDBSaver]


@pytest.fixture
def client(endpoint: str) -> Iterator[Any]:
    """A client of the caller's."""
    client = boto3.client("dynamodb", endpoint_url=endpoint)
    yield client
    client.close()


def put_one(saver: DynamoDBSaver, thread: str = "t") -> None:
    """One checkpoint of the thread."""
    saver.put(at(thread), checkpoint({"n": 1}), {}, {})


def test_importing_and_constructing_loads_no_sdk() -> None:
    """The SDKs wait for the first call, and nothing connects before it."""
    code = (
        "import sys; from langgraph_dynamodb_checkpoint import DynamoDBSaver;"
        "DynamoDBSaver('checkpoints', region_name='x', endpoint_url='http://127.0.0.1:1');"
        "assert not {'boto3', 'botocore', 'aiobotocore'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_table_name_is_checked() -> None:
    """A name DynamoDB refuses is refused at construction."""
    with pytest.raises(ValueError, match=r"table_name must be .* not 'a table'"):
        DynamoDBSaver("a table")


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_ttl_is_checked(seconds: int) -> None:
    """Checkpoints that expire at once would be no checkpoints."""
    with pytest.raises(ValueError, match="ttl_seconds must be above 0"):
        DynamoDBSaver("checkpoints", ttl_seconds=seconds)


def test_without_a_ttl_nothing_expires(savers: Make, client: Any, table_name: str) -> None:
    """No item has an expiry, and the table none switched on."""
    put_one(savers())
    items = client.scan(TableName=table_name)["Items"]
    assert [sorted(item) for item in items] == [["b", "p", "s"]]
    ttl = client.describe_time_to_live(TableName=table_name)["TimeToLiveDescription"]
    assert ttl["TimeToLiveStatus"] == "DISABLED"


def test_with_a_ttl_every_item_expires(savers: Make, client: Any, table_name: str) -> None:
    """Each item says when, in whole seconds, and the table removes what has expired."""
    saver = savers(ttl_seconds=3600)
    put_one(saver)
    saver.put_writes(saver.get_tuple(at("t")).config, [("n", 2)], "task")
    items = client.scan(TableName=table_name)["Items"]
    assert len(items) == 2
    assert all(int(item["x"]["N"]) > 0 for item in items)
    ttl = client.describe_time_to_live(TableName=table_name)["TimeToLiveDescription"]
    assert ttl["AttributeName"] == "x"
    assert ttl["TimeToLiveStatus"] in {"ENABLING", "ENABLED"}


def test_create_false_creates_no_table(savers: Make, client: Any, table_name: str) -> None:
    """The error names the table that is missing."""
    saver = savers(create=False)
    with pytest.raises(TableUnavailable, match=table_name):
        put_one(saver)
    with pytest.raises(TableUnavailable, match=table_name):
        saver.setup()
    assert table_name not in client.list_tables()["TableNames"]


async def test_both_faces_see_one_table(savers: Make) -> None:
    """What is put on one face is read on the other."""
    saver = savers()
    put_one(saver)
    assert await saver.aget_tuple(at("t")) == saver.get_tuple(at("t"))


async def test_the_callers_session_and_client_serve_both_faces(
    table_name: str, client: Any, endpoint: str
) -> None:
    """Credentials of boto3 stay with boto3; an `async_client` or none at all is native."""
    session = boto3.session.Session()

    def awaiting(**options: Any) -> Any:
        return DynamoDBSaver(table_name, **options)._async_table

    assert isinstance(awaiting(client=client), Threaded)
    assert isinstance(awaiting(boto_session=session), Threaded)
    assert isinstance(awaiting(), AioDynamoDBTable)
    async with get_session().create_client("dynamodb") as native:
        assert isinstance(awaiting(client=client, async_client=native), AioDynamoDBTable)


async def test_the_callers_client_stays_open(table_name: str, client: Any) -> None:
    """Closing the saver closes only what the saver opened."""
    saver = DynamoDBSaver(table_name, client=client)
    put_one(saver)
    saver.close()
    await saver.aclose()
    assert client.scan(TableName=table_name)["Count"] == 1


@pytest.mark.parametrize("empty", ["", None])
def test_an_empty_thread_is_refused_before_any_request(
    table_name: str, fault_proxy: FaultProxy, empty: Any
) -> None:
    """The error names thread_id, and nothing was asked of the database."""
    saver = DynamoDBSaver(table_name, endpoint_url=fault_proxy.endpoint)
    with pytest.raises((ValueError, TypeError), match="thread_id"):
        put_one(saver, empty)
    assert fault_proxy.operations() == []
    saver.close()
