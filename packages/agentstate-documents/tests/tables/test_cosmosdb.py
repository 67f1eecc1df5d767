"""The table contract on Cosmos DB, and what Cosmos DB alone asks of a table."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import AzureError, ClientAuthenticationError
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos._cosmos_client_connection import CosmosClientConnection
from azure.cosmos.aio import CosmosClient as AioCosmosClient

from agentstate_documents import Document, DocumentConflict, TableUnavailable, Write
from agentstate_documents.model import MAX_KEY_LENGTH
from agentstate_documents.tables.cosmosdb import AioCosmosDBTable, CosmosDBTable, cosmosdb_tables
from agentstate_documents.tables.cosmosdb_clients import AwaitedCredential
from agentstate_documents.testing.table_contract import Blocking, TableContract, read_all, writes
from servers.cosmosdb.auth import KEY, TOKEN
from servers.cosmosdb.control import CosmosServer
from servers.cosmosdb.faults import Fault

DOCUMENT = Document("a", b"1")


@pytest.fixture(scope="module")
def database() -> str:
    """The database the tests of this module share; the first table that writes creates it."""
    return f"d{uuid.uuid4().hex}"


@pytest.fixture
def table(cosmosdb_server: CosmosServer, database: str) -> Iterator[CosmosDBTable]:
    table = CosmosDBTable(database, "documents", endpoint=cosmosdb_server.endpoint, key=KEY)
    yield table
    table.close()


@pytest.fixture
async def async_table(cosmosdb_server: CosmosServer, database: str) -> AsyncIterator[Any]:
    table = AioCosmosDBTable(database, "documents", endpoint=cosmosdb_server.endpoint, key=KEY)
    yield table
    await table.close()


@pytest.fixture(params=["blocking", "awaiting"])
def face(request: pytest.FixtureRequest) -> Any:
    if request.param == "blocking":
        return Blocking(request.getfixturevalue("table"))
    return request.getfixturevalue("async_table")


@pytest.fixture
def partition() -> str:
    return f"p{uuid.uuid4().hex}"


class TestContract(TableContract):
    """Every guarantee of the port, on both faces."""

    @pytest.fixture
    def table(self, table: CosmosDBTable) -> Any:
        return table

    @pytest.fixture
    def async_table(self, async_table: AioCosmosDBTable) -> Any:
        return async_table


class TestContractOnShortPages(TestContract):
    """The same where the database ends pages early."""

    @pytest.fixture(autouse=True)
    def short_pages(self, cosmosdb_server: CosmosServer) -> None:
        cosmosdb_server.shorten_pages(2)

    # What these two promise holds where the database sends as much as it is asked for.
    test_a_limit_is_met_where_documents_are = None
    test_the_limit_may_change_between_pages = None


class TestRequests:
    """What is sent, and that it is no more than that."""

    async def test_each_operation_is_one_request(
        self, face: Any, partition: str, cosmosdb_server: CosmosServer
    ) -> None:
        """After the first, which asks for the container, a request is a request."""
        await face.put(partition, writes(Document("a", b"")))
        cosmosdb_server.clear()
        await face.put(partition, writes(Document("a", b"")))
        await face.put(partition, writes(Document("b", b""), if_absent=True))
        await face.put(partition, writes(Document("c", b""), Document("d", b"")))
        await face.query(partition, descending=True, limit=2)
        [read] = await face.get(partition, ["a"])
        await face.put(partition, [Write(Document("a", b"2"), if_unchanged=read)])
        await face.delete(partition, ["a", "b", "c", "d"])
        assert cosmosdb_server.operations() == {
            "upsert": 1,
            "create": 1,
            "batch": 2,
            "query": 2,
            "replace": 1,
        }

    async def test_what_is_absent_keeps_nothing_from_being_deleted(
        self, face: Any, partition: str, cosmosdb_server: CosmosServer
    ) -> None:
        """A batch that fails for an absent document is made up for one by one."""
        await face.put(partition, writes(Document("a", b""), Document("b", b"")))
        cosmosdb_server.clear()
        await face.delete(partition, ["nothing", "a"])
        assert cosmosdb_server.operations() == {"batch": 1, "delete": 2}
        assert [d.sort for d in await read_all(face, partition)] == ["b"]

    async def test_the_fullest_put_fits_a_request(self, face: Any, partition: str) -> None:
        """Fifty documents with the longest keys, all escaped, and as many bytes as may be."""
        where = partition + '"' * (MAX_KEY_LENGTH - len(partition))
        sorts = [f"{n:02}".ljust(MAX_KEY_LENGTH, '"') for n in range(50)]
        body = b"\xff" * (face.limits.max_transaction_bytes // len(sorts))
        await face.put(where, writes(*(Document(sort, body, 4_000_000_000) for sort in sorts)))
        assert [d.sort for d in await read_all(face, where)] == sorts

    async def test_expiry_becomes_a_time_to_live(
        self, face: Any, partition: str, cosmosdb_server: CosmosServer
    ) -> None:
        """The database removes a document after its expiry, and no other."""
        soon = int(time.time()) + 100
        await face.put(partition, writes(Document("a", b"", soon)))
        await face.put(partition, writes(Document("b", b"", soon), Document("c", b"")))
        await face.put(partition, writes(Document("d", b"", 1)))  # past already
        cosmosdb_server.forward(90)
        found = await read_all(face, partition)
        assert [(d.sort, d.expires_at) for d in found] == [("a", soon), ("b", soon), ("c", None)]
        cosmosdb_server.forward(20)
        assert [d.sort for d in await read_all(face, partition)] == ["c"]

    async def test_pages_end_by_the_headers_of_their_own_answer(
        self, table: CosmosDBTable, partition: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What the client received last, for another thread, does not end them."""
        headers = property(lambda connection: {}, lambda connection, headers: None)
        monkeypatch.setattr(CosmosClientConnection, "last_response_headers", headers, raising=False)
        table.put(partition, writes(*(Document(f"{n}", b"") for n in range(5))))
        assert len(await read_all(Blocking(table), partition, limit=2)) == 5

    async def test_an_empty_page_is_not_the_end(
        self, face: Any, partition: str, cosmosdb_server: CosmosServer
    ) -> None:
        """The database may send nothing and still have more."""
        await face.put(partition, writes(*(Document(f"{n}", b"") for n in range(4))))
        cosmosdb_server.shorten_pages(2)
        cosmosdb_server.empty_pages(3)
        assert len(await read_all(face, partition, descending=True)) == 4


