"""Azure Cosmos DB for NoSQL: a blocking and an awaiting table over the two faces of its SDK.

The SDK is not imported before the first request.

The container has the partition key `/p`, one indexed property, and TTL switched on without a
default. A partition holds at most 20 GB.

Reads are as strong as the account's consistency. Under Session, the default, a client sees what
it wrote itself; for several processes, or both faces, to see each other's writes at once the
account needs Strong, or Bounded staleness within one region.
"""

from __future__ import annotations

import inspect
import os
import re
from typing import TYPE_CHECKING, Any

from agentstate_documents.tables.checks import check_address, check_kind, check_name
from agentstate_documents.tables.cosmosdb_clients import (
    NO_ENDPOINT,
    Account,
    AwaitingClient,
    BlockingClient,
)
from agentstate_documents.tables.cosmosdb_requests import LIMITS, Requests
from agentstate_documents.tables.procedures import AwaitingRequests, BlockingRequests
from agentstate_documents.tables.threaded import Threaded

if TYPE_CHECKING:
    from agentstate_documents.port import AsyncDocumentTable, DocumentTable

_NAME = re.compile(r"[^/\\?#]{1,255}(?<! )")


def cosmosdb_tables(
    database_name: str,
    container_name: str,
    *,
    endpoint: str | None = None,
    key: str | None = None,
    credential: Any = None,
    client: Any = None,
    async_client: Any = None,
    create: bool = True,
) -> tuple[DocumentTable, AsyncDocumentTable]:
    """The same table for blocking and for awaiting callers.

    Where only a blocking client is given, the second asks through it, in a thread.
    """
    if not (client or async_client or _account(endpoint, key, credential).endpoint):
        raise ValueError(NO_ENDPOINT)
    names = database_name, container_name
    options: dict[str, Any] = {"endpoint": endpoint, "key": key, "credential": credential}
    table = CosmosDBTable(*names, client=client, create=create, **options)
    if client is not None and async_client is None:
        return table, Threaded(table)
    return table, AioCosmosDBTable(*names, client=async_client, create=create, **options)


class CosmosDBTable(BlockingRequests):
    """Documents in a Cosmos DB container, blocking.

    `client` is an `azure.cosmos.CosmosClient`. Without one, `endpoint` (else COSMOSDB_ENDPOINT)
    says where, and `key` (else COSMOSDB_KEY) or `credential` with which right; with neither,
    `DefaultAzureCredential` decides.
    """

    def __init__(
        self,
        database_name: str,
        container_name: str,
        *,
        endpoint: str | None = None,
        key: str | None = None,
        credential: Any = None,
        client: Any = None,
        create: bool = True,
    ) -> None:
        requests = _requests(database_name, container_name, create)
        self._client = BlockingClient(
            _account(endpoint, key, credential),
            _checked_client(client, "azure.cosmos"),
            database_name,
            container_name,
        )
        super().__init__(LIMITS, requests, self._client.carry_out)

    def close(self) -> None:
        """The client is closed if the table opened it."""
        self._client.close()


class AioCosmosDBTable(AwaitingRequests):
    """Documents in a Cosmos DB container, awaiting.

    `client` is an open `azure.cosmos.aio.CosmosClient` of the event loop it is used in. Without
    one the account is found as for `CosmosDBTable`, and every event loop has a client of its
    own, which is closed with the loop at the latest. A blocking `credential` serves here too.
    """

    def __init__(
        self,
        database_name: str,
        container_name: str,
        *,
        endpoint: str | None = None,
        key: str | None = None,
        credential: Any = None,
        client: Any = None,
        create: bool = True,
    ) -> None:
        requests = _requests(database_name, container_name, create)
        self._client = AwaitingClient(
            _account(endpoint, key, credential),
            _checked_client(client, "azure.cosmos.aio"),
            database_name,
            container_name,
        )
        super().__init__(LIMITS, requests, self._client.carry_out)

    async def close(self) -> None:
        """The client of this event loop is closed if the table opened it."""
        await self._client.close()


def _requests(database_name: str, container_name: str, create: bool) -> Requests:
    for name, value in (("database_name", database_name), ("container_name", container_name)):
        check_name(name, value, _NAME, "1 to 255 characters without / \\ ? #")
    return Requests(database_name, container_name, create)


def _account(endpoint: str | None, key: str | None, credential: Any) -> Account:
    if key is not None and credential is not None:
        raise ValueError("key and credential were both given; one of them opens the account")
    if credential is None:
        key = key or os.environ.get("COSMOSDB_KEY")
    endpoint = endpoint or os.environ.get("COSMOSDB_ENDPOINT")
    check_address("endpoint", endpoint)
    return Account(endpoint, key, credential)


def _checked_client(client: Any, module: str) -> Any:
    """The client, which must be of the face that will use it, or None."""
    of_aio = inspect.iscoroutinefunction(getattr(client, "close", None))
    fits = hasattr(client, "get_database_client") and of_aio is module.endswith(".aio")
    check_kind("client", client, f"a CosmosClient of {module}", fits=fits)
    return client
