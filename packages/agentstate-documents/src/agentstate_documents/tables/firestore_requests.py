"""Firestore without a client: what to ask for, and what the answers mean.

Every operation is a generator: it yields steps and numbers of seconds to wait, and is sent answers
or errors. A step is a function of a client and of the settings of a call; `firestore` carries it
out, blocking or awaiting.

A document is `<collection>/<partition>/agentstate/=<sort>` with the fields `s` (the sort), `b` (the
body) and, where it expires, `x` (a timestamp). Within a partition it is found by `s` alone, in
either direction, so the index that every field has by itself is enough: nothing has to be created
before the first write. The collection id `agentstate`, to which the settings of the fields belong,
is nobody else's. The id repeats the sort because Firestore does not scan ids descending; `=` keeps
it from being one of those it reserves, `.`, `..` and `__x__`.

Writes carry preconditions instead of running in transactions: those lock what they read, and under
contention take seconds where a refused precondition takes one round trip.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from agentstate_documents.errors import DocumentConflict, TableUnavailable
from agentstate_documents.model import MAX_KEY_LENGTH, Document, Limits, Page
from agentstate_documents.tables.backoff import waits
from agentstate_documents.tables.checks import check_limit, check_put
from agentstate_documents.tables.firestore_failures import (
    DATA_ROLE,
    FIELD_ROLE,
    IF_ABSENT,
    IF_UNCHANGED,
    UNSPOKEN,
    read_failure,
)
from agentstate_documents.tables.slices import slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentstate_documents.model import Write

R = TypeVar("R")
Step = Callable[..., Any]
Procedure = Generator[Step | float, Any, R]

GROUP = "agentstate"
# Gets, deletes and pages: small enough for one request whatever the keys and bodies, and the
# history of a `DeltaChannel` with a snapshot every fifty turns is one page.
_DOCUMENTS_PER_REQUEST = 300
# No collection id is longer; a path of several counts as one.
_COLLECTION_BYTES = 1500
# https://firebase.google.com/docs/firestore/quotas and /storage-size: a document holds 1 MiB; each
# id, field name and text counts a byte more than it has, a name 16, a document 32, a timestamp 8.
_DOCUMENT_BYTES = 1024 * 1024
_NAME_BYTES = 16 + 2 * (MAX_KEY_LENGTH + 1) + len("=") + len(GROUP) + 1
_FIELD_BYTES = 32 + (2 + MAX_KEY_LENGTH + 1) + 2 + (2 + 8)
# A request holds 10 MiB, Google's emulator takes 4. A hundred names of the longest keys and the
# longest collection, each with its sort, are another 0.3 MB.
_TRANSACTION_BYTES = 3_500_000
_TRANSACTION_DOCUMENTS = 100
# What `setup` sets, by field: bodies and expiries in no index, documents gone after their expiry.
_FIELD_SETTINGS = {"b": ["index_config"], "x": ["index_config", "ttl_config"]}


def limits_of(collection: str) -> Limits:
    """What one put may hold in a collection; refuses a name that is none."""
    if not isinstance(collection, str):
        raise TypeError(f"the collection must be text, not {collection!r}")
    ids = collection.split("/")
    reserved = any(id_ in ("", ".", "..") or id_[:2] == id_[-2:] == "__" for id_ in ids)
    size = len(collection.encode())
    if reserved or len(ids) % 2 == 0 or size > _COLLECTION_BYTES:
        raise ValueError(f"the collection must be a collection's id or path, not {collection!r}")
    return Limits(
        max_body_bytes=_DOCUMENT_BYTES - _NAME_BYTES - (size + 1) - _FIELD_BYTES,
        max_transaction_documents=_TRANSACTION_DOCUMENTS,
        max_transaction_bytes=_TRANSACTION_BYTES,
    )


@dataclass(frozen=True, slots=True)
class Requests:
    """The operations of one table."""

    collection: str
    limits: Limits
    create: bool

    def setup(self) -> Procedure[None]:
        """The database answers, and knows how to treat the fields if it may be told."""
        yield from self.get("setup", ["setup"])
        for field in _FIELD_SETTINGS if self.create else ():
            step = partial(_get_field, field)
            found = yield from self._ask(step, role=FIELD_ROLE, accept=UNSPOKEN)
            if found is not None and not _is_set(found, field):
                yield from self._ask(partial(_update_field, field), role=FIELD_ROLE)

    def get(self, partition: str, sorts: Sequence[str]) -> Procedure[list[Document | None]]:
        """The documents with these sorts, in their order."""
        found: dict[str, Document] = {}
        for some in slices(list(dict.fromkeys(sorts)), _DOCUMENTS_PER_REQUEST):
            snapshots = yield from self._ask(partial(self._get_all, partition, some))
            documents = [_document(snapshot) for snapshot in snapshots if snapshot.exists]
            found.update((document.sort, document) for document in documents)
        return [found.get(sort) for sort in sorts]

    def put(self, partition: str, writes: Sequence[Write]) -> Procedure[None]:
        """The writes are stored, all of them, each under its own precondition."""
        check_put(self.limits, partition, writes)
        conflicts: frozenset[str] = frozenset()
        if any(write.if_absent for write in writes):
            conflicts |= IF_ABSENT
        if any(write.if_unchanged is not None for write in writes):
            conflicts |= IF_UNCHANGED
        yield from self._ask(partial(self._put, partition, writes), conflicts=conflicts)

    def query(
        self,
        partition: str,
        low: str,
        high: str,
        *,
        descending: bool,
        limit: int | None,
        cursor: str | None,
    ) -> Procedure[Page]:
        """A page of the documents with `low <= sort < high`; its cursor is the last sort in it."""
        check_limit(limit)
        size = min(limit or _DOCUMENTS_PER_REQUEST, _DOCUMENTS_PER_REQUEST)
        lower, upper = (">=", low), ("<", high)
        if cursor is not None:
            lower, upper = (lower, ("<", cursor)) if descending else ((">", cursor), upper)
        step = partial(self._query, partition, (lower, upper), descending, size)
        documents = [_document(snapshot) for snapshot in (yield from self._ask(step))]
        # A full page may be the last; to find out now would cost a billed read for every page.
        return Page(documents, documents[-1].sort if len(documents) == size else None)

    def delete(self, partition: str, sorts: Sequence[str]) -> Procedure[None]:
        """The documents are gone."""
        for some in slices(list(dict.fromkeys(sorts)), _DOCUMENTS_PER_REQUEST):
            yield from self._ask(partial(self._delete, partition, some))

    def partitions(self) -> Procedure[list[str]]:
        """Every partition; one billed read for each."""
        return [found.id for found in (yield from self._ask(self._list))]

    def __str__(self) -> str:
        return f"Firestore collection {self.collection!r}"

    def _ask(
        self,
        step: Step,
        *,
        role: str = DATA_ROLE,
        accept: str = "",
        conflicts: frozenset[str] = frozenset(),
    ) -> Procedure[Any]:
        """The answer, after as many attempts as it takes; None for the error that is accepted."""
        pauses = waits()
        while True:
            try:
                return (yield step)
            except Exception as error:
                failure = read_failure(error, role)
                if failure is None:
                    raise
                if failure.code == accept:
                    return None
                if failure.code in conflicts:
                    raise DocumentConflict(f"{self}: a condition of a put failed") from error
                wait = next(pauses, None) if failure.transient else None
                if wait is None:
                    raise TableUnavailable(f"{self}: {failure.text}") from error
            yield wait

    def _documents(self, client: Any, partition: str) -> Any:
        return client.collection(f"{self.collection}/{partition}/{GROUP}")

    def _get_all(self, partition: str, sorts: Sequence[str], client: Any, **call: Any) -> Any:
        documents = self._documents(client, partition)
        return client.get_all([documents.document(f"={sort}") for sort in sorts], **call)

    def _put(self, partition: str, writes: Sequence[Write], client: Any, **call: Any) -> Any:
        from google.cloud.firestore import DELETE_FIELD

        documents, batch = self._documents(client, partition), client.batch()
        for write in writes:
            reference = documents.document(f"={write.document.sort}")
            fields = _fields(write.document)
            if write.if_absent:
                batch.create(reference, fields)
            elif write.if_unchanged is not None:
                option = client.write_option(last_update_time=write.if_unchanged.revision)
                batch.update(reference, {"x": DELETE_FIELD, **fields}, option=option)
            else:
                batch.set(reference, fields)
        return batch.commit(**call)

    def _delete(self, partition: str, sorts: Sequence[str], client: Any, **call: Any) -> Any:
        documents, batch = self._documents(client, partition), client.batch()
        for sort in sorts:
            batch.delete(documents.document(f"={sort}"))
        return batch.commit(**call)

    def _query(
        self,
        partition: str,
        bounds: tuple[tuple[str, str], tuple[str, str]],
        descending: bool,
        size: int,
        client: Any,
        **call: Any,
    ) -> Any:
        from google.cloud.firestore_v1.base_query import FieldFilter

        query = self._documents(client, partition)
        for operator, bound in bounds:
            query = query.where(filter=FieldFilter("s", operator, bound))
        direction = "DESCENDING" if descending else "ASCENDING"
        return query.order_by("s", direction=direction).limit(size).stream(**call)

    def _list(self, client: Any, **call: Any) -> Any:
        """Partitions have no document of their own; they are there for those below them."""
        return client.collection(self.collection).list_documents(**call)


def _fields(document: Document) -> dict[str, Any]:
    fields: dict[str, Any] = {"s": document.sort, "b": document.body}
    if document.expires_at is not None:
        fields["x"] = datetime.fromtimestamp(document.expires_at, timezone.utc)
    return fields


def _document(snapshot: Any) -> Document:
    fields = snapshot.to_dict()
    expires_at = int(fields["x"].timestamp()) if "x" in fields else None
    return Document(fields["s"], fields["b"], expires_at, snapshot.update_time)


def _get_field(field: str, client: Any, **call: Any) -> Any:
    return _admin(client).get_field(name=_field_name(client, field), **call)


def _update_field(field: str, client: Any, **call: Any) -> Any:
    """The change begins; the service finishes it in the background."""
    settings: dict[str, Any] = {setting: {} for setting in _FIELD_SETTINGS[field]}
    request = {
        "field": {"name": _field_name(client, field), **settings},
        "update_mask": {"paths": list(settings)},
    }
    return _admin(client).update_field(request=request, **call)


def _is_set(found: Any, field: str) -> bool:
    """A field nothing was set for inherits its indexes and has no expiry."""
    index = found.index_config
    unindexed = "index_config" in found and not index.indexes and not index.uses_ancestor_config
    return unindexed and all(setting in found for setting in _FIELD_SETTINGS[field])


def _field_name(client: Any, field: str) -> str:
    return f"{client._database_string}/collectionGroups/{GROUP}/fields/{field}"  # noqa: SLF001


def _admin(client: Any) -> Any:
    """A client of the admin API through the same channel."""
    from google.cloud.firestore_admin_v1.services import firestore_admin

    transport = client._firestore_api.transport  # noqa: SLF001
    connect = firestore_admin.FirestoreAdminClient.get_transport_class(transport.kind)
    awaiting = transport.kind == "grpc_asyncio"
    kind = "FirestoreAdminAsyncClient" if awaiting else "FirestoreAdminClient"
    return getattr(firestore_admin, kind)(transport=connect(channel=transport.grpc_channel))
