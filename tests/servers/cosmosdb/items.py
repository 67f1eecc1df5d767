"""Point operations on items and the transactional batch made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from .failure import PARTITION_KEY_MISMATCH, Failure, not_found, not_spoken
from .store import JSON, Container, Item, PartitionValue

# "Azure Cosmos DB service quotas", per-item and per-request limits.
MAX_ITEM_BYTES = 2 * 1024 * 1024
MAX_REQUEST_BYTES = 2 * 1024 * 1024
MAX_BATCH_OPERATIONS = 100
MAX_ID_BYTES = 1023
MAX_PARTITION_KEY_BYTES = 2048
FORBIDDEN_IN_ID = re.compile(r"[/\\?#]")

Result = tuple[int, Item | None]


def decode(raw: bytes) -> Any:
    """JSON as the service understands it: every number is a double."""
    try:
        return json.loads(raw, parse_int=_double)
    except ValueError:
        raise Failure(400, "The request body is not valid JSON.") from None


def encode(value: Any) -> bytes:
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Failure(400, "The request body holds half of a surrogate pair.") from None


def create(container: Container, partition: PartitionValue, document: JSON) -> Result:
    _check(container, partition, document)
    if container.find(partition, document["id"]):
        raise Failure(409, "Entity with the specified id already exists in the system.")
    return 201, container.store(partition, document, None)


def upsert(
    container: Container, partition: PartitionValue, document: JSON, if_match: str | None = None
) -> Result:
    _check(container, partition, document)
    old = container.find(partition, document["id"])
    if old:
        _match(old, if_match)
    return (200 if old else 201), container.store(partition, document, old)


def read(
    container: Container, partition: PartitionValue, item_id: str, if_none_match: str | None = None
) -> Result:
    item = _existing(container, partition, item_id)
    if if_none_match is not None and if_none_match in ("*", item.document["_etag"]):
        raise Failure(304, headers={"etag": item.document["_etag"]})
    return 200, item


def replace(
    container: Container,
    partition: PartitionValue,
    item_id: str,
    document: JSON,
    if_match: str | None = None,
) -> Result:
    old = _existing(container, partition, item_id)
    _match(old, if_match)
    _check(container, partition, document)
    if document["id"] != item_id:
        raise Failure(400, "Replacing the id of an item is not allowed.")
    return 200, container.store(partition, document, old)


def delete(
    container: Container, partition: PartitionValue, item_id: str, if_match: str | None = None
) -> Result:
    _match(_existing(container, partition, item_id), if_match)
    container.remove(partition, item_id)
    return 204, None


def batch(container: Container, partition: PartitionValue, raw: bytes) -> tuple[int, list[JSON]]:
    """All operations or none: 200 with every result, or 207 where all but the guilty say 424."""
    if len(raw) > MAX_REQUEST_BYTES:
        raise Failure(413, "Request size is too large.")
    operations = decode(raw)
    if len(operations) > MAX_BATCH_OPERATIONS:
        raise Failure(400, f"A batch takes at most {MAX_BATCH_OPERATIONS} operations.")
    key = json.dumps(partition)
    before = dict(container.partitions.get(key, {}))
    results: list[JSON] = []
    for operation in operations:
        result = _attempt(container, partition, operation)
        if isinstance(result, Failure):
            container.partitions[key] = before
            return 207, failed_batch(len(operations), len(results), result)
        results.append(result)
    return 200, results


def failed_batch(count: int, guilty: int, failure: Failure) -> list[JSON]:
    """The results of a batch that one operation broke."""
    results: list[JSON] = [{"statusCode": 424, "requestCharge": 0}] * count
    results[guilty] = {"statusCode": failure.status, "subStatusCode": failure.substatus}
    results[guilty] |= {"requestCharge": 1, "retryAfterMilliseconds": 1}
    return results


def _attempt(container: Container, partition: PartitionValue, operation: JSON) -> JSON | Failure:
    try:
        return _outcome(*_run(container, partition, operation))
    except Failure as failure:
        return failure


def _run(container: Container, partition: PartitionValue, operation: JSON) -> Result:
    body, item_id = operation.get("resourceBody", {}), operation.get("id", "")
    if_match = operation.get("ifMatch")
    runs: dict[str, Callable[[], Result]] = {
        "Create": lambda: create(container, partition, body),
        "Upsert": lambda: upsert(container, partition, body, if_match),
        "Read": lambda: read(container, partition, item_id, operation.get("ifNoneMatch")),
        "Replace": lambda: replace(container, partition, item_id, body, if_match),
        "Delete": lambda: delete(container, partition, item_id, if_match),
    }
    if operation["operationType"] not in runs:
        raise not_spoken(f"The batch operation {operation['operationType']!r}")
    return runs[operation["operationType"]]()


def _outcome(status: int, item: Item | None) -> JSON:
    result: JSON = {"statusCode": status, "requestCharge": 1}
    if item is None:
        return result
    return {**result, "eTag": item.document["_etag"], "resourceBody": item.document}


def _existing(container: Container, partition: PartitionValue, item_id: str) -> Item:
    item = container.find(partition, item_id)
    if item is None:
        raise not_found()
    return item


def _match(item: Item, if_match: str | None) -> None:
    if if_match is not None and if_match not in ("*", item.document["_etag"]):
        raise Failure(412, "One of the specified pre-conditions is not met.")


def _check(container: Container, partition: PartitionValue, document: JSON) -> None:
    item_id = document.get("id") if isinstance(document, dict) else None
    if not isinstance(item_id, str) or not item_id:
        raise Failure(400, "The required property 'id' is missing.")
    if len(item_id.encode()) > MAX_ID_BYTES or FORBIDDEN_IN_ID.search(item_id):
        raise Failure(400, "The id is too long or holds one of / \\ ? #.")
    if container.partition_of(document) != partition:
        raise Failure(
            400,
            "PartitionKey extracted from document doesn't match the one specified in the header.",
            PARTITION_KEY_MISMATCH,
        )
    if len(str(partition[0]).encode()) > MAX_PARTITION_KEY_BYTES:
        raise Failure(400, f"A partition key value has at most {MAX_PARTITION_KEY_BYTES} bytes.")
    ttl = document.get("ttl", -1)
    if type(ttl) is not int or not (ttl == -1 or 0 < ttl < 2**31):
        raise Failure(400, "The input ttl is invalid: a nonzero positive integer or -1.")
    if len(encode(document)) > MAX_ITEM_BYTES:
        raise Failure(413, "Request size is too large.")


def _double(digits: str) -> int:
    number = int(digits)
    return number if abs(number) <= 2**53 else int(float(number))
