"""The flow contract on SQLite, PostgreSQL and MariaDB."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from agentstate_documents.testing.flow_contract import FlowContract
from crewai_persistence_sql import SQLFlowPersistence

Backend = Callable[..., SQLFlowPersistence]
TABLE = f"flows_{uuid.uuid4().hex}"


class TestSQLite(FlowContract):
    """A file, the embedded default."""

    @pytest.fixture
    def backend(self, tmp_path: Path) -> Backend:
        """A file of the test's own."""
        return functools.partial(SQLFlowPersistence, f"sqlite:///{tmp_path / 'flows.db'}")


class TestPostgreSQL(FlowContract):
    """PostgreSQL over psycopg."""

    @pytest.fixture
    def backend(self, postgresql_server: str) -> Backend:
        """One table for all tests."""
        url = f"{postgresql_server}/postgres"
        return functools.partial(SQLFlowPersistence, url, table_name=TABLE)


class TestMariaDB(FlowContract):
    """MariaDB over PyMySQL, where it is installed."""

    @pytest.fixture
    def backend(self, mariadb_server: str) -> Backend:
        """One table for all tests."""
        return functools.partial(SQLFlowPersistence, f"{mariadb_server}/test", table_name=TABLE)
