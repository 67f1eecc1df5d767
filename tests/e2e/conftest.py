"""The applications that play the story, over every saver and persistence there is."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from agentstate_documents import MemoryTable
from agentstate_documents.saver import DocumentSaver
from agentstate_reducer import MessageReducer
from e2e.crewai_app import CrewAIApp
from e2e.crewai_databases import PERSISTENCES
from e2e.langgraph_app import LangGraphApp, Opener
from e2e.langgraph_databases import SAVERS, opener
from langgraph_reducing_saver import ReducingSaver


def memory(request: pytest.FixtureRequest) -> Opener:
    """The one saver that has to outlive the restart as an object."""
    inner = InMemorySaver()
    return lambda reducer: contextlib.nullcontext(ReducingSaver(inner, reducer))


def sqlite(request: pytest.FixtureRequest) -> Opener:
    """A file."""
    path = str(request.getfixturevalue("tmp_path") / "threads.db")
    return lambda reducer: _wrapped(SqliteSaver.from_conn_string(path), reducer)


def sqlite_async(request: pytest.FixtureRequest) -> Opener:
    """A file, through aiosqlite."""
    path: Path = request.getfixturevalue("tmp_path") / "threads.db"
    return lambda reducer: _awrapped(AsyncSqliteSaver.from_conn_string(str(path)), reducer)


def postgresql(request: pytest.FixtureRequest) -> Opener:
    """A PostgreSQL database."""
    url = request.getfixturevalue("postgresql_url")
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
    return lambda reducer: _wrapped(PostgresSaver.from_conn_string(url), reducer)


def postgresql_async(request: pytest.FixtureRequest) -> Opener:
    """A PostgreSQL database, through psycopg's async face."""
    url = request.getfixturevalue("postgresql_url")
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
    return lambda reducer: _awrapped(AsyncPostgresSaver.from_conn_string(url), reducer)


def documents(request: pytest.FixtureRequest) -> Opener:
    """Our own saver, which takes the reducer itself."""
    table = MemoryTable()
    return lambda reducer: contextlib.nullcontext(DocumentSaver(table, reducer=reducer))


@contextlib.asynccontextmanager
async def _wrapped(opening: Any, reducer: MessageReducer) -> AsyncIterator[Any]:
    with opening as inner:
        yield ReducingSaver(inner, reducer)


@contextlib.asynccontextmanager
async def _awrapped(opening: Any, reducer: MessageReducer) -> AsyncIterator[Any]:
    async with opening as inner:
        yield ReducingSaver(inner, reducer)


OPENERS = {
    "memory": (memory, False),
    "memory-async": (memory, True),
    "sqlite": (sqlite, False),
    "sqlite-async": (sqlite_async, True),
    "postgresql": (postgresql, False),
    "postgresql-async": (postgresql_async, True),
    "documents": (documents, False),
    "documents-async": (documents, True),
}


FACES = {f"{name}{face}": name for name in SAVERS for face in ("", "-async")}


@pytest.fixture(params=[*OPENERS, *FACES, *PERSISTENCES])
async def app(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """An application that has started; it stops when the test ends."""
    running: AbstractAsyncContextManager[Any]
    if request.param in PERSISTENCES:
        running = CrewAIApp.running(PERSISTENCES[request.param](request))
    elif request.param in FACES:
        opening = opener(SAVERS[FACES[request.param]](request))
        running = LangGraphApp.running(opening, request.param.endswith("-async"))
    else:
        open_one, is_async = OPENERS[request.param]
        running = LangGraphApp.running(open_one(request), is_async)
    async with running as app:
        yield app
