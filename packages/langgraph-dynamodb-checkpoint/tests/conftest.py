"""What the tests of the saver share."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from langgraph_dynamodb_checkpoint import DynamoDBSaver


@pytest.fixture(autouse=True)
def _credentials(aws_environment: pytest.MonkeyPatch) -> None:
    """Every saver finds some."""


@pytest.fixture
def endpoint(dynamodb_endpoint: str) -> str:
    """Where the database of these tests answers."""
    return dynamodb_endpoint


@pytest.fixture
def table_name() -> str:
    """The name of a table that is not there."""
    return f"checkpoints-{uuid.uuid4()}"


@pytest.fixture
async def savers(endpoint: str, table_name: str) -> AsyncIterator[Callable[..., DynamoDBSaver]]:
    """Savers over one table, each as another process would have it."""
    made: list[DynamoDBSaver] = []

    def make(**options: Any) -> DynamoDBSaver:
        made.append(DynamoDBSaver(table_name, **{"endpoint_url": endpoint, **options}))
        return made[-1]

    yield make
    for saver in made:
        saver.close()
        await saver.aclose()
