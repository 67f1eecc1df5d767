"""What the tests of the saver share."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from langgraph_checkpoint_cosmosdb import CosmosDBSaver
from servers.cosmosdb.control import CosmosServer


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without an account of the developer's own."""
    monkeypatch.delenv("COSMOSDB_ENDPOINT", raising=False)
    monkeypatch.delenv("COSMOSDB_KEY", raising=False)


@pytest.fixture
def container_name() -> str:
    """The name of a container that is not there."""
    return f"c{uuid.uuid4().hex}"


@pytest.fixture
async def make_saver(
    cosmosdb_server: CosmosServer, container_name: str
) -> AsyncIterator[Callable[..., CosmosDBSaver]]:
    """Savers over one container, each as another process would have it."""
    savers: list[CosmosDBSaver] = []
    account = {"endpoint": cosmosdb_server.endpoint, "key": cosmosdb_server.key}

    def make(**options: Any) -> CosmosDBSaver:
        savers.append(CosmosDBSaver("savers", container_name, **{**account, **options}))
        return savers[-1]

    yield make
    for saver in savers:
        saver.close()
        await saver.aclose()
