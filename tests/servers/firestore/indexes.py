"""Which index a query needs, and which ones a database has.

https://firebase.google.com/docs/firestore/query-data/index-overview: every field has one index per
direction on its own, unless it was exempted; equality filters merge them; a sort or range on one
field together with anything on another field needs a composite index, of which there are none here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpc import StatusCode

from servers.firestore.names import NAME_FIELD
from servers.firestore.refusals import Refused

if TYPE_CHECKING:
    from servers.firestore.queries import Query


class Indexes:
    """The exempted fields of one database, as (collection, field)."""

    def __init__(self) -> None:
        self._exempt: set[tuple[str, str]] = set()

    def exempt(self, collection: str, field: str) -> None:
        """Index the field no longer."""
        self._exempt.add((collection, field))

    def check(self, query: Query) -> None:
        """Refuse a query that no index of the database can answer."""
        equal = {f.field for f in query.filters if f.is_equality} - {NAME_FIELD}
        sorted_by = [o for o in query.orders if o.field not in equal | {NAME_FIELD}]
        for field in sorted(equal | {order.field for order in sorted_by}):
            if (query.collection, field) in self._exempt:
                raise _missing(query, f"{field} is exempt from indexing")
        if len(sorted_by) + bool(equal) > 1:
            raise _missing(query, "it needs a composite index")
        directions = {order.descending for order in query.orders if order.field not in equal}
        if sorted_by and len(directions) > 1:
            raise _missing(query, "it needs a composite index, the names run the other way")


def _missing(query: Query, why: str) -> Refused:
    fields = ", ".join(order.field for order in query.orders)
    return Refused(
        StatusCode.FAILED_PRECONDITION,
        f"The query of {query.collection} by {fields} requires an index: {why}.",
    )
