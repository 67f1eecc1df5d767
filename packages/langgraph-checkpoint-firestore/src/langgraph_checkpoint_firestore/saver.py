"""The saver: names, credentials and the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentstate_documents.saver import DocumentSaver
from agentstate_documents.tables.firestore import firestore_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langgraph.checkpoint.serde.base import SerializerProtocol

    from agentstate_reducer import MessageReducer


class FirestoreSaver(DocumentSaver):
    """A LangGraph checkpointer in a collection of Google Firestore, in native mode.

    Nothing connects before the first call. Credentials are Application Default Credentials, or
    those of the clients given; where `FIRESTORE_EMULATOR_HOST` is set, its emulator is used.

        >>> saver = FirestoreSaver("my-project", ttl_seconds=30 * 24 * 3600)
        >>> graph = builder.compile(checkpointer=saver)  # doctest: +SKIP
    """

    def __init__(
        self,
        project_id: str | None = None,
        checkpoints_collection: str = "checkpoints",
        *,
        database: str | None = None,
        client: Any = None,
        async_client: Any = None,
        serde: SerializerProtocol | None = None,
        reducer: MessageReducer | None = None,
        messages_key: str | Sequence[str] = "messages",
        ttl_seconds: float | None = None,
        create: bool = True,
    ) -> None:
        """Nothing connects yet.

        Args:
            project_id: The Google Cloud project; by default that of the credentials.
            checkpoints_collection: The id of a collection of the saver's own, or a path to one.
            database: The database's id; by default "(default)".
            client: A `google.cloud.firestore.Client` to use instead; it is never closed. Without
                an `async_client` the awaiting methods use it too, in threads.
            async_client: A `google.cloud.firestore.AsyncClient` for the awaiting methods; it is
                never closed.
            serde: What turns values into bytes, LangGraph's own by default.
            reducer: What bounds the message lists that are stored, and hands what leaves them
                to its hooks before that.
            messages_key: The channel, or channels, that hold such lists.
            ttl_seconds: How long a checkpoint can be read after it was put. Firestore removes
                what has expired once `setup` was called.
            create: Whether `setup` may change the settings of fields.

        Raises:
            TypeError: An argument is of the wrong kind.
            ValueError: One is no name the database takes, or out of range.
        """
        table, async_table = firestore_tables(
            checkpoints_collection,
            project_id=project_id,
            database=database,
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
