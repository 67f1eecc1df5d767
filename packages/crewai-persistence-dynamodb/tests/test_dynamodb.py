"""The flow contract on DynamoDB, and what only DynamoDB has."""

from __future__ import annotations

import functools
import json
import logging
import uuid
from collections.abc import Callable
from typing import Any

import boto3
import pytest

import crewai_persistence_dynamodb
from agentstate_documents import TableUnavailable
from agentstate_documents.testing.flow_contract import FlowContract
from crewai_persistence_dynamodb import DynamoDBFlowPersistence
from servers.faults import FaultProxy

TABLE = f"flows-{uuid.uuid4().hex}"
SECRET = "s3cr3tAccessKey"


@pytest.fixture(autouse=True)
def _secret(aws_environment: pytest.MonkeyPatch) -> None:
    """Credentials in the environment, which may be seen nowhere else."""
    aws_environment.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


class TestDynamoDB(FlowContract):
    """A table on demand."""

    @pytest.fixture
    def backend(self, dynamodb_endpoint: str) -> Callable[..., DynamoDBFlowPersistence]:
        """One table for all tests."""
        return functools.partial(DynamoDBFlowPersistence, TABLE, endpoint_url=dynamodb_endpoint)


def test_a_secret_is_never_shown(dynamodb_endpoint: str, caplog: pytest.LogCaptureFixture) -> None:
    """Credentials of a session, a client or the environment are in no dump, repr or log."""
    session = boto3.Session("AKIATEST", SECRET, region_name="eu-central-1")
    client = session.client("dynamodb", endpoint_url=dynamodb_endpoint)
    with caplog.at_level(logging.INFO):
        for given in ({"boto_session": session}, {"client": client}, {}):
            persistence = DynamoDBFlowPersistence(TABLE, endpoint_url=dynamodb_endpoint, **given)
            flow = uuid.uuid4().hex
            persistence.save_state(flow, "m", {"id": flow})
            dump = persistence.model_dump(mode="json")
            assert SECRET not in repr([persistence, dump, str(persistence)])
            assert DynamoDBFlowPersistence.model_validate(dump).load_state(flow) == {"id": flow}
    assert SECRET not in caplog.text


def test_a_save_is_one_write_and_a_load_one_query(fault_proxy: FaultProxy) -> None:
    """What a flow costs: one read before its first save, one write each, one query to load."""
    persistence = DynamoDBFlowPersistence(TABLE, endpoint_url=fault_proxy.endpoint)
    persistence.setup()
    flow = uuid.uuid4().hex
    fault_proxy.reset()
    for n in range(3):
        persistence.save_state(flow, "m", {"id": flow, "n": n})
    persistence.load_state(flow)
    assert fault_proxy.operations() == ["Query", "PutItem", "PutItem", "PutItem", "Query"]
    fault_proxy.reset()
    persistence.save_state(flow, "m", {"id": flow, "n": 3})
    (exchange,) = fault_proxy.exchanges
    assert set(json.loads(exchange.request)["Item"]) == {"p", "s", "b"}


@pytest.mark.parametrize("create", [False, "no"])
def test_a_missing_table_is_told_where_none_may_be_made(
    dynamodb_endpoint: str, create: Any
) -> None:
    """With `create=False`, in whatever words, a wrong table name is an error that names it."""
    name = f"missing-{uuid.uuid4().hex}"
    persistence = DynamoDBFlowPersistence(name, endpoint_url=dynamodb_endpoint, create=create)
    assert persistence.create is False
    with pytest.raises(TableUnavailable, match=name):
        persistence.save_state("f1", "m", {"id": "f1"})
    with pytest.raises(ValueError, match="table_name"):
        DynamoDBFlowPersistence("a b")


def test_nothing_connects_before_the_first_call() -> None:
    """It can be made, dumped and made again while no database answers."""
    made = DynamoDBFlowPersistence("flows", endpoint_url="http://127.0.0.1:1")
    assert DynamoDBFlowPersistence.model_validate(made.model_dump()).table_name == "flows"


def test_the_package_names_its_class() -> None:
    """The names of the package are found, and no others."""
    assert {"DynamoDBFlowPersistence", "register_reducer"} <= set(dir(crewai_persistence_dynamodb))
    with pytest.raises(AttributeError, match="Nothing"):
        _ = crewai_persistence_dynamodb.Nothing
