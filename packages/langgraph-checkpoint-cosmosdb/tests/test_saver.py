"""The saver keeps the contract of every saver."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentstate_documents.testing.saver_contract import SaverContract
from langgraph_checkpoint_cosmosdb import CosmosDBSaver
from servers.cosmosdb.control import CosmosServer

DATABASE = f"saver-{uuid.uuid4().hex}"


class TestCosmosDBSaver(SaverContract):
    """Each face with the client the saver makes itself."""

    @pytest.fixture
    async def make_saver(
        self, cosmosdb_server: CosmosServer
    ) -> AsyncIterator[Callable[..., CosmosDBSaver]]:
        savers: list[CosmosDBSaver] = []
        account = {"endpoint": cosmosdb_server.endpoint, "key": cosmosdb_server.key}

        def make(**options: Any) -> CosmosDBSaver:
            savers.append(CosmosDBSaver(DATABASE, "checkpoints", **account, **options))
            return savers[-1]

        yield make
        for saver in savers:
            saver.close()
            await saver.aclose()
