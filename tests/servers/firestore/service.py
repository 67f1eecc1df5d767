"""The RPCs of google.firestore.v1.Firestore that a document table uses."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from google.cloud.firestore_v1 import types

from servers.firestore import documents
from servers.firestore.names import database_of, path_of
from servers.firestore.queries import read_query
from servers.firestore.refusals import invalid, unimplemented
from servers.firestore.store import Database
from servers.firestore.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_REQUEST_BYTES = 10 * 1024 * 1024
"""https://firebase.google.com/docs/firestore/quotas. Google's emulator takes 4 MiB."""
MAX_PAGE = 300


class Firestore:
    """One method per RPC, named like it: a request message in, response messages out."""

    def __init__(self) -> None:
        self.databases: defaultdict[str, Database] = defaultdict(Database)
        self.usage = Usage()

    def Commit(self, request: Any) -> Any:  # noqa: N802
        """Write all or nothing."""
        if request.ByteSize() > MAX_REQUEST_BYTES:
            raise invalid(f"The request is larger than {MAX_REQUEST_BYTES} bytes.")
        if request.transaction:
            raise unimplemented("transactions")
        now = self.databases[request.database].commit(request.writes)
        deletes = sum(write.WhichOneof("operation") == "delete" for write in request.writes)
        self.usage.add(
            document_writes=len(request.writes) - deletes,
            document_deletes=deletes,
            written_bytes=sum(
                documents.size(write.update) for write in request.writes if write.HasField("update")
            ),
        )
        results = [types.WriteResult.pb()(update_time=now) for _ in request.writes]
        return types.CommitResponse.pb()(write_results=results, commit_time=now)

    def BatchGetDocuments(self, request: Any) -> Iterator[Any]:  # noqa: N802
        """Answer found or missing for each name."""
        _check_selector(request)
        database = self.databases[request.database]
        response = types.BatchGetDocumentsResponse.pb()
        now = database.now()
        for name in request.documents:
            document = database.documents.get(name)
            self.usage.query(1)
            if document is None:
                yield response(missing=name, read_time=now)
            elif request.HasField("mask"):
                chosen = documents.select(document, request.mask.field_paths)
                yield response(found=chosen, read_time=now)
            else:
                yield response(found=document, read_time=now)

    def RunQuery(self, request: Any) -> Iterator[Any]:  # noqa: N802
        """Answer the documents a query finds, one a message."""
        _check_selector(request)
        query = read_query(request.parent, request.structured_query)
        database = self.databases[database_of(request.parent)]
        found, skipped = database.run(query)
        self.usage.query(len(found), skipped)
        response = types.RunQueryResponse.pb()
        now = database.now()
        if skipped or not found:
            yield response(skipped_results=skipped, read_time=now)
        for document in found:
            if request.structured_query.HasField("select"):
                paths = [part.field_path for part in request.structured_query.select.fields]
                yield response(document=documents.select(document, paths), read_time=now)
            else:
                yield response(document=document, read_time=now)

    def ListDocuments(self, request: Any) -> Any:  # noqa: N802
        """Answer a page of a collection by name, with ``show_missing`` also mere parents."""
        database = self.databases[database_of(request.parent)]
        depth = len(path_of(request.parent)) + 2
        prefix = f"{request.parent}/{request.collection_id}/"
        names = {
            name if len(path_of(name)) == depth else "/".join(name.split("/")[: depth + 5])
            for name in database.documents
            if name.startswith(prefix) and (request.show_missing or len(path_of(name)) == depth)
        }
        rest = sorted(name for name in names if name > request.page_token)
        page = rest[: min(request.page_size or MAX_PAGE, MAX_PAGE)]
        self.usage.query(len(page))
        listed = [database.documents.get(name) or documents.Document(name=name) for name in page]
        if request.HasField("mask"):
            listed = [documents.select(each, request.mask.field_paths) for each in listed]
        return types.ListDocumentsResponse.pb()(
            documents=listed, next_page_token=page[-1] if len(rest) > len(page) else ""
        )


def _check_selector(request: Any) -> None:
    """Refuse a read in a transaction, or of an earlier time."""
    kind = request.WhichOneof("consistency_selector")
    if kind is not None:
        raise unimplemented(kind)
