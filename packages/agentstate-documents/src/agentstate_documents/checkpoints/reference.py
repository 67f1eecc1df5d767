"""Which checkpoint is meant: LangGraph's config, parsed and checked once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentstate_documents import keys

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig


@dataclass(frozen=True, slots=True)
class Reference:
    """A thread, a namespace in it, and a checkpoint there, or None for the latest.

    `partition` is that of the thread.
    """

    thread: str
    namespace: str
    checkpoint: str | None = None
    partition: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition", keys.encode_partition(self.thread))

    def config(self, checkpoint: str | None = None) -> RunnableConfig:
        """As LangGraph writes it, for this or another checkpoint."""
        return {
            "configurable": {
                "thread_id": self.thread,
                "checkpoint_ns": self.namespace,
                "checkpoint_id": checkpoint or self.checkpoint,
            }
        }


def read_reference(config: RunnableConfig) -> Reference:
    """What `config` refers to.

    Raises:
        ValueError: The thread_id is missing or empty, or the checkpoint_id is too long.
    """
    configurable = read_configurable(config)
    return Reference(
        read_thread(configurable.get("thread_id")),
        str(configurable.get("checkpoint_ns") or ""),
        read_checkpoint_id(configurable.get("checkpoint_id")),
    )


def read_configurable(config: object, name: str = "config") -> Mapping[str, Any]:
    """The part of a config that names threads and checkpoints.

    Raises:
        ValueError: It is no config.
    """
    if isinstance(config, Mapping):
        configurable = config.get("configurable") or {}
        if isinstance(configurable, Mapping):
            return configurable
    raise ValueError(f'{name} must be like {{"configurable": {{"thread_id": ...}}}}')


def read_new_id(checkpoint: object) -> str:
    """The id of a checkpoint to be put.

    Raises:
        ValueError: It is no checkpoint, or its id is missing, empty or too long.
    """
    if not isinstance(checkpoint, Mapping) or "channel_values" not in checkpoint:
        raise ValueError("checkpoint must be a dictionary with an id and channel_values")
    checkpoint_id = read_checkpoint_id(checkpoint.get("id"))
    if checkpoint_id is None:
        raise ValueError("checkpoint['id'] must not be empty")
    return checkpoint_id


def read_thread(thread_id: object) -> str:
    """The thread's name: 7 and "7" are one thread."""
    text = "" if thread_id is None else str(thread_id)
    if not text:
        raise ValueError(f"thread_id must be a non-empty text, not {thread_id!r}")
    return text


def read_checkpoint_id(checkpoint_id: object) -> str | None:
    """The id, None for none; ids sort as they are, so one too long cannot be shortened."""
    if not checkpoint_id:
        return None
    text = str(checkpoint_id)
    if len(keys.encode(text)) > keys.MAX_ID:
        raise ValueError(
            f"checkpoint_id must be at most {keys.MAX_ID} characters, not {text[:40]!r}..."
        )
    return text
