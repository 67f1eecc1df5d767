"""The wrapper over a document saver keeps what a saver with a reducer of its own keeps."""

import pytest

from agentstate_documents import MemoryTable
from agentstate_documents.saver import DocumentSaver
from agentstate_documents.testing.saver_contract import ConformanceContract
from agentstate_documents.testing.saver_graphs import GraphContract
from agentstate_documents.testing.saver_histories import HistoryContract
from agentstate_documents.testing.saver_ids import IdContract
from agentstate_documents.testing.saver_listing import ListingContract
from agentstate_documents.testing.saver_reducing import ReducingContract
from agentstate_documents.testing.saver_serializers import SerializerContract
from agentstate_documents.testing.saver_states import StateContract
from agentstate_documents.testing.saver_upkeep import UpkeepContract
from agentstate_documents.testing.saver_writes import WritesContract
from agentstate_reducer import MessageReducer
from langgraph_reducing_saver import ReducingSaver


class TestWrappedSaver(
    ConformanceContract,
    StateContract,
    HistoryContract,
    SerializerContract,
    WritesContract,
    ListingContract,
    UpkeepContract,
    IdContract,
    GraphContract,
    ReducingContract,
):
    """All but refusals, which come from the inner saver, after the hooks."""

    @pytest.fixture
    def make_saver(self):
        table = MemoryTable()

        def made(*, reducer=None, messages_key="messages", **options):
            inner = DocumentSaver(table, **options)
            return ReducingSaver(inner, reducer or MessageReducer(), messages_key=messages_key)

        return made


def test_a_saver_that_reduces_already_is_passed_through():
    """The same reducer is not run twice, and another one is refused."""
    reducer = MessageReducer(max_messages=6, min_messages=4)
    inner = DocumentSaver(MemoryTable(), reducer=reducer)
    ReducingSaver(inner, reducer)
    with pytest.raises(ValueError, match="another reducer"):
        ReducingSaver(inner, MessageReducer(max_messages=6, min_messages=4))
