"""CrewAI flows in Google Cloud Firestore.

The class is built when it is first asked for: importing this package loads neither CrewAI,
which takes seconds, nor the Google Cloud SDK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentstate_documents.flow_reduction import register_reducer

if TYPE_CHECKING:
    from crewai_persistence_firestore.persistence import (
        FirestoreFlowPersistence as FirestoreFlowPersistence,
    )

__all__ = ["FirestoreFlowPersistence", "register_reducer"]


def __getattr__(name: str) -> Any:
    if name != "FirestoreFlowPersistence":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from crewai_persistence_firestore.persistence import FirestoreFlowPersistence

    return FirestoreFlowPersistence


def __dir__() -> list[str]:
    return __all__
