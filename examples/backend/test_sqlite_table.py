"""The backend keeps what every table and every saver has to keep."""

import pytest
from sqlite_table import SQLiteTable

from agentstate_documents.saver import DocumentSaver
from agentstate_documents.testing.saver_contract import SaverContract
from agentstate_documents.testing.table_contract import TableContract


class TestSQLiteTable(TableContract):
    @pytest.fixture
    def table(self, tmp_path):
        table = SQLiteTable(tmp_path / "documents.db")
        yield table
        table.close()


class TestSaverOnSQLite(SaverContract):
    @pytest.fixture
    def make_saver(self):
        table = SQLiteTable(":memory:")
        yield lambda **options: DocumentSaver(table, **options)
        table.close()
