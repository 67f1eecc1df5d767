"""How an application makes checkpointers, for type checkers to agree with. Nothing here runs."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from typing_extensions import assert_type

from agentstate_documents import AsyncDocumentTable, DocumentTable, MemoryTable
from agentstate_documents.saver import DocumentSaver
from agentstate_documents.tables.cosmosdb import AioCosmosDBTable, CosmosDBTable
from agentstate_documents.tables.dynamodb import AioDynamoDBTable, DynamoDBTable
from agentstate_documents.tables.firestore import AsyncFirestoreTable, FirestoreTable
from agentstate_documents.tables.sql import SQLTable
from agentstate_documents.tables.threaded import Threaded
from agentstate_reducer import MessageReducer
from langgraph_checkpoint_cosmosdb import CosmosDBSaver
from langgraph_checkpoint_firestore import FirestoreSaver
from langgraph_dynamodb_checkpoint import DynamoDBSaver
from langgraph_reducing_saver import ReducingSaver

reducer = MessageReducer(10, 20)
savers: list[BaseCheckpointSaver[Any]] = [
    ReducingSaver(InMemorySaver(), reducer, messages_key=["messages", "notes"]),
    DynamoDBSaver("checkpoints", region_name="eu-central-1", reducer=reducer, ttl_seconds=3600),
    CosmosDBSaver("agents", "checkpoints", endpoint="https://x", key="k", reducer=reducer),
    FirestoreSaver("project", checkpoints_collection="checkpoints", serde=JsonPlusSerializer()),
    DocumentSaver(MemoryTable(), messages_key="messages"),
]
config: RunnableConfig = {"configurable": {"thread_id": "1"}}
assert_type(DynamoDBSaver("checkpoints").get_tuple(config), CheckpointTuple | None)
DynamoDBSaver("checkpoints").setup()


async def awaited(saver: FirestoreSaver) -> None:
    """The awaiting face of the same object."""
    await saver.asetup()
    assert_type(await saver.aget_tuple(config), CheckpointTuple | None)
    async for found in saver.alist(config, limit=3):
        assert_type(found, CheckpointTuple)
    await saver.aclose()


def tables(
    cosmosdb: CosmosDBTable, dynamodb: DynamoDBTable, firestore: FirestoreTable, sql: SQLTable
) -> list[DocumentTable]:
    """Each table has the port."""
    return [MemoryTable(), cosmosdb, dynamodb, firestore, sql]


def async_tables(
    cosmosdb: AioCosmosDBTable, dynamodb: AioDynamoDBTable, firestore: AsyncFirestoreTable
) -> list[AsyncDocumentTable]:
    """Or its awaiting form."""
    return [Threaded(MemoryTable()), cosmosdb, dynamodb, firestore]
