"""The flow contract over the memory table, and what only that table can show."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from string import ascii_letters
from typing import Any

import pytest

from agentstate_documents import MemoryTable
from agentstate_documents.persistence import DocumentFlowPersistence
from agentstate_documents.testing.flow_contract import FlowContract
from agentstate_documents.testing.flow_contract.messages import Deliveries, reducing, talk

Connect = Callable[..., "MemoryFlowPersistence"]
TABLES: dict[str, MemoryTable] = {}


class MemoryFlowPersistence(DocumentFlowPersistence):
    """Flows in this process's memory: a name for each table."""

    name: str
    max_body_bytes: int = 390_000

    def __init__(self, name: str, *, max_body_bytes: int = 390_000, **options: Any) -> None:
        table = TABLES.setdefault(name, MemoryTable(max_body_bytes=max_body_bytes, page_size=3))
        super().__init__(lambda: table, name=name, max_body_bytes=max_body_bytes, **options)


class TestMemory(FlowContract):
    """The contract at the limits of a real database."""

    @pytest.fixture
    def backend(self, request: pytest.FixtureRequest) -> Connect:
        """One table for each test."""
        return functools.partial(MemoryFlowPersistence, name=request.node.nodeid)


class TestTinyDocuments(FlowContract):
    """The contract where everything lies in parts, over several pages."""

    @pytest.fixture
    def backend(self, request: pytest.FixtureRequest) -> Connect:
        """One table for each test."""
        return functools.partial(MemoryFlowPersistence, name=request.node.nodeid, max_body_bytes=64)

    def test_a_state_of_any_size_is_stored(self, connect: Connect) -> None:
        """A state of a thousand parts comes back, and so does what replaces it."""
        persistence, flow = connect(), "f1"
        text = "".join(random.Random(1).choices(ascii_letters, k=50_000))
        for state in ({"id": flow, "v": text}, {"id": flow, "v": text[::-1]}, {"id": flow}):
            persistence.save_state(flow, "m", state)
            assert connect().load_state(flow) == state


def test_users_with_tables_of_their_own_may_give_their_flows_one_id() -> None:
    """What both say is remembered for both, and one who deletes their flow deletes no other."""
    deliveries = Deliveries()
    one, other = (
        MemoryFlowPersistence(name, reducer=reducing(deliveries), namespace=name)
        for name in ("ada", "bob")
    )
    for last in range(1, 9):
        one.save_state("main", "m", {"id": "main", "messages": talk(0, last)})
        other.save_state("main", "m", {"id": "main", "messages": talk(0, last)})
    other.delete("main")
    one.save_state("main", "m", {"id": "main", "messages": talk(0, 12)})
    for name, left in (("ada", 10), ("bob", 6)):
        taken = [text for namespace, _, text in deliveries.seen if namespace == name]
        assert taken == [f"t{n}" for n in range(left)]


def test_a_namespace_that_is_async_does_not_keep_a_flow_from_being_read() -> None:
    """It is refused where messages would be handed over; what is stored is not to blame."""

    async def whose(state: Any, flow: str) -> str:
        return "ada"

    state = {"id": "f1", "messages": talk(0, 8)}
    MemoryFlowPersistence("async").save_state("f1", "m", state)
    persistence = MemoryFlowPersistence("async", reducer=reducing(), namespace=whose)
    assert persistence.load_state("f1") == state
    with pytest.raises(TypeError, match="async"):
        persistence.save_state("f1", "m", state)
    assert persistence.load_state("f1") == state
