"""One write of a commit: its precondition, and the document it leaves behind."""

from __future__ import annotations

from typing import Any

from grpc import StatusCode

from servers.firestore import documents
from servers.firestore.names import check_document_name
from servers.firestore.refusals import Refused, unimplemented


def target(write: Any) -> str:
    """Return the name of the document a write is about."""
    operation = write.WhichOneof("operation")
    if operation not in ("update", "delete") or write.update_transforms:
        raise unimplemented("transforms")
    name = write.update.name if operation == "update" else write.delete
    check_document_name(name)
    return str(name)


def apply(write: Any, current: Any | None, now: Any) -> Any | None:
    """Return the document after the write, None where it was deleted."""
    _check_precondition(write, current)
    if write.WhichOneof("operation") == "delete":
        return None
    after = documents.Document(name=write.update.name, update_time=now)
    after.create_time.CopyFrom(now if current is None else current.create_time)
    if write.HasField("update_mask"):
        if current is not None:
            after.MergeFrom(documents.Document(fields=current.fields))
        for path in write.update_mask.field_paths:
            documents.set_field(after, path, documents.get_field(write.update, path))
    else:
        after.MergeFrom(documents.Document(fields=write.update.fields))
    documents.check(after)
    return after


def _check_precondition(write: Any, current: Any | None) -> None:
    condition = write.current_document
    kind = condition.WhichOneof("condition_type")
    if kind == "exists" and condition.exists and current is None:
        raise Refused(StatusCode.NOT_FOUND, f"No document to update: {target(write)}")
    if kind == "exists" and not condition.exists and current is not None:
        raise Refused(StatusCode.ALREADY_EXISTS, f"Document already exists: {target(write)}")
    if kind == "update_time" and current is None:
        raise Refused(StatusCode.NOT_FOUND, f"No document to update: {target(write)}")
    if kind == "update_time" and current.update_time != condition.update_time:
        raise Refused(
            StatusCode.FAILED_PRECONDITION,
            f"The stored version of {target(write)} is not the required one.",
        )
