"""The names and the table of `FirestoreFlowPersistence`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentstate_documents.persistence import DocumentFlowPersistence
from agentstate_documents.tables.firestore import FirestoreTable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from agentstate_documents.persistence import Options


class FirestoreFlowPersistence(DocumentFlowPersistence):
    """CrewAI flows in a collection of Google Cloud Firestore.

    Credentials are Application Default Credentials, and never among the fields;
    `FIRESTORE_EMULATOR_HOST` names an emulator.

        >>> from crewai_persistence_firestore import FirestoreFlowPersistence
        >>> persistence = FirestoreFlowPersistence(project_id="my-project")
        >>> persistence.collection_name
        'flow_states'

    Args:
        project_id: without it the project of the credentials.
        collection_name: the collection, made by the first document.
        database: another than "(default)".
        client: a `google.cloud.firestore.Client`; never closed here.
        **options: `reducer`, `messages_key`, `namespace`, `ttl_seconds` and `create`, as
            `DocumentFlowPersistence` has them.
    """

    project_id: str | None = None
    collection_name: str = "flow_states"
    database: str | None = None

    def __init__(
        self,
        project_id: str | None = None,
        collection_name: str = "flow_states",
        *,
        database: str | None = None,
        client: Any = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(
            lambda: table,
            project_id=project_id,
            collection_name=collection_name,
            database=database,
            **options,
        )
        # From the fields, which are what was given as they were checked.
        table = FirestoreTable(
            self.collection_name,
            project_id=self.project_id,
            database=self.database,
            client=client,
            create=self.create,
        )
