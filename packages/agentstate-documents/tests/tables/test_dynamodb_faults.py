"""What the DynamoDB tables do when the database has no time, hangs up, or refuses."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentstate_documents import Document, Write
from agentstate_documents.errors import DocumentConflict, TableUnavailable
from agentstate_documents.tables import backoff
from agentstate_documents.tables.dynamodb import AioDynamoDBTable, DynamoDBTable
from agentstate_documents.testing.table_contract import Blocking
from servers.faults import Fault, FaultProxy

pytestmark = pytest.mark.usefixtures("aws_environment", "short_waits")

ONE = [Write(Document("k", b"1"))]
TWO = [Write(Document("k", b"1")), Write(Document("l", b"2"))]


@pytest.fixture(params=["blocking", "awaiting"])
async def table(request: pytest.FixtureRequest, fault_proxy: FaultProxy) -> AsyncIterator[Any]:
    """A table that exists, with nothing written down so far."""
    name = f"documents-{uuid.uuid4()}"
    kinds = {"blocking": DynamoDBTable, "awaiting": AioDynamoDBTable}
    table: Any = kinds[request.param](name, endpoint_url=fault_proxy.endpoint)
    face = Blocking(table) if request.param == "blocking" else table
    await face.setup()
    fault_proxy.reset()
    yield face
    await face.close()


async def bodies(table: Any) -> list[bytes]:
    """What the partition of these tests holds."""
    return [document.body for document in (await table.query("p")).documents]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("ProvisionedThroughputExceededException", 400),
        ("ThrottlingException", 400),
        ("RequestLimitExceeded", 400),
        ("TransactionConflictException", 400),
        ("InternalServerError", 500),
        ("ServiceUnavailable", 503),
    ],
)
async def test_what_may_pass_is_asked_again(
    table: Any, fault_proxy: FaultProxy, error: str, status: int
) -> None:
    """A put that is throttled or meets a busy server is stored in the end."""
    fault_proxy.inject(Fault("PutItem", times=3, error=error, status=status))
    await table.put("p", ONE)
    assert fault_proxy.operations() == ["PutItem"] * 4
    assert await bodies(table) == [b"1"]


@pytest.mark.parametrize(
    "reasons", [["None", "TransactionConflict"], ["ThrottlingError", "TransactionConflict"]]
)
async def test_a_transaction_that_met_another_is_asked_again(
    table: Any, fault_proxy: FaultProxy, reasons: list[str]
) -> None:
    """A cancellation that names contention alone is no conflict of conditions."""
    cancelled = Fault("TransactWriteItems", error="TransactionCanceledException", reasons=reasons)
    fault_proxy.inject(cancelled)
    await table.put("p", TWO)
    assert await bodies(table) == [b"1", b"2"]


async def test_a_failed_condition_is_a_conflict_whatever_else_failed(
    table: Any, fault_proxy: FaultProxy
) -> None:
    """A condition that did not hold will not hold the next time."""
    reasons = ["ConditionalCheckFailed", "TransactionConflict"]
    fault_proxy.inject(
        Fault("TransactWriteItems", error="TransactionCanceledException", reasons=reasons)
    )
    with pytest.raises(DocumentConflict):
        await table.put("p", TWO)
    assert fault_proxy.operations() == ["TransactWriteItems"]


async def test_another_cancellation_is_an_error(table: Any, fault_proxy: FaultProxy) -> None:
    """A reason that will not pass is named, and not asked again."""
    reasons = ["None", "ValidationError"]
    fault_proxy.inject(
        Fault("TransactWriteItems", error="TransactionCanceledException", reasons=reasons)
    )
    with pytest.raises(TableUnavailable, match="cancelled: ValidationError"):
        await table.put("p", TWO)
    assert fault_proxy.operations() == ["TransactWriteItems"]


async def test_attempts_end(table: Any, fault_proxy: FaultProxy) -> None:
    """A database that never has time is an error after bounded attempts, with its cause."""
    fault_proxy.inject(Fault("PutItem", times=1000, error="ThrottlingException"))
    with pytest.raises(TableUnavailable, match="PutItem failed with ThrottlingException") as caught:
        await table.put("p", ONE)
    assert "ThrottlingException" in str(caught.value.__cause__)
    assert fault_proxy.operations() == ["PutItem"] * backoff.ATTEMPTS


async def test_slow_attempts_end_earlier(
    table: Any, fault_proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the time is over there is no further attempt."""
    monkeypatch.setattr(backoff, "GIVE_UP_SECONDS", -1.0)
    fault_proxy.inject(Fault("PutItem", error="ThrottlingException"))
    with pytest.raises(TableUnavailable):
        await table.put("p", ONE)
    assert fault_proxy.operations() == ["PutItem"]


