"""How the DynamoDB tables come to a client, and to a table in the database."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import MagicMock

import boto3
import pytest
from aiobotocore.session import AioSession, get_session

from agentstate_documents import Document, Write
from agentstate_documents.errors import TableUnavailable
from agentstate_documents.tables.cosmosdb import CosmosDBTable
from agentstate_documents.tables.dynamodb import (
    AioDynamoDBTable,
    DynamoDBTable,
    dynamodb_tables,
)
from agentstate_documents.tables.threaded import Threaded
from agentstate_documents.testing.table_contract import Blocking
from servers.faults import Fault, FaultProxy

pytestmark = pytest.mark.usefixtures("fresh_session", "short_waits")

ONE = [Write(Document("k", b"1"))]
BOTH = pytest.mark.parametrize("kind", [DynamoDBTable, AioDynamoDBTable])


@pytest.fixture
def name() -> str:
    """The name of a table that is not there."""
    return f"documents-{uuid.uuid4()}"


@pytest.fixture
def client(dynamodb_endpoint: str) -> Iterator[Any]:
    """A client of the caller's."""
    client = boto3.client("dynamodb", endpoint_url=dynamodb_endpoint)
    yield client
    client.close()


def face(table: Any) -> Any:
    """Either table, awaitable."""
    return Blocking(table) if isinstance(table, DynamoDBTable) else table


def test_importing_and_constructing_loads_no_sdk() -> None:
    """The SDKs, which take half a second to import, wait for the first request."""
    code = (
        "import sys; from agentstate_documents.tables.dynamodb import dynamodb_tables as new;"
        "new('documents', endpoint_url='http://127.0.0.1:1');"
        "assert not {'boto3', 'botocore', 'aiobotocore'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


IMPORTS = """
import asyncio, sys, threading
from agentstate_documents import Document, Write
from agentstate_documents.tables.dynamodb import AioDynamoDBTable

in_the_loop = {}

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("aiobotocore", "aiohttp", "botocore")):
            in_the_loop[name] = threading.current_thread() is threading.main_thread()

sys.meta_path.insert(0, Watch())
table = AioDynamoDBTable(sys.argv[1], endpoint_url=sys.argv[2])
asyncio.run(table.put("p", [Write(Document("k", b""))]))
late = [name for name, found in in_the_loop.items() if found]
assert in_the_loop and not late, late
"""


def test_the_event_loop_imports_no_sdk(name: str, dynamodb_endpoint: str) -> None:
    """The first awaited request imports it in a thread: it takes half a second."""
    subprocess.run([sys.executable, "-c", IMPORTS, name, dynamodb_endpoint], check=True)


@pytest.mark.parametrize("bad", ["", "ab", "a b c", "a" * 256, "tä-ble", "arn:"])
@BOTH
def test_a_table_name_is_checked_before_anything_else(kind: Any, bad: str) -> None:
    """A name DynamoDB would refuse is a ValueError that shows it."""
    with pytest.raises(ValueError, match="table_name must be"):
        kind(bad)


@BOTH
async def test_a_missing_table_is_created_by_the_first_request(
    kind: Any, name: str, client: Any, dynamodb_endpoint: str
) -> None:
    """Nothing is there after construction; the first put creates, without a throughput cap."""
    table = face(kind(name, endpoint_url=dynamodb_endpoint))
    assert name not in client.list_tables()["TableNames"]
    await table.put("p", ONE)
    described = client.describe_table(TableName=name)["Table"]
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert "OnDemandThroughput" not in described
    assert "GlobalSecondaryIndexes" not in described
    ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert ttl["TimeToLiveStatus"] == "DISABLED"
    await table.close()


@BOTH
@pytest.mark.parametrize(
    "request_of",
    [
        lambda table: table.get("p", ["k"]),
        lambda table: table.query("p"),
        lambda table: table.delete("p", ["k"]),
        lambda table: table.partitions(),
        lambda table: table.put("p", [*ONE, Write(Document("l", b"2"))]),
    ],
)
async def test_any_request_may_be_the_first(
    kind: Any, name: str, dynamodb_endpoint: str, request_of: Any
) -> None:
    """Reading, deleting and listing create a missing table as well as writing."""
    table = face(kind(name, endpoint_url=dynamodb_endpoint))
    await request_of(table)
    await request_of(table)
    await table.close()


@BOTH
async def test_create_false_creates_nothing(
    kind: Any, name: str, client: Any, dynamodb_endpoint: str
) -> None:
    """A missing table is then an error that names it, for requests and for setup."""
    table = face(kind(name, endpoint_url=dynamodb_endpoint, create=False))
    for ask in (table.setup(), table.put("p", ONE), table.query("p")):
        with pytest.raises(TableUnavailable, match=f"'{name}': the table does not exist"):
            await ask
    assert name not in client.list_tables()["TableNames"]
    await table.close()


@BOTH
@pytest.mark.parametrize("first", ["setup", "put"])
async def test_a_table_for_expiring_documents_expires_them(
    kind: Any, name: str, client: Any, dynamodb_endpoint: str, first: str
) -> None:
    """The expiry attribute is switched on when the table is created; setup may be repeated."""
    table = face(kind(name, endpoint_url=dynamodb_endpoint, expiring=True))
    await (table.put("p", ONE) if first == "put" else table.setup())
    await table.setup()
    ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert ttl["AttributeName"] == "x"
    assert ttl["TimeToLiveStatus"] in {"ENABLING", "ENABLED"}
    await table.close()


@BOTH
async def test_setup_switches_expiry_on_for_a_table_that_exists(
    kind: Any, name: str, client: Any, dynamodb_endpoint: str
) -> None:
    """A table that was created without expiry gets it from setup."""
    plain = face(kind(name, endpoint_url=dynamodb_endpoint))
    await plain.setup()
    table = face(kind(name, endpoint_url=dynamodb_endpoint, expiring=True))
    await table.setup()
    ttl = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    assert ttl["AttributeName"] == "x"
    await plain.close()
    await table.close()


@BOTH
async def test_setup_refuses_a_table_with_other_keys(
    kind: Any, name: str, client: Any, dynamodb_endpoint: str
) -> None:
    """A table of another program is named as such, and left alone."""
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
    )
    table = face(kind(name, endpoint_url=dynamodb_endpoint))
    with pytest.raises(TableUnavailable, match=r"has the keys \['PK'\]"):
        await table.setup()
    await table.close()


