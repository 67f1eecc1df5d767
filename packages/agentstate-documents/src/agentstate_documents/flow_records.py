"""What is stored of a flow, and every request for it.

A flow is a partition with two items: its state, and what waits for feedback. No thread has
a partition like it, so one table may hold both. Each item is a record in which the user's
state is one member, so no key of it is ever taken for one of ours. An item keeps its sort for
good and is replaced as a whole; one too large for a document lies in parts, and those of the
item it replaced are removed afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentstate_documents import chunks, envelope, keys, steps
from agentstate_documents.errors import DocumentError, StoredFormatUnknown, reading
from agentstate_documents.flow_codec import dump, load
from agentstate_documents.steps import Emit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from agentstate_documents.model import Document, Limits
    from agentstate_documents.steps import Procedure, Stream

STATE, WAITING = "state", "waiting"

FORMAT = 1

# A reader may meet a head whose parts were just replaced; the next look finds the new one.
READ_ATTEMPTS = 5

MEMBERS = frozenset({"flow", "method", "saved_at", "state", "lists"})

Record = dict[str, Any]
"""`flow` (its id), `method`, `saved_at`, `state`, `lists` (what the reduction noted), and in
what waits for feedback `context`. `format` is added here."""

Parts = dict[str, list[str]]
"""The sorts of the parts an item lies in, by the item's own sort, as far as they are known."""


@dataclass(frozen=True, slots=True)
class StoredFlow:
    """A flow in a listing; `waiting` says whether it waits for feedback."""

    flow_uuid: str
    method_name: str
    saved_at: datetime
    waiting: bool


def put_records(
    flow: str,
    records: Mapping[str, Record],
    known: Parts,
    limits: Limits,
    expires_at: int | None,
) -> Procedure[Parts]:
    """The records are stored under their sorts, in one step for whoever reads them.

    What they replace is looked up unless `known` has it. Returns what is known now. Where
    another process replaced it meanwhile, the parts it left stay until the flow goes: a
    condition would find out, but sends the old body along with the new one.
    """
    partition = keys.encode_flow(flow)
    unknown = [sort for sort in records if sort not in known]
    heads = yield from steps.get(partition, unknown)
    known = {**known, **{s: _parts_of(s, head) for s, head in zip(unknown, heads, strict=True)}}
    items = [
        chunks.Item(sort, _prefix(sort), _packed(record), expires_at)
        for sort, record in records.items()
    ]
    yield from chunks.store(partition, items, limits)
    written = [write.document for write in chunks.heads(items, limits)]
    now = {document.sort: _parts_of(document.sort, document) for document in written}
    left = {part for sort in records for part in known[sort]}
    yield from steps.delete(partition, sorted(left.difference(*now.values())))
    return {**known, **now}


def read_record(flow: str, sort: str, now: float) -> Procedure[tuple[Record | None, list[str]]]:
    """The record and its parts; no record where there is none or it has expired at `now`.

    Raises:
        StoredFormatUnknown: A later version wrote it.
        DocumentError: It is damaged, or a part is missing, and stays so.
    """
    return (yield from _read(keys.encode_flow(flow), sort, now))


def delete_record(flow: str, sort: str) -> Procedure[None]:
    """The item is gone, with its parts, whoever wrote them."""
    yield from _delete(keys.encode_flow(flow), sort)


def delete_flow(flow: str) -> Procedure[None]:
    """Nothing of the flow is left."""
    for sort in (WAITING, STATE):
        yield from _delete(keys.encode_flow(flow), sort)


def list_flows(now: float) -> Stream[StoredFlow]:
    """Every flow that has not expired at `now`. Reads the whole table."""
    for partition in filter(keys.is_flow, (yield from steps.partitions())):
        record, _ = yield from _read(partition, STATE, now)
        if record is not None:
            waits, _ = yield from _read(partition, WAITING, now)
            yield Emit(
                StoredFlow(record["flow"], record["method"], record["saved_at"], waits is not None)
            )


def _read(partition: str, sort: str, now: float) -> Procedure[tuple[Record | None, list[str]]]:
    for _ in range(READ_ATTEMPTS):
        documents = yield from _below(partition, sort)
        head = documents.get(sort)
        parts = _parts_of(sort, head)
        if head is None or (head.expires_at is not None and head.expires_at <= now):
            return None, parts
        packed = chunks.join(head.body, _prefix(sort), documents)
        if packed is not None:
            with reading(f"the item {sort!r} in partition {partition!r}"):
                return _record(packed), parts
    raise DocumentError(f"a part of the item {sort!r} in partition {partition!r} is missing")


def _delete(partition: str, name: str) -> Procedure[None]:
    documents = yield from _below(partition, name)
    # Heads before parts: who reads meanwhile finds the item, or none.
    yield from steps.delete(partition, sorted(documents, key=len))


def _below(partition: str, name: str) -> Procedure[dict[str, Document]]:
    """The document of this name and all whose names go on from it."""
    return steps.documents(partition, low=name, high=name + keys.AFTER_END)


def _prefix(sort: str) -> str:
    """How the sorts of an item's parts begin."""
    return sort + keys.END


def _parts_of(sort: str, head: Document | None) -> list[str]:
    with reading(f"the item {sort!r}"):
        return [] if head is None else chunks.part_sorts(head.body, _prefix(sort))


def _packed(record: Record) -> bytes:
    return envelope.pack([("json", dump({"format": FORMAT, **record}))])


def _record(packed: bytes) -> Record:
    ((_, data),) = envelope.unpack(packed)
    record: Record = load(data)
    if record["format"] != FORMAT:
        raise StoredFormatUnknown(f"flow format {record['format']} is unknown to this version")
    if not record.keys() >= MEMBERS:
        raise KeyError(*MEMBERS - record.keys())
    return record
