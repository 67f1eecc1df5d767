"""LangGraph checkpoints in Azure Cosmos DB for NoSQL."""

from langgraph_checkpoint_cosmosdb.saver import CosmosDBSaver

__all__ = ["CosmosDBSaver"]
