"""What every flow persistence must keep, as tests.

A backend inherits `FlowContract` and gives it one fixture, what makes a persistence:

    class TestMyPersistence(FlowContract):
        @pytest.fixture
        def backend(self):
            return functools.partial(MyFlowPersistence, "where")

Each persistence it makes stands for a process of its own on the same database, which tests
may share: each takes flow ids of its own. Importing this loads CrewAI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentstate_documents import flow_reduction
from agentstate_documents.testing.flow_contract.dumps import DumpContract
from agentstate_documents.testing.flow_contract.histories import HistoryContract
from agentstate_documents.testing.flow_contract.pauses import PauseContract
from agentstate_documents.testing.flow_contract.reductions import ReductionContract
from agentstate_documents.testing.flow_contract.runs import RunContract
from agentstate_documents.testing.flow_contract.states import StateContract
from agentstate_reducer.integration import Recent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentstate_documents.persistence import DocumentFlowPersistence

__all__ = ["FlowContract"]


class FlowContract(
    StateContract, ReductionContract, HistoryContract, DumpContract, RunContract, PauseContract
):
    """The whole contract."""

    @pytest.fixture
    def connect(
        self, backend: Callable[..., DocumentFlowPersistence], monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Callable[..., DocumentFlowPersistence]]:
        """Makes persistences that are closed when the test ends."""
        made: list[DocumentFlowPersistence] = []

        def connect(**options: Any) -> DocumentFlowPersistence:
            # Another process knows nothing of the flows that run in this one.
            monkeypatch.setattr(flow_reduction, "_running", Recent(1_000))
            made.append(backend(**options))
            return made[-1]

        yield connect
        for persistence in made:
            persistence.close()
