"""What the account holds: databases, containers, their physical partitions and items."""

from __future__ import annotations

import base64
import itertools
import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# The hash that places a partition key. A client that computes it must agree with the server.
from azure.cosmos.partition_key import PartitionKey, _Undefined

from .failure import Failure, not_found

JSON = dict[str, Any]
PartitionValue = list[Any]

SYSTEM_PROPERTIES = ("_rid", "_self", "_etag", "_attachments", "_ts")
DEFAULT_INDEXING: JSON = {
    "indexingMode": "consistent",
    "automatic": True,
    "includedPaths": [{"path": "/*"}],
    "excludedPaths": [{"path": '/"_etag"/?'}],
}


def new_etag() -> str:
    return f'"{uuid.uuid4()}"'


@dataclass(frozen=True)
class Item:
    """One stored document, its place in the order of creation, and its physical partition."""

    document: JSON
    sequence: int
    range_index: int


class Container:
    """Items by partition key value and id, spread over physical partitions by hash."""

    def __init__(self, account: Account, database: Database, properties: JSON) -> None:
        self.account = account
        self.rid = account.new_rid()
        self.link = f"dbs/{database.properties['_rid']}/colls/{self.rid}/"
        self.partitions: dict[str, dict[str, Item]] = {}
        self.configure(properties)

    def configure(self, properties: JSON) -> None:
        """Take over the properties a client sent; the partition key must be one plain path."""
        key = properties.get("partitionKey", {})
        if len(key.get("paths", ())) != 1 or key.get("kind", "Hash") != "Hash":
            raise Failure(400, "This protocol test server takes one hash partition key path.")
        indexing = {**DEFAULT_INDEXING, **(properties.get("indexingPolicy") or {})}
        roots = (*indexing["includedPaths"], *indexing["excludedPaths"])
        if indexing["indexingMode"] != "none" and not any(root["path"] == "/*" for root in roots):
            raise Failure(400, 'The special mandatory indexing path "/" is not provided.')
        self.properties = {**properties, "indexingPolicy": indexing}
        self.properties |= {"_rid": self.rid, "_self": self.link, "_etag": new_etag()}
        self.key_path = key["paths"][0].strip("/").split("/")
        self.hash = PartitionKey(key["paths"][0], kind="Hash", version=key.get("version", 2))

    @property
    def bounds(self) -> list[tuple[str, str]]:
        """The hash ranges of the physical partitions; hashes begin with a byte of 00 to 3F."""
        count = self.account.partition_count
        cuts = ["", *(f"{0x40 * index // count:02X}" for index in range(1, count)), "FF"]
        return list(itertools.pairwise(cuts))

    def partition_of(self, document: JSON) -> PartitionValue:
        """The partition key value inside a document; `{}` stands for an absent one."""
        value: Any = document
        for name in self.key_path:
            value = value.get(name, {}) if isinstance(value, dict) else {}
        return [value]

    def range_of(self, partition: PartitionValue) -> int:
        """The index of the physical partition a partition key value lives in."""
        value = [_Undefined() if part == {} else part for part in partition]
        place = str(self.hash._get_effective_partition_key_string(value))
        return next(i for i, (low, high) in enumerate(self.bounds) if low <= place < high)

    def find(self, partition: PartitionValue, item_id: str) -> Item | None:
        """The live item, or None; an expired one is dropped on the way."""
        items = self.partitions.get(json.dumps(partition), {})
        item = items.get(item_id)
        if item is not None and self._expired(item):
            del items[item_id]
            return None
        return item

    def store(self, partition: PartitionValue, document: JSON, old: Item | None) -> Item:
        """The document with system properties of its own takes the place of `old`."""
        sequence = old.sequence if old else self.account.next_number()
        rid = base64.b64encode(f"{self.rid}{sequence:08}".encode()).decode()
        stored = {k: v for k, v in document.items() if k not in SYSTEM_PROPERTIES}
        stored |= {"_rid": rid, "_self": f"{self.link}docs/{rid}/", "_etag": new_etag()}
        stored |= {"_attachments": "attachments/", "_ts": int(self.account.now())}
        item = Item(stored, sequence, old.range_index if old else self.range_of(partition))
        self.partitions.setdefault(json.dumps(partition), {})[stored["id"]] = item
        self.account.next_number()
        return item

    def remove(self, partition: PartitionValue, item_id: str) -> None:
        del self.partitions[json.dumps(partition)][item_id]
        self.account.next_number()

    def items(
        self, partition: PartitionValue | None = None, range_index: int | None = None
    ) -> Iterator[Item]:
        """Live items of one partition key value, of one physical partition, or all."""
        keys = self.partitions if partition is None else [json.dumps(partition)]
        for key in keys:
            for item in self.partitions.get(key, {}).values():
                if range_index in (None, item.range_index) and not self._expired(item):
                    yield item

    def _expired(self, item: Item) -> bool:
        # An item's `ttl` counts only where the container has a default, be it -1 ("never").
        default = self.properties.get("defaultTtl")
        if default is None:
            return False
        ttl = item.document.get("ttl", default)
        return bool(ttl > 0 and self.account.now() >= item.document["_ts"] + ttl)


class Database:
    """A named set of containers."""

    def __init__(self, account: Account, database_id: str) -> None:
        rid = account.new_rid()
        self.containers: dict[str, Container] = {}
        self.properties: JSON = {"id": database_id, "_rid": rid, "_self": f"dbs/{rid}/"}
        self.properties |= {"_etag": new_etag(), "_ts": int(account.now())}


class Account:
    """Everything one server process holds, and its clock, which tests may put forward."""

    def __init__(self, partition_count: int) -> None:
        self.partition_count = partition_count
        self.clock_offset = 0.0
        self.databases: dict[str, Database] = {}
        self._number = 0

    def now(self) -> float:
        return time.time() + self.clock_offset

    def next_number(self) -> int:
        """A number above every one given before: sequence numbers and the session's progress."""
        self._number += 1
        return self._number

    def new_rid(self) -> str:
        return base64.b32encode(f"{self.next_number():05}".encode()).decode()

    def database(self, database_id: str) -> Database:
        if database_id not in self.databases:
            raise not_found()
        return self.databases[database_id]

    def container(self, database_id: str, container_id: str) -> Container:
        containers = self.database(database_id).containers
        if container_id not in containers:
            raise not_found()
        return containers[container_id]
