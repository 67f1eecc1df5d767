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
        self._connections: dict[asyncio.AbstractEventLoop, _Connection] = {}

    async def close(self) -> None:
        """Nothing opened here for this loop is open; the next request opens again."""
        connection = self._connections.get(asyncio.get_running_loop())
        if connection is not None:
            async with connection.lock:
                if connection.client is not None:
                    await connection.holder.aclose()

    async def carry_out(self, step: Call | float) -> Any:
        """What came of one step of a procedure."""
        if isinstance(step, float):
            return await asyncio.sleep(step)
        try:
            return await getattr(await self._client(), step.method)(**step.arguments)
        except Exception as error:
            return error

    async def _client(self) -> Any:
        if self._given is not None:
            return self._given
        connection = self._connection(asyncio.get_running_loop())
        async with connection.lock:
            if connection.client is None:
                connection.holder = self._hold(connection)
                await connection.holder.__anext__()
            return connection.client

    def _connection(self, loop: asyncio.AbstractEventLoop) -> _Connection:
        if loop not in self._connections:
            for other in list(self._connections):
                if other.is_closed():
                    self._connections.pop(other, None)
            self._connections[loop] = _Connection()
        return self._connections[loop]

    async def _hold(self, connection: _Connection) -> AsyncGenerator[None, None]:
        """The connection is open until this generator is closed, which the end of a loop does."""
        session = await asyncio.to_thread(_session)
        from aiobotocore.config import AioConfig  # by now imported

        config = AioConfig(**_CONFIG)
        async with session.create_client("dynamodb", config=config, **self._place) as client:
            connection.client = client
            try:
                yield
            finally:
                connection.client = None


class _Connection:
    """What is open in one event loop: `holder` keeps `client` open."""

    holder: AsyncGenerator[None, None]

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.client: Any = None


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
