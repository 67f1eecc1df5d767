"""DynamoDB without a client: what to ask for, and what the replies mean.

Every operation is a generator: it yields `Call`s and numbers of seconds to wait, and is sent
replies or exceptions. `dynamodb_clients` carries them out, blocking or awaiting.

An item is a document: `p` partition (hash key), `s` sort (range key), `b` body, `x` expiry in
seconds since 1970. Nothing else is stored, and nothing is indexed.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from agentstate_documents.errors import DocumentConflict, TableUnavailable
from agentstate_documents.model import MAX_KEY_LENGTH, Document, Limits, Page
from agentstate_documents.tables.backoff import waits
from agentstate_documents.tables.checks import check_limit, check_put
from agentstate_documents.tables.dynamodb_failures import MISSING, IncompleteReply, read_failure
from agentstate_documents.tables.slices import slices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentstate_documents.model import Write

R = TypeVar("R")

# An item holds 400 KiB of names and values, its keys included; a number takes 21 bytes at most.
_ITEM_BYTES = 400 * 1024
_OVERHEAD_BYTES = len("psbx") + 2 * MAX_KEY_LENGTH + 21
LIMITS = Limits(
    max_body_bytes=_ITEM_BYTES - _OVERHEAD_BYTES,
    max_transaction_documents=100,
    # The 4 MiB of a transaction, also if counted as they travel: in base64, beside the keys.
    max_transaction_bytes=3_000_000,
)
# The most keys one BatchGetItem and one BatchWriteItem take.
_BATCH_GET, _BATCH_WRITE = 100, 25
# What is in every reply to a read. boto3 takes a reply that was cut off for an empty one, so
# reads are made of requests that show the difference, which GetItem does not.
_ALWAYS_THERE = {"batch_get_item": "Responses", "query": "Items", "scan": "Items"}
# A new table takes some ten seconds until it is active.
_CREATION_WAITS_SECONDS = (0.05, 0.1, 0.2, 0.5, *[1.0] * 120)


@dataclass(frozen=True, slots=True)
class Call:
    """One request: a method of the client and its arguments."""

    method: str
    arguments: dict[str, Any]


Procedure = Generator[Call | float, Any, R]


@dataclass(frozen=True, slots=True)
class Requests:
    """The operations of one table."""

    table: str
    create: bool
    expiring: bool

    def setup(self) -> Procedure[None]:
        """The table is there, with our keys, and removes what expires if it should."""
        found = yield from self._call("describe_table")
        keys = [key["AttributeName"] for key in found["Table"]["KeySchema"]]
        if keys != ["p", "s"]:
            raise TableUnavailable(f"{self} has the keys {keys}, not ['p', 's']")
        if self.expiring:
            yield from self._expire()

    def get(self, partition: str, sorts: Sequence[str]) -> Procedure[list[Document | None]]:
        """The documents with these sorts, in their order."""
        keys = [_key(partition, sort) for sort in dict.fromkeys(sorts)]
        items: list[dict[str, Any]] = []
        for some in slices(keys, _BATCH_GET):
            items += yield from self._get(some)
        found = {document.sort: document for document in map(_document, items)}
        return [found.get(sort) for sort in sorts]

    def put(self, partition: str, writes: Sequence[Write]) -> Procedure[None]:
        """The writes are stored, all of them; as a transaction, which costs twice, if several."""
        check_put(LIMITS, partition, writes)
        puts = [_put(partition, write) for write in writes]
        if len(puts) == 1:
            yield from self._call("put_item", **puts[0])
        else:
            items = [{"Put": {"TableName": self.table, **put}} for put in puts]
            yield from self._create_for(Call("transact_write_items", {"TransactItems": items}))

    def query(
        self,
        partition: str,
        low: str,
        high: str,
        *,
        descending: bool,
        limit: int | None,
        cursor: str | None,
    ) -> Procedure[Page]:
        """A page of the documents with `low <= sort < high`."""
        check_limit(limit)
        if low >= high:
            return Page([])
        arguments: dict[str, Any] = {
            "KeyConditionExpression": "p=:p AND s BETWEEN :l AND :h",
            "ExpressionAttributeValues": {
                ":p": {"S": partition},
                ":l": {"S": low},
                ":h": {"S": high},
            },
            "ProjectionExpression": "s,b,x",
            "ConsistentRead": True,
            "ScanIndexForward": not descending,
        }
        if limit is not None:
            arguments["Limit"] = limit
        if cursor is not None:
            arguments["ExclusiveStartKey"] = _key(partition, cursor)
        reply = yield from self._call("query", **arguments)
        last = reply.get("LastEvaluatedKey")
        # BETWEEN includes its upper bound, ours is the first sort outside.
        documents = [d for d in map(_document, reply["Items"]) if d.sort != high]
        return Page(documents, last["s"]["S"] if last else None)

    def delete(self, partition: str, sorts: Sequence[str]) -> Procedure[None]:
        """The documents are gone."""
        keys = [_key(partition, sort) for sort in dict.fromkeys(sorts)]
        for some in slices([{"DeleteRequest": {"Key": key}} for key in keys], _BATCH_WRITE):
            left, pauses = some, waits()
            while left:
                call = Call("batch_write_item", {"RequestItems": {self.table: left}})
                reply = yield from self._create_for(call)
                undone = [entry for some in reply["UnprocessedItems"].values() for entry in some]
                left, pauses = yield from self._rest(left, undone, pauses)

    def partitions(self) -> Procedure[list[str]]:
        """Every partition; reads the whole table."""
        found: dict[str, None] = {}
        start: dict[str, Any] = {}
        while True:
            scan = {"ProjectionExpression": "p", "ConsistentRead": True, **start}
            reply = yield from self._call("scan", **scan)
            found |= {item["p"]["S"]: None for item in reply["Items"]}
            if "LastEvaluatedKey" not in reply:
                return list(found)
            start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}

    def __str__(self) -> str:
        return f"DynamoDB table {self.table!r}"

    def _get(self, keys: Sequence[Any]) -> Procedure[list[dict[str, Any]]]:
        """The items with these keys, in any order; as many requests as their size takes."""
        items: list[dict[str, Any]] = []
        pauses = waits()
        while keys:
            batch = {self.table: {"Keys": keys, "ConsistentRead": True}}
            reply = yield from self._create_for(Call("batch_get_item", {"RequestItems": batch}))
            items += [item for some in reply["Responses"].values() for item in some]
            undone = [key for some in reply["UnprocessedKeys"].values() for key in some["Keys"]]
            keys, pauses = yield from self._rest(keys, undone, pauses)
        return items

    def _rest(
        self, asked: Sequence[Any], undone: Sequence[Any], pauses: Iterator[float]
    ) -> Procedure[tuple[Sequence[Any], Iterator[float]]]:
        """What a batch left undone, after a pause; without end only as long as some is done."""
        if undone:
            pauses = waits() if len(undone) < len(asked) else pauses
            wait = next(pauses, None)
            if wait is None:
                raise TableUnavailable(f"{self} leaves {len(undone)} requests unprocessed")
            yield wait
        return undone, pauses

    def _call(self, method: str, **arguments: Any) -> Procedure[Any]:
        return (yield from self._create_for(Call(method, {"TableName": self.table, **arguments})))

    def _create_for(self, call: Call) -> Procedure[Any]:
        """The reply; a missing table is created first, once, unless it may not be."""
        reply = yield from self._ask(call, accept=MISSING if self.create else "")
        if reply is None:
            yield from self._create()
            reply = yield from self._ask(call)
        return reply

    def _create(self) -> Procedure[None]:
        """The table is there and active; another process may be creating it as well."""
        arguments = {
            "TableName": self.table,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": "S"} for name in ("p", "s")
            ],
            "KeySchema": [
                {"AttributeName": "p", "KeyType": "HASH"},
                {"AttributeName": "s", "KeyType": "RANGE"},
            ],
        }
        yield from self._ask(Call("create_table", arguments), accept="ResourceInUseException")
        describe = Call("describe_table", {"TableName": self.table})
        for wait in _CREATION_WAITS_SECONDS:
            reply = yield from self._ask(describe, accept=MISSING)
            if reply and reply["Table"]["TableStatus"] == "ACTIVE":
                break
            yield wait
        else:
            raise TableUnavailable(f"{self} was created and does not become active")
        if self.expiring:
            yield from self._expire()

    def _expire(self) -> Procedure[None]:
        """The database removes documents some time after their expiry."""
        name = {"TableName": self.table}
        reply = yield from self._ask(Call("describe_time_to_live", name))
        if reply["TimeToLiveDescription"]["TimeToLiveStatus"] == "DISABLED":
            setting = {"Enabled": True, "AttributeName": "x"}
            call = Call("update_time_to_live", {**name, "TimeToLiveSpecification": setting})
            # Refused when another process was faster.
            yield from self._ask(call, accept="ValidationException")

    def _ask(self, call: Call, accept: str = "") -> Procedure[Any]:
        """The reply, after as many attempts as it takes; None for the error that is accepted."""
        pauses = waits()
        while True:
            outcome = yield call
            if not isinstance(outcome, Exception):
                if call.method not in _ALWAYS_THERE or _ALWAYS_THERE[call.method] in outcome:
                    return outcome
                outcome = IncompleteReply(call.method)
            failure = read_failure(outcome)
            if failure is None:
                raise outcome
            if failure.code and failure.code == accept:
                return None
            if failure.conflict:
                raise DocumentConflict(f"{self}: a condition of a put failed") from outcome
            wait = next(pauses, None) if failure.transient else None
            if wait is None:
                raise TableUnavailable(f"{self}: {failure.text}") from outcome
            yield wait


def _key(partition: str, sort: str) -> dict[str, Any]:
    return {"p": {"S": partition}, "s": {"S": sort}}


def _put(partition: str, write: Write) -> dict[str, Any]:
    """The arguments of a put, alone or in a transaction."""
    document = write.document
    item = {**_key(partition, document.sort), "b": {"B": document.body}}
    if document.expires_at is not None:
        item["x"] = {"N": str(document.expires_at)}
    if write.if_absent:
        return {"Item": item, "ConditionExpression": "attribute_not_exists(s)"}
    if write.if_unchanged is not None:
        values = {":b": {"B": write.if_unchanged.body}}
        return {"Item": item, "ConditionExpression": "b=:b", "ExpressionAttributeValues": values}
    return {"Item": item}


def _document(item: dict[str, Any]) -> Document:
    expiry = item.get("x")
    return Document(item["s"]["S"], bytes(item["b"]["B"]), int(expiry["N"]) if expiry else None)