class TestFailures:
    """Faults of the database and what becomes of them."""

    @pytest.fixture(autouse=True)
    async def connected(self, face: Any, partition: str, cosmosdb_server: CosmosServer) -> None:
        await face.put(partition, writes(Document("there", b"1")))
        cosmosdb_server.clear()

    @pytest.mark.parametrize(
        ("status", "substatus"),
        [(408, 0), (429, 3200), (449, 0), (503, 0), (404, 1002), (410, 1002)],
        ids=["timeout", "throttled", "contended", "no replica", "replica behind", "split"],
    )
    async def test_a_busy_database_is_asked_again(
        self,
        face: Any,
        partition: str,
        cosmosdb_server: CosmosServer,
        status: int,
        substatus: int,
    ) -> None:
        """A put and a query get through after a refusal that passes."""
        cosmosdb_server.inject(Fault("create", status=status, substatus=substatus))
        cosmosdb_server.inject(Fault("query", status=status, substatus=substatus))
        await face.put(partition, writes(Document("new", b""), if_absent=True))
        assert len((await face.query(partition)).documents) == 2
        assert cosmosdb_server.requests()["create"] == 2

    async def test_a_busy_operation_of_a_batch_is_asked_again(
        self, face: Any, partition: str, cosmosdb_server: CosmosServer
    ) -> None:
        """The batch is repeated whole and keeps its conditions."""
        [read] = await face.get(partition, ["there"])
        for status in (429, 449, 503):
            cosmosdb_server.inject(Fault("batch", status=status, inside=True))
        batch = [Write(Document("there", b"2"), if_unchanged=read), Write(Document("new", b""))]
        await face.put(partition, batch)
        assert cosmosdb_server.requests()["batch"] == 4
        cosmosdb_server.inject(Fault("batch", status=429, inside=True))
        with pytest.raises(DocumentConflict):
            await face.put(partition, batch)

    async def test_a_database_that_stays_busy_is_given_up(
        self, face: Any, partition: str, cosmosdb_server: CosmosServer, short_waits: None
    ) -> None:
        """After bounded attempts the put fails, and nothing is stored."""
        cosmosdb_server.inject(Fault("batch", status=449, inside=True, times=1000))
        with pytest.raises(TableUnavailable, match="449"):
            await face.put(partition, writes(Document("a", b""), Document("b", b"")))
        assert [d.sort for d in await read_all(face, partition)] == ["there"]

    @pytest.mark.parametrize("after", [False, True])
    async def test_a_lost_answer_is_asked_for_again(
        self, face: Any, partition: str, cosmosdb_server: CosmosServer, after: bool
    ) -> None:
        """A put whose connection breaks is stored; a conditional one may meet itself."""
        cosmosdb_server.inject(Fault("upsert", after=after))
        await face.put(partition, writes(Document("new", b"2")))
        cosmosdb_server.inject(Fault("create", after=after))
        try:
            await face.put(partition, writes(Document("newer", b"3"), if_absent=True))
        except DocumentConflict:
            assert after
        found = await read_all(face, partition)
        assert [(d.sort, d.body) for d in found] == [
            ("new", b"2"),
            ("newer", b"3"),
            ("there", b"1"),
        ]

    async def test_errors_name_the_container_and_keep_the_cause(
        self, face: Any, partition: str, cosmosdb_server: CosmosServer
    ) -> None:
        """The text says where and what, not what was to be stored."""
        cosmosdb_server.inject(Fault("upsert", status=400))
        with pytest.raises(TableUnavailable, match=r"container 'documents'.*upsert_item.*400") as e:
            await face.put(partition, writes(Document("a", b"secret")))
        assert "secret" not in str(e.value)
        assert e.value.__cause__ is not None


