"""SQLite, PostgreSQL, MySQL and MariaDB, over SQLAlchemy 2.

A row is a document: `p` partition, `s` sort, `b` body, `x` expiry in seconds since 1970; the
primary key is (p, s), compared by byte. These databases remove nothing by themselves: what has
expired is left out by readers, and `DELETE FROM <table> WHERE x < <now>` makes room.
"""

from __future__ import annotations

import re
import time
import weakref
from typing import TYPE_CHECKING, Any, TypeVar

from agentstate_documents.errors import DocumentConflict, TableUnavailable
from agentstate_documents.model import AFTER_LAST_SORT, FIRST_SORT, Document, Limits, Page
from agentstate_documents.tables.backoff import waits
from agentstate_documents.tables.checks import check_kind, check_limit, check_name, check_put
from agentstate_documents.tables.slices import slices
from agentstate_documents.tables.sql_failures import is_missing, may_pass, reason

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import URL, Connection, Engine

    from agentstate_documents.model import Write

R = TypeVar("R")

# What PostgreSQL takes as a name, which is the shortest.
_TABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
# The databases hold far more. But a page is read whole, and MariaDB takes packets of 16 MiB.
LIMITS = Limits(
    max_body_bytes=1_000_000, max_transaction_documents=100, max_transaction_bytes=8_000_000
)
_PAGE_DOCUMENTS = 100
_SORTS_AT_ONCE = 500  # older versions of SQLite take 999 parameters
# SQLAlchemy would take drivers that are hard to install, or not maintained.
_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
}
_NO_URL = "url must be one of SQLAlchemy, such as sqlite:///documents.db"


