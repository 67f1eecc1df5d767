"""Where the flows of the story are stored. A new database is one more entry of PERSISTENCES."""

from __future__ import annotations

import uuid

import pytest

from crewai_persistence_cosmosdb import CosmosDBFlowPersistence
from crewai_persistence_dynamodb import DynamoDBFlowPersistence
from crewai_persistence_firestore import FirestoreFlowPersistence
from crewai_persistence_sql import SQLFlowPersistence
from e2e.crewai_app import Opener
from servers.cosmosdb.auth import KEY


def sqlite(request: pytest.FixtureRequest) -> Opener:
    """A file."""
    url = f"sqlite:///{request.getfixturevalue('tmp_path') / 'flows.db'}"
    return lambda reducer: SQLFlowPersistence(url, reducer=reducer)


def postgresql(request: pytest.FixtureRequest) -> Opener:
    """A PostgreSQL database."""
    url = request.getfixturevalue("postgresql_url")
    return lambda reducer: SQLFlowPersistence(url, reducer=reducer)


def dynamodb(request: pytest.FixtureRequest) -> Opener:
    """A DynamoDB table."""
    request.getfixturevalue("aws_environment")
    endpoint = request.getfixturevalue("dynamodb_endpoint")
    table = f"flows-{uuid.uuid4().hex}"
    return lambda reducer: DynamoDBFlowPersistence(table, endpoint_url=endpoint, reducer=reducer)


def cosmosdb(request: pytest.FixtureRequest) -> Opener:
    """A Cosmos DB container."""
    endpoint = request.getfixturevalue("cosmosdb_server").endpoint
    container = f"flows{uuid.uuid4().hex}"
    return lambda reducer: CosmosDBFlowPersistence(
        endpoint, database_name="story", container_name=container, key=KEY, reducer=reducer
    )


def firestore(request: pytest.FixtureRequest) -> Opener:
    """A Firestore collection."""
    host = request.getfixturevalue("firestore_protocol_host")
    request.getfixturevalue("monkeypatch").setenv("FIRESTORE_EMULATOR_HOST", host)
    project = f"p{uuid.uuid4().hex[:20]}"
    return lambda reducer: FirestoreFlowPersistence(project_id=project, reducer=reducer)


PERSISTENCES = {
    "crewai-sqlite": sqlite,
    "crewai-postgresql": postgresql,
    "crewai-dynamodb": dynamodb,
    "crewai-cosmosdb": cosmosdb,
    "crewai-firestore": firestore,
}
