"""Deleting, pruning and copying: the operations that change what is stored.

Rule: wherever one of them stops, what can be read is right, and repeating it finishes the
work. So a head goes before what belongs to it, nothing goes that somebody leans on, and a
copy brings what a head needs before the head.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import filterfalse
from typing import TYPE_CHECKING

from agentstate_documents import chunks, keys, steps
from agentstate_documents.checkpoints import names
from agentstate_documents.checkpoints.context import ROUNDS
from agentstate_documents.checkpoints.heads import HEAD, REPLACED, whole_item
from agentstate_documents.checkpoints.listing import read_namespaces, snapshot_counters
from agentstate_documents.checkpoints.read import find_path
from agentstate_documents.checkpoints.reader import Reader
from agentstate_documents.checkpoints.reference import read_thread
from agentstate_documents.errors import DocumentConflict, reading
from agentstate_documents.model import Write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentstate_documents.checkpoints.context import Context
    from agentstate_documents.checkpoints.heads import Head
    from agentstate_documents.model import Document
    from agentstate_documents.steps import Procedure

    # Which checkpoints of a namespace that has been read shall go.
    Choice = Callable[[Context, Reader], Procedure[set[str]]]

STRATEGIES = ("keep_latest", "delete", "delete_all")


def delete_thread(context: Context, thread_id: object) -> Procedure[None]:
    """Nothing of the thread is stored any more, whatever it was left by."""
    partition = keys.encode_partition(read_thread(thread_id))
    sorts: list[str] = []
    cursor = None
    while True:
        page = yield from steps.page(partition, cursor=cursor)
        sorts += [document.sort for document in page.documents]
        cursor = page.cursor
        if cursor is None:
            break
    yield from _delete(partition, sorts)
    context.memory.forget(partition)


def prune(context: Context, thread_ids: Sequence[object], strategy: str) -> Procedure[None]:
    """Of each thread the latest checkpoint of every namespace is left, or nothing.

    With `keep_latest`, ancestors that a delta channel is rebuilt from are left too. Writes
    of a checkpoint that is still to come are not touched.
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, not {strategy!r}")
    for thread in [read_thread(thread_id) for thread_id in _several("thread_ids", thread_ids)]:
        if strategy == "keep_latest":
            yield from _clear(context, keys.encode_partition(thread), _all_but_latest)
        else:
            yield from delete_thread(context, thread)


def delete_for_runs(context: Context, run_ids: Sequence[object]) -> Procedure[None]:
    """No checkpoint whose metadata names one of the runs is left, in any thread.

    Reads the whole table: no index is kept for it, since that would double the cost of
    every put.
    """
    runs = {str(run_id) for run_id in _several("run_ids", run_ids) if run_id is not None}

    def of_the_runs(context: Context, reader: Reader) -> Procedure[set[str]]:
        yield from ()
        heads = filter(None, map(reader.head, reader.ids))
        return {head.id for head in heads if _run_of(context, head) in runs}

    partitions = (yield from steps.partitions()) if runs else ()
    for partition in filterfalse(keys.is_flow, partitions):
        yield from _clear(context, partition, of_the_runs)


def copy_thread(context: Context, source_id: object, target_id: object) -> Procedure[None]:
    """Everything of the source is in the target as well, history and writes included."""
    source = keys.encode_partition(read_thread(source_id))
    target = keys.encode_partition(read_thread(target_id))
    if source == target:
        return
    if items := names.name_items(context, read_thread(target_id)):
        yield from chunks.store(target, items, context.limits)
    checkpoint: list[Document] = []
    batch: list[Document] = []
    cursor = None
    while True:
        page = yield from steps.page(source, high=names.NAME, cursor=cursor)
        for document in page.documents:
            if checkpoint and _owner(checkpoint[0].sort) != _owner(document.sort):
                batch = yield from _copy(context, target, batch, _head_last(checkpoint))
                checkpoint = []
            checkpoint.append(document)
        cursor = page.cursor
        if cursor is None:
            break
    batch = yield from _copy(context, target, batch, _head_last(checkpoint))
    if batch:
        yield from _put_copies(context, target, batch)
    context.memory.forget(target)


def _several(name: str, ids: Sequence[object]) -> Sequence[object]:
    if isinstance(ids, (str, bytes)):
        raise TypeError(f"{name} must be a sequence of ids, not one: {ids!r}")
    return ids


def _clear(context: Context, partition: str, choose: Choice) -> Procedure[None]:
    """The chosen checkpoints of every namespace of the partition are gone."""
    for prefix in (yield from read_namespaces(partition)):
        for _ in range(ROUNDS):
            reader = Reader(context, partition, prefix)
            reader.limit = None
            while not reader.ended:
                yield from reader.more()
            gone = yield from choose(context, reader)
            try:
                yield from _remove(context, partition, reader, gone)
                break
            except DocumentConflict:  # a head was replaced meanwhile: look again
                continue
        else:
            raise DocumentConflict(f"partition {partition!r} is changed by others all the time")
    context.memory.forget(partition)