class SQLTable:
    """Documents in a table of an SQL database, blocking.

    `url` is one of SQLAlchemy, or a `URL`; without the name of a driver psycopg and PyMySQL are
    meant. `engine` is one of the caller's instead, and is never disposed of here. Bodies hold
    1,000,000 bytes, a put 100 documents of together 8,000,000 bytes.

    An SQLite database in memory has one connection, which threads take turns at, and which
    lives as long as the table.
    """

    limits: Limits = LIMITS

    def __init__(
        self,
        url: str | URL | None = None,
        *,
        table_name: str = "documents",
        engine: Engine | None = None,
        create: bool = True,
    ) -> None:
        rule = "1 to 63 letters, digits and underscores"
        check_name("table_name", table_name, _TABLE_NAME, rule)
        self._owned = engine is None
        self._engine = _opened(url, engine)
        self._memory = _in_memory(self._engine.url)
        self._rows = _rows(table_name)
        self._create = create
        self._name = f"{self._engine.dialect.name} table {table_name!r}"
        if self._owned:
            weakref.finalize(self, self._engine.dispose)

    def setup(self) -> None:
        """The table exists and is usable."""
        self._fetch(self._select().limit(0))

    def get(self, partition: str, sorts: Sequence[str]) -> Sequence[Document | None]:
        """The documents with these sorts, in their order."""
        found: dict[str, Document] = {}
        for some in slices(list(dict.fromkeys(sorts)), _SORTS_AT_ONCE):
            statement = self._select().where(self._of(partition), self._rows.c.s.in_(some))
            found.update((document.sort, document) for document in self._read(statement))
        return [found.get(sort) for sort in sorts]

    def put(self, partition: str, writes: Sequence[Write]) -> None:
        """All of `writes` are stored, or none is."""
        check_put(self.limits, partition, writes)
        # In one order, so that puts of the same documents do not wait for each other in a ring.
        ordered = sorted(writes, key=lambda write: write.document.sort)
        self._run(lambda connection: self._write(connection, partition, ordered))

    def query(
        self,
        partition: str,
        *,
        low: str = FIRST_SORT,
        high: str = AFTER_LAST_SORT,
        descending: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page:
        """A page of the documents with `low <= sort < high`."""
        check_limit(limit)
        sort = self._rows.c.s
        size = min(limit or _PAGE_DOCUMENTS, _PAGE_DOCUMENTS)
        statement = self._select().where(self._of(partition), sort >= low, sort < high)
        if cursor is not None:
            statement = statement.where(sort < cursor if descending else sort > cursor)
        order = sort.desc() if descending else sort.asc()
        documents = self._read(statement.order_by(order).limit(size))
        return Page(documents, documents[-1].sort if len(documents) == size else None)

    def delete(self, partition: str, sorts: Sequence[str]) -> None:
        """No document with one of these sorts is there any more."""
        for some in slices(sorted(set(sorts)), _SORTS_AT_ONCE):
            statement = self._rows.delete().where(self._of(partition), self._rows.c.s.in_(some))
            self._execute(statement)

    def partitions(self) -> Sequence[str]:
        """Every partition that holds a document."""
        from sqlalchemy import select

        return [partition for (partition,) in self._fetch(select(self._rows.c.p).distinct())]

    def close(self) -> None:
        """Connections are closed, but not those of the caller's engine, nor a memory's own."""
        if self._owned and not self._memory:
            self._engine.dispose()

    def _select(self) -> Any:
        from sqlalchemy import select

        return select(self._rows.c.s, self._rows.c.b, self._rows.c.x)

    def _of(self, partition: str) -> Any:
        return self._rows.c.p == partition

    def _read(self, statement: Any) -> list[Document]:
        rows = self._fetch(statement)
        return [Document(sort, bytes(body), expiry) for sort, body, expiry in rows]

    def _fetch(self, statement: Any) -> Sequence[Any]:
        return self._run(lambda connection: connection.execute(statement).all())

    def _execute(self, statement: Any) -> None:
        self._run(lambda connection: connection.execute(statement))

    def _write(self, connection: Connection, partition: str, writes: Sequence[Write]) -> None:
        for write in writes:
            document = write.document
            values = {"b": document.body, "x": document.expires_at}
            row = {"p": partition, "s": document.sort, **values}
            if write.if_absent:
                connection.execute(self._rows.insert(), row)
            elif write.if_unchanged is None:
                connection.execute(self._upsert(), row)
            else:
                same = (self._rows.c.s == document.sort, self._rows.c.b == write.if_unchanged.body)
                statement = self._rows.update().where(self._of(partition), *same).values(values)
                if connection.execute(statement).rowcount != 1:
                    raise DocumentConflict(f"{self._name}: a condition of a put failed")

    def _upsert(self) -> Any:
        if self._engine.dialect.name in ("mysql", "mariadb"):
            from sqlalchemy.dialects import mysql

            insert = mysql.insert(self._rows)
            return insert.on_duplicate_key_update(b=insert.inserted.b, x=insert.inserted.x)
        from sqlalchemy.dialects import postgresql, sqlite

        native: Any = postgresql if self._engine.dialect.name == "postgresql" else sqlite
        insert = native.insert(self._rows)
        new = {"b": insert.excluded.b, "x": insert.excluded.x}
        return insert.on_conflict_do_update(index_elements=["p", "s"], set_=new)

    def _run(self, work: Callable[[Connection], R]) -> R:
        """What `work` returns in a transaction of its own, after as many attempts as it takes."""
        from sqlalchemy import exc

        pauses = waits()
        may_create = self._create
        while True:
            try:
                with self._engine.begin() as connection:
                    return work(connection)
            except exc.IntegrityError as error:
                raise DocumentConflict(f"{self._name}: a condition of a put failed") from error
            except exc.DBAPIError as error:
                if may_create and is_missing(error):
                    may_create = False
                    self._make()
                    continue
                wait = next(pauses, None) if may_pass(error) else None
                if wait is None:
                    raise TableUnavailable(f"{self._name}: {reason(error)}") from error
            except exc.TimeoutError as error:
                raise TableUnavailable(f"{self._name}: no connection is free") from error
            time.sleep(wait)

    def _make(self) -> None:
        """The table exists; another process may be creating it as well."""
        from sqlalchemy import exc, inspect

        try:
            self._rows.create(self._engine, checkfirst=True)
        except exc.DBAPIError as error:
            if not inspect(self._engine).has_table(self._rows.name):
                text = f"{self._name} is missing and cannot be created: {reason(error)}"
                raise TableUnavailable(text) from error


def _opened(url: str | URL | None, engine: Engine | None) -> Engine:
    import sqlalchemy

    if (url is None) == (engine is None):
        raise ValueError("give one of url and engine")
    fits = hasattr(engine, "dialect") and not isinstance(engine, sqlalchemy.Connection)
    check_kind("engine", engine, "an Engine of SQLAlchemy", fits=fits)
    if engine is None:
        parsed = parsed_url(url)
        _check_database(parsed.get_backend_name())  # before its driver is looked for
        try:
            engine = _new_engine(parsed)
        except sqlalchemy.exc.ArgumentError:
            text = f"url: {parsed.drivername!r} is no driver that can be used here"
            raise ValueError(text) from None
    dialect = engine.dialect
    if dialect.is_async:
        raise ValueError(
            f"the driver {dialect.driver!r} is for coroutines, a blocking one is needed"
        )
    _check_database(dialect.name)
    return engine


def parsed_url(url: str | URL | None) -> URL:
    """The URL, taken apart.

    Raises:
        ValueError: It is none. What SQLAlchemy says may show the password.
    """
    import sqlalchemy

    try:
        return sqlalchemy.make_url(url)  # type: ignore[arg-type]
    except (sqlalchemy.exc.ArgumentError, ValueError):
        raise ValueError(_NO_URL) from None


def _check_database(name: str) -> None:
    if name not in {"sqlite", *_DRIVERS}:
        raise ValueError(f"url or engine: {name!r} is none of sqlite, {', '.join(_DRIVERS)}")


def _new_engine(parsed: URL) -> Engine:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import QueuePool

    parsed = parsed.set(drivername=_DRIVERS.get(parsed.drivername, parsed.drivername))
    options: dict[str, Any] = {"pool_pre_ping": True, "hide_parameters": True}
    if _in_memory(parsed):
        # Each connection would be a database of its own, and of the thread that opened it.
        options |= {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0}
        options["connect_args"] = {"check_same_thread": False}
    return create_engine(parsed, **options)


def _in_memory(url: URL) -> bool:
    if url.get_backend_name() != "sqlite":
        return False
    return url.database in (None, "", ":memory:") or url.query.get("mode") == "memory"


def _rows(name: str) -> Any:
    """The table. Keys are ASCII, compared by byte whatever the database's own collation."""
    from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, String, Table
    from sqlalchemy.dialects import mysql

    ours = ("mysql", "mariadb")
    key = (
        String(512)
        .with_variant(String(512, collation="C"), "postgresql")
        .with_variant(mysql.VARCHAR(512, charset="ascii", collation="ascii_bin"), *ours)
    )
    return Table(
        name,
        MetaData(),
        Column("p", key, primary_key=True),
        Column("s", key, primary_key=True),
        Column("b", LargeBinary().with_variant(mysql.MEDIUMBLOB(), *ours), nullable=False),
        Column("x", BigInteger),
    )
