"""The flows in the golden files: their states, and the calls that stored them.

Rule: as for `threads`, what is here never changes.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from math import inf
from typing import Any
from unittest import mock
from uuid import UUID

from agentstate_documents import DocumentTable, MemoryTable
from agentstate_documents.flow_reduction import FlowReduction
from agentstate_documents.flows import Flows
from agentstate_reducer import MessageReducer, ReducerConfig
from golden.threads import CLOCK, NOISE, said

SAVED_AT = datetime.fromtimestamp(CLOCK, timezone.utc)

EVERY_TYPE: dict[str, Any] = {
    "id": "every type",
    "json": [None, True, 1, 2.5, "text é", {"nested": []}],
    "moment": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc),
    "second of two": datetime(2026, 10, 25, 2, 30, fold=1),
    "day": date(2026, 1, 2),
    "hour": time(3, 4, 5),
    "length": timedelta(days=1, seconds=2, microseconds=3),
    "uuid": UUID(int=17),
    "price": Decimal("9.90"),
    "bytes": NOISE[:8],
    "infinite": [inf, -inf],
    "large": 1 << 20_000,
    "tuple": (1, ("two",)),
    "set": {1, 2},
    "frozen": frozenset({"a"}),
    "keys": {1: "one", (2, 3): "two and three"},
    "looks tagged": [{"$bytes": "no"}, {"$$own": 1}],
}
CONTEXT = {
    "flow_id": "every type",
    "flow_class": "app.Review",
    "method_name": "review",
    "method_output": {"draft": 1},
    "message": "Is it right?",
    "emit": ["yes", "no"],
    "default_outcome": None,
    "metadata": {},
    "llm": None,
    "requested_at": "2026-01-02T03:04:05",
}
LONG = {"id": "in parts", "text": NOISE.hex()}
# A conversation of six messages, reduced when it had four and when it had six.
REDUCED = {"id": "reduced", "messages": [said(0), said(4), said(5)]}
# Of the two that leave next.
FLOW_KEYS = [
    "75f076ee4fa10ae5-4-a6c5ef4ebe6025f6e84e3688",
    "75f076ee4fa10ae5-5-dda8e8675df067530ca71866",
]
EXPIRING = {"id": "expiring"}


class Frozen(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return SAVED_AT


def reduction(*hooks: Any) -> FlowReduction:
    """How the conversation is bounded."""
    config = ReducerConfig(min_messages=2, max_messages=4, on_prune=hooks)
    return FlowReduction(MessageReducer(config=config))


def store_flows(table: DocumentTable, table_of_parts: MemoryTable) -> None:
    """The flows are in the tables."""
    stopped = mock.patch.multiple("agentstate_documents.flows", datetime=Frozen, time=lambda: CLOCK)
    with stopped:
        Flows(lambda: table).save_waiting("every type", CONTEXT, EVERY_TYPE)
        Flows(lambda: table, ttl_seconds=3600).save("expiring", "greet", EXPIRING)
        Flows(lambda: table_of_parts).save("in parts", "greet", LONG)
        talks = Flows(lambda: table, reduction=reduction())
        for count in (4, 6):
            messages = [said(n) for n in range(count)]
            talks.save("reduced", "answer", {"id": "reduced", "messages": messages})
