"""The rights that a page about DynamoDB names are those that its package uses."""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crewai.flow.async_feedback.types import PendingFeedbackContext
from langgraph.checkpoint.base import empty_checkpoint

from crewai_persistence_dynamodb import DynamoDBFlowPersistence
from langgraph_dynamodb_checkpoint import DynamoDBSaver
from servers.faults import FaultProxy

PACKAGES = Path(__file__).parents[2] / "packages"
IMPLIED = {"TransactWriteItems": "PutItem"}
"""Operations that have no right of their own."""

LARGE = random.Random(0).randbytes(1_000_000)
"""More than an item holds, however well it is compressed."""


def keep_threads(**place: Any) -> None:
    """Everything a saver can be asked for."""
    saver = DynamoDBSaver(**place)
    saver.setup()
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for value in (b"small", LARGE):
        checkpoint = {**empty_checkpoint(), "channel_values": {"value": value}}
        config = saver.put(config, checkpoint, {}, {"value": 1})
    saver.put_writes(config, [("value", LARGE)], "task")
    saver.close()
    again = DynamoDBSaver(**place)
    for _ in range(2):
        again.copy_thread("t", "copied")
    assert len(list(again.list(None))) == 4
    again.delete_thread("t")
    again.close()


def keep_flows(**place: Any) -> None:
    """Everything a persistence can be asked for."""
    persistence = DynamoDBFlowPersistence(**place)
    persistence.setup()
    for value in (b"small", LARGE):
        persistence.save_state("f", "m", {"id": "f", "value": value})
    persistence.close()
    again = DynamoDBFlowPersistence(**place)
    assert again.load_state("f") == {"id": "f", "value": LARGE}
    assert len(again.list_flows()) == 1
    asked = PendingFeedbackContext("f", "Flow", "m", "a draft", "Good?")
    again.save_pending_feedback("f", asked, {"id": "f"})
    again.delete("f")
    again.close()


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("langgraph-dynamodb-checkpoint", keep_threads),
        ("crewai-persistence-dynamodb", keep_flows),
    ],
)
def test_the_rights_named_are_those_used(
    package: str,
    use: Callable[..., None],
    fault_proxy: FaultProxy,
    aws_environment: pytest.MonkeyPatch,
) -> None:
    """No operation is refused to a role made as the page says, and none is allowed in vain."""
    use(
        table_name=f"rights-{uuid.uuid4().hex}",
        endpoint_url=fault_proxy.endpoint,
        ttl_seconds=3600,
    )
    used = {IMPLIED.get(name, name) for name in fault_proxy.operations()}
    page = (PACKAGES / package / "README.md").read_text()
    actions = r"(?:Create|Describe|Update|Get|Put|Delete|Batch|Query|Scan)[A-Za-z]*"
    assert set(re.findall(rf"(?:dynamodb:|`)({actions})[\"`]", page)) == used
