"""CrewAI flows in SQLite, PostgreSQL, MySQL and MariaDB.

The class is built when it is first asked for: importing this package loads neither CrewAI,
which takes seconds, nor SQLAlchemy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentstate_documents.flow_reduction import register_reducer

if TYPE_CHECKING:
    from crewai_persistence_sql.persistence import SQLFlowPersistence as SQLFlowPersistence

__all__ = ["SQLFlowPersistence", "register_reducer"]


def __getattr__(name: str) -> Any:
    if name != "SQLFlowPersistence":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from crewai_persistence_sql.persistence import SQLFlowPersistence

    return SQLFlowPersistence


def __dir__() -> list[str]:
    return __all__
