"""Fixtures and small words the saver contract is written in."""

from __future__ import annotations

import os
import uuid
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.base.id import uuid6

from agentstate_documents.testing.face import BlockingFace

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import Checkpoint, CheckpointTuple


@pytest.mark.asyncio
class Scenes:
    """A saver on either face, a thread of its own, and ways to fill it."""

    @pytest.fixture
    def make_saver(self) -> Any:
        """The backend's savers, each new, over one database."""
        raise NotImplementedError("a saver contract needs a `make_saver` fixture")

    @pytest.fixture(params=["blocking", "awaiting"])
    def new(self, request: pytest.FixtureRequest, make_saver: Any) -> Any:
        """Makes a saver as another process would have it, awaitable either way."""

        def made(**options: Any) -> Any:
            saver = make_saver(**options)
            return BlockingFace(saver) if request.param == "blocking" else saver

        return made

    @pytest.fixture
    def saver(self, new: Any) -> Any:
        """The saver under test."""
        return new()

    @pytest.fixture
    def thread(self) -> str:
        """A thread nobody else uses."""
        return f"thread-{uuid.uuid4()}"

    @pytest.fixture
    def random_text(self) -> Any:
        """Makes text of a length that does not compress to nothing."""
        return lambda length: os.urandom(length // 2).hex()


def at(thread: Any, checkpoint: str | None = None, namespace: str = "") -> RunnableConfig:
    """The config of a thread, or of one of its checkpoints."""
    configurable: dict[str, Any] = {"thread_id": thread, "checkpoint_ns": namespace}
    if checkpoint is not None:
        configurable["checkpoint_id"] = checkpoint
    return {"configurable": configurable}


def checkpoint(values: dict[str, Any], *, id: str | None = None, version: Any = 1) -> Checkpoint:  # noqa: A002
    """A checkpoint of these values, newer than all made before."""
    return {
        "v": 4,
        "id": id or str(uuid6()),
        "ts": datetime.now(timezone.utc).isoformat(),
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, version),
        "versions_seen": {},
        "updated_channels": None,
    }


async def put(
    saver: Any, config: RunnableConfig, values: dict[str, Any], **metadata: Any
) -> RunnableConfig:
    """The values are put onto `config`; returns the config to go on with."""
    made = checkpoint(values)
    told = {"source": "loop", "step": 0, "parents": {}, **metadata}
    stored: RunnableConfig = await saver.aput(config, made, told, made["channel_versions"])
    return stored


async def put_chat(saver: Any, thread: str, turns: int, **metadata: Any) -> list[RunnableConfig]:
    """A chat that grows by one message a checkpoint; returns their configs."""
    config, configs = at(thread), []
    messages: list[str] = []
    for turn in range(turns):
        messages = [*messages, f"message {turn} of some length, so that it is worth leaning on"]
        told = {name: value(turn) if callable(value) else value for name, value in metadata.items()}
        config = await put(saver, config, {"messages": messages, "turn": turn}, step=turn, **told)
        configs.append(config)
    return configs


async def listed(
    saver: Any, config: RunnableConfig | None, **selection: Any
) -> list[CheckpointTuple]:
    """What `alist` yields."""
    return [found async for found in saver.alist(config, **selection)]


def ids(found: list[CheckpointTuple]) -> list[str]:
    """The checkpoint ids."""
    return [one.config["configurable"]["checkpoint_id"] for one in found]


def id_of(config: RunnableConfig) -> str:
    """The checkpoint id."""
    checkpoint_id: str = config["configurable"]["checkpoint_id"]
    return checkpoint_id
