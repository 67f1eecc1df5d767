"""Documents in Google Firestore (native mode), blocking and awaiting.

The SDK is imported at first use. Both tables ask the same requests, built and read in
`firestore_requests`. What may fail for a moment is asked again by the table, not by the SDK, which
would go on for minutes. `firestore.indexes.json` beside this module says to `firebase deploy` what
`setup` says to the service.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentstate_documents.tables.checks import check_kind
from agentstate_documents.tables.firestore_requests import Requests, limits_of
from agentstate_documents.tables.per_loop import PerLoop
from agentstate_documents.tables.procedures import AwaitingRequests, BlockingRequests
from agentstate_documents.tables.threaded import Threaded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from agentstate_documents.port import AsyncDocumentTable, DocumentTable
    from agentstate_documents.tables.firestore_requests import Step

# For `firebase deploy --only firestore:indexes`: the settings of the fields, as `setup` makes them.
INDEXES_FILE = Path(__file__).with_name("firestore.indexes.json")
_CALL_SECONDS = 60.0


def firestore_tables(
    collection: str,
    *,
    project_id: str | None = None,
    database: str | None = None,
    client: Any = None,
    async_client: Any = None,
    create: bool = True,
) -> tuple[DocumentTable, AsyncDocumentTable]:
    """One table for both worlds.

    Where only a blocking client is given, the awaiting table asks through that, with a thread
    for each request, rather than with credentials the caller did not mean.
    """
    place: dict[str, Any] = {"project_id": project_id, "database": database, "create": create}
    table = FirestoreTable(collection, client=client, **place)
    if client is not None and async_client is None:
        return table, Threaded(table)
    return table, AsyncFirestoreTable(collection, client=async_client, **place)


class FirestoreTable(BlockingRequests):
    """Documents in a collection of Firestore, blocking.

    `client` is a `google.cloud.firestore.Client`; without one the table makes one for the project
    and the database ("(default)") from Application Default Credentials, or for the emulator that
    `FIRESTORE_EMULATOR_HOST` names. With `create=False`, `setup` sets nothing.
    """

    def __init__(
        self,
        collection: str,
        *,
        project_id: str | None = None,
        database: str | None = None,
        client: Any = None,
        create: bool = True,
    ) -> None:
        limits = limits_of(collection)
        super().__init__(limits, Requests(collection, limits, create), self._step)
        self._place = {"project": project_id, "database": database}
        self._given = _checked_client(client, "Client")
        self._opened: Any = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """The client is closed if the table opened it; the next request opens another."""
        with self._lock:
            client, self._opened = self._opened, None
        if client is not None:
            _transport(client).close()

    def _step(self, step: Step | float) -> Any:
        if isinstance(step, float):
            return time.sleep(step)
        client = self._client()
        answer = step(client, **_once("Retry"))
        return list(answer) if isinstance(answer, Iterator) else answer

    def _client(self) -> Any:
        if self._given is not None:
            return self._given
        with self._lock:
            if self._opened is None:
                opened = _new_client("Client", self._place)
                _transport(opened)  # made at first use, which several threads would do at once
                self._opened = opened
            return self._opened


class AsyncFirestoreTable(AwaitingRequests):
    """Documents in a collection of Firestore, awaiting.

    `client` is a `google.cloud.firestore.AsyncClient`, used in the loop it was first used in.
    Without one the table opens one for each event loop that uses it, as `FirestoreTable` does.
    """

    def __init__(
        self,
        collection: str,
        *,
        project_id: str | None = None,
        database: str | None = None,
        client: Any = None,
        create: bool = True,
    ) -> None:
        limits = limits_of(collection)
        super().__init__(limits, Requests(collection, limits, create), self._step)
        self._place = {"project": project_id, "database": database}
        self._given = _checked_client(client, "AsyncClient")
        self._clients: PerLoop[Any] = PerLoop(self._opened)

    async def setup(self) -> None:
        """The database answers; bodies and expiries are not indexed, and what expires goes."""
        await asyncio.to_thread(import_module, "google.cloud.firestore_admin_v1")
        await super().setup()

    async def close(self) -> None:
        """The client of this loop is closed if the table opened it."""
        await self._clients.close()

    async def _step(self, step: Step | float) -> Any:
        if isinstance(step, float):
            return await asyncio.sleep(step)
        client = self._given or await self._clients.get()
        answer = step(client, **_once("AsyncRetry"))
        if hasattr(answer, "__aiter__"):
            return [part async for part in answer]
        return await answer

    async def _opened(self) -> AsyncGenerator[Any, None]:
        client = await asyncio.to_thread(_new_client, "AsyncClient", self._place)
        try:
            yield client
        finally:
            await _transport(client).close()


def _checked_client(client: Any, kind: str) -> Any:
    """The client, which must be of the face that will use it, or None."""
    awaiting = inspect.iscoroutinefunction(getattr(client, "recursive_delete", None))
    fits = hasattr(client, "get_all") and awaiting is (kind == "AsyncClient")
    check_kind("client", client, f"a google.cloud.firestore.{kind}", fits=fits)
    return client


def _new_client(kind: str, place: dict[str, str | None]) -> Any:
    """A client; it looks for credentials here, and opens its channel at the first request."""
    from google.cloud import firestore

    return getattr(firestore, kind)(**place)


def _once(retry: str) -> dict[str, Any]:
    """The arguments of a call that the SDK does not repeat."""
    from google.api_core import retry as policies

    nothing = policies.if_exception_type()
    return {"retry": getattr(policies, retry)(predicate=nothing), "timeout": _CALL_SECONDS}


def _transport(client: Any) -> Any:
    """What holds the channel; the SDK's own close() leaves it open."""
    return client._firestore_api.transport  # noqa: SLF001
