"""A run goes on when DynamoDB has no time, hangs up, or leaves work undone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentstate_documents.errors import TableUnavailable
from agentstate_documents.tables import backoff
from agentstate_documents.testing.face import BlockingFace
from agentstate_documents.testing.saver_scenes import at, checkpoint, ids, listed, put_chat
from langgraph_dynamodb_checkpoint import DynamoDBSaver
from servers.faults import Fault, FaultProxy


@pytest.fixture(params=["blocking", "awaiting"])
async def saver(
    request: pytest.FixtureRequest,
    fault_proxy: FaultProxy,
    table_name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Any]:
    """A saver over a table that exists, whose attempts follow each other at once."""
    monkeypatch.setattr(backoff, "FIRST_WAIT_SECONDS", 0.0)
    saver = DynamoDBSaver(table_name, endpoint_url=fault_proxy.endpoint)
    saver.setup()
    fault_proxy.reset()
    yield BlockingFace(saver) if request.param == "blocking" else saver
    saver.close()
    await saver.aclose()


@pytest.mark.parametrize("moment", ["before", "after", "amid"])
async def test_a_put_whose_connection_broke_is_stored_once(
    saver: Any, fault_proxy: FaultProxy, moment: str
) -> None:
    """Whether request or reply was lost, the checkpoint is there and the run goes on."""
    fault_proxy.inject(Fault("PutItem", times=3, hang_up=moment))
    made = checkpoint({"n": 1})
    config = await saver.aput(at("t"), made, {"source": "loop"}, {})
    await saver.aput_writes(config, [("n", 2)], "task")
    fault_proxy.inject(Fault("Query", hang_up=moment))
    found = await saver.aget_tuple(at("t"))
    assert found.checkpoint["channel_values"] == {"n": 1}
    assert found.pending_writes == [("task", "n", 2)]
    assert ids(await listed(saver, at("t"))) == [made["id"]]


async def test_a_throttled_conversation_loses_nothing(saver: Any, fault_proxy: FaultProxy) -> None:
    """Every operation is throttled now and then; the history is whole."""
    for operation in ("PutItem", "Query", "TransactWriteItems"):
        fault_proxy.inject(
            Fault(operation, times=5, error="ProvisionedThroughputExceededException")
        )
    configs = await put_chat(saver, "t", 12)
    found = await listed(saver, at("t"))
    assert ids(found) == [one["configurable"]["checkpoint_id"] for one in reversed(configs)]
    assert len(found[0].checkpoint["channel_values"]["messages"]) == 12


async def test_a_deleted_thread_is_gone_although_batches_were_left_undone(
    saver: Any, fault_proxy: FaultProxy
) -> None:
    """A thread of 60 items leaves none behind."""
    await put_chat(saver, "t", 60)
    fault_proxy.inject(Fault("BatchWriteItem", times=4, unprocessed=7))
    await saver.adelete_thread("t")
    assert await listed(saver, None) == []


async def test_a_database_without_time_is_an_error(saver: Any, fault_proxy: FaultProxy) -> None:
    """What could not be stored is said, and what was there before is there still."""
    await put_chat(saver, "t", 2)
    fault_proxy.inject(Fault("PutItem", times=1000, error="ThrottlingException"))
    with pytest.raises(TableUnavailable, match="ThrottlingException"):
        await saver.aput(at("t"), checkpoint({"messages": ["lost"]}), {}, {})
    found = await saver.aget_tuple(at("t"))
    assert len(found.checkpoint["channel_values"]["messages"]) == 2
