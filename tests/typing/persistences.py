"""How an application persists flows, for type checkers to agree with. Nothing here runs."""

from __future__ import annotations

from typing import Any

from crewai.flow.persistence.base import FlowPersistence
from typing_extensions import assert_type

from agentstate_reducer import MessageReducer
from crewai_persistence_cosmosdb import CosmosDBFlowPersistence
from crewai_persistence_dynamodb import DynamoDBFlowPersistence
from crewai_persistence_firestore import FirestoreFlowPersistence
from crewai_persistence_sql import SQLFlowPersistence, register_reducer

reducer = MessageReducer(10, 20)
register_reducer("short", reducer)
sql = SQLFlowPersistence("sqlite:///flows.db", table_name="flows", reducer="short")
persistences: list[FlowPersistence] = [
    sql,
    DynamoDBFlowPersistence("flows", reducer=reducer, messages_key=["messages", "agents.*"]),
    CosmosDBFlowPersistence(endpoint="https://x", database_name="a", container_name="f", key="k"),
    FirestoreFlowPersistence(project_id="project", collection_name="flows", ttl_seconds=3600),
]
sql.save_state("1", "greet", {"id": "1"})
assert_type(sql.load_state("1"), dict[str, Any] | None)
sql.clear_pending_feedback("1")
sql.close()
