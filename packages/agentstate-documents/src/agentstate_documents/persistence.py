"""The face CrewAI wants of `flows`: a base class that becomes a backend by naming its table.

Importing this module loads CrewAI, which takes seconds; the packages do it when their class
is first asked for. It is to `flows` what `saver` is to `checkpoints`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from crewai.flow.async_feedback.types import PendingFeedbackContext
from crewai.flow.persistence.base import FlowPersistence
from crewai.flow.persistence.factory import set_flow_persistence_factory
from pydantic import BaseModel, ConfigDict, PrivateAttr, model_serializer
from typing_extensions import TypedDict

from agentstate_documents.flow_reduction import FlowReduction, registered_name
from agentstate_documents.flows import Flows
from agentstate_documents.model import check_ttl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import SerializerFunctionWrapHandler
    from typing_extensions import Self

    from agentstate_documents.flow_records import StoredFlow
    from agentstate_documents.port import DocumentTable
    from agentstate_reducer import MessageReducer

logger = logging.getLogger(__name__)


class Options(TypedDict, total=False):
    """What every backend takes, see `DocumentFlowPersistence`."""

    reducer: MessageReducer | str | None
    messages_key: str | Sequence[str]
    namespace: str | Sequence[Any] | Callable[[dict[str, Any], str], Any] | None
    ttl_seconds: float | None
    create: bool
    persistence_type: str


class DocumentFlowPersistence(FlowPersistence):
    """Flow states in a document table. A backend adds its fields, and says what table it is.

    Fields hold JSON and no secret, so the persistence may stand in a dump, a checkpoint or a
    declaration and be made again from there. Nothing connects before the first call. A copy,
    also a deep one, shares table, locks and reducer with what it was copied from; a pickle is
    a dump.

    Args:
        reducer: keeps the message lists bounded where they are stored: a `MessageReducer`, or
            the name it is registered under (`register_reducer`), which is what a dump holds.
        messages_key: where the lists are: a key, a path with dots, a pattern such as
            `agent_threads.*`, or several of these.
        namespace: whose memories the hooks write: a constant, or a function of the state (a
            plain dict) and the id of the flow. None for what the state holds under the
            reducer's `namespace_key`, else `/flow/<id>`.
        ttl_seconds: how long a flow can be loaded after its last save; None for ever.
        create: whether a table that turns out to be missing is created.
        open_table: makes the table, once, at the first call.
    """

    # A keyword nobody knows may have been meant for a secret.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    persistence_type: str
    reducer: str | None = None
    messages_key: str | list[str] = "messages"
    namespace: str | list[Any] | None = None
    ttl_seconds: float | None = None
    create: bool = True

    _flows: Flows = PrivateAttr()
    _reducer: Any = PrivateAttr()
    _undumped: list[str] = PrivateAttr()

    def __init__(self, open_table: Callable[[], DocumentTable], **fields: Any) -> None:
        reducer, namespace = fields.get("reducer"), fields.get("namespace")
        check_ttl(fields.get("ttl_seconds"))
        dumped = {
            "reducer": reducer if isinstance(reducer, str) else registered_name(reducer),
            "namespace": None if callable(namespace) else namespace,
        }
        # CrewAI looks a class up by its name, also one that a user derives from ours.
        super().__init__(**{**fields, **dumped, "persistence_type": type(self).__name__})
        self._reducer = reducer
        self._undumped = [name for name in dumped if fields.get(name) and not dumped[name]]
        self._flows = Flows(
            open_table,
            reduction=(
                None if reducer is None else FlowReduction(reducer, self.messages_key, namespace)
            ),
            ttl_seconds=self.ttl_seconds,
        )

    def init_db(self) -> None:
        """The table exists and is usable; repeatable, and done at the first call anyway.

        Raises:
            TableUnavailable: It is missing and may not be created; the text names the
                permission.
        """
        self._flows.table.setup()

    setup = init_db

    def save_state(
        self,
        flow_uuid: str,
        method_name: str,
        state_data: dict[str, Any] | BaseModel,
        **kwargs: Any,  # noqa: ARG002 -- what later versions of CrewAI may add
    ) -> None:
        """The state is what `load_state` gives from now on; the live state is not touched."""
        self._flows.save(flow_uuid, method_name, state_data)

    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        """The state saved last as a plain dict, None where there is none.

        Raises:
            StoredFormatUnknown: A later version wrote it.
        """
        return self._flows.load(flow_uuid)

    def save_pending_feedback(
        self,
        flow_uuid: str,
        context: PendingFeedbackContext,
        state_data: dict[str, Any] | BaseModel,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """The state is saved, and in the same step that the flow waits for feedback."""
        self._flows.save_waiting(flow_uuid, context.to_dict(), state_data)

    def load_pending_feedback(
        self, flow_uuid: str
    ) -> tuple[dict[str, Any], PendingFeedbackContext] | None:
        """The state the flow paused with and what it asked, None where it does not wait."""
        found = self._flows.load_waiting(flow_uuid)
        return None if found is None else (found[0], PendingFeedbackContext.from_dict(found[1]))

    def clear_pending_feedback(self, flow_uuid: str) -> None:
        """The flow waits no more; its state stays."""
        self._flows.clear_waiting(flow_uuid)

    def delete(self, flow_uuid: str) -> None:
        """Nothing of the flow is left in the table."""
        self._flows.delete(flow_uuid)

    def list_flows(self) -> list[StoredFlow]:
        """Every flow in the table that has not expired. Reads the whole table."""
        return self._flows.list()

    def close(self) -> None:
        """The connections are closed, but for a client that was given; usable again."""
        self._flows.close()

    def install_as_default(self) -> None:
        """Flows of this process use this persistence wherever they name none."""
        set_flow_persistence_factory(lambda: self)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).model_validate, (self.model_dump(mode="json"),)

    @model_serializer(mode="wrap")
    def _dumped(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        if self.reducer is None:  # it may have got its name since
            self.__dict__["reducer"] = registered_name(self._reducer)
        for name in self._undumped:
            if getattr(self, name) is None:
                logger.warning(
                    "%s: a persistence made from this dump has no %s, which was given as an object"
                    " (register_reducer() gives a reducer a name)",
                    self.persistence_type,
                    name,
                )
        self._undumped.clear()
        fields: dict[str, Any] = dump(self)
        return fields
