"""Structured queries of one collection: filter, order, cut by cursors, offset and limit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering
from typing import TYPE_CHECKING, Any

from google.cloud.firestore_v1 import types
from grpc import StatusCode

from servers.firestore import values
from servers.firestore.documents import get_field
from servers.firestore.names import NAME_FIELD
from servers.firestore.refusals import Refused, invalid, unimplemented

if TYPE_CHECKING:
    from collections.abc import Iterable

_Operator = types.StructuredQuery.FieldFilter.Operator
_COMPARISONS = {
    _Operator.EQUAL: lambda found, wanted: found == wanted,
    _Operator.LESS_THAN: lambda found, wanted: found < wanted,
    _Operator.LESS_THAN_OR_EQUAL: lambda found, wanted: found <= wanted,
    _Operator.GREATER_THAN: lambda found, wanted: found > wanted,
    _Operator.GREATER_THAN_OR_EQUAL: lambda found, wanted: found >= wanted,
}


@dataclass(frozen=True)
class Filter:
    """One comparison of a field with a value."""

    field: str
    operator: int
    value: Any

    @property
    def is_equality(self) -> bool:
        """Tell whether one value of the field is asked for."""
        return self.operator == _Operator.EQUAL

    def admits(self, document: Any) -> bool:
        """Tell whether the document has the field, with such a value of the same type."""
        found = get_field(document, self.field)
        if found is None or values.rank(found) != values.rank(self.value):
            return False
        return _COMPARISONS[self.operator](values.order_key(found), values.order_key(self.value))


@dataclass(frozen=True)
class Order:
    """One field the result is sorted by."""

    field: str
    descending: bool


@dataclass(frozen=True)
class Query:
    """A checked query: what it asks of which collection."""

    parent: str
    collection: str
    filters: tuple[Filter, ...]
    orders: tuple[Order, ...]
    message: Any

    def run(self, documents: Iterable[Any]) -> tuple[list[Any], int]:
        """Return the documents of the answer in order, and how many the offset skipped."""
        prefix = f"{self.parent}/{self.collection}/"
        found = [
            (self._position(document), document)
            for document in documents
            if document.name.startswith(prefix)
            and "/" not in document.name[len(prefix) :]
            and all(wanted.admits(document) for wanted in self.filters)
            and all(get_field(document, order.field) is not None for order in self.orders)
        ]
        found.sort(key=lambda entry: entry[0])
        found = [entry for entry in found if self._within_cursors(entry[0])]
        skipped = min(self.message.offset, len(found))
        end = skipped + self.message.limit.value if self.message.HasField("limit") else None
        return [document for _, document in found[skipped:end]], skipped

    def _position(self, document: Any) -> list[Any]:
        return [
            _directed(get_field(document, order.field), order.descending) for order in self.orders
        ]

    def _within_cursors(self, position: list[Any]) -> bool:
        start, end = self.message.start_at, self.message.end_at
        if self.message.HasField("start_at"):
            wanted = self._cursor(start)
            here = position[: len(wanted)]
            if here < wanted or (not start.before and here == wanted):
                return False
        if self.message.HasField("end_at"):
            wanted = self._cursor(end)
            here = position[: len(wanted)]
            return bool(here < wanted or (not end.before and here == wanted))
        return True

    def _cursor(self, cursor: Any) -> list[Any]:
        if len(cursor.values) > len(self.orders):
            raise invalid("A cursor has more values than the query has orders.")
        return [
            _directed(value, order.descending)
            for value, order in zip(cursor.values, self.orders, strict=False)
        ]


def read_query(parent: str, message: Any) -> Query:
    """Return the query a request asks for, refusing what it may not or cannot ask."""
    if len(message.from_) != 1:
        raise invalid("A query needs one collection.")
    selector = message.from_[0]
    if selector.all_descendants or not selector.collection_id:
        raise unimplemented("collection groups")
    if message.HasField("find_nearest"):
        raise unimplemented("vector search")
    filters = tuple(_read_filters(message.where)) if message.HasField("where") else ()
    orders = _complete_orders(message.order_by, filters)
    if orders == (Order(NAME_FIELD, True),) and not any(f.is_equality for f in filters):
        raise Refused(
            StatusCode.FAILED_PRECONDITION, "Firestore does not support descending key scans."
        )
    return Query(parent, selector.collection_id, filters, orders, message)


def _read_filters(message: Any) -> Iterable[Filter]:
    kind = message.WhichOneof("filter_type")
    if kind == "composite_filter":
        if message.composite_filter.op != types.StructuredQuery.CompositeFilter.Operator.AND:
            raise unimplemented("OR")
        for part in message.composite_filter.filters:
            yield from _read_filters(part)
        return
    wanted = message.field_filter
    if kind != "field_filter" or wanted.op not in _COMPARISONS:
        raise unimplemented("this operator")
    if len(wanted.value.string_value.encode()) > values.MAX_INDEXED_BYTES:
        raise invalid(f"The value for {wanted.field.field_path} is too large for a query.")
    yield Filter(wanted.field.field_path, wanted.op, wanted.value)


def _complete_orders(message: Any, filters: tuple[Filter, ...]) -> tuple[Order, ...]:
    """Return the orders with those the service adds: the fields of ranges, then the name."""
    descending = types.StructuredQuery.Direction.DESCENDING
    orders = [Order(part.field.field_path, part.direction == descending) for part in message]
    last = orders[-1].descending if orders else False
    ranges = sorted({f.field for f in filters if not f.is_equality} - {NAME_FIELD})
    for field in (*ranges, NAME_FIELD):
        if all(order.field != field for order in orders):
            orders.append(Order(field, last))
    return tuple(orders)


def _directed(value: Any, descending: bool) -> Any:
    key = values.order_key(value)
    return _Reversed(key) if descending else key


@total_ordering
class _Reversed:
    """A key that sorts the other way round."""

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.key < self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and self.key == other.key