class TestExistence:
    """The container that is missing, wrong, or may not be created."""

    @pytest.fixture
    def name(self) -> str:
        return f"d{uuid.uuid4().hex}"

    @pytest.fixture
    def account(self, cosmosdb_server: CosmosServer) -> dict[str, Any]:
        return {"endpoint": cosmosdb_server.endpoint, "key": KEY}

    @pytest.fixture(params=["blocking", "awaiting"])
    def make(self, request: pytest.FixtureRequest, account: dict[str, Any], name: str) -> Any:
        """Makes a table of a database that is not there."""

        def make(**options: Any) -> Any:
            if request.param == "awaiting":
                return AioCosmosDBTable(name, "c", **{**account, **options})
            return Blocking(CosmosDBTable(name, "c", **{**account, **options}))

        return make

    async def test_it_is_created_when_needed(
        self, make: Any, account: dict[str, Any], name: str
    ) -> None:
        """The first request creates database and container as they should be."""
        table = make()
        assert await read_all(table, "p") == []
        await table.close()
        with CosmosClient(account["endpoint"], KEY) as client:
            found = client.get_database_client(name).get_container_client("c").read()
        assert found["partitionKey"]["paths"] == ["/p"]
        assert found["indexingPolicy"]["includedPaths"] == [{"path": "/k/?"}]
        assert found["indexingPolicy"]["excludedPaths"] == [{"path": "/*"}]
        assert found["defaultTtl"] == -1

    async def test_many_may_create_it_at_once(self, make: Any) -> None:
        """Tables that find it missing together all get their puts through."""
        tables = [make() for _ in range(4)]
        puts = (t.put("p", writes(Document(f"{n}", b""))) for n, t in enumerate(tables))
        await asyncio.gather(*puts)
        assert len(await read_all(tables[0], "p")) == 4
        for table in tables:
            await table.close()

    async def test_it_is_not_created_against_the_wish(self, make: Any) -> None:
        """With create=False every request says that it is missing."""
        table = make(create=False)
        for request in (table.setup(), table.get("p", ["a"]), table.put("p", writes(DOCUMENT))):
            with pytest.raises(TableUnavailable, match=r"does not exist and create=False"):
                await request
        await table.close()

    async def test_another_partition_key_is_named(
        self, make: Any, account: dict[str, Any], name: str
    ) -> None:
        """Setting up a container of someone else's says what is wrong with it."""
        with CosmosClient(account["endpoint"], KEY) as client:
            client.create_database(name).create_container("c", PartitionKey("/other"))
        table = make()
        with pytest.raises(TableUnavailable, match=r"partition key.*'/other'"):
            await table.setup()
        await table.close()

    async def test_a_wrong_key_is_named(self, make: Any) -> None:
        """A key the account does not know is said to be refused."""
        table = make(key=KEY[:-4] + "AA==")
        with pytest.raises(TableUnavailable, match="key or token is not accepted"):
            await table.setup()
        await table.close()

    async def test_an_account_that_is_not_there_is_named(self, make: Any) -> None:
        """Nobody listening is an error of the port."""
        table = make(endpoint="http://127.0.0.1:9/")
        with pytest.raises(TableUnavailable, match="container 'c'"):
            await table.setup()
        await table.close()


