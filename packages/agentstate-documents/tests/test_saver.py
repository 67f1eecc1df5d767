"""The saver contract on memory tables, at the real and at a tiny document limit."""

import pytest

from agentstate_documents import MemoryTable
from agentstate_documents.saver import DocumentSaver
from agentstate_documents.testing.saver_contract import SaverContract


class TestDocumentSaver(SaverContract):
    @pytest.fixture
    def make_saver(self):
        table = MemoryTable()
        return lambda **options: DocumentSaver(table, **options)


class TestTinyDocuments(SaverContract):
    """Every body in parts, every page short."""

    @pytest.fixture
    def make_saver(self):
        table = MemoryTable(max_body_bytes=64, max_transaction_documents=8, page_size=3)
        return lambda **options: DocumentSaver(table, **options)

    @pytest.fixture
    def random_text(self):
        return lambda length: "0123456789abcdef" * (length // 50_000)
