"""The SQL databases keep the table contract."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from agentstate_documents import Document, Write
from agentstate_documents.errors import DocumentConflict, TableUnavailable
from agentstate_documents.tables import backoff, sql_failures
from agentstate_documents.tables.sql import SQLTable
from agentstate_documents.testing.table_contract import TableContract

ONE = [Write(Document("k", b"1"))]


class TestSQLiteFile(TableContract):
    """The contract on a database file."""

    @pytest.fixture
    def table(self, tmp_path: Path) -> Iterator[SQLTable]:
        table = SQLTable(f"sqlite:///{tmp_path / 'documents.db'}")
        yield table
        table.close()


class TestSQLiteMemory(TableContract):
    """The contract on a database in memory, which all threads share."""

    @pytest.fixture
    def table(self) -> SQLTable:
        return SQLTable("sqlite://")


class TestPostgreSQL(TableContract):
    """The contract on PostgreSQL."""

    @pytest.fixture
    def table(self, postgresql_server: str) -> Iterator[SQLTable]:
        table = SQLTable(f"{postgresql_server}/postgres")
        yield table
        table.close()


class TestMariaDB(TableContract):
    """The contract on MariaDB, where it is installed."""

    @pytest.fixture
    def table(self, mariadb_server: str) -> Iterator[SQLTable]:
        table = SQLTable(f"{mariadb_server}/test")
        yield table
        table.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database that processes can share."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'documents.db'}"
    return str(request.getfixturevalue("postgresql_url"))


@pytest.mark.parametrize("bad", ["", "1st", "a b", "a-b", "documents;", "a" * 64, "tä"])
def test_a_table_name_is_checked(bad: str) -> None:
    """What is no plain name is a ValueError that shows it."""
    with pytest.raises(ValueError, match="table_name must be"):
        SQLTable("sqlite://", table_name=bad)


def test_one_of_url_and_engine_is_given() -> None:
    """Neither, or both, is a ValueError."""
    with pytest.raises(ValueError, match="one of url and engine"):
        SQLTable()
    with pytest.raises(ValueError, match="one of url and engine"):
        SQLTable("sqlite://", engine=sa.create_engine("sqlite://"))


@pytest.mark.parametrize("url", ["", 5, "postgresql//me:secret@host/documents"])
def test_a_url_nobody_understands_is_refused(url: Any) -> None:
    """The error names the argument, and shows no password."""
    with pytest.raises(ValueError, match="url must be one of SQLAlchemy") as caught:
        SQLTable(url)
    assert "secret" not in f"{caught.value}"
    assert caught.value.__suppress_context__


def test_a_driver_for_coroutines_is_refused() -> None:
    """The table is a blocking one, whatever the driver."""
    with pytest.raises(ValueError, match="a blocking one is needed"):
        SQLTable("postgresql+psycopg_async://127.0.0.1/documents")


def test_another_database_is_refused() -> None:
    """A database whose upsert is not known is named with those that are."""
    engine = sa.create_mock_engine("mssql+pyodbc://", lambda *_: None)
    engine.url = sa.make_url("mssql+pyodbc://")  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="'mssql' is none of sqlite, postgresql"):
        SQLTable(engine=engine)  # type: ignore[arg-type]
    for url in ("mssql+pyodbc://me:secret@host/", "nosuch://me:secret@host/"):
        with pytest.raises(ValueError, match=r"url.* is none of sqlite, postgresql") as caught:
            SQLTable(url)
        assert "secret" not in f"{caught.value}"


def test_a_driver_need_not_be_named() -> None:
    """Psycopg and PyMySQL are meant, whatever SQLAlchemy would take."""
    drivers = {
        name: SQLTable(f"{name}://127.0.0.1/documents")._engine.dialect.driver
        for name in ("postgresql", "mysql", "mariadb")
    }
    assert drivers == {"postgresql": "psycopg", "mysql": "pymysql", "mariadb": "pymysql"}


def test_an_upsert_is_said_in_the_words_of_mysql() -> None:
    """What replaces a row is one statement there too."""
    table = SQLTable("mysql://127.0.0.1/documents")
    statement = str(table._upsert().compile(table._engine))
    assert "ON DUPLICATE KEY UPDATE b = VALUES(b), x = VALUES(x)" in statement


def test_a_failure_of_mysql_is_known_by_its_number() -> None:
    """Its SQLSTATE, which says less, may come along."""
    failure = sqlalchemy_error("42S02", 1146, "Table 'test.documents' doesn't exist")
    assert sql_failures.is_missing(failure)
    assert not sql_failures.may_pass(failure)
    assert sql_failures.may_pass(sqlalchemy_error("40001", 1213, "Deadlock found"))
    assert sql_failures.may_pass(sqlalchemy_error("HY000", 1205, "Lock wait timeout exceeded"))


def sqlalchemy_error(state: str, number: int, text: str) -> sa.exc.DBAPIError:
    """An error as PyMySQL raises it, wrapped."""
    import pymysql

    failure = pymysql.err.OperationalError(number, text)
    failure.sqlstate = state
    return sa.exc.DBAPIError(None, None, failure)


def test_importing_loads_no_sqlalchemy() -> None:
    """It takes a third of a second, which waits until a table is made."""
    code = "import sys, agentstate_documents.tables.sql; assert 'sqlalchemy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_first_request_creates_the_table(url: str) -> None:
    """Nothing is there after construction; reading is a first request as well as writing."""
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    table = SQLTable(url, table_name="mine")
    assert not sa.inspect(engine).has_table("mine")
    assert table.query("p").documents == []
    assert sa.inspect(engine).has_table("mine")
    table.put("p", ONE)
    assert table.partitions() == ["p"]
    table.close()
    engine.dispose()


def test_create_false_creates_nothing(url: str) -> None:
    """A missing table is then an error, for requests and for setup."""
    table = SQLTable(url, table_name="mine", create=False)
    for ask in (table.setup, lambda: table.put("p", ONE), table.partitions):
        with pytest.raises(TableUnavailable, match="table 'mine': the table does not exist"):
            ask()
    table.close()


def test_another_process_may_create_the_table_first(url: str) -> None:
    """Who comes second uses what is there."""
    other = SQLTable(url)
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))

    @sa.event.listens_for(engine, "before_cursor_execute")
    def create_first(_: object, __: object, statement: str, *___: object) -> None:
        if "CREATE TABLE" in statement:
            other.put("theirs", ONE)

    table = SQLTable(engine=engine)
    table.put("ours", ONE)
    assert sorted(table.partitions()) == ["ours", "theirs"]
    other.close()
    engine.dispose()


def test_a_table_that_may_not_be_created_is_an_error(postgresql_url: str) -> None:
    """The text says that it is missing and why it stays so."""
    owner = sa.create_engine(postgresql_url.replace("postgresql:", "postgresql+psycopg:"))
    role = f"reader_{uuid.uuid4().hex}"
    with owner.begin() as connection:
        connection.execute(sa.text(f"CREATE ROLE {role} LOGIN"))
        connection.execute(sa.text("REVOKE CREATE ON SCHEMA public FROM PUBLIC"))
    table = SQLTable(postgresql_url.replace("postgres@", f"{role}@"))
    with pytest.raises(TableUnavailable, match="cannot be created: InsufficientPrivilege 42501"):
        table.setup()
    table.close()
    owner.dispose()


def test_an_engine_of_the_callers_stays_open(tmp_path: Path) -> None:
    """The caller made it, the caller disposes of it."""
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'documents.db'}")
    table = SQLTable(engine=engine)
    table.put("p", ONE)
    before = engine.pool
    table.close()
    assert engine.pool is before
    assert [d.body for d in table.query("p").documents] == [b"1"]
    engine.dispose()


def test_a_database_nobody_runs_is_an_error() -> None:
    """A refused connection is an error at once, with its cause, and without the password."""
    table = SQLTable("postgresql://postgres:secret@127.0.0.1:1/documents")
    with pytest.raises(TableUnavailable, match="postgresql table 'documents'") as caught:
        table.put("p", ONE)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is not None
    table.close()


def test_no_text_holds_what_was_stored(tmp_path: Path) -> None:
    """Neither our text nor that of its cause shows a body."""
    path = tmp_path / "documents.db"
    table = SQLTable(f"sqlite:///{path}")
    table.put("p", ONE)
    with pytest.raises(DocumentConflict) as caught:
        table.put("p", [Write(Document("k", b"private"), if_absent=True)])
    assert "private" not in f"{caught.value}{caught.value.__cause__}"
    table.close()


def test_a_memory_is_gone_with_its_table() -> None:
    """Two tables in memory share nothing, and nothing is left open."""
    table, other = SQLTable("sqlite://"), SQLTable("sqlite:///:memory:")
    table.put("p", ONE)
    table.close()
    assert table.partitions() == ["p"]
    assert other.partitions() == []
    del table, other
    gc.collect()


def test_threads_share_a_memory() -> None:
    """Eight threads that begin together use one database, and lose nothing."""
    table = SQLTable("sqlite://")
    start = threading.Barrier(8)

    def use(n: int) -> None:
        start.wait()
        for k in range(10):
            table.put(f"p{n}", [Write(Document(f"k{k}", b""), if_absent=True)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, range(8)))
    assert sorted(table.partitions()) == [f"p{n}" for n in range(8)]
    assert all(len(table.query(f"p{n}").documents) == 10 for n in range(8))


WORKER = """
import sys
from agentstate_documents import Document, Write
from agentstate_documents.tables.sql import SQLTable

