"""What a failed Firestore request means: try again, a condition, or the end."""

from __future__ import annotations

from dataclasses import dataclass

# What a commit answers where a write has the precondition that the document is absent, and where
# it has one on the document's last change.
IF_ABSENT = frozenset({"AlreadyExists"})
IF_UNCHANGED = frozenset({"FailedPrecondition", "NotFound"})
# Google's emulator has no admin API.
UNSPOKEN = "MethodNotImplemented"

DATA_ROLE = "roles/datastore.user"
# Google is renaming the permissions in it from datastore.indexes to datastore.schemas.
FIELD_ROLE = "roles/datastore.indexAdmin (of it datastore.indexes.get and datastore.indexes.update)"

_TRANSIENT = {
    "Aborted",  # contention
    "DeadlineExceeded",
    "InternalServerError",
    "ResourceExhausted",
    "ServiceUnavailable",
}
_TEXTS = {
    "FailedPrecondition": "the database is not in native mode, or the field s is not indexed",
    "NotFound": "the database does not exist; create it, in a location of your choice",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request failed; `text` is for people and quotes nothing that was sent."""

    code: str
    text: str
    transient: bool


def read_failure(error: Exception, role: str) -> Failure | None:
    """What an exception of the SDK says; None for one that is not of the SDK.

    `role` is the one that the request needs.
    """
    from google.api_core.exceptions import GoogleAPIError  # loaded with the client
    from google.auth.exceptions import GoogleAuthError

    code = type(error).__name__
    if isinstance(error, GoogleAuthError):
        return Failure(code, f"no usable Google credentials ({code})", transient=False)
    if isinstance(error, GoogleAPIError):
        text = _TEXTS.get(code, "the request failed")
        if code == "PermissionDenied":
            text = f"the role {role} is missing"
        return Failure(code, f"{text} ({code})", code in _TRANSIENT)
    return None
