"""CrewAI flows in Azure Cosmos DB.

The class is built when it is first asked for: importing this package loads neither CrewAI,
which takes seconds, nor the Azure SDK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentstate_documents.flow_reduction import register_reducer

if TYPE_CHECKING:
    from crewai_persistence_cosmosdb.persistence import (
        CosmosDBFlowPersistence as CosmosDBFlowPersistence,
    )

__all__ = ["CosmosDBFlowPersistence", "register_reducer"]


def __getattr__(name: str) -> Any:
    if name != "CosmosDBFlowPersistence":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from crewai_persistence_cosmosdb.persistence import CosmosDBFlowPersistence

    return CosmosDBFlowPersistence


def __dir__() -> list[str]:
    return __all__
