"""The Cosmos DB protocol test server answers the real SDK as the documentation says."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from azure.core import MatchConditions
from azure.core.exceptions import AzureError
from azure.cosmos import CosmosClient, PartitionKey, exceptions
from azure.cosmos.aio import CosmosClient as AsyncCosmosClient

from servers.cosmosdb.auth import KEY
from servers.cosmosdb.control import CosmosServer
from servers.cosmosdb.faults import Fault


class Face:
    """A container of the blocking or the awaiting SDK, awaitable either way."""

    def __init__(self, container: Any, is_async: bool) -> None:
        self.container = container
        self.is_async = is_async

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.container, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await method(*args, **kwargs) if self.is_async else method(*args, **kwargs)

        return call

    async def query(self, query: str, **options: Any) -> list[Any]:
        """All rows of a query; across partitions where no partition key is given."""
        if not self.is_async and "partition_key" not in options:
            options["enable_cross_partition_query"] = True  # which aio takes for granted
        parameters = [{"name": n, "value": v} for n, v in options.pop("values", {}).items()]
        found = self.container.query_items(query, parameters=parameters, **options)
        return [row async for row in found] if self.is_async else list(found)

    async def pages(self, query: str, **options: Any) -> list[list[Any]]:
        """The rows of a query, page by page."""
        pages = self.container.query_items(query, **options).by_page()
        if self.is_async:
            return [[row async for row in page] async for page in pages]
        return [list(page) for page in pages]


@pytest.fixture
def client(cosmosdb_server: CosmosServer) -> Iterator[CosmosClient]:
    with CosmosClient(cosmosdb_server.endpoint, KEY) as client:
        yield client


@pytest.fixture
def database(client: CosmosClient) -> Iterator[Any]:
    name = f"d{uuid.uuid4().hex}"
    yield client.create_database(name)
    client.delete_database(name)


@pytest.fixture(params=["sync", "aio"])
async def face(
    request: pytest.FixtureRequest, cosmosdb_server: CosmosServer, database: Any
) -> AsyncIterator[Face]:
    """A container with partition key `/p`, ordered by `/s`, with TTL on and no default."""
    policy = {"includedPaths": [{"path": "/s/?"}], "excludedPaths": [{"path": "/*"}]}
    container = database.create_container(
        "c", PartitionKey("/p"), indexing_policy=policy, default_ttl=-1
    )
    if request.param == "sync":
        yield Face(container, is_async=False)
        return
    async with AsyncCosmosClient(cosmosdb_server.endpoint, KEY) as client:
        container = client.get_database_client(database.id).get_container_client("c")
        yield Face(container, is_async=True)


def item(name: str, partition: str = "a", **values: Any) -> dict[str, Any]:
    return {"id": name, "p": partition, "s": name, **values}


def status(error: pytest.ExceptionInfo[Any]) -> int:
    return int(error.value.status_code)


class TestAccess:
    def test_a_wrong_key_is_refused(self, cosmosdb_server: CosmosServer) -> None:
        """Another key signs otherwise, and the request is a 401."""
        with pytest.raises(exceptions.CosmosHttpResponseError) as error:
            CosmosClient(cosmosdb_server.endpoint, KEY[:4] + KEY[:3:-1] + "==")
        assert status(error) == 401

    def test_databases_and_containers_are_made_once(self, database: Any) -> None:
        """A second creation is a 409; what is not there is a 404."""
        database.create_container("c", PartitionKey("/p"))
        with pytest.raises(exceptions.CosmosResourceExistsError):
            database.create_container("c", PartitionKey("/p"))
        assert [each["id"] for each in database.list_containers()] == ["c"]
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            database.get_container_client("other").read()
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            database.get_container_client("other").upsert_item(item("1"))
        database.delete_container("c")
        assert list(database.list_containers()) == []

    def test_a_query_across_partitions_must_say_so(self, database: Any) -> None:
        """Without a partition key a query needs the flag."""
        container = database.create_container("c", PartitionKey("/p"))
        with pytest.raises(exceptions.CosmosHttpResponseError) as error:
            list(container.query_items("SELECT * FROM c"))
        assert status(error) == 400


class TestItems:
    async def test_create_read_replace_delete(self, face: Face) -> None:
        """Each operation does its part, with 409 and 404 where it cannot."""
        await face.create_item(item("1", v=1))
        with pytest.raises(exceptions.CosmosResourceExistsError):
            await face.create_item(item("1", v=2))
        assert (await face.read_item("1", "a"))["v"] == 1
        await face.replace_item("1", item("1", v=3))
        await face.upsert_item(item("1", v=4))
        await face.upsert_item(item("2", v=5))
        assert [(await face.read_item(n, "a"))["v"] for n in ("1", "2")] == [4, 5]
        await face.delete_item("1", "a")
        for call in (face.read_item, face.delete_item):
            with pytest.raises(exceptions.CosmosResourceNotFoundError):
                await call("1", "a")
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            await face.replace_item("1", item("1"))

    async def test_partitions_hold_the_same_ids(self, face: Face) -> None:
        """An id is unique within its partition key value alone."""
        for partition in ("a", "b", "ä"):
            await face.create_item(item("1", partition, v=partition))
        assert (await face.read_item("1", "ä"))["v"] == "ä"
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            await face.read_item("1", "c")

    async def test_numbers_are_doubles(self, face: Face) -> None:
        """An integer beyond 2^53 comes back rounded, as the service does it."""
        await face.create_item(item("1", v=2**53 + 1, w=2**53))
        found = await face.read_item("1", "a")
        assert (found["v"], found["w"]) == (2**53, 2**53)

    async def test_etags_guard(self, face: Face) -> None:
        """A condition on an etag that is not the current one is a 412."""
        first = await face.create_item(item("1"))
        guard = {"etag": first["_etag"], "match_condition": MatchConditions.IfNotModified}
        await face.replace_item("1", item("1", v=2), **guard)
        for call in (
            face.replace_item("1", item("1"), **guard),
            face.upsert_item(item("1"), **guard),
            face.delete_item("1", "a", **guard),
        ):
            with pytest.raises(exceptions.CosmosAccessConditionFailedError):
                await call
        assert (await face.read_item("1", "a"))["v"] == 2

    @pytest.mark.parametrize(
        ("document", "code"),
        [
            (item("x" * 1024), 400),
            (item("1", "p" * 2049), 400),
            (item("1", ttl=0), 400),
            (item("1", v="x" * 2**21), 413),
        ],
        ids=["id", "partition key", "ttl", "size"],
    )
    async def test_limits(self, face: Face, document: dict[str, Any], code: int) -> None:
        """What the service does not store is refused with its status."""
        with pytest.raises(exceptions.CosmosHttpResponseError) as error:
            await face.create_item(document)
        assert status(error) == code

    async def test_the_largest_item_fits(self, face: Face) -> None:
        """A document of 2 MB, an id of 1,023 bytes and a key of 2,048 bytes are stored."""
        large = item("x" * 1023, "p" * 2048, s="")
        large["v"] = "x" * (2**21 - len(str(large)) - 20)
        await face.create_item(large)
        assert (await face.read_item(large["id"], large["p"]))["v"] == large["v"]

    async def test_expired_items_are_gone(self, face: Face, cosmosdb_server: CosmosServer) -> None:
        """An item is there until its ttl has passed; one without a ttl stays."""
        await face.create_item(item("1", ttl=60))
        await face.create_item(item("2"))
        cosmosdb_server.forward(50)
        assert len(await face.query("SELECT * FROM c", partition_key="a")) == 2
        cosmosdb_server.forward(20)
        assert [d["id"] for d in await face.query("SELECT * FROM c", partition_key="a")] == ["2"]
        await face.create_item(item("1"))


class TestBatch:
    async def test_every_operation_answers(self, face: Face) -> None:
        """The results come in the order of the operations."""
        await face.create_item(item("1", v=1))
        results = await face.execute_item_batch(
            [
                ("create", (item("2"),)),
                ("upsert", (item("3"),)),
                ("replace", ("1", item("1", v=2))),
                ("read", ("1",)),
                ("delete", ("2",)),
            ],
            "a",
        )
        assert [result["statusCode"] for result in results] == [201, 201, 200, 200, 204]
        assert results[3]["resourceBody"]["v"] == 2

    @pytest.mark.parametrize("place", [0, 1, 2])
    async def test_all_or_nothing(self, face: Face, place: int) -> None:
        """One failing operation undoes the others, which answer 424."""
        await face.create_item(item("there", v=1))
        operations: list[Any] = [("upsert", (item("there", v=2),)), ("create", (item("new"),))]
        operations.insert(place, ("replace", ("missing", item("missing"))))
        with pytest.raises(exceptions.CosmosBatchOperationError) as error:
            await face.execute_item_batch(operations, "a")
        answers = [response["statusCode"] for response in error.value.operation_responses]
        assert (status(error), error.value.error_index, answers.count(424)) == (404, place, 2)
        found = await face.query("SELECT * FROM c", partition_key="a")
        assert [(d["id"], d["v"]) for d in found] == [("there", 1)]

    async def test_a_batch_has_conditions(self, face: Face) -> None:
        """Etags guard inside a batch as they do outside."""
        old = (await face.create_item(item("1")))["_etag"]
        await face.execute_item_batch([("replace", ("1", item("1")), {"if_match_etag": old})], "a")
        with pytest.raises(exceptions.CosmosBatchOperationError) as error:
            await face.execute_item_batch(
                [("replace", ("1", item("1")), {"if_match_etag": old})], "a"
            )
        assert status(error) == 412

    async def test_a_batch_is_bounded(self, face: Face) -> None:
        """100 operations and 2 MB; a document of another partition is a 400."""
        await face.execute_item_batch([("upsert", (item(f"{n}"),)) for n in range(100)], "a")
        for operations, code in (
            ([("upsert", (item(f"{n}"),)) for n in range(101)], 400),
            ([("upsert", (item(f"{n}", v="x" * 2**20),)) for n in range(2)], 413),
            ([("upsert", (item("1", "b"),))], 400),
        ):
            with pytest.raises(AzureError) as error:
                await face.execute_item_batch(operations, "a")
            assert status(error) == code


class TestQueries:
    @pytest.fixture(autouse=True)
    async def items(self, face: Face) -> None:
        for partition in "abcdefgh":
            for name in ("1", "2", "3"):
                await face.create_item(item(f"{partition}{name}", partition, n=int(name)))

    @pytest.mark.parametrize(
        ("where", "found"),
        [
            ("c.n = 2", ["a2"]),
            ("c.n != @two", ["a1", "a3"]),
            ("c.n >= 2 AND c.n < 3", ["a2"]),
            ("c['n'] IN (1, 3, 'x')", ["a1", "a3"]),
            ("NOT (c.n = 1 OR c.n = 3)", ["a2"]),
            ("c.absent = 1 OR c.n = 1", ["a1"]),
            ("NOT (c.absent = 1)", []),
            ("NOT IS_DEFINED(c.absent)", ["a1", "a2", "a3"]),
            ("c.n > 'text'", []),
            ("STARTSWITH(c.id, 'a') AND c.id <= \"a1\"", ["a1"]),
            ("c.n = true", []),
            ("c.n = @absent", []),
        ],
    )
    async def test_conditions(self, face: Face, where: str, found: list[str]) -> None:
        """A row is found where the condition is true, which undefined is not."""
        text = f"SELECT VALUE c.id FROM c WHERE {where} ORDER BY c.s"  # noqa: S608
        assert await face.query(text, values={"@two": 2}, partition_key="a") == found

    @pytest.mark.parametrize("text", ["SELECT 1", "SELECT * FROM c WHERE c.n + 1 = 2", "x"])
    async def test_what_is_not_spoken_is_refused(self, face: Face, text: str) -> None:
        """A query beyond the grammar is a 400, never a wrong answer."""
        with pytest.raises(exceptions.CosmosHttpResponseError) as error:
            await face.query(text, partition_key="a")
        assert status(error) == 400

    async def test_columns(self, face: Face) -> None:
        """Rows have the names given or those of the properties; absent ones are left out."""
        text = "SELECT TOP 1 c.n, c.id AS name, c.absent FROM c ORDER BY c.s DESC"
        assert await face.query(text, partition_key="a") == [{"n": 3, "name": "a3"}]

    async def test_order_needs_an_index(self, face: Face) -> None:
        """Ordering by a path the policy excludes is a 400."""
        with pytest.raises(exceptions.CosmosHttpResponseError) as error:
            await face.query("SELECT * FROM c ORDER BY c.n", partition_key="a")
        assert status(error) == 400

    @pytest.mark.parametrize("direction", ["ASC", "DESC"])
    async def test_pages(self, face: Face, direction: str) -> None:
        """Pages have at most as many rows as asked for and show each row once, in order."""
        text = f"SELECT VALUE c.id FROM c ORDER BY c.s {direction}"  # noqa: S608
        expected = [["a1", "a2"], ["a3"]] if direction == "ASC" else [["a3", "a2"], ["a1"]]
        assert await face.pages(text, partition_key="a", max_item_count=2) == expected

    async def test_a_page_has_at_most_four_megabytes(self, face: Face) -> None:
        """Rows beyond 4 MB come with the next page."""
        for n in range(3):
            await face.create_item(item(f"z{n}", "z", v="x" * 1_800_000))
        pages = await face.pages("SELECT * FROM c", partition_key="z")
        assert [len(page) for page in pages] == [2, 1]

    async def test_pages_may_be_short(self, face: Face, cosmosdb_server: CosmosServer) -> None:
        """The server sends less than asked for when told to, and the client goes on."""
        cosmosdb_server.shorten_pages(1)
        pages = await face.pages("SELECT VALUE c.n FROM c", partition_key="a")
        assert pages == [[1], [2], [3]]

    async def test_pages_may_be_empty(self, face: Face, cosmosdb_server: CosmosServer) -> None:
        """A page without rows may still say that more follow, and the client goes on."""
        cosmosdb_server.empty_pages(2)
        pages = await face.pages("SELECT VALUE c.n FROM c", partition_key="a")
        assert pages == [[1, 2, 3]]

    async def test_the_client_merges_partitions(self, face: Face) -> None:
        """DISTINCT, ORDER BY, TOP and COUNT hold over all physical partitions."""
        names = [f"{p}{n}" for p in "abcdefgh" for n in (1, 2, 3)]

        assert sorted(await face.query("SELECT VALUE c.id FROM c")) == names
        assert sorted(await face.query("SELECT DISTINCT VALUE c.n FROM c")) == [1, 2, 3]
        assert await face.query("SELECT VALUE c.s FROM c ORDER BY c.s") == names
        found = await face.query("SELECT TOP 5 VALUE c.s FROM c ORDER BY c.s DESC")
        assert found == names[:-6:-1]
        assert await face.query("SELECT VALUE COUNT(1) FROM c WHERE c.n > 1") == [16]

    async def test_items_are_spread(self, face: Face, cosmosdb_server: CosmosServer) -> None:
        """A query across partitions visits each of the three physical ones."""
        cosmosdb_server.clear()
        await face.query("SELECT DISTINCT VALUE c.p FROM c")
        counts = cosmosdb_server.requests()
        assert (counts["plan"], counts["query"]) == (1, 4)  # the first try is sent to all

    async def test_bytes_are_counted_both_ways(
        self, face: Face, cosmosdb_server: CosmosServer
    ) -> None:
        """What was put is among the bytes received, what was read among those sent."""
        cosmosdb_server.clear()
        await face.create_item(item("1", s="x" * 5000))
        assert 5000 < cosmosdb_server.bytes_received() < 6000
        sent = cosmosdb_server.bytes_sent()
        await face.query("SELECT * FROM c", partition_key="a")
        assert 5000 < cosmosdb_server.bytes_sent() - sent < 6000


class TestFaults:
    async def test_throttling_is_waited_out(
        self, face: Face, cosmosdb_server: CosmosServer
    ) -> None:
        """The SDK repeats a 429 after the time it names."""
        cosmosdb_server.inject(Fault("create", status=429, times=3))
        await face.create_item(item("1"))
        assert cosmosdb_server.requests()["create"] == 4

    async def test_a_batch_may_be_throttled_inside(
        self, face: Face, cosmosdb_server: CosmosServer
    ) -> None:
        """A 429 of one operation arrives as a failed batch, which the SDK does not repeat."""
        cosmosdb_server.inject(Fault("batch", status=429, inside=True))
        with pytest.raises(exceptions.CosmosBatchOperationError) as error:
            await face.execute_item_batch([("create", (item("1"),))], "a")
        assert status(error) == 429
        await face.execute_item_batch([("create", (item("1"),))], "a")

    @pytest.mark.parametrize("after", [False, True])
    async def test_an_answer_may_be_lost(
        self, face: Face, cosmosdb_server: CosmosServer, after: bool
    ) -> None:
        """The connection breaks before the request takes effect, or after."""
        cosmosdb_server.inject(Fault("create", after=after, skip=1, times=9))
        await face.create_item(item("1"))
        with pytest.raises(AzureError):
            await face.create_item(item("2"))
        cosmosdb_server.clear()
        assert len(await face.query("SELECT * FROM c", partition_key="a")) == 1 + after
