"""`list` and the delta channels' history: namespaces read as far as they are wanted."""

from __future__ import annotations

import heapq
from itertools import filterfalse
from typing import TYPE_CHECKING, Any

from agentstate_documents import keys, steps
from agentstate_documents.checkpoints import names
from agentstate_documents.checkpoints.read import build_tuple, find_path, open_reader
from agentstate_documents.checkpoints.reader import FIRST_LIMIT, MARGIN, Reader
from agentstate_documents.checkpoints.reference import (
    Reference,
    read_checkpoint_id,
    read_configurable,
    read_reference,
    read_thread,
)
from agentstate_documents.checkpoints.values import decode
from agentstate_documents.checkpoints.writes import read_writes
from agentstate_documents.steps import Emit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        CheckpointMetadata,
        CheckpointTuple,
        DeltaChannelHistory,
    )

    from agentstate_documents.checkpoints.context import Context
    from agentstate_documents.checkpoints.heads import Head
    from agentstate_documents.steps import Procedure, Stream


def list_tuples(
    context: Context,
    config: RunnableConfig | None,
    *,
    filter: Mapping[str, Any] | None,  # noqa: A002 -- LangGraph's name
    before: RunnableConfig | None,
    limit: int | None,
) -> Stream[CheckpointTuple]:
    """The checkpoints `config` spans, newest id first over all its namespaces and threads.

    Each is emitted as soon as it is read. `filter` compares metadata for equality, `before`
    is an exclusive upper id, a `limit` of 0 or less emits nothing.
    """
    left = limit
    if left is not None and left <= 0:
        return
    sources = yield from _open_sources(
        context, config, before, None if limit is None else FIRST_LIMIT
    )
    while sources:
        source = sources[0]
        yield from steps.aside(source.reader.size)
        if not filter or _matches(source.head.describe(context.serde)[1], filter):
            path = yield from source.reader.path(source.head)
            if path is not None:
                yield Emit(build_tuple(context, source.reference, source.reader, path))
                left = None if left is None else left - 1
                if left == 0:
                    return
        if (yield from source.advance()):
            heapq.heapreplace(sources, source)
        else:
            heapq.heappop(sources)


def get_delta_channel_history(
    context: Context, config: RunnableConfig, channels: Sequence[str]
) -> Procedure[Mapping[str, DeltaChannelHistory]]:
    """Per channel its nearest stored value among the ancestors, and the writes since.

    One range read, where LangGraph's default reads every ancestor for itself.
    """
    target = read_reference(config)
    history: dict[str, DeltaChannelHistory] = {channel: {"writes": []} for channel in channels}
    if not history:
        return {}
    reader = open_reader(context, target)
    path = yield from find_path(reader, target.checkpoint)
    remaining, head = set(history), path[0] if path else None
    if head is not None:
        documents = 2 * _steps_back(context, head, remaining) + MARGIN
        reader.limit = max(FIRST_LIMIT, documents - reader.count)
    passed: set[str] = set()  # a checkpoint that was put onto itself is its own parent
    while head is not None and head.parent and head.parent not in passed and remaining:
        passed.add(head.id)
        if keys.encode(head.parent) > keys.encode(head.id):  # a clock was behind
            reader = open_reader(context, Reference(target.thread, target.namespace, head.parent))
        head = yield from reader.reach(head.parent)
        if head is None:
            break
        for write in reversed(read_writes(context, reader.documents[head.id])):
            if write.channel in remaining:
                history[write.channel]["writes"].append(write.decode(context.serde))
        found = remaining.intersection(head.channels)
        path = (yield from reader.path(head)) if found else None
        for channel, value in decode(context.serde, path, found).items() if path else ():
            history[channel]["seed"] = value
        remaining -= found
    for told in history.values():
        told["writes"].reverse()
    return history


def snapshot_counters(metadata: CheckpointMetadata) -> dict[str, Any]:
    """What LangGraph has counted since it stored a value of each delta channel.

    Nothing where somebody else has used its name.
    """
    counted: Any = metadata.get("counters_since_delta_snapshot")
    return counted if isinstance(counted, dict) else {}


