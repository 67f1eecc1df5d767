"""The LangGraph face: a method is one line, blocking or awaiting."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from agentstate_documents.checkpoints import listing, put, read, upkeep, writes
from agentstate_documents.checkpoints.context import Context
from agentstate_documents.checkpoints.known import Memory
from agentstate_documents.drivers import arun, astream, run, stream
from agentstate_documents.model import check_ttl
from agentstate_documents.tables.threaded import Threaded
from agentstate_reducer import MessageReducer, integration

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        DeltaChannelHistory,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from agentstate_documents.port import AsyncDocumentTable, DocumentTable


# LangGraph takes serializers of either kind.
_SERDE_METHODS = ("dumps_typed", "dumps")


class DocumentSaver(BaseCheckpointSaver[Any]):
    """A LangGraph checkpointer over any document table.

    Complete: every method of the contract, blocking and awaiting. What a checkpoint shares
    with its parent is stored once; values of any size, any thread id and any namespace are
    stored. See `agentstate_documents.checkpoints` for the layout and what always holds.

        >>> from agentstate_documents import MemoryTable
        >>> from agentstate_documents.saver import DocumentSaver
        >>> saver = DocumentSaver(MemoryTable())
        >>> saver.get_tuple({"configurable": {"thread_id": "nobody"}}) is None
        True
    """

    def __init__(
        self,
        table: DocumentTable,
        *,
        async_table: AsyncDocumentTable | None = None,
        serde: SerializerProtocol | None = None,
        reducer: MessageReducer | None = None,
        messages_key: str | Sequence[str] = "messages",
        ttl_seconds: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Nothing connects yet.

        Args:
            table: Where documents are kept.
            async_table: The same table for coroutines; by default `table` in threads.
            serde: What turns values into bytes, LangGraph's own by default.
            reducer: What bounds the message lists that are stored, and hands what leaves
                them to its hooks before that.
            messages_key: The channel, or channels, that hold such lists.
            ttl_seconds: How long a checkpoint can be read after it was put. A thread lives
                on as long as it is put to.
            clock: Seconds since 1970, for `ttl_seconds` alone.
        """
        if serde is not None and not any(hasattr(serde, name) for name in _SERDE_METHODS):
            raise TypeError(f"serde must be a serializer, not of {type(serde).__name__}")
        super().__init__(serde=serde)
        self._table = table
        self._async_table = async_table or Threaded(table)
        self._memory = Memory()
        self.reducer = reducer
        self.messages_key = messages_key
        # Takes from what was read the pending writes that would bring back pruned messages.
        # Without a reducer no channel is looked at.
        keys = integration.message_keys(messages_key)
        self._reduction = (
            integration.CheckpointReduction(MessageReducer(), ())
            if reducer is None
            else integration.CheckpointReduction(reducer, keys)
        )
        self._ttl_seconds = check_ttl(ttl_seconds)
        self._clock = clock

    @property
    def _context(self) -> Context:
        # Built at each call: `with_allowlist` clones the saver and sets another `serde`.
        return Context(self.serde, self._table.limits, self._memory, self._ttl_seconds, self._clock)

    def setup(self) -> None:
        """The table exists and is usable; repeatable, and not needed before other calls."""
        self._table.setup()

    def close(self) -> None:
        """Connections the table opened itself are closed."""
        self._table.close()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint `config` names, or the latest of its namespace."""
        found = run(read.get_tuple(self._context, config), self._table)
        cleaned: CheckpointTuple | None = self._reduction.read(found)
        return cleaned

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints newest first, each as soon as it is read; all threads without a config."""
        found = listing.list_tuples(
            self._context, config, filter=filter, before=before, limit=limit
        )
        return map(self._reduction.read, stream(found, self._table))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002 -- content decides what is shared
    ) -> RunnableConfig:
        """The checkpoint is stored; returns the config that names it."""
        put.check(config, checkpoint)  # before a hook is served
        reduced = integration.run(self._reduction.steps(config, checkpoint, metadata))
        return run(put.put(self._context, config, *reduced), self._table)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """A task's writes are stored beside their checkpoint."""
        run(_put_writes(self._context, config, writes, task_id, task_path), self._table)

    def delete_thread(self, thread_id: str) -> None:
        """Nothing of the thread is stored any more."""
        run(upkeep.delete_thread(self._context, thread_id), self._table)
        self._reduction.forget(thread_id)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """No checkpoint of these runs is left, in any thread; reads the whole table."""
        run(upkeep.delete_for_runs(self._context, run_ids), self._table)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Everything of the source thread is in the target thread as well."""
        run(upkeep.copy_thread(self._context, source_thread_id, target_thread_id), self._table)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Of each thread the latest checkpoint per namespace is left, or nothing."""
        run(upkeep.prune(self._context, thread_ids, strategy), self._table)
        if strategy != "keep_latest":
            self._reduction.forget(*thread_ids)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Per channel its nearest stored value among the ancestors, and the writes since."""
        return run(listing.get_delta_channel_history(self._context, config, channels), self._table)

    async def asetup(self) -> None:
        """As `setup`."""
        await self._async_table.setup()

    async def aclose(self) -> None:
        """As `close`."""
        await self._async_table.close()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `get_tuple`."""
        found = await arun(read.get_tuple(self._context, config), self._async_table)
        cleaned: CheckpointTuple | None = self._reduction.read(found)
        return cleaned

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        async for found in astream(
            listing.list_tuples(self._context, config, filter=filter, before=before, limit=limit),
            self._async_table,
        ):
            yield self._reduction.read(found)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,  # noqa: ARG002
    ) -> RunnableConfig:
        """As `put`."""
        put.check(config, checkpoint)
        reduced = await integration.arun(self._reduction.steps(config, checkpoint, metadata))
        return await arun(put.put(self._context, config, *reduced), self._async_table)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """As `put_writes`."""
        await arun(
            _put_writes(self._context, config, writes, task_id, task_path), self._async_table
        )

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await arun(upkeep.delete_thread(self._context, thread_id), self._async_table)
        self._reduction.forget(thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As `delete_for_runs`."""
        await arun(upkeep.delete_for_runs(self._context, run_ids), self._async_table)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `copy_thread`."""
        await arun(
            upkeep.copy_thread(self._context, source_thread_id, target_thread_id),
            self._async_table,
        )

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As `prune`."""
        await arun(upkeep.prune(self._context, thread_ids, strategy), self._async_table)
        if strategy != "keep_latest":
            self._reduction.forget(*thread_ids)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As `get_delta_channel_history`."""
        return await arun(
            listing.get_delta_channel_history(self._context, config, channels),
            self._async_table,
        )

    def get_next_version(self, current: Any, channel: None) -> Any:
        """A number, which is short; on a thread that has LangGraph's texts, another text.

        Versions may collide between branches: content decides what is shared.
        """
        if not isinstance(current, str):
            return super().get_next_version(current, channel)
        number = int(current.split(".")[0]) + 1
        return f"{number:032}.{random.random():016}"  # noqa: S311


# `writes` is a parameter's name in LangGraph's contract.
_put_writes = writes.put_writes
