"""The clients of both SDKs: opened by the first request, closed only if opened here.

What may fail for a moment is asked again by the requests themselves, with jitter, so a client
opened here does not; a client of the caller's keeps the retries it was made with.
"""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from typing import TYPE_CHECKING, Any

from agentstate_documents.tables.per_loop import PerLoop

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from agentstate_documents.tables.dynamodb_requests import Call

_CONFIG: dict[str, Any] = {
    "retries": {"total_max_attempts": 1},
    "max_pool_connections": 50,  # a thread or task without a connection would wait for one
    "connect_timeout": 5,
    "read_timeout": 30,
}

# Sessions are shared, and not safe in threads; clients are.
_MAKING = threading.Lock()


class BlockingClient:
    """Carries procedures out with boto3, in any thread."""

    def __init__(self, client: Any, session: Any, **place: str | None) -> None:
        self._given, self._session, self._place = client, session, place
        self._opened: Any = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Nothing opened here is open; the next request opens again."""
        with self._lock:
            client, self._opened = self._opened, None
        if client is not None:
            client.close()

    def carry_out(self, step: Call | float) -> Any:
        """What came of one step of a procedure."""
        if isinstance(step, float):
            return time.sleep(step)
        try:
            return getattr(self._client(), step.method)(**step.arguments)
        except Exception as error:
            return error

    def _client(self) -> Any:
        if self._given is not None:
            return self._given
        with self._lock:
            if self._opened is None:
                import boto3
                from botocore.config import Config

                session = self._session or boto3  # whose default session is the application's
                with _MAKING:
                    self._opened = session.client(
                        "dynamodb", config=Config(**_CONFIG), **self._place
                    )
            return self._opened


class AwaitingClient:
    """Carries procedures out with aiobotocore, in any event loop.

    A client lives in one loop; here each loop gets its own, closed with the loop at the latest.
    """

    def __init__(self, client: Any, **place: str | None) -> None:
        self._given, self._place = client, place
        self._clients: PerLoop[Any] = PerLoop(self._opened)

    async def close(self) -> None:
        """Nothing opened here for this loop is open; the next request opens again."""
        await self._clients.close()

    async def carry_out(self, step: Call | float) -> Any:
        """What came of one step of a procedure."""
        if isinstance(step, float):
            return await asyncio.sleep(step)
        try:
            client = self._given or await self._clients.get()
            return await getattr(client, step.method)(**step.arguments)
        except Exception as error:
            return error

    async def _opened(self) -> AsyncGenerator[Any, None]:
        session = await asyncio.to_thread(_session)
        from aiobotocore.config import AioConfig  # by now imported

        config = AioConfig(**_CONFIG)
        async with session.create_client("dynamodb", config=config, **self._place) as client:
            yield client


def _session() -> Any:
    """A session, as light as they get: its event loop has no time to read the SDK's files."""
    from aiobotocore.session import get_session

    session = get_session()
    session.register_component("data_loader", _loader())
    return session


@functools.cache
def _loader() -> Any:
    """What reads the SDK's files, with those a client needs read: 0.1 s, once a process."""
    from aiobotocore.session import get_session

    loader = get_session().get_component("data_loader")
    for kind in ("service-2", "endpoint-rule-set-1"):
        loader.load_service_model("dynamodb", kind)
    for name in ("endpoints", "partitions", "_retry", "sdk-default-configuration"):
        loader.load_data(name)
    return loader
