"""The saver: names, credentials and the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentstate_documents.saver import DocumentSaver
from agentstate_documents.tables.cosmosdb import cosmosdb_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langgraph.checkpoint.serde.base import SerializerProtocol

    from agentstate_reducer import MessageReducer


class CosmosDBSaver(DocumentSaver):
    """A LangGraph checkpointer in a container of Azure Cosmos DB for NoSQL.

    Nothing connects before the first call, which creates the container where it is missing.

        >>> saver = CosmosDBSaver("agents", "checkpoints", endpoint="https://mine.example/")
        >>> graph = builder.compile(checkpointer=saver)  # doctest: +SKIP
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
        async_client: Any = None,
        create: bool = True,
        reducer: MessageReducer | None = None,
        messages_key: str | Sequence[str] = "messages",
        ttl_seconds: float | None = None,
        serde: SerializerProtocol | None = None,
    ) -> None:
        """Nothing connects yet.

        Args:
            database_name: The database in the account.
            container_name: A container of the saver's own in it.
            endpoint: The account's URL; by default COSMOSDB_ENDPOINT.
            key: The account key; by default COSMOSDB_KEY. Without either and without a
                credential it is azure-identity's `DefaultAzureCredential` that finds one.
            credential: A token credential instead of a key, for instance of azure-identity. A
                blocking one serves both faces.
            client: An `azure.cosmos.CosmosClient` to use instead; it is never closed. Without
                an `async_client` the awaiting methods use it too, in threads.
            async_client: An open `azure.cosmos.aio.CosmosClient` for the awaiting methods; it
                is never closed.
            create: Whether a missing container, and its database, may be created.
            reducer: What bounds the message lists that are stored, and hands what leaves them
                to its hooks before that.
            messages_key: The channel, or channels, that hold such lists.
            ttl_seconds: How long a checkpoint can be read after it was put. Cosmos DB removes
                what has expired.
            serde: What turns values into bytes, LangGraph's own by default.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: One is no name the database takes, or out of range; there is no endpoint,
                or a `key` and a `credential`.
        """
        table, async_table = cosmosdb_tables(
            database_name,
            container_name,
            endpoint=endpoint,
            key=key,
            credential=credential,
            client=client,
            async_client=async_client,
            create=create,
        )
        super().__init__(
            table,
            async_table=async_table,
            serde=serde,
            reducer=reducer,
            messages_key=messages_key,
            ttl_seconds=ttl_seconds,
        )
