"""The table contract on the reference table, at its real and at tiny limits."""

import pytest

from agentstate_documents import MemoryTable
from agentstate_documents.testing.table_contract import TableContract


class TestMemoryTable(TableContract):
    @pytest.fixture
    def table(self):
        return MemoryTable()


class TestTinyMemoryTable(TableContract):
    @pytest.fixture
    def table(self):
        return MemoryTable(max_body_bytes=600, max_transaction_documents=8)


class TestSmallPages(TableContract):
    @pytest.fixture
    def table(self):
        return MemoryTable(page_size=24, max_transaction_bytes=390_000)
