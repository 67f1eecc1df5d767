"""CrewAI flows in Amazon DynamoDB.

The class is built when it is first asked for: importing this package loads neither CrewAI,
which takes seconds, nor boto3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentstate_documents.flow_reduction import register_reducer

if TYPE_CHECKING:
    from crewai_persistence_dynamodb.persistence import (
        DynamoDBFlowPersistence as DynamoDBFlowPersistence,
    )

__all__ = ["DynamoDBFlowPersistence", "register_reducer"]


def __getattr__(name: str) -> Any:
    if name != "DynamoDBFlowPersistence":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from crewai_persistence_dynamodb.persistence import DynamoDBFlowPersistence

    return DynamoDBFlowPersistence


def __dir__() -> list[str]:
    return __all__
