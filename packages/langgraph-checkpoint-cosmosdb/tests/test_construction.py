"""What the saver makes of its arguments."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from azure.cosmos import CosmosClient
from azure.cosmos.aio import CosmosClient as AioCosmosClient
from langgraph.checkpoint.base import empty_checkpoint

from agentstate_documents import TableUnavailable
from langgraph_checkpoint_cosmosdb import CosmosDBSaver
from servers.cosmosdb.auth import KEY
from servers.cosmosdb.control import CosmosServer

CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


def put(saver: CosmosDBSaver) -> None:
    """One checkpoint of the thread is stored."""
    saver.put(CONFIG, empty_checkpoint(), {"source": "input", "step": -1, "parents": {}}, {})


def items(server: CosmosServer, container_name: str) -> list[dict[str, Any]]:
    """What is in the container."""
    with CosmosClient(server.endpoint, KEY) as client:
        container = client.get_database_client("savers").get_container_client(container_name)
        return list(container.query_items("SELECT * FROM c", enable_cross_partition_query=True))


def test_the_published_call_works(
    cosmosdb_server: CosmosServer, container_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Database and container by name, the account from the environment."""
    monkeypatch.setenv("COSMOSDB_ENDPOINT", cosmosdb_server.endpoint)
    monkeypatch.setenv("COSMOSDB_KEY", KEY)
    saver = CosmosDBSaver(database_name="savers", container_name=container_name)
    put(saver)
    saver.close()
    assert [found["p"] for found in items(cosmosdb_server, container_name)] == ["t"]


def test_the_import_is_light() -> None:
    """Neither the import nor a new saver loads anything of Azure."""
    code = (
        "import sys; from langgraph_checkpoint_cosmosdb import CosmosDBSaver; "
        "CosmosDBSaver('d', 'c', endpoint='https://nobody.example/'); "
        "sys.exit(any(name.startswith(('azure', 'aiohttp')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


async def test_clients_that_are_given_are_used_and_stay_open(
    cosmosdb_server: CosmosServer, container_name: str
) -> None:
    """Credentials and settings are the caller's, and so is closing."""
    with CosmosClient(cosmosdb_server.endpoint, KEY) as client:
        async with AioCosmosClient(cosmosdb_server.endpoint, KEY) as async_client:
            saver = CosmosDBSaver(
                "savers", container_name, client=client, async_client=async_client
            )
            put(saver)
            saver.close()
            await saver.aclose()
            assert await saver.aget_tuple(CONFIG) is not None
            assert saver.get_tuple(CONFIG) is not None


def test_setup_creates_the_container_unless_it_may_not(
    make_saver: Any, cosmosdb_server: CosmosServer, container_name: str
) -> None:
    """`create=False` says what is missing instead."""
    with pytest.raises(TableUnavailable, match=container_name):
        make_saver(create=False).setup()
    make_saver().setup()
    make_saver(create=False).setup()
    assert items(cosmosdb_server, container_name) == []


def test_an_expiring_checkpoint_is_removed(
    make_saver: Any, cosmosdb_server: CosmosServer, container_name: str
) -> None:
    """`ttl_seconds` reaches the database, which removes what nothing leans on any more."""
    put(make_saver(ttl_seconds=100))
    assert make_saver().get_tuple(CONFIG) is not None
    cosmosdb_server.forward(200)
    assert items(cosmosdb_server, container_name) == []


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({}, "endpoint"),
        ({"endpoint": "https://x.example/", "container_name": "a/b"}, "container_name"),
        ({"endpoint": "https://x.example/", "ttl_seconds": 0}, "ttl_seconds"),
        ({"endpoint": "https://x.example/", "key": "a", "credential": object()}, "credential"),
    ],
)
def test_arguments_that_cannot_be_are_refused(arguments: dict[str, Any], name: str) -> None:
    """A mistake is found where it was made, and named."""
    with pytest.raises(ValueError, match=name):
        CosmosDBSaver(**{"database_name": "d", "container_name": "c", **arguments})
