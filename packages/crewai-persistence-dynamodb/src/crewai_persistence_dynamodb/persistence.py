"""The names and the table of `DynamoDBFlowPersistence`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentstate_documents.persistence import DocumentFlowPersistence
from agentstate_documents.tables.dynamodb import DynamoDBTable

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from agentstate_documents.persistence import Options


class DynamoDBFlowPersistence(DocumentFlowPersistence):
    """CrewAI flows in an Amazon DynamoDB table.

    Credentials are those of boto3, and never among the fields.

        >>> from crewai_persistence_dynamodb import DynamoDBFlowPersistence
        >>> persistence = DynamoDBFlowPersistence("flows", region_name="eu-west-1")
        >>> persistence.persistence_type
        'DynamoDBFlowPersistence'

    Args:
        table_name: 3 to 255 letters, digits, `_`, `.` and `-`, or an ARN.
        region_name: without it boto3's own configuration decides.
        endpoint_url: another address of the service, a local one for instance.
        boto_session: a `boto3.Session` to make the client from.
        client: a boto3 client for "dynamodb"; never closed here.
        **options: `reducer`, `messages_key`, `namespace`, `ttl_seconds` and `create`, as
            `DocumentFlowPersistence` has them.
    """

    table_name: str
    region_name: str | None = None
    endpoint_url: str | None = None

    def __init__(
        self,
        table_name: str,
        *,
        region_name: str | None = None,
        endpoint_url: str | None = None,
        boto_session: Any = None,
        client: Any = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(
            lambda: table,
            table_name=table_name,
            region_name=region_name,
            endpoint_url=endpoint_url,
            **options,
        )
        # From the fields, which are what was given as they were checked.
        table = DynamoDBTable(
            self.table_name,
            region_name=self.region_name,
            endpoint_url=self.endpoint_url,
            boto_session=boto_session,
            client=client,
            create=self.create,
            expiring=self.ttl_seconds is not None,
        )