@BOTH
@pytest.mark.parametrize("operation", ["DescribeTable", "CreateTable", "UpdateTimeToLive"])
async def test_setup_names_the_permission_that_is_missing(
    kind: Any, name: str, fault_proxy: FaultProxy, operation: str
) -> None:
    """What the policy lacks stands in the error."""
    fault_proxy.inject(Fault(operation, error="AccessDeniedException"))
    table = face(kind(name, endpoint_url=fault_proxy.endpoint, expiring=True))
    with pytest.raises(TableUnavailable, match=rf"dynamodb:{operation} is missing"):
        await table.setup()
    await table.close()


@BOTH
async def test_a_table_that_becomes_active_later_is_waited_for(
    kind: Any, name: str, fault_proxy: FaultProxy
) -> None:
    """DescribeTable may not know a new table yet; the request waits until it does."""
    fault_proxy.inject(Fault("DescribeTable", times=2, error="ResourceNotFoundException"))
    table = face(kind(name, endpoint_url=fault_proxy.endpoint))
    await table.put("p", ONE)
    assert [d.body for d in (await table.query("p")).documents] == [b"1"]
    await table.close()


@BOTH
async def test_a_table_that_never_becomes_active_is_an_error(
    kind: Any, name: str, fault_proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting for a new table ends."""
    from agentstate_documents.tables import dynamodb_requests

    monkeypatch.setattr(dynamodb_requests, "_CREATION_WAITS_SECONDS", (0.0, 0.0))
    fault_proxy.inject(Fault("DescribeTable", times=9, error="ResourceNotFoundException"))
    table = face(kind(name, endpoint_url=fault_proxy.endpoint))
    with pytest.raises(TableUnavailable, match="does not become active"):
        await table.put("p", ONE)
    await table.close()


@BOTH
async def test_others_may_create_the_table_at_the_same_time(
    kind: Any, name: str, fault_proxy: FaultProxy
) -> None:
    """Who comes second, with the table or with its expiry, uses what is there."""
    first = face(kind(name, endpoint_url=fault_proxy.endpoint))
    await first.setup()
    fault_proxy.reset()
    fault_proxy.inject(Fault("PutItem", error="ResourceNotFoundException"))
    fault_proxy.inject(Fault("UpdateTimeToLive", error="ValidationException"))
    second = face(kind(name, endpoint_url=fault_proxy.endpoint, expiring=True))
    await second.put("p", ONE)
    assert fault_proxy.operations() == [
        "PutItem",
        "CreateTable",
        "DescribeTable",
        "DescribeTimeToLive",
        "UpdateTimeToLive",
        "PutItem",
    ]
    await first.close()
    await second.close()


def test_the_applications_default_session_is_used(
    name: str, aws_environment: pytest.MonkeyPatch
) -> None:
    """What `boto3.setup_default_session` was told holds here too."""
    boto3.setup_default_session(region_name="ap-south-1")
    table = DynamoDBTable(name)
    assert table._client._client().meta.region_name == "ap-south-1"
    table.close()


def test_first_use_from_many_threads_opens_one_client(
    name: str, dynamodb_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight threads that begin together share a client and a table."""
    made: list[Any] = []
    original = boto3.session.Session.client

    def counted(*args: Any, **kwargs: Any) -> Any:
        made.append(original(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(boto3.session.Session, "client", counted)
    table = DynamoDBTable(name, endpoint_url=dynamodb_endpoint)
    start = threading.Barrier(8)

    def use(n: int) -> None:
        start.wait()
        table.put(f"p{n}", ONE)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))
    assert len(table.partitions()) == 8
    assert len(made) == 1
    table.close()


def test_arguments_reach_the_client(name: str, aws_environment: pytest.MonkeyPatch) -> None:
    """Region and endpoint are those given, with a session of the caller's too."""
    session = boto3.session.Session(region_name="us-east-1", aws_access_key_id="a")
    table = DynamoDBTable(
        name, region_name="eu-west-3", endpoint_url="http://127.0.0.1:9", boto_session=session
    )
    opened = table._client._client()
    assert opened.meta.region_name == "eu-west-3"
    assert opened.meta.endpoint_url == "http://127.0.0.1:9"
    assert opened._request_signer._credentials.access_key == "a"
    table.close()

    table = DynamoDBTable(name, boto_session=boto3.session.Session(region_name="us-east-1"))
    assert table._client._client().meta.region_name == "us-east-1"
    table.close()


async def test_arguments_reach_the_awaiting_client(name: str) -> None:
    """Region and endpoint are those given."""
    table = AioDynamoDBTable(name, region_name="eu-west-3", endpoint_url="http://127.0.0.1:9")
    opened = await table._client._clients.get()
    assert opened.meta.region_name == "eu-west-3"
    assert opened.meta.endpoint_url == "http://127.0.0.1:9"
    await table.close()


async def test_a_client_of_the_callers_is_used_and_stays_open(name: str, client: Any) -> None:
    """The caller opened it, the caller closes it."""
    table = DynamoDBTable(name, client=client)
    table.put("p", ONE)
    table.close()
    assert client.scan(TableName=name)["Count"] == 1


def test_a_stand_in_for_a_client_is_taken() -> None:
    """A mock or a proxy has every method there is, also those of another kind of client."""
    DynamoDBTable("documents", client=MagicMock())
    CosmosDBTable("database", "documents", client=MagicMock())


async def test_an_async_client_of_the_callers_is_used_and_stays_open(
    name: str, dynamodb_endpoint: str
) -> None:
    """The caller opened it, the caller closes it."""
    async with get_session().create_client("dynamodb", endpoint_url=dynamodb_endpoint) as client:
        table = AioDynamoDBTable(name, client=client)
        await table.put("p", ONE)
        await table.close()
        assert (await client.scan(TableName=name))["Count"] == 1


async def test_the_awaiting_table_is_native_unless_boto3_was_given(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was given decides: a session or client of boto3 is asked in threads."""
    session = boto3.session.Session()
    assert isinstance(dynamodb_tables("documents")[1], AioDynamoDBTable)
    assert isinstance(dynamodb_tables("documents", client=client)[1], Threaded)
    assert isinstance(dynamodb_tables("documents", boto_session=session)[1], Threaded)
    async with get_session().create_client("dynamodb") as native:
        given = dynamodb_tables("documents", client=client, async_client=native)
    assert isinstance(given[1], AioDynamoDBTable)
    monkeypatch.setattr("agentstate_documents.tables.dynamodb.find_spec", lambda name: None)
    assert isinstance(dynamodb_tables("documents")[1], Threaded)


@BOTH
async def test_a_missing_region_is_named(
    kind: Any, name: str, aws_environment: pytest.MonkeyPatch
) -> None:
    """The text says where a region may come from."""
    aws_environment.delenv("AWS_DEFAULT_REGION")
    table = face(kind(name))
    with pytest.raises(TableUnavailable, match="no region: pass region_name"):
        await table.put("p", ONE)
    await table.close()


@BOTH
async def test_missing_credentials_are_named(
    kind: Any, name: str, aws_environment: pytest.MonkeyPatch
) -> None:
    """The text says where credentials may come from; nothing is sent without."""
    aws_environment.delenv("AWS_ACCESS_KEY_ID")
    aws_environment.delenv("AWS_SECRET_ACCESS_KEY")
    table = face(kind(name, endpoint_url="http://127.0.0.1:9"))
    with pytest.raises(TableUnavailable, match="no credentials"):
        await table.put("p", ONE)
    await table.close()


@BOTH
async def test_an_unknown_profile_is_no_error_of_the_sdk(
    kind: Any, name: str, aws_environment: pytest.MonkeyPatch
) -> None:
    """Whatever the SDK objects to arrives as an error of ours, with its cause."""
    aws_environment.setenv("AWS_PROFILE", "nobody")
    table = face(kind(name))
    with pytest.raises(TableUnavailable, match="ProfileNotFound") as caught:
        await table.put("p", ONE)
    assert "nobody" in str(caught.value.__cause__)
    await table.close()


@BOTH
async def test_nobody_listening_is_an_error_that_names_the_endpoint(kind: Any, name: str) -> None:
    """A wrong endpoint ends, after the attempts a restart would take, in an error naming it."""
    table = face(kind(name, endpoint_url="http://127.0.0.1:9"))
    with pytest.raises(TableUnavailable, match=r"http://127\.0\.0\.1:9"):
        await table.put("p", ONE)
    await table.close()


async def test_an_error_that_is_not_the_sdks_passes(name: str) -> None:
    """A fault of a client of the caller's is not disguised as one of the database."""

    class Broken:
        def query(self, **arguments: Any) -> Any:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        DynamoDBTable(name, client=Broken()).query("p")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every client of aiobotocore that is opened."""
    made: list[Any] = []
    original = AioSession.create_client

    def noted(*args: Any, **options: Any) -> Any:
        made.append(original(*args, **options))
        return made[-1]

    monkeypatch.setattr(AioSession, "create_client", noted)
    return made


def test_one_loop_after_another(name: str, dynamodb_endpoint: str, opened: list[Any]) -> None:
    """Each event loop has a client of its own, which is closed with the loop, unasked."""
    table = AioDynamoDBTable(name, endpoint_url=dynamodb_endpoint)
    for n in range(3):
        asyncio.run(table.put("p", [Write(Document(f"k{n}", b""))]))
    assert len(asyncio.run(table.query("p")).documents) == 3
    assert len(opened) == 4
    gc.collect()  # a connection left open would be reported here


async def test_two_loops_at_once(name: str, dynamodb_endpoint: str, opened: list[Any]) -> None:
    """A second loop, in another thread, leaves the client of the first alone."""
    table = AioDynamoDBTable(name, endpoint_url=dynamodb_endpoint)
    await table.put("p", ONE)
    await asyncio.to_thread(asyncio.run, table.put("q", ONE))
    assert sorted(await table.partitions()) == ["p", "q"]
    assert len(opened) == 2
    await table.close()


async def test_tasks_of_a_loop_share_a_client(
    name: str, dynamodb_endpoint: str, opened: list[Any]
) -> None:
    """Twenty tasks that begin together open one client."""
    table = AioDynamoDBTable(name, endpoint_url=dynamodb_endpoint)
    await table.setup()
    await table.close()
    opened.clear()
    await asyncio.gather(*(table.put(f"p{n}", ONE) for n in range(20)))
    assert len(opened) == 1
    assert len(await table.partitions()) == 20
    await table.close()


async def test_a_closing_that_is_cancelled_is_finished(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits for it no more leaves no client open."""
    begun, go_on, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Slow:
        async def __aenter__(self) -> Any:
            return self

        async def __aexit__(self, *error: object) -> None:
            begun.set()
            await go_on.wait()
            closed.set()

        async def query(self, **arguments: Any) -> Any:
            return {"Items": []}

    monkeypatch.setattr(AioSession, "create_client", lambda *_, **__: Slow())
    table = AioDynamoDBTable(name)
    await table.query("p")
    closing = asyncio.create_task(table.close())
    await begun.wait()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    go_on.set()
    await asyncio.sleep(0)
    assert closed.is_set()


async def test_closing_while_a_first_request_fails(
    name: str, aws_environment: pytest.MonkeyPatch
) -> None:
    """There is nothing to close then, and the next request tries again."""
    aws_environment.delenv("AWS_DEFAULT_REGION")
    table = AioDynamoDBTable(name, endpoint_url="http://127.0.0.1:9")
    await table.close()
    failed, closed = await asyncio.gather(
        table.put("p", ONE), table.close(), return_exceptions=True
    )
    assert isinstance(failed, TableUnavailable)
    assert closed is None
    with pytest.raises(TableUnavailable, match="no region"):
        await table.put("p", ONE)


@BOTH
async def test_an_endpoint_that_speaks_no_tls_is_an_error_at_once(
    kind: Any, name: str, fault_proxy: FaultProxy
) -> None:
    """What will not pass is not asked again."""
    table = face(kind(name, endpoint_url=fault_proxy.endpoint.replace("http:", "https:")))
    with pytest.raises(TableUnavailable, match="SSL"):
        await table.put("p", ONE)
    await table.close()
