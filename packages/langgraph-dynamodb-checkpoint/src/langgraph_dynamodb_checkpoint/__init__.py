"""LangGraph checkpoints in Amazon DynamoDB."""

from langgraph_dynamodb_checkpoint.saver import DynamoDBSaver

__all__ = ["DynamoDBSaver"]
