"""A document as each database holds it, made and read by the modules of its table.

No server is asked: the requests a table would send are looked at, and answered.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from google.auth.credentials import AnonymousCredentials
from google.cloud.firestore import Client
from google.cloud.firestore_v1._helpers import decode_dict
from google.cloud.firestore_v1.base_document import DocumentSnapshot
from google.cloud.firestore_v1.batch import WriteBatch
from google.cloud.firestore_v1.types import Document as FirestoreDocument

from agentstate_documents import Document, DocumentTable, Write, steps
from agentstate_documents.drivers import run
from agentstate_documents.model import AFTER_LAST_SORT, FIRST_SORT
from agentstate_documents.tables import cosmosdb_requests, dynamodb_requests, firestore_requests
from agentstate_documents.tables.sql import SQLTable
from golden.threads import CLOCK

Row = tuple[str, Document]
Items = list[dict[str, Any]]

FIRESTORE = Client(project="golden", credentials=AnonymousCredentials())
COLLECTION = "checkpoints"
REQUESTS: dict[str, Any] = {
    "dynamodb": dynamodb_requests.Requests("golden", create=True, expiring=True),
    "cosmosdb": cosmosdb_requests.Requests("golden", "checkpoints", create=True),
    "firestore": firestore_requests.Requests(
        COLLECTION, firestore_requests.limits_of(COLLECTION), create=True
    ),
}


def asked(database: str, partition: str, document: Document) -> Any:
    """The request by which the database's table stores the document."""
    with mock.patch("time.time", return_value=CLOCK):
        return next(REQUESTS[database].put(partition, [Write(document)]))


def answered(database: str, partition: str, rows: Any) -> list[Document]:
    """The documents of a partition, of which the database answers with `rows`."""
    query = REQUESTS[database].query(
        partition, FIRST_SORT, AFTER_LAST_SORT, descending=False, limit=None, cursor=None
    )
    next(query)
    try:
        query.send(rows)
    except StopIteration as stop:
        return list(stop.value.documents)
    raise AssertionError(f"{database} asks for a second page")


def documents_in(table: DocumentTable, partition: str) -> Iterable[Document]:
    """Every document of a partition, in order."""
    return run(steps.documents(partition, low=FIRST_SORT, high=AFTER_LAST_SORT), table).values()


def text(data: bytes) -> str:
    """Bytes as JSON holds them."""
    return base64.b64encode(data).decode()


def by_partition(items: Items, of: Callable[[Any], str]) -> dict[str, Items]:
    """The items of each partition."""
    found: dict[str, Items] = {}
    for item in items:
        found.setdefault(of(item), []).append(item)
    return found


def memory_items(rows: Iterable[Row], folder: Path) -> Items:
    """Documents as they are."""
    return [
        {
            "partition": partition,
            "sort": document.sort,
            "body": text(document.body),
            "expires_at": document.expires_at,
        }
        for partition, document in rows
    ]


def read_memory(items: Items, folder: Path) -> Iterator[Row]:
    """Documents as they are."""
    for item in items:
        body = base64.b64decode(item["body"])
        yield item["partition"], Document(item["sort"], body, item["expires_at"])


def sql_items(rows: Iterable[Row], folder: Path) -> Items:
    """The statement that creates the table, and its rows."""
    file = folder / "written.db"
    table = SQLTable(f"sqlite:///{file}")
    for partition, document in rows:
        table.put(partition, [Write(document)])
    table.close()
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        [[created]] = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'table'")
        stored = [dict(row) for row in connection.execute("SELECT * FROM documents ORDER BY p, s")]
    return [{"created": created}, *({**row, "b": text(row["b"])} for row in stored)]


def read_sql(items: Items, folder: Path) -> Iterator[Row]:
    """The table is created and filled in SQL, and read by `SQLTable`."""
    file = folder / "read.db"
    [created, *rows] = items
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(created["created"])
        connection.executemany(
            "INSERT INTO documents (p, s, b, x) VALUES (:p, :s, :b, :x)",
            [{**row, "b": base64.b64decode(row["b"])} for row in rows],
        )
    table = SQLTable(f"sqlite:///{file}", create=False)
    for partition in table.partitions():
        yield from ((partition, document) for document in documents_in(table, partition))
    table.close()


def dynamodb_items(rows: Iterable[Row], folder: Path) -> Items:
    """Items in DynamoDB's JSON."""
    items = [asked("dynamodb", *row).arguments["Item"] for row in rows]
    return [{**item, "b": {"B": text(item["b"]["B"])}} for item in items]


def read_dynamodb(items: Items, folder: Path) -> Iterator[Row]:
    """What a query answers."""
    for partition, some in by_partition(items, lambda item: item["p"]["S"]).items():
        found = [{**item, "b": {"B": base64.b64decode(item["b"]["B"])}} for item in some]
        for document in answered("dynamodb", partition, {"Items": found}):
            yield partition, document


def cosmosdb_items(rows: Iterable[Row], folder: Path) -> Items:
    """Items as JSON."""
    return [asked("cosmosdb", *row).arguments["body"] for row in rows]


def read_cosmosdb(items: Items, folder: Path) -> Iterator[Row]:
    """What a query answers, which has a tag for each item."""
    for partition, some in by_partition(items, lambda item: item["p"]).items():
        found = cosmosdb_requests.Found([{**item, "_etag": "1"} for item in some])
        for document in answered("cosmosdb", partition, found):
            yield partition, document


def firestore_items(rows: Iterable[Row], folder: Path) -> Items:
    """Documents in Firestore's JSON."""
    with mock.patch.object(WriteBatch, "commit", lambda batch: batch._write_pbs):
        writes = [write for row in rows for write in asked("firestore", *row)(FIRESTORE)]
    return [json.loads(FirestoreDocument.to_json(write.update)) for write in writes]


def read_firestore(items: Items, folder: Path) -> Iterator[Row]:
    """What a query answers."""
    for partition, some in by_partition(items, lambda item: item["name"].split("/")[-3]).items():
        found = [_snapshot(FirestoreDocument.from_json(json.dumps(item))) for item in some]
        for document in answered("firestore", partition, found):
            yield partition, document


def _snapshot(document: FirestoreDocument) -> DocumentSnapshot:
    reference = FIRESTORE.document(document.name.partition("/documents/")[2])
    fields = decode_dict(document.fields, FIRESTORE)
    return DocumentSnapshot(reference, fields, True, None, None, None)


class Shape(NamedTuple):
    """How documents become what a database holds, and how that is read."""

    items: Callable[[Iterable[Row], Path], Items]
    read: Callable[[Items, Path], Iterator[Row]]


SHAPES = {
    "memory": Shape(memory_items, read_memory),
    "sql": Shape(sql_items, read_sql),
    "dynamodb": Shape(dynamodb_items, read_dynamodb),
    "cosmosdb": Shape(cosmosdb_items, read_cosmosdb),
    "firestore": Shape(firestore_items, read_firestore),
}