class Tokens:
    """A blocking credential that hands out the server's token."""

    threads: ClassVar[set[threading.Thread]] = set()

    def __init__(self) -> None:
        self.scopes: set[str] = set()
        self.threads.add(threading.current_thread())

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        self.threads.add(threading.current_thread())
        self.scopes.update(scopes)
        return AccessToken(TOKEN, int(time.time()) + 3600)


class AwaitableTokens(Tokens, contextlib.AbstractAsyncContextManager["AwaitableTokens"]):
    """The same as the SDK's aio face has it."""

    async def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        return super().get_token(*scopes, **options)

    async def close(self) -> None:
        """Nothing to close."""

    async def __aexit__(self, *error: object) -> None:
        """Nothing to close."""


# The SDK checks no certificate of this machine, and urllib3 says so.
@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
class TestCredentials:
    """Tokens, which need HTTPS and may not create anything."""

    @pytest.fixture
    def container(self, cosmosdb_https_server: CosmosServer) -> tuple[str, str]:
        """A container made with the account key."""
        name = f"d{uuid.uuid4().hex}"
        table = CosmosDBTable(name, "c", endpoint=cosmosdb_https_server.endpoint, key=KEY)
        table.setup()
        table.close()
        return name, "c"

    def tables(self, server: CosmosServer, names: Any, **options: Any) -> list[Any]:
        blocking, awaiting = cosmosdb_tables(*names, endpoint=server.endpoint, **options)
        return [Blocking(blocking), awaiting]

    async def test_a_credential_opens_both_faces(
        self, cosmosdb_https_server: CosmosServer, container: tuple[str, str]
    ) -> None:
        """A blocking credential serves the awaiting face too; tokens are for the account."""
        tokens = Tokens()
        for table in self.tables(cosmosdb_https_server, container, credential=tokens):
            await table.setup()
            await table.put("p", writes(DOCUMENT))
            assert await read_all(table, "p") == [DOCUMENT]
            await table.close()
        assert all(scope.startswith("https://127.0.0.1/") for scope in tokens.scopes)

    async def test_an_awaitable_credential_is_for_the_awaiting_face(
        self, cosmosdb_https_server: CosmosServer, container: tuple[str, str]
    ) -> None:
        """It opens that face; the blocking one says that it cannot use it."""
        credential = AwaitableTokens()
        blocking, awaiting = self.tables(cosmosdb_https_server, container, credential=credential)
        await awaiting.put("p", writes(DOCUMENT))
        await awaiting.close()
        with pytest.raises(TypeError, match="credential must be a blocking one"):
            await blocking.put("p", writes(DOCUMENT))

    @pytest.mark.parametrize("exists", ["the database", "nothing"])
    async def test_the_missing_permission_is_named(
        self, cosmosdb_https_server: CosmosServer, container: tuple[str, str], exists: str
    ) -> None:
        """Setting up with a token says what tokens may not do, and what to do instead."""
        names = (container[0] if exists == "the database" else "none", "other")
        for table in self.tables(cosmosdb_https_server, names, credential=Tokens()):
            with pytest.raises(TableUnavailable, match=r"may not create.*Azure CLI"):
                await table.setup()
            await table.close()

    async def test_without_a_key_azure_is_asked(
        self, cosmosdb_https_server: CosmosServer, container: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With neither key nor credential it is `DefaultAzureCredential` that gives the token."""
        monkeypatch.delenv("COSMOSDB_KEY", raising=False)
        monkeypatch.setattr("azure.identity.DefaultAzureCredential", Tokens)
        _, awaiting = tables = self.tables(cosmosdb_https_server, container)
        for table in tables:
            Tokens.threads.clear()
            await table.put("p", writes(DOCUMENT))
            await table.close()
            # On the awaiting face neither the search for credentials nor a token blocks the loop.
            assert (threading.main_thread() in Tokens.threads) is (table is not awaiting)

    @pytest.mark.parametrize("error", [ClientAuthenticationError("log in first"), AzureError("x")])
    async def test_a_credential_may_have_no_token(
        self, cosmosdb_https_server: CosmosServer, error: Exception
    ) -> None:
        """What the credential says about it is in the error of the port, or its cause."""

        class NoTokens(Tokens):
            def get_token(self, *scopes: str, **options: Any) -> AccessToken:
                raise error

        for table in self.tables(cosmosdb_https_server, ("d", "c"), credential=NoTokens()):
            with pytest.raises(TableUnavailable, match=r"no token: log in first|AzureError") as e:
                await table.setup()
            assert e.value.__cause__ is error
            await table.close()

    async def test_closing_leaves_the_credential_open(self) -> None:
        """The awaiting face closes its own side of a blocking credential, and no more."""
        async with AwaitedCredential(Tokens()) as credential:
            await credential.close()
            assert (await credential.get_token("scope")).token == TOKEN

    async def test_azure_identity_may_be_missing(
        self, cosmosdb_https_server: CosmosServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The error says what to give or to install."""
        monkeypatch.delenv("COSMOSDB_KEY", raising=False)
        monkeypatch.setitem(sys.modules, "azure.identity", None)
        for table in self.tables(cosmosdb_https_server, ("d", "c")):
            with pytest.raises(TableUnavailable, match=r"pass key=.*the extra 'identity'"):
                await table.setup()


class TestClients:
    """Which client a table uses, and who closes it."""

    @pytest.fixture(autouse=True)
    def environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("COSMOSDB_ENDPOINT", raising=False)
        monkeypatch.delenv("COSMOSDB_KEY", raising=False)

    async def test_given_clients_are_used_and_stay_open(
        self, cosmosdb_server: CosmosServer, database: str, partition: str
    ) -> None:
        """Closing the tables leaves the caller's clients usable."""
        endpoint = cosmosdb_server.endpoint
        with CosmosClient(endpoint, KEY) as client:
            async with AioCosmosClient(endpoint, KEY) as aio:
                table, async_table = cosmosdb_tables(
                    database, "documents", client=client, async_client=aio
                )
                for _ in range(2):
                    table.put(partition, writes(Document("a", b"")))
                    await async_table.put(partition, writes(Document("b", b"")))
                    table.close()
                    await async_table.close()
                assert len(await read_all(async_table, partition)) == 2

    async def test_a_blocking_client_serves_both_faces(
        self, cosmosdb_server: CosmosServer, database: str, partition: str
    ) -> None:
        """The awaiting table asks through it when it is the only one."""
        with CosmosClient(cosmosdb_server.endpoint, KEY) as client:
            table, async_table = cosmosdb_tables(database, "documents", client=client)
            await async_table.put(partition, writes(DOCUMENT))
            assert await read_all(Blocking(table), partition) == [DOCUMENT]

    async def test_an_awaiting_client_alone_does_not_block(
        self, cosmosdb_server: CosmosServer, database: str
    ) -> None:
        """The blocking face says which client it misses."""
        async with AioCosmosClient(cosmosdb_server.endpoint, KEY) as client:
            table, _ = cosmosdb_tables(database, "documents", async_client=client)
            with pytest.raises(ValueError, match=r"a client of azure\.cosmos is missing"):
                table.setup()

    async def test_the_environment_says_where(
        self,
        cosmosdb_server: CosmosServer,
        database: str,
        partition: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Endpoint and key come from COSMOSDB_ENDPOINT and COSMOSDB_KEY where not given."""
        monkeypatch.setenv("COSMOSDB_ENDPOINT", cosmosdb_server.endpoint)
        monkeypatch.setenv("COSMOSDB_KEY", KEY)
        table, async_table = cosmosdb_tables(database, "documents")
        table.put(partition, writes(DOCUMENT))
        assert await read_all(async_table, partition) == [DOCUMENT]
        table.close()
        await async_table.close()

    def test_misuse_is_refused_before_any_request(self, cosmosdb_server: CosmosServer) -> None:
        """What is missing, doubled or of the wrong kind is named when the table is made."""
        with pytest.raises(ValueError, match="endpoint is missing"):
            cosmosdb_tables("d", "c")
        with pytest.raises(ValueError, match="key and credential"):
            cosmosdb_tables("d", "c", endpoint="https://x/", key="a", credential=Tokens())
        for names in (("", "c"), ("d", "a/b"), ("d", "c" * 256), ("d ", "c")):
            with pytest.raises(ValueError, match="_name must be 1 to 255 characters"):
                cosmosdb_tables(*names, endpoint="https://x/")
        with (
            CosmosClient(cosmosdb_server.endpoint, KEY) as client,
            pytest.raises(TypeError, match=r"CosmosClient of azure\.cosmos\.aio, not"),
        ):
            cosmosdb_tables("d", "c", async_client=client)

    def test_one_table_serves_one_loop_after_another(
        self, cosmosdb_server: CosmosServer, database: str, partition: str
    ) -> None:
        """Each loop has a client of its own, which ends with it."""
        endpoint = cosmosdb_server.endpoint
        table = AioCosmosDBTable(database, "documents", endpoint=endpoint, key=KEY)
        for name in ("a", "b"):
            asyncio.run(table.put(partition, writes(Document(name, b""))))
        assert len(asyncio.run(read_all(table, partition))) == 2

    async def test_requests_that_begin_together_fail_alike(self) -> None:
        """Where no client can be opened, each of the requests that wait for it says why."""
        table = AioCosmosDBTable("d", "c", endpoint="http://127.0.0.1:9/", key=KEY)
        for _ in range(2):
            asked = [table.get("p", ["s"]) for _ in range(3)]
            errors = await asyncio.gather(*asked, return_exceptions=True)
            assert {type(error) for error in errors} == {TableUnavailable}
        await table.close()

    def test_the_sdk_is_imported_by_the_first_request(self) -> None:
        """Making tables imports nothing of Azure."""
        code = (
            "import sys; from agentstate_documents.tables.cosmosdb import cosmosdb_tables; "
            "cosmosdb_tables('d', 'c', endpoint='https://x/'); "
            "sys.exit(any(name.startswith('azure') for name in sys.modules))"
        )
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0

    def test_secrets_are_not_shown(self) -> None:
        """The key is in no representation of a table or its parts."""
        table = CosmosDBTable("d", "c", endpoint="https://x/", key="c2VjcmV0")
        assert "c2VjcmV0" not in f"{table!r} {vars(table)!r} {vars(table._client)!r}"