async def test_deletes_left_undone_are_asked_again(table: Any, fault_proxy: FaultProxy) -> None:
    """Of 60 deletes none is lost when the database leaves seven of a batch undone, twice."""
    sorts = [f"k{n:02}" for n in range(60)]
    await table.put("p", [Write(Document(sort, b"")) for sort in sorts])
    fault_proxy.reset()
    fault_proxy.inject(Fault("BatchWriteItem", times=2, unprocessed=7))
    await table.delete("p", sorts)
    assert await bodies(table) == []
    assert fault_proxy.operations() == ["BatchWriteItem"] * 5 + ["Query"]


async def test_reads_left_undone_are_asked_again(table: Any, fault_proxy: FaultProxy) -> None:
    """Of 60 reads none is lost, however often some are left undone, as long as some are done."""
    sorts = [f"k{n:02}" for n in range(60)]
    await table.put("p", [Write(Document(sort, sort.encode())) for sort in sorts])
    for undone in range(59, 59 - 2 * backoff.ATTEMPTS, -1):
        fault_proxy.inject(Fault("BatchGetItem", unprocessed=undone))
    found = await table.get("p", sorts)
    assert [document.body.decode() for document in found] == sorts
    assert fault_proxy.operations()[1:] == ["BatchGetItem"] * (2 * backoff.ATTEMPTS + 1)


@pytest.mark.parametrize("operation", ["BatchGetItem", "BatchWriteItem"])
async def test_a_batch_without_progress_is_an_error(
    table: Any, fault_proxy: FaultProxy, operation: str
) -> None:
    """A batch of which nothing is ever done ends in an error, not in silence."""
    fault_proxy.inject(Fault(operation, times=1000, unprocessed=25))
    ask = table.get if operation == "BatchGetItem" else table.delete
    with pytest.raises(TableUnavailable, match="leaves 3 requests unprocessed"):
        await ask("p", ["a", "b", "c"])
    assert fault_proxy.operations() == [operation] * backoff.ATTEMPTS


@pytest.mark.parametrize("moment", ["before", "after", "amid"])
async def test_a_cut_connection_is_no_lost_write(
    table: Any, fault_proxy: FaultProxy, moment: str
) -> None:
    """What was put is stored, wherever the connection broke."""
    fault_proxy.inject(Fault("PutItem", times=2, hang_up=moment))
    await table.put("p", ONE)
    fault_proxy.inject(Fault("TransactWriteItems", times=2, hang_up=moment))
    await table.put("q", TWO)
    fault_proxy.inject(Fault("Query", times=2, hang_up=moment))
    assert await bodies(table) == [b"1"]
    assert [d.body for d in await table.get("q", ["k", "l"])] == [b"1", b"2"]


async def test_a_lost_reply_of_a_conditional_put_is_a_conflict(
    table: Any, fault_proxy: FaultProxy
) -> None:
    """The repeated put meets its own document: stored once, and said so."""
    fault_proxy.inject(Fault("PutItem", hang_up="after"))
    with pytest.raises(DocumentConflict):
        await table.put("p", [Write(Document("k", b"1"), if_absent=True)])
    assert await bodies(table) == [b"1"]


@pytest.mark.parametrize(
    ("operation", "permission"),
    [("PutItem", "PutItem"), ("TransactWriteItems", "PutItem"), ("Query", "Query")],
)
async def test_a_missing_permission_is_named(
    table: Any, fault_proxy: FaultProxy, operation: str, permission: str
) -> None:
    """The text says what to allow; nobody asks twice."""
    fault_proxy.inject(Fault(operation, error="AccessDeniedException"))
    ask = {
        "PutItem": lambda: table.put("p", ONE),
        "TransactWriteItems": lambda: table.put("p", TWO),
        "Query": lambda: table.query("p"),
    }
    with pytest.raises(TableUnavailable, match=rf"dynamodb:{permission} is missing"):
        await ask[operation]()
    assert fault_proxy.operations() == [operation]


async def test_another_refusal_names_the_operation(table: Any, fault_proxy: FaultProxy) -> None:
    """An error that will not pass is raised at once, and not in the words of the database."""
    fault_proxy.inject(Fault("PutItem", error="ValidationException"))
    with pytest.raises(TableUnavailable, match="PutItem failed with ValidationException") as caught:
        await table.put("p", ONE)
    assert "injected" in str(caught.value.__cause__)
    assert "injected" not in str(caught.value)