url, worker = sys.argv[1], int(sys.argv[2])
table = SQLTable(url)
sys.stdin.readline()
for k in range(20):
    # Overlapping documents, in an order of each worker's own.
    sorts = [f"s{n}" for n in range(4)][:: 1 if worker % 2 else -1]
    table.put("shared", [Write(Document(sort, b"%d" % worker)) for sort in sorts])
    table.put(f"own{worker}", [Write(Document(f"k{k}", b""), if_absent=True)])
table.close()
"""


def test_processes_share_a_database(url: str) -> None:
    """Four processes that create and write together lose nothing, and mix no put."""
    commands = [[sys.executable, "-c", WORKER, url, str(n)] for n in range(4)]
    workers = [subprocess.Popen(command, stdin=subprocess.PIPE) for command in commands]
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write(b"go\n")
        worker.stdin.close()
    assert [worker.wait() for worker in workers] == [0] * 4
    table = SQLTable(url)
    assert len({d.body for d in table.query("shared").documents}) == 1
    assert all(len(table.query(f"own{n}").documents) == 20 for n in range(4))
    table.close()


def test_a_locked_database_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A put waits for a writer that holds the file, and gives up in the end."""
    path = tmp_path / "documents.db"
    engine = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": 0})
    table = SQLTable(engine=engine)
    table.setup()
    waited: list[float] = []
    with engine.connect() as holder:
        holder.exec_driver_sql("BEGIN IMMEDIATE")
        monkeypatch.setattr("agentstate_documents.tables.sql.time.sleep", waited.append)
        with pytest.raises(TableUnavailable, match="database is locked"):
            table.put("p", ONE)
        assert len(waited) == backoff.ATTEMPTS - 1
        monkeypatch.setattr(
            "agentstate_documents.tables.sql.time.sleep", lambda _: holder.rollback()
        )
        table.put("p", ONE)
    assert table.partitions() == ["p"]
    engine.dispose()


