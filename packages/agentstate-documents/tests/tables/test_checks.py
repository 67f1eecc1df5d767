"""What a table refuses before it sends anything."""

from __future__ import annotations

from typing import Any

import boto3
import botocore.session
import pytest
from aiobotocore.session import get_session
from azure.cosmos import CosmosClient
from azure.cosmos.aio import CosmosClient as AioCosmosClient
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore

from agentstate_documents import Document, MemoryTable, Write
from agentstate_documents.tables.cosmosdb import AioCosmosDBTable, CosmosDBTable
from agentstate_documents.tables.dynamodb import AioDynamoDBTable, DynamoDBTable
from agentstate_documents.tables.firestore import AsyncFirestoreTable, FirestoreTable
from agentstate_documents.tables.sql import SQLTable


def test_a_put_of_more_bytes_than_a_table_takes_is_refused() -> None:
    """The error names the limit, and nothing is stored."""
    table = MemoryTable(max_body_bytes=100, max_transaction_bytes=150)
    with pytest.raises(ValueError, match="a put holds at most 150 bytes"):
        table.put("p", [Write(Document("a", b"1" * 100)), Write(Document("b", b"1" * 51))])
    assert table.partitions() == []


@pytest.mark.parametrize("name", [None, 5, b"documents"])
@pytest.mark.parametrize(
    "made",
    [
        lambda name: DynamoDBTable(name),
        lambda name: CosmosDBTable(name, "documents", endpoint="https://mine.example/"),
        lambda name: CosmosDBTable("agents", name, endpoint="https://mine.example/"),
        lambda name: FirestoreTable(name),
        lambda name: SQLTable("sqlite://", table_name=name),
    ],
)
def test_a_name_that_is_no_text_is_refused(made: Any, name: Any) -> None:
    """The error says which name, and what it was."""
    with pytest.raises(TypeError, match=r"(_name|collection) must be text, not "):
        made(name)


@pytest.mark.parametrize(
    "made",
    [
        lambda url: DynamoDBTable("documents", endpoint_url=url),
        lambda url: AioDynamoDBTable("documents", endpoint_url=url),
        lambda url: CosmosDBTable("agents", "documents", endpoint=url),
        lambda url: AioCosmosDBTable("agents", "documents", endpoint=url),
    ],
)
def test_an_address_with_credentials_is_refused(made: Any) -> None:
    """It is dumped and logged as it is, and the error does not show them either."""
    with pytest.raises(ValueError, match=r"endpoint.* without user and password") as refused:
        made("https://ann:s3cr3t@mine.example/")
    assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize("client", ["http://mine.example/", object(), boto3.Session])
@pytest.mark.parametrize(
    "made",
    [
        lambda client: DynamoDBTable("documents", client=client),
        lambda client: AioDynamoDBTable("documents", client=client),
        lambda client: CosmosDBTable("agents", "documents", client=client),
        lambda client: AioCosmosDBTable("agents", "documents", client=client),
        lambda client: FirestoreTable("documents", client=client),
        lambda client: AsyncFirestoreTable("documents", client=client),
    ],
)
def test_what_is_no_client_is_refused(made: Any, client: Any) -> None:
    """The error says what was wanted and what was given, before the first request."""
    given = f"{type(client).__module__}.{type(client).__name__}"
    with pytest.raises(TypeError, match=f"client must be .*, not of the type {given}"):
        made(client)


def test_a_session_and_an_engine_are_what_they_say() -> None:
    """Neither is looked at for the first time by the first request."""
    with pytest.raises(TypeError, match=r"boto_session must be .*botocore\.session"):
        DynamoDBTable("documents", boto_session=botocore.session.get_session())
    with pytest.raises(TypeError, match=r"engine must be .*builtins\.str"):
        SQLTable(engine="sqlite://")  # type: ignore[arg-type]


async def test_a_client_of_the_other_face_is_refused(aws_environment: pytest.MonkeyPatch) -> None:
    """What the one face returns the other would take for a reply, and store nothing."""
    blocking = boto3.client("dynamodb")
    async with get_session().create_client("dynamodb") as awaiting:
        with pytest.raises(TypeError, match=r"client must be a boto3 client .*aiobotocore"):
            DynamoDBTable("documents", client=awaiting)
        with pytest.raises(TypeError, match=r"client must be an open aiobotocore client"):
            AioDynamoDBTable("documents", client=blocking)
    blocking.close()
    credentials = AnonymousCredentials()
    with pytest.raises(TypeError, match=r"client must be a google\.cloud\.firestore\.Client, not"):
        FirestoreTable("c", client=firestore.AsyncClient("p", credentials))
    with pytest.raises(TypeError, match=r"client must be a google\.cloud\.firestore\.AsyncClient"):
        AsyncFirestoreTable("c", client=firestore.Client("p", credentials))
    with pytest.raises(TypeError, match=r"must be a CosmosClient of azure\.cosmos, not"):
        CosmosDBTable("agents", "c", client=object.__new__(AioCosmosClient))
    with pytest.raises(TypeError, match=r"must be a CosmosClient of azure\.cosmos\.aio, not"):
        AioCosmosDBTable("agents", "c", client=object.__new__(CosmosClient))


def test_a_client_may_be_of_a_class_of_the_callers() -> None:
    """One derived from the SDK's, in a module of their own, is as good."""

    class Mine(AioCosmosClient):
        """With something of the caller's."""

    AioCosmosDBTable("agents", "documents", client=Mine("https://mine.example/", "c2VjcmV0"))
