"""Flow states in a table: what a flow persistence does, without the framework.

`agentstate_documents.persistence` gives it the face CrewAI wants.
"""

from __future__ import annotations

import math
import threading
from contextlib import suppress
from datetime import datetime, timezone
from time import time
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from agentstate_documents import flow_records as records
from agentstate_documents.drivers import run, stream
from agentstate_documents.errors import DocumentError, reading
from agentstate_documents.flow_codec import plain
from agentstate_documents.flow_records import STATE, WAITING
from agentstate_documents.model import check_ttl
from agentstate_reducer.integration import Recent

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentstate_documents.flow_records import Parts, Record, StoredFlow
    from agentstate_documents.flow_reduction import FlowReduction
    from agentstate_documents.port import DocumentTable

# Flows of which this process knows what is stored; the first save of any other reads it.
MAX_KNOWN = 4_096


class Flows:
    """The flows in one table; safe for threads.

    Saving takes a copy of the state, reduces its message lists, which serves the hooks, and
    stores it, all under a lock of that flow: of two saves at once the later copy is stored
    last. What expires is not shown from that second on, whenever the database removes it.

        >>> from agentstate_documents import MemoryTable
        >>> flows = Flows(MemoryTable)
        >>> flows.save("f1", "greet", {"id": "f1", "seen": {1, 2}})
        >>> flows.load("f1")
        {'id': 'f1', 'seen': {1, 2}}

    Args:
        open_table: makes the table, at the first use.
        reduction: how message lists are reduced, None for not at all.
        ttl_seconds: how long a flow lives after its last save.
    """

    def __init__(
        self,
        open_table: Callable[[], DocumentTable],
        *,
        reduction: FlowReduction | None = None,
        ttl_seconds: float | None = None,
    ) -> None:
        self._open_table = open_table
        self._table: DocumentTable | None = None
        self._reduction = reduction
        self._ttl_seconds = check_ttl(ttl_seconds)
        self._parts: Recent[str, Parts] = Recent(MAX_KNOWN)
        self._locks: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._guard = threading.Lock()

    @property
    def table(self) -> DocumentTable:
        """The table, the same one for everybody."""
        with self._guard:
            if self._table is None:
                self._table = self._open_table()
            return self._table

    def save(self, flow_uuid: Any, method_name: str, state: Any) -> None:
        """The state is stored, and is what the next load gives."""
        flow = flow_id(flow_uuid)
        with self._lock(flow):
            self._put(flow, {STATE: self._record(flow, method_name, state)})

    def save_waiting(self, flow_uuid: Any, context: dict[str, Any], state: Any) -> None:
        """The state is stored, and in the same step that it waits for feedback."""
        flow = flow_id(flow_uuid)
        with self._lock(flow):
            record = self._record(flow, context["method_name"], state)
            self._put(flow, {STATE: record, WAITING: {**record, "context": plain(context)}})

    def load(self, flow_uuid: Any) -> dict[str, Any] | None:
        """The state saved last, None where there is none."""
        record = self._read(flow_id(flow_uuid), STATE, resumes=True)
        return None if record is None else record["state"]

    def load_waiting(self, flow_uuid: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The state that waits for feedback and its context, None where nothing waits."""
        record = self._read(flow_id(flow_uuid), WAITING, resumes=True)
        return None if record is None else (record["state"], record["context"])

    def clear_waiting(self, flow_uuid: Any) -> None:
        """Nothing waits for feedback any more; the state stays."""
        flow = flow_id(flow_uuid)
        with self._lock(flow):
            run(records.delete_record(flow, WAITING), self.table)
            self._parts.put(flow, {**(self._parts.get(flow) or {}), WAITING: []})

    def delete(self, flow_uuid: Any) -> None:
        """Nothing is left of the flow; one that still runs is a new one from here on."""
        flow = flow_id(flow_uuid)
        with self._lock(flow):
            if self._reduction is not None:
                with suppress(DocumentError):  # what cannot be read can be deleted
                    self._recall(flow)
            run(records.delete_flow(flow), self.table)
            self._parts.put(flow, {STATE: [], WAITING: []})
            if self._reduction is not None:
                self._reduction.forget(flow)

    def list(self) -> list[StoredFlow]:
        """Every flow that has not expired. Reads the whole table."""
        return list(stream(records.list_flows(time()), self.table))

    def close(self) -> None:
        """The table's own connections are closed; it connects again when it is used."""
        with self._guard:
            if self._table is not None:
                self._table.close()

    def _record(self, flow: str, method_name: str, state: Any) -> Record:
        copy = plain(state)
        if not isinstance(copy, dict):
            kind = type(state).__name__
            raise TypeError(f"state_data must be a dictionary or a pydantic model, not {kind}")
        self._recall(flow)
        lists = [] if self._reduction is None else self._reduction.reduce(flow, copy)
        return {
            "flow": flow,
            "method": str(method_name),
            "saved_at": datetime.now(timezone.utc),
            "state": copy,
            "lists": lists,
        }

    def _recall(self, flow: str) -> None:
        """What is stored of the flow, and where its lists stand in their histories, is known."""
        # Who has only asked whether the flow waits may know its parts, and not its history.
        known = self._reduction is None or self._reduction.knows(flow)
        if not known or self._parts.get(flow) is None:
            self._read(flow, STATE, resumes=False)

    def _put(self, flow: str, items: dict[str, Record]) -> None:
        ttl = self._ttl_seconds
        expires_at = None if ttl is None else math.ceil(time() + ttl)
        table, known = self.table, self._parts.get(flow) or {}
        self._parts.put(flow, {})  # unknown again, should this fail
        parts = run(records.put_records(flow, items, known, table.limits, expires_at), table)
        self._parts.put(flow, parts)

    def _read(self, flow: str, sort: str, *, resumes: bool) -> Record | None:
        with self._lock(flow):
            record, parts = run(records.read_record(flow, sort, time()), self.table)
            self._parts.put(flow, {**(self._parts.get(flow) or {}), sort: parts})
            if record is not None and self._reduction is not None:
                with reading(f"what the item {sort!r} of flow {flow!r} notes of its lists"):
                    self._reduction.loaded(flow, record["state"], record["lists"], resumes=resumes)
            return record

    def _lock(self, flow: str) -> Any:
        with self._guard:
            # Reentrant: a hook may look at the flow it was called for.
            return self._locks.setdefault(flow, threading.RLock())


def flow_id(flow_uuid: Any) -> str:
    """The id of a flow as text.

    Raises:
        ValueError: It is missing or empty.
    """
    flow = "" if flow_uuid is None else str(flow_uuid)
    if not flow:
        raise ValueError(f"flow_uuid must be a non-empty text, not {flow_uuid!r}")
    return flow
