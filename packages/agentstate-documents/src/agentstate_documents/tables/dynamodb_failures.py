"""What a failed DynamoDB request means: try again, a condition, a missing table, or the end."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

MISSING = "ResourceNotFoundException"

_TRANSIENT = {
    "LimitExceededException",  # too many tables being created at once
    "ProvisionedThroughputExceededException",
    "ReplicatedWriteConflictException",
    "RequestLimitExceeded",
    "Throttling",
    "ThrottlingException",
    "TransactionConflictException",
    "TransactionInProgressException",
}
_TRANSIENT_REASONS = {"ProvisionedThroughputExceeded", "ThrottlingError", "TransactionConflict"}
_DENIED = {"AccessDenied", "AccessDeniedException"}
# Where the right to a request has another name than the request.
_PERMISSIONS = {"TransactWriteItems": "PutItem"}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request failed; `code` is DynamoDB's word for it, `text` one for people."""

    code: str
    text: str
    transient: bool = False
    conflict: bool = False


class IncompleteReply(Exception):  # noqa: N818
    """A reply without what every reply of its kind has; the argument is the operation."""


def read_failure(error: Exception) -> Failure | None:
    """What an exception of the SDK says; `None` for one that is not of the SDK."""
    from botocore import exceptions  # loaded already, by whoever made the client

    if isinstance(error, IncompleteReply):
        return Failure("", f"the reply to {error} is incomplete", transient=True)
    if isinstance(error, exceptions.ClientError):
        return _read_refusal(error)
    if isinstance(error, exceptions.SSLError):
        return Failure("", str(error))
    if isinstance(error, _broken_connections(exceptions)):
        return Failure("", str(error), transient=True)
    if isinstance(error, exceptions.NoRegionError):
        return Failure("", "no region: pass region_name or set AWS_DEFAULT_REGION")
    if isinstance(error, exceptions.NoCredentialsError):
        return Failure("", "no credentials in the environment, a profile or a role")
    if isinstance(error, exceptions.BotoCoreError):
        return Failure("", type(error).__name__)
    return None


def _broken_connections(exceptions: Any) -> tuple[type[Exception], ...]:
    return exceptions.HTTPClientError, exceptions.ConnectionError, exceptions.ChecksumError


def _read_refusal(error: Any) -> Failure:
    """A reply with an error in it. Its text may quote what was sent, so ours does not."""
    response, operation = error.response, error.operation_name
    code = response["Error"]["Code"]
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if code == "ConditionalCheckFailedException":
        return Failure(code, code, conflict=True)
    if code == "TransactionCanceledException":
        return _read_cancellation(code, response.get("CancellationReasons", []))
    if code == MISSING:
        return Failure(code, "the table does not exist")
    if code in _DENIED:
        permission = _PERMISSIONS.get(operation, operation)
        return Failure(code, f"permission dynamodb:{permission} is missing")
    transient = code in _TRANSIENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return Failure(code, f"{operation} failed with {code}", transient)


def _read_cancellation(code: str, reasons: list[dict[str, Any]]) -> Failure:
    """A transaction names a reason for each of its writes; `"None"` is one without fault."""
    found = {reason.get("Code", "None") for reason in reasons} - {"None"}
    if "ConditionalCheckFailed" in found:
        return Failure(code, code, conflict=True)
    text = f"the transaction was cancelled: {', '.join(sorted(found))}"
    return Failure(code, text, transient=bool(found) and found <= _TRANSIENT_REASONS)
