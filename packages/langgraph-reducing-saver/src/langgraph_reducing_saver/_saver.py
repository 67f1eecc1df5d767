"""The wrapper: a checkpointer that reduces what another one stores."""

from __future__ import annotations

import copy
import functools
import inspect
from typing import TYPE_CHECKING, Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from agentstate_reducer.integration import CheckpointReduction, arun, message_keys, run

if TYPE_CHECKING:
    import builtins
    from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        DeltaChannelHistory,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from agentstate_reducer import MessageReducer

_ALWAYS_OURS = {"config_specs", "serde", "with_allowlist"}
"""What the base class answers for itself: never left to it, or the inner saver's is lost."""


class ReducingSaver(BaseCheckpointSaver[Any]):
    """A checkpointer that stores what `inner` stores, with reduced message lists.

    Every list under `messages_key`, a channel name or several, goes through `reducer` before
    it is stored, in the root graph and in each subgraph; what leaves it reaches the reducer's
    hooks first. Nothing given is changed: a running graph keeps its long list and sees the
    short one after the next load. A reducer that fails never fails a put. All else is the
    inner saver's: methods, attributes, serializer, versions. What its class lacks, this class
    lacks too.

    If `inner` was itself given this reducer, the wrapper passes everything through.

        saver = ReducingSaver(InMemorySaver(), MessageReducer(min_messages=10, max_messages=20))
        graph = builder.compile(checkpointer=saver)

    Raises:
        TypeError: `inner` is no checkpointer (what `from_conn_string` returns has to be opened
            first), or `reducer` is no `MessageReducer`.
        ValueError: `inner` was given another reducer, or reduces other channels.
    """

    def __new__(  # noqa: PYI034 - Python 3.10 has no Self
        cls, inner: BaseCheckpointSaver[Any], *_args: Any, **_kwargs: Any
    ) -> ReducingSaver:
        if not isinstance(inner, BaseCheckpointSaver):
            raise TypeError(
                f"inner must be a BaseCheckpointSaver, not {inner!r}; "
                "a saver from from_conn_string() has to be opened first (`with ... as inner`)"
            )
        blank: ReducingSaver = object.__new__(_shaped(cls, type(inner)))  # type: ignore[arg-type]
        return blank

    def __init__(
        self,
        inner: BaseCheckpointSaver[Any],
        reducer: MessageReducer,
        *,
        messages_key: str | Sequence[str] = "messages",
    ) -> None:
        keys = message_keys(messages_key)
        done = _reduced_by_inner(inner, reducer, keys)
        self.inner = inner
        self.reducer = reducer
        self.messages_key = messages_key
        self._reduction = CheckpointReduction(reducer, () if done else keys)
        self._task_path = "task_path" in inspect.signature(inner.put_writes).parameters

    def __reduce__(self) -> tuple[Any, ...]:
        return ReducingSaver.__new__, (type(self).__base__, self.inner), vars(self).copy()

    def __getattr__(self, name: str) -> Any:
        # Copies and pickles ask for dunder names before there is an inner saver.
        if name == "inner" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    # What differs from the inner saver: what is put is reduced, what is read is cleaned.

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        checkpoint, metadata = run(self._reduction.steps(config, checkpoint, metadata))
        return self.inner.put(_of_a_graph(config), checkpoint, metadata, new_versions)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        checkpoint, metadata = await arun(self._reduction.steps(config, checkpoint, metadata))
        return await self.inner.aput(_of_a_graph(config), checkpoint, metadata, new_versions)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        saved: CheckpointTuple | None = self._reduction.read(self.inner.get_tuple(config))
        return saved

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        saved: CheckpointTuple | None = self._reduction.read(await self.inner.aget_tuple(config))
        return saved

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the base class's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        found = self.inner.list(config, filter=filter, before=before, limit=limit)
        return map(self._reduction.read, found)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the base class's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        found = self.inner.alist(config, filter=filter, before=before, limit=limit)
        async for saved in found:
            yield self._reduction.read(saved)

    # What is the inner saver's.

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        path = (task_path,) if self._task_path else ()
        self.inner.put_writes(config, writes, task_id, *path)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        path = (task_path,) if self._task_path else ()
        await self.inner.aput_writes(config, writes, task_id, *path)

    def get(self, config: RunnableConfig) -> Checkpoint | None:
        return self.inner.get(config)

    async def aget(self, config: RunnableConfig) -> Checkpoint | None:
        return await self.inner.aget(config)

    def delete_thread(self, thread_id: str) -> None:
        self.inner.delete_thread(thread_id)
        self._reduction.forget(thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        await self.inner.adelete_thread(thread_id)
        self._reduction.forget(thread_id)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.inner.delete_for_runs(run_ids)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self.inner.adelete_for_runs(run_ids)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.inner.copy_thread(source_thread_id, target_thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self.inner.acopy_thread(source_thread_id, target_thread_id)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.inner.prune(thread_ids, strategy=strategy)
        if strategy != "keep_latest":
            self._reduction.forget(*thread_ids)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self.inner.aprune(thread_ids, strategy=strategy)
        if strategy != "keep_latest":
            self._reduction.forget(*thread_ids)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return self.inner.get_delta_channel_history(config=config, channels=channels)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await self.inner.aget_delta_channel_history(config=config, channels=channels)

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self.inner.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> ReducingSaver:
        """Return this wrapper over the inner saver's clone; the inner saver is not changed."""
        inner = self.inner.with_allowlist(extra_allowlist)
        if inner is self.inner:
            return self
        clone = copy.copy(self)
        clone.inner = inner
        return clone

    @property
    def config_specs(self) -> builtins.list[Any]:
        return self.inner.config_specs

    @property
    def serde(self) -> SerializerProtocol:  # type: ignore[override]
        return self.inner.serde

    def __enter__(self) -> ReducingSaver:  # noqa: PYI034
        """Enter the inner saver if it is a context manager."""
        if hasattr(self.inner, "__enter__"):
            self.inner.__enter__()
        return self

    def __exit__(self, *reason: object) -> bool | None:
        leave: Any = getattr(self.inner, "__exit__", None)
        left: bool | None = leave(*reason) if leave else None
        return left

    async def __aenter__(self) -> ReducingSaver:  # noqa: PYI034
        """Enter the inner saver if it is an async context manager."""
        if hasattr(self.inner, "__aenter__"):
            await self.inner.__aenter__()
        return self

    async def __aexit__(self, *reason: object) -> bool | None:
        leave: Any = getattr(self.inner, "__aexit__", None)
        left: bool | None = await leave(*reason) if leave else None
        return left


def _of_a_graph(config: Any) -> Any:
    """The config with its `checkpoint_ns`, the root's if it has none: many savers require it."""
    configurable = config["configurable"]
    graph = configurable.get("checkpoint_ns") or ""
    return {**config, "configurable": {**configurable, "checkpoint_ns": graph}}


def _reduced_by_inner(
    inner: BaseCheckpointSaver[Any], reducer: MessageReducer, keys: tuple[str, ...]
) -> bool:
    """Whether the inner saver reduces these channels with this reducer itself."""
    theirs = getattr(inner, "reducer", None)
    if theirs is None:
        return False
    if theirs is not reducer:
        raise ValueError(f"inner reduces already, with another reducer: {theirs!r}")
    covered = message_keys(getattr(inner, "messages_key", keys))
    if not set(keys) <= set(covered):
        raise ValueError(f"messages_key={keys!r}, but inner reduces {covered!r} with this reducer")
    return True


@functools.cache
def _shaped(cls: type[Any], inner: type[Any]) -> type[Any]:
    """A subclass without the methods that `inner` leaves to the base class.

    LangGraph's conformance kit and its platform look at the class to learn what a checkpointer
    can do.
    """
    lacking = {
        name: getattr(BaseCheckpointSaver, name)
        for name in dir(BaseCheckpointSaver)
        if not name.startswith("_")
        and name not in _ALWAYS_OURS
        and getattr(inner, name) is getattr(BaseCheckpointSaver, name)
        and getattr(cls, name) is getattr(ReducingSaver, name)
    }
    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return type(cls.__name__, (cls,), names | lacking)
