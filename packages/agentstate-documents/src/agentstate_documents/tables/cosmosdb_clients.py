"""The clients of the SDK's two faces: opened by the first request, closed only if opened here."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from agentstate_documents.errors import TableUnavailable
from agentstate_documents.tables.cosmosdb_requests import Call, Found, Rows
from agentstate_documents.tables.per_loop import PerLoop

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

NO_ENDPOINT = "endpoint is missing: pass endpoint= or set COSMOSDB_ENDPOINT"

Step = Call | Rows | float


@dataclass(frozen=True, slots=True)
class Account:
    """Where the account is, and what opens it: a key, a credential, or what Azure finds."""

    endpoint: str | None
    key: str | None = field(default=None, repr=False)
    credential: Any = field(default=None, repr=False)

    def client(self, module: str, **options: Any) -> Any:
        """A new client of `azure.cosmos` or `azure.cosmos.aio`. Imports it, so it takes a while."""
        if self.endpoint is None:
            raise ValueError(f"a client of {module} is missing; {NO_ENDPOINT}")
        factory = importlib.import_module(module).CosmosClient
        credential = self.key or self._credential(module.endswith(".aio"))
        return factory(self.endpoint, credential, **options)

    def _credential(self, awaiting: bool) -> Any:
        credential = _default_credential() if self.credential is None else self.credential
        if inspect.iscoroutinefunction(getattr(credential, "get_token", None)):
            if not awaiting:
                raise TypeError("credential must be a blocking one here; it serves both faces")
            return credential
        return AwaitedCredential(credential) if awaiting else credential


class AwaitedCredential(contextlib.AbstractAsyncContextManager["AwaitedCredential"]):
    """A blocking token credential as the aio face wants it; it is asked in a thread."""

    def __init__(self, credential: Any) -> None:
        self._credential = credential

    async def get_token(self, *scopes: str, **options: Any) -> Any:
        """A token for the scopes."""
        return await asyncio.to_thread(self._credential.get_token, *scopes, **options)

    async def close(self) -> None:
        """Nothing: the credential is its owner's."""

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class Targets(NamedTuple):
    """What a `Call` may be made on."""

    client: Any
    database: Any
    container: Any


def targets(client: Any, database: str, container: str) -> Targets:
    """The proxies of a client; asks nothing."""
    of_database = client.get_database_client(database)
    return Targets(client, of_database, of_database.get_container_client(container))


class BlockingClient:
    """Carries procedures out with `azure.cosmos`, in any thread."""

    def __init__(self, account: Account, given: Any, database: str, container: str) -> None:
        self._account, self._given = account, given
        self._names = database, container
        self._targets: Targets | None = None
        self._opened = contextlib.ExitStack()
        self._lock = threading.Lock()

    def close(self) -> None:
        """Nothing opened here is open; the next request opens again."""
        with self._lock:
            self._targets = None
            self._opened.close()

    def carry_out(self, step: Step) -> Any:
        """What came of one step of a procedure."""
        if isinstance(step, Call):
            return step.perform(getattr(self._connect(), step.target))
        if isinstance(step, Rows):
            return self._find(step)
        return time.sleep(step)

    def _find(self, step: Rows) -> Found:
        found = Found()
        query = self._connect().container.query_items
        if step.partition is None:
            found.rows = list(query(**step.options(found), enable_cross_partition_query=True))
        else:
            pages = query(**step.options(found), **step.page_options()).by_page()
            found.rows = list(next(pages, ()))
        return found

    def _connect(self) -> Targets:
        with self._lock:
            if self._targets is None:
                self._targets = targets(self._given or self._open(), *self._names)
            return self._targets

    def _open(self) -> Any:
        from azure.core.pipeline.transport import RequestsTransport

        with contextlib.ExitStack() as opened:
            # The client asks the account as soon as it is made. Where that fails, nobody but us
            # could close its connections.
            transport = opened.enter_context(RequestsTransport())
            client = self._account.client("azure.cosmos", transport=transport)
            opened.enter_context(client)
            self._opened = opened.pop_all()
            return client


class AwaitingClient:
    """Carries procedures out with `azure.cosmos.aio`, in any event loop.

    A client lives in one loop; here each loop gets its own, closed with the loop at the latest.
    """

    def __init__(self, account: Account, given: Any, database: str, container: str) -> None:
        self._account = account
        self._names = database, container
        self._given = targets(given, database, container) if given else None
        self._targets = PerLoop(self._opened)

    async def close(self) -> None:
        """Nothing opened here for this loop is open; the next request opens again."""
        await self._targets.close()

    async def carry_out(self, step: Step) -> Any:
        """What came of one step of a procedure."""
        if isinstance(step, Call):
            return await step.perform(getattr(await self._connect(), step.target))
        if isinstance(step, Rows):
            return await self._find(step)
        return await asyncio.sleep(step)

    async def _find(self, step: Rows) -> Found:
        found = Found()
        query = (await self._connect()).container.query_items
        if step.partition is None:
            found.rows = [row async for row in query(**step.options(found))]
        else:
            pages = query(**step.options(found), **step.page_options()).by_page()
            page = await anext(pages, None)
            found.rows = [] if page is None else [row async for row in page]
        return found

    async def _connect(self) -> Targets:
        return self._given or await self._targets.get()

    async def _opened(self) -> AsyncGenerator[Targets, None]:
        # In a thread, since it imports the SDK and reads certificates.
        client = await asyncio.to_thread(self._account.client, "azure.cosmos.aio")
        try:  # what fails to enter has opened connections all the same
            await client.__aenter__()
            yield targets(client, *self._names)
        finally:
            await client.close()


def _default_credential() -> Any:
    try:
        from azure.identity import DefaultAzureCredential
    except ImportError as error:
        raise TableUnavailable(
            "no key was given, and azure-identity is not installed, which finds credentials: "
            "pass key=, set COSMOSDB_KEY or install the extra 'identity'"
        ) from error
    return DefaultAzureCredential()