def _steps_back(context: Context, head: Head, channels: set[str]) -> int:
    """How many steps lie behind the oldest value that one of the channels may be rebuilt from.

    Most steps are a head and one document of writes; where they are more, it takes one more read.
    """
    counted = snapshot_counters(head.describe(context.serde)[1])
    farthest = 0
    for name in channels & counted.keys():
        match counted[name]:
            case [_, int(steps)]:
                farthest = max(farthest, steps)
    return farthest


def read_namespaces(partition: str) -> Procedure[list[str]]:
    """The encoded namespaces of a partition: one request each, and one."""
    found: list[str] = []
    low, cursor = keys.END, None
    while True:
        page = yield from steps.page(partition, low=low, high=names.NAME, limit=1, cursor=cursor)
        cursor = page.cursor
        if page.documents:
            found.append(page.documents[0].sort.partition(keys.END)[0])
            low, cursor = found[-1] + keys.AFTER_END, None
        elif cursor is None:
            return found


class _Source:
    """One namespace of a listing, standing at its newest checkpoint not yet emitted."""

    def __init__(self, reader: Reader, thread: str, prefix: str, only: str | None) -> None:
        self.reader = reader
        self.head: Head
        self._thread, self._prefix, self._only, self._passed = thread, prefix, only, ""

    def __lt__(self, other: _Source) -> bool:
        return self.head.id > other.head.id

    @property
    def reference(self) -> Reference:
        namespace = self.head.namespace
        return Reference(
            self._thread, keys.decode(self._prefix) if namespace is None else namespace
        )

    def advance(self) -> Procedure[bool]:
        """Whether there is another checkpoint; what is newer is let go."""
        ids = self.reader.ids
        while True:
            if ids:
                checkpoint = ids[0]
                head = yield from self.reader.reach(checkpoint)
                self.reader.forget(self._passed)
                self._passed = ids.popleft()
                if self._only not in (None, checkpoint):
                    return False
                if head is not None and self.reader.visible(head):
                    self.head = head
                    return True
            elif self.reader.ended:
                return False
            else:
                yield from self.reader.more()


def _open_sources(
    context: Context,
    config: RunnableConfig | None,
    before: RunnableConfig | None,
    limit: int | None,
) -> Procedure[list[_Source]]:
    configurable = read_configurable({} if config is None else config)
    only = read_checkpoint_id(configurable.get("checkpoint_id"))
    upper = read_configurable({} if before is None else before, "before")
    below = read_checkpoint_id(upper.get("checkpoint_id"))
    namespace = configurable.get("checkpoint_ns")
    sources = []
    for thread, partition in (yield from _threads(context, configurable)):
        if namespace is None:
            prefixes = yield from read_namespaces(partition)
        else:
            prefixes = [keys.encode_namespace(str(namespace))]
        for prefix in prefixes:
            highs = [prefix + keys.AFTER_END]
            highs += [f"{prefix}{keys.END}{keys.encode(below)}{keys.END}"] if below else []
            highs += [f"{prefix}{keys.END}{keys.encode(only)}{keys.AFTER_END}"] if only else []
            reader = Reader(context, partition, prefix, high=min(highs))
            reader.limit = limit
            source = _Source(reader, thread, prefix, only)
            if (yield from source.advance()):
                sources.append(source)
    heapq.heapify(sources)
    return sources


def _threads(context: Context, configurable: Mapping[str, Any]) -> Procedure[list[tuple[str, str]]]:
    """Threads by name and partition: the one named, or all whose name is known."""
    if "thread_id" in configurable:
        thread = read_thread(configurable["thread_id"])
        return [(thread, keys.encode_partition(thread))]
    threads = []
    for partition in filterfalse(keys.is_flow, (yield from steps.partitions())):
        name = yield from names.read_name(context, partition)
        if name is not None:
            threads.append((name, partition))
    return threads


def _matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(name in metadata and metadata[name] == value for name, value in wanted.items())