def test_a_connection_the_server_closed_is_replaced(postgresql_url: str) -> None:
    """A restart of the database between two requests is not noticed."""
    table = SQLTable(postgresql_url)
    table.put("p", ONE)
    other = SQLTable(postgresql_url)
    with other._engine.connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert table.partitions() == ["p"]
    table.close()
    other.close()


def test_no_free_connection_is_an_error(tmp_path: Path) -> None:
    """An engine whose connections are all in use says so."""
    engine = sa.create_engine(
        f"sqlite:///{tmp_path / 'documents.db'}", pool_size=1, max_overflow=0, pool_timeout=0
    )
    table = SQLTable(engine=engine)
    with engine.connect(), pytest.raises(TableUnavailable, match="no connection is free"):
        table.query("p")
    engine.dispose()


def test_a_serialization_failure_is_asked_again(postgresql_url: str) -> None:
    """On an engine that isolates strictly, counting writers lose no addition."""
    url = postgresql_url.replace("postgresql:", "postgresql+psycopg:")
    engine = sa.create_engine(url, isolation_level="SERIALIZABLE", pool_size=8)
    table = SQLTable(engine=engine)
    table.put("p", [Write(Document("k", b"0"))])

    def add(_: int) -> None:
        while True:
            [read] = table.get("p", ["k"])
            assert read is not None
            body = b"%d" % (int(read.body) + 1)
            try:
                table.put("p", [Write(Document("k", body), if_unchanged=read)])
            except DocumentConflict:
                continue
            return

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(add, range(24)))
    [read] = table.get("p", ["k"])
    assert read is not None
    assert read.body == b"24"
    engine.dispose()
