"""The flow contract over the memory table, and what only that table can show."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
from pydantic import Field

from agentstate_documents import MemoryTable
from agentstate_documents.persistence import DocumentFlowPersistence
from agentstate_documents.testing.flow_contract import FlowContract

TABLES: dict[str, MemoryTable] = {}
TINY = {"max_body_bytes": 64, "max_transaction_documents": 8, "page_size": 2}


class MemoryFlowPersistence(DocumentFlowPersistence):
    """Flows in this process's memory: a name for each table."""

    name: str
    limits: dict[str, int] = Field(default_factory=dict)

    def _open_table(self) -> MemoryTable:
        return TABLES.setdefault(self.name, MemoryTable(**self.limits))


class TestMemory(FlowContract):
    """The contract at the limits of a real database."""

    @pytest.fixture
    def backend(self, request: pytest.FixtureRequest) -> Callable[..., MemoryFlowPersistence]:
        """One table for each test."""
        return functools.partial(MemoryFlowPersistence, name=request.node.nodeid)
