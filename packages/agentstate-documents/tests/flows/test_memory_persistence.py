"""The flow contract over the memory table, and what only that table can show."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from agentstate_documents import MemoryTable
from agentstate_documents.persistence import DocumentFlowPersistence
from agentstate_documents.testing.flow_contract import FlowContract

TABLES: dict[str, MemoryTable] = {}


class MemoryFlowPersistence(DocumentFlowPersistence):
    """Flows in this process's memory: a name for each table."""

    name: str

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(lambda: TABLES.setdefault(name, MemoryTable()), name=name, **options)


class TestMemory(FlowContract):
    """The contract at the limits of a real database."""

    @pytest.fixture
    def backend(self, request: pytest.FixtureRequest) -> Callable[..., MemoryFlowPersistence]:
        """One table for each test."""
        return functools.partial(MemoryFlowPersistence, name=request.node.nodeid)
