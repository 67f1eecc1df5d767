"""DynamoDB: a blocking table over boto3 and an awaiting one over aiobotocore.

Neither SDK is imported before the first request.
"""

from __future__ import annotations

import inspect
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from agentstate_documents.tables.checks import check_address, check_kind, check_name
from agentstate_documents.tables.dynamodb_clients import AwaitingClient, BlockingClient
from agentstate_documents.tables.dynamodb_requests import LIMITS, Requests
from agentstate_documents.tables.procedures import AwaitingRequests, BlockingRequests
from agentstate_documents.tables.threaded import Threaded

if TYPE_CHECKING:
    from agentstate_documents.port import AsyncDocumentTable, DocumentTable

_TABLE_NAME = re.compile(r"[a-zA-Z0-9_.-]{3,255}|arn:\S+")


def dynamodb_tables(
    table_name: str,
    *,
    region_name: str | None = None,
    endpoint_url: str | None = None,
    boto_session: Any = None,
    client: Any = None,
    async_client: Any = None,
    create: bool = True,
    expiring: bool = False,
) -> tuple[DocumentTable, AsyncDocumentTable]:
    """The same table for blocking and for awaiting callers.

    The second uses aiobotocore where that is installed. A session or a client of boto3 cannot
    be turned into one of aiobotocore: where one is given, and no `async_client`, the second
    asks through it, in a thread.
    """
    table = DynamoDBTable(
        table_name,
        region_name=region_name,
        endpoint_url=endpoint_url,
        boto_session=boto_session,
        client=client,
        create=create,
        expiring=expiring,
    )
    given = client is not None or boto_session is not None
    if async_client is None and (given or find_spec("aiobotocore") is None):
        return table, Threaded(table)
    return table, AioDynamoDBTable(
        table_name,
        region_name=region_name,
        endpoint_url=endpoint_url,
        client=async_client,
        create=create,
        expiring=expiring,
    )


class DynamoDBTable(BlockingRequests):
    """Documents in a DynamoDB table, blocking.

    `client` is a boto3 client for "dynamodb", `boto_session` a session to make one from; with
    neither, region, endpoint and the SDK's own configuration decide. With `expiring` the
    database is told to remove documents after their expiry, when the table is created or set
    up.
    """

    def __init__(
        self,
        table_name: str,
        *,
        region_name: str | None = None,
        endpoint_url: str | None = None,
        boto_session: Any = None,
        client: Any = None,
        create: bool = True,
        expiring: bool = False,
    ) -> None:
        fits = hasattr(client, "query") and not _is_awaiting(client)
        check_kind("client", client, "a boto3 client for dynamodb", fits=fits)
        fits = hasattr(boto_session, "client")
        check_kind("boto_session", boto_session, "a boto3 session", fits=fits)
        check_address("endpoint_url", endpoint_url)
        self._client = BlockingClient(
            client, boto_session, region_name=region_name, endpoint_url=endpoint_url
        )
        requests = Requests(_checked(table_name), create, expiring)
        super().__init__(LIMITS, requests, self._client.carry_out)

    def close(self) -> None:
        """The client is closed if the table opened it."""
        self._client.close()


class AioDynamoDBTable(AwaitingRequests):
    """Documents in a DynamoDB table, awaiting.

    `client` is an open aiobotocore client for "dynamodb", of the event loop it is used in.
    Without one, region, endpoint and the SDK's own configuration decide, and every event loop
    has a client of its own, which is closed with the loop at the latest.
    """

    def __init__(
        self,
        table_name: str,
        *,
        region_name: str | None = None,
        endpoint_url: str | None = None,
        client: Any = None,
        create: bool = True,
        expiring: bool = False,
    ) -> None:
        fits = hasattr(client, "query") and _is_awaiting(client)
        check_kind("client", client, "an open aiobotocore client for dynamodb", fits=fits)
        check_address("endpoint_url", endpoint_url)
        self._client = AwaitingClient(client, region_name=region_name, endpoint_url=endpoint_url)
        requests = Requests(_checked(table_name), create, expiring)
        super().__init__(LIMITS, requests, self._client.carry_out)

    async def close(self) -> None:
        """The client of this event loop is closed if the table opened it."""
        await self._client.close()


def _is_awaiting(client: Any) -> bool:
    """Whether it is of aiobotocore: boto3 would take what that returns for the reply."""
    return inspect.iscoroutinefunction(getattr(client, "_make_api_call", None))


def _checked(table_name: str) -> str:
    rule = "an ARN or 3 to 255 of the characters a-z A-Z 0-9 _ . -"
    check_name("table_name", table_name, _TABLE_NAME, rule)
    return table_name
