"""What every saver must keep, as tests: LangGraph's kit, and what that kit does not check.

A backend inherits `SaverContract` and gives it one fixture, `make_saver`: a function that
returns a new saver over the same database, as another process would have it, with the
keyword arguments it is given (`serde`, `reducer`).

    class TestMySaver(SaverContract):
        @pytest.fixture
        def make_saver(self, server):
            return lambda **options: MySaver(server, **options)

Every test runs on the blocking and on the awaiting face, on threads of its own, so that
tests may share one database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES

from agentstate_documents.testing.saver_graphs import GraphContract
from agentstate_documents.testing.saver_histories import HistoryContract
from agentstate_documents.testing.saver_ids import IdContract
from agentstate_documents.testing.saver_listing import ListingContract
from agentstate_documents.testing.saver_reducing import ReducingContract
from agentstate_documents.testing.saver_refusals import RefusalContract
from agentstate_documents.testing.saver_scenes import Scenes
from agentstate_documents.testing.saver_serializers import SerializerContract
from agentstate_documents.testing.saver_states import StateContract
from agentstate_documents.testing.saver_upkeep import UpkeepContract
from agentstate_documents.testing.saver_writes import WritesContract
from agentstate_reducer import MessageReducer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class ConformanceContract(Scenes):
    """LangGraph's own kit."""

    @pytest.mark.parametrize("reducer", [None, MessageReducer(max_messages=20, min_messages=10)])
    async def test_langgraph_conformance(self, new: Any, reducer: Any) -> None:
        """LangGraph's kit detects all eight capabilities and finds no fault in them."""

        @checkpointer_test(name=type(self).__name__)
        async def made() -> AsyncIterator[Any]:
            yield new(reducer=reducer)

        report = await validate(made)
        assert report.passed_all_base(), report.to_dict()
        assert report.passed_all(), report.to_dict()
        detected = {name for name, result in report.results.items() if result.detected}
        assert detected == {capability.value for capability in ALL_CAPABILITIES}


class SaverContract(
    ConformanceContract,
    StateContract,
    HistoryContract,
    SerializerContract,
    WritesContract,
    ListingContract,
    UpkeepContract,
    IdContract,
    RefusalContract,
    GraphContract,
    ReducingContract,
):
    """All a checkpointer is held to, on both faces."""
