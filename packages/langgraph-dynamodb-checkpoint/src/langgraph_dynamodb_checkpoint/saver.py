"""The saver: names, credentials and the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentstate_documents.saver import DocumentSaver
from agentstate_documents.tables.dynamodb import dynamodb_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langgraph.checkpoint.serde.base import SerializerProtocol

    from agentstate_reducer import MessageReducer


class DynamoDBSaver(DocumentSaver):
    """A LangGraph checkpointer in one table of Amazon DynamoDB.

    Nothing connects before the first call. Region and credentials are what boto3 finds in
    arguments, environment, profile and role.

        >>> saver = DynamoDBSaver("checkpoints", ttl_seconds=30 * 24 * 3600)
        >>> graph = builder.compile(checkpointer=saver)  # doctest: +SKIP
    """

    def __init__(
        self,
        table_name: str,
        *,
        region_name: str | None = None,
        endpoint_url: str | None = None,
        boto_session: Any = None,
        client: Any = None,
        async_client: Any = None,
        create: bool = True,
        ttl_seconds: float | None = None,
        serde: SerializerProtocol | None = None,
        reducer: MessageReducer | None = None,
        messages_key: str | Sequence[str] = "messages",
    ) -> None:
        """Nothing connects yet.

        Args:
            table_name: The name, or the ARN, of a table of the saver's own.
            region_name: The AWS region, instead of the configured one.
            endpoint_url: Where DynamoDB answers, instead of at AWS.
            boto_session: A `boto3.Session` to make the client from. The awaiting methods then
                use that client in threads.
            client: A boto3 client for "dynamodb" to use instead; it is never closed. Without an
                `async_client` the awaiting methods use it too, in threads.
            async_client: An open aiobotocore client for "dynamodb" for the awaiting methods; it
                is never closed.
            create: Whether a table that is missing is created, when it is first needed.
            ttl_seconds: How long a checkpoint can be read after it was put. DynamoDB removes
                it some time later, from a table that was created, or set up, with this option.
            serde: What turns values into bytes, LangGraph's own by default.
            reducer: What bounds the message lists that are stored, and hands what leaves them
                to its hooks before that.
            messages_key: The channel, or channels, that hold such lists.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: One is no name the database takes, or out of range.
        """
        table, async_table = dynamodb_tables(
            table_name,
            region_name=region_name,
            endpoint_url=endpoint_url,
            boto_session=boto_session,
            client=client,
            async_client=async_client,
            create=create,
            expiring=ttl_seconds is not None,
        )
        super().__init__(
            table,
            async_table=async_table,
            serde=serde,
            reducer=reducer,
            messages_key=messages_key,
            ttl_seconds=ttl_seconds,
        )
