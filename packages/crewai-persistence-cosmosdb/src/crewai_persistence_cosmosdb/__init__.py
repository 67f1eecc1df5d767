"""CrewAI flows in Azure Cosmos DB.

The class is built when it is first asked for: importing this package loads neither CrewAI,
which takes seconds, nor the Azure SDK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentstate_documents.persistence import register_reducer as register_reducer
    from crewai_persistence_cosmosdb.persistence import (
        CosmosDBFlowPersistence as CosmosDBFlowPersistence,
    )

__all__ = ["CosmosDBFlowPersistence", "register_reducer"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from crewai_persistence_cosmosdb import persistence

    return getattr(persistence, name)