def _all_but_latest(context: Context, reader: Reader) -> Procedure[set[str]]:
    heads = {checkpoint for checkpoint in reader.ids if reader.head(checkpoint)}
    path = yield from find_path(reader, None)
    if path is None:
        return set()
    latest = path[0]
    kept = {latest.id, *_rebuilt_from(context, reader, latest)}
    older = {c for c in reader.documents if keys.encode(c) < keys.encode(latest.id)}
    return (older | heads) - kept


def _run_of(context: Context, head: Head) -> str | None:
    run_id = head.describe(context.serde)[1].get("run_id")
    return None if run_id is None else str(run_id)


def _rebuilt_from(context: Context, reader: Reader, head: Head) -> Iterable[str]:
    """The ancestors a delta channel without a value here is rebuilt from."""
    checkpoint, metadata = head.describe(context.serde)
    with reading(f"checkpoint {head.id!r}"):
        counted = snapshot_counters(metadata)
        missing = (counted.keys() & checkpoint["channel_versions"].keys()) - set(head.channels)
    ancestor: Head | None = head
    passed: set[str] = set()  # a checkpoint that was put onto itself is its own parent
    while missing and ancestor is not None and ancestor.parent and ancestor.parent not in passed:
        passed.add(ancestor.id)
        ancestor = reader.head(ancestor.parent)
        if ancestor is not None:
            yield ancestor.id
            missing -= set(ancestor.channels)


def _remove(context: Context, partition: str, reader: Reader, gone: set[str]) -> Procedure[None]:
    """The checkpoints are deleted, after every head that leans on one was made whole."""
    for checkpoint in reader.documents.keys() - gone:
        head = reader.head(checkpoint)
        if head is not None and head.leans and head.parent in gone:
            path = yield from reader.path(head)
            if path is not None:
                stored = reader.documents[checkpoint][HEAD]
                item = whole_item(context, path, reader.prefix, HEAD)
                item = replace(item, if_unchanged=stored)
                yield from chunks.store(partition, [item], context.limits)
    documents = [d for checkpoint in gone for d in reader.documents[checkpoint].values()]
    yield from _delete(partition, [document.sort for document in documents])


def _delete(partition: str, sorts: Sequence[str]) -> Procedure[None]:
    """Heads first: what is left without its head is invisible."""
    heads = [sort for sort in sorts if _is_head(sort)]
    yield from steps.delete(partition, heads)
    yield from steps.delete(partition, [sort for sort in sorts if not _is_head(sort)])


def _is_head(sort: str) -> bool:
    kind = _kind(sort)
    return kind == HEAD or kind.startswith(REPLACED)


def _kind(sort: str) -> str:
    """What follows the checkpoint in a sort; empty for a thread's name."""
    return "".join(sort.split(keys.END, 2)[2:])


def _owner(sort: str) -> list[str]:
    return sort.split(keys.END)[:2]


def _head_last(documents: Sequence[Document]) -> list[Document]:
    """One checkpoint's documents in the order to copy: parts come before what needs them."""
    return sorted(documents, key=lambda document: (_is_head(document.sort), document.sort))


def _copy(
    context: Context, partition: str, batch: list[Document], documents: Sequence[Document]
) -> Procedure[list[Document]]:
    """The documents are stored or in the returned batch, which is not full."""
    limits = context.limits
    for document in documents:
        size = sum(len(waiting.body) for waiting in batch) + len(document.body)
        if len(batch) == limits.max_transaction_documents or size > limits.max_transaction_bytes:
            yield from _put_copies(context, partition, batch)
            batch = []
        batch = [*batch, document]
    return batch


def _put_copies(context: Context, partition: str, documents: Sequence[Document]) -> Procedure[None]:
    """The documents are stored; a different head they replace stays readable under its tag."""
    sorts = [document.sort for document in documents]
    there: Sequence[Document | None] = [None] * len(documents)
    for _ in range(ROUNDS):
        try:
            return (yield from steps.put(partition, list(map(_copied, documents, there))))
        except DocumentConflict:
            there = yield from steps.get(partition, sorts)
        for document, stored in zip(documents, there, strict=True):
            if stored is not None and stored.body != document.body and _kind(stored.sort) == HEAD:
                yield from _keep_aside(context, partition, stored.sort)
    raise DocumentConflict(f"partition {partition!r} is changed by others all the time")


def _copied(document: Document, stored: Document | None) -> Write:
    """Only a head is not what every process would write under its name."""
    if _kind(document.sort) != HEAD:
        return Write(document)
    return Write(document, if_absent=stored is None, if_unchanged=stored)


def _keep_aside(context: Context, partition: str, sort: str) -> Procedure[None]:
    """The head is readable under its tag as well, whole, for heads that lean on it."""
    prefix, encoded = _owner(sort)
    high = prefix + keys.END + encoded + keys.AFTER_END
    reader = Reader(context, partition, prefix, high=high)
    head = yield from reader.reach(keys.decode(encoded))
    path = (yield from reader.path(head)) if head else None
    if head is not None and path is not None:
        item = whole_item(context, path, reader.prefix, REPLACED + head.tag.hex())
        yield from chunks.store(partition, [item], context.limits)
