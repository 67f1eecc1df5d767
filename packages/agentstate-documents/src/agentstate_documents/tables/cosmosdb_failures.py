"""What an error of the Azure SDK means for the request it answers."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

# A request that timed out, met a partition on the move, another write of the same items, or no
# free replica.
_TRANSIENT = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.GONE, 449, HTTPStatus.SERVICE_UNAVAILABLE}
_FAILED_CONDITION = {HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED}
# Substatus of a 404: the replica asked has not caught up with what this client has seen.
_NOT_YET_READABLE = 1002
# Where a 404 speaks of the item, not of the container around it.
_NEEDS_THE_ITEM = {"replace_item", "delete_item"}
_DENIED = {
    "create_container": "this identity may not create it: tokens are for data alone. Create it "
    "with the account key or the Azure CLI, with the partition key /p",
    "create_database": "this identity may not create the database: tokens are for data alone. "
    "Create it with the account key or the Azure CLI",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong, in words that quote nothing that was stored, and what follows from it."""

    text: str
    transient: bool = False
    conflict: bool = False
    missing: bool = False


def read_failure(error: Exception, method: str) -> Failure | None:
    """The meaning of an error of the SDK for the method asked; None for one not of the SDK."""
    from azure.core import exceptions as core  # loaded already, by whoever made the client
    from azure.cosmos import exceptions as cosmos

    if isinstance(error, core.ClientAuthenticationError) and not error.status_code:
        return Failure(f"no token: {error.message}")
    if isinstance(error, cosmos.CosmosBatchOperationError):
        return _read_batch(int(error.status_code or 0))
    if isinstance(error, core.HttpResponseError):
        substatus = getattr(error, "sub_status", None)
        return _read_refusal(int(error.status_code or 0), substatus, method)
    if isinstance(error, core.ServiceResponseError):
        return Failure(f"{method} was not answered", transient=True)
    if isinstance(error, core.ServiceRequestError):
        return Failure("it cannot be reached")
    if isinstance(error, core.AzureError):
        return Failure(f"{method} failed with {type(error).__name__}")
    return None


def _read_batch(status: int) -> Failure:
    """The status of the operation that made a batch fail. The SDK repeats none of these."""
    if status in _FAILED_CONDITION or status == HTTPStatus.NOT_FOUND:
        return Failure("a condition failed", conflict=True)
    transient = status in _TRANSIENT or status == HTTPStatus.TOO_MANY_REQUESTS
    return Failure(f"a batch failed with {status}", transient)


def _read_refusal(status: int, substatus: Any, method: str) -> Failure:
    """The status of an answer; the SDK has waited out 429 for as long as it is told to."""
    if status == HTTPStatus.NOT_FOUND and substatus != _NOT_YET_READABLE:
        if method in _NEEDS_THE_ITEM:
            return Failure("the item is absent", conflict=True)
        return Failure("it does not exist and create=False", missing=True)
    if status in _FAILED_CONDITION:
        return Failure("a condition failed", conflict=True)
    if status == HTTPStatus.UNAUTHORIZED:
        return Failure("the key or token is not accepted")
    if status == HTTPStatus.FORBIDDEN:
        role = f"{method} is denied: a data-plane role or a firewall rule is missing"
        return Failure(_DENIED.get(method, role))
    transient = status in _TRANSIENT or status == HTTPStatus.NOT_FOUND
    return Failure(f"{method} failed with {status}", transient)
