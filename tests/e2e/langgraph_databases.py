"""The savers over databases, and where they find theirs. A new one is one more entry of SAVERS."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from e2e.langgraph_app import Opener
from langgraph_checkpoint_cosmosdb import CosmosDBSaver
from langgraph_checkpoint_firestore import FirestoreSaver
from langgraph_dynamodb_checkpoint import DynamoDBSaver

MakeSaver = Callable[..., Any]


def dynamodb(request: pytest.FixtureRequest) -> MakeSaver:
    """Savers over one DynamoDB table."""
    request.getfixturevalue("aws_environment")
    endpoint = request.getfixturevalue("dynamodb_endpoint")
    table = f"checkpoints-{uuid.uuid4().hex}"
    return lambda **options: DynamoDBSaver(table, endpoint_url=endpoint, **options)


def cosmosdb(request: pytest.FixtureRequest) -> MakeSaver:
    """Savers over one Cosmos DB container."""
    server = request.getfixturevalue("cosmosdb_server")
    container = f"c{uuid.uuid4().hex}"
    place = {"endpoint": server.endpoint, "key": server.key}
    return lambda **options: CosmosDBSaver("story", container, **place, **options)


def firestore(request: pytest.FixtureRequest) -> MakeSaver:
    """Savers over one Firestore collection."""
    host = request.getfixturevalue("firestore_protocol_host")
    request.getfixturevalue("monkeypatch").setenv("FIRESTORE_EMULATOR_HOST", host)
    project = f"p{uuid.uuid4().hex[:20]}"
    return lambda **options: FirestoreSaver(project, **options)


SAVERS = {"dynamodb": dynamodb, "cosmosdb": cosmosdb, "firestore": firestore}


def opener(make: MakeSaver) -> Opener:
    """How the application of the story opens such a saver, and closes it."""
    return lambda reducer: _closing(make(reducer=reducer))


@contextlib.asynccontextmanager
async def _closing(saver: Any) -> AsyncIterator[Any]:
    try:
        yield saver
    finally:
        saver.close()
        await saver.aclose()
