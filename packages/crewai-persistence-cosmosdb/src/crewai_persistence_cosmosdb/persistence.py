"""The names, the key and the table of `CosmosDBFlowPersistence`."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from agentstate_documents.persistence import DocumentFlowPersistence
from agentstate_documents.tables.cosmosdb import CosmosDBTable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from agentstate_documents.persistence import Options

KEY_VARIABLE = "COSMOSDB_KEY"


class CosmosDBFlowPersistence(DocumentFlowPersistence):
    """CrewAI flows in an Azure Cosmos DB container.

    The key is no field: a persistence made from the dump of one that was given a key takes it
    from the environment variable COSMOSDB_KEY.

        >>> from crewai_persistence_cosmosdb import CosmosDBFlowPersistence
        >>> persistence = CosmosDBFlowPersistence(
        ...     endpoint="https://my-account.documents.azure.com",
        ...     database_name="agents",
        ...     container_name="flows",
        ...     key="c2VjcmV0",
        ... )
        >>> "c2VjcmV0" in str(persistence.model_dump())
        False

    Args:
        endpoint: of the account, else COSMOSDB_ENDPOINT.
        database_name: up to 255 characters, without those that stand for something in a URL.
        container_name: likewise.
        key: of the account, else COSMOSDB_KEY; without one `DefaultAzureCredential` decides.
        credential: of azure-identity, instead of a key.
        client: an `azure.cosmos.CosmosClient`; never closed here.
        needs_key: whether a dump was made of a persistence that was given a key.
        **options: `reducer`, `messages_key`, `namespace`, `ttl_seconds` and `create`, as
            `DocumentFlowPersistence` has them.
    """

    endpoint: str | None = None
    database_name: str
    container_name: str
    needs_key: bool = False

    def __init__(
        self,
        endpoint: str | None = None,
        *,
        database_name: str,
        container_name: str,
        key: str | None = None,
        credential: Any = None,
        client: Any = None,
        needs_key: bool = False,
        **options: Unpack[Options],
    ) -> None:
        def open_table() -> CosmosDBTable:
            if not key_is_missing:
                return table
            if not os.environ.get(KEY_VARIABLE):
                raise ValueError(
                    f"the key of the account was not dumped: set the variable {KEY_VARIABLE}"
                )
            return make_table()

        super().__init__(
            open_table,
            endpoint=endpoint,
            database_name=database_name,
            container_name=container_name,
            needs_key=needs_key or key is not None,
            **options,
        )
        key_is_missing = self.needs_key and not (key or credential or client)
        make_table = partial(
            CosmosDBTable,
            self.database_name,
            self.container_name,
            endpoint=self.endpoint,
            key=key,
            credential=credential,
            client=client,
            create=self.create,
        )
        table = make_table()  # says what is wrong with its arguments
