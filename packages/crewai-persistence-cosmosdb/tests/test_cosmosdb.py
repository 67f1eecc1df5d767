"""The flow contract on Cosmos DB, and what only Cosmos DB has."""

from __future__ import annotations

import functools
import logging
import pickle
import uuid
from collections.abc import Callable

import pytest
from azure.cosmos import CosmosClient

import crewai_persistence_cosmosdb
from agentstate_documents.testing.flow_contract import FlowContract
from crewai_persistence_cosmosdb import CosmosDBFlowPersistence
from servers.cosmosdb.auth import KEY
from servers.cosmosdb.control import CosmosServer

Backend = Callable[..., CosmosDBFlowPersistence]
DATABASE = f"d{uuid.uuid4().hex}"


class TestCosmosDB(FlowContract):
    """A container over several physical partitions."""

    @pytest.fixture
    def backend(self, made: Backend) -> Backend:
        """One container for all tests."""
        return made


@pytest.fixture
def made(cosmosdb_server: CosmosServer, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """Makes a persistence; one made from its dump finds the key where it should."""
    monkeypatch.setenv("COSMOSDB_KEY", KEY)
    return functools.partial(
        CosmosDBFlowPersistence,
        endpoint=cosmosdb_server.endpoint,
        database_name=DATABASE,
        container_name="flows",
        key=KEY,
    )


def test_a_key_is_never_shown(
    made: Backend, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither dump nor repr, pickle, log or error holds it; the environment gives it back."""
    persistence, flow = made(), uuid.uuid4().hex
    with caplog.at_level(logging.INFO):
        persistence.save_state(flow, "m", {"id": flow})
    dump = persistence.model_dump(mode="json")
    restored = CosmosDBFlowPersistence.model_validate(dump)
    monkeypatch.delenv("COSMOSDB_KEY")
    with pytest.raises(ValueError, match="COSMOSDB_KEY") as missing:
        restored.load_state(flow)
    shown = [dump, persistence, str(persistence), restored, missing.value, caplog.text]
    for text in map(repr, [*shown, pickle.dumps(persistence)]):
        assert KEY not in text
    monkeypatch.setenv("COSMOSDB_KEY", KEY)
    assert restored.load_state(flow) == {"id": flow}
    assert restored.model_dump(mode="json") == dump


def test_everything_may_come_from_the_environment(
    cosmosdb_server: CosmosServer, monkeypatch: pytest.MonkeyPatch, made: Backend
) -> None:
    """Endpoint and key are those of the variables, unless they are given."""
    flow = uuid.uuid4().hex
    made().save_state(flow, "m", {"id": flow})
    monkeypatch.setenv("COSMOSDB_ENDPOINT", cosmosdb_server.endpoint)
    persistence = CosmosDBFlowPersistence(database_name=DATABASE, container_name="flows")
    assert persistence.load_state(flow) == {"id": flow}
    assert persistence.model_dump()["needs_key"] is False


def test_a_client_of_the_caller_is_used(cosmosdb_server: CosmosServer, made: Backend) -> None:
    """A given client is asked, and stays open."""
    flow = uuid.uuid4().hex
    made().save_state(flow, "m", {"id": flow})
    client = CosmosClient(cosmosdb_server.endpoint, KEY)
    persistence = CosmosDBFlowPersistence(
        database_name=DATABASE, container_name="flows", client=client
    )
    assert persistence.load_state(flow) == {"id": flow}
    persistence.close()
    assert [database["id"] for database in client.list_databases()].count(DATABASE) == 1


def test_a_client_beside_a_dump_needs_no_key(
    cosmosdb_server: CosmosServer, made: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What opens the account may be given again, whatever the dumped persistence had."""
    persistence, flow = made(), uuid.uuid4().hex
    persistence.save_state(flow, "m", {"id": flow})
    dump = persistence.model_dump(mode="json")
    monkeypatch.delenv("COSMOSDB_KEY")
    client = CosmosClient(cosmosdb_server.endpoint, KEY)
    assert CosmosDBFlowPersistence(**dump, client=client).load_state(flow) == {"id": flow}


def test_a_bad_name_is_refused() -> None:
    """A name Cosmos DB does not take is told where it is given."""
    with pytest.raises(ValueError, match="container_name"):
        CosmosDBFlowPersistence(database_name="d", container_name="a/b")


def test_nothing_connects_before_the_first_call() -> None:
    """It can be made, dumped and made again while no database answers."""
    made = CosmosDBFlowPersistence(
        endpoint="http://127.0.0.1:1", database_name="d", container_name="c", key=KEY
    )
    assert CosmosDBFlowPersistence.model_validate(made.model_dump()).container_name == "c"


def test_the_package_names_its_class() -> None:
    """The names of the package are found, and no others."""
    assert {"CosmosDBFlowPersistence", "register_reducer"} <= set(dir(crewai_persistence_cosmosdb))
    with pytest.raises(AttributeError, match="Nothing"):
        _ = crewai_persistence_cosmosdb.Nothing
