"""The face CrewAI sees of `flows`: one base class, made a backend by naming its table.

Importing this module loads CrewAI, which takes seconds; the packages do so when their class
is first asked for.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from crewai.flow.async_feedback.types import PendingFeedbackContext
from crewai.flow.persistence.base import FlowPersistence
from crewai.flow.persistence.factory import set_flow_persistence_factory
from pydantic import ConfigDict, PrivateAttr, field_serializer, model_validator

from agentstate_documents.flow_reduction import FlowReduction, register_reducer, registered_name
from agentstate_documents.flows import Flows

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from agentstate_documents.flow_records import StoredFlow
    from agentstate_documents.port import DocumentTable

__all__ = ["DocumentFlowPersistence", "register_reducer"]

logger = logging.getLogger(__name__)


class DocumentFlowPersistence(FlowPersistence):
    """Flow states in a document table. A backend adds its fields and `_open_table`.

    Fields hold JSON alone and no secret, so that the persistence can stand in a dump, a
    checkpoint or a declaration and be made again from there. Nothing connects before the
    first call. Copies, also deep ones, share the table, the locks and the reducer.

    Args:
        reducer: keeps the message lists bounded where they are stored: a `MessageReducer`, or
            the name it is registered under (`register_reducer`), which is what a dump holds.
        messages_key: where the lists are: a key, a path with dots, a pattern such as
            `agent_threads.*`, or several of them.
        namespace: whose memories they are: a constant, or a function of the state, as a plain
            dict, and the flow's id. Without it the state's `memory_namespace` (or what the
            reducer's `namespace_key` says), else `/flow/<id>`.
        ttl_seconds: how long a flow can be loaded after it was saved last; None for ever.
        create: whether a table that turns out to be missing is created.
    """

    model_config = ConfigDict(extra="forbid")

    persistence_type: str = ""
    reducer: str | None = None
    messages_key: str | list[str] = "messages"
    namespace: str | list[Any] | None = None
    ttl_seconds: float | None = None
    create: bool = True

    _flows: Flows = PrivateAttr()
    _lost_in_dump: list[str] = PrivateAttr(default_factory=list)

    def __init__(self, *, reducer: Any = None, namespace: Any = None, **fields: Any) -> None:
        name = reducer if isinstance(reducer, str) else registered_name(reducer)
        constant = None if callable(namespace) else namespace
        super().__init__(reducer=name, namespace=constant, **fields)
        ...
