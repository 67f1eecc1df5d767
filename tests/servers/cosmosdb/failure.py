"""What the server answers when it refuses a request."""

from __future__ import annotations

CODES = {
    304: "NotModified",
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    408: "RequestTimeout",
    409: "Conflict",
    410: "Gone",
    412: "PreconditionFailed",
    413: "RequestEntityTooLarge",
    424: "FailedDependency",
    429: "TooManyRequests",
    449: "RetryWith",
    500: "InternalServerError",
    503: "ServiceUnavailable",
}

# Substatus codes clients act on (azure.cosmos.http_constants.SubStatusCodes).
PARTITION_KEY_MISMATCH = 1001
CROSS_PARTITION_QUERY_NOT_SERVABLE = 1004
COLLECTION_RID_MISMATCH = 1024
AAD_NOT_FOR_MANAGEMENT = 5300


class Failure(Exception):  # noqa: N818 -- it is an answer, not a fault of the server
    """An HTTP error: `status`, a text for the body, the service's substatus, more headers."""

    def __init__(
        self,
        status: int,
        message: str = "",
        substatus: int = 0,
        headers: dict[str, str] | None = None,
        details: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.substatus = substatus
        self.headers = headers or {}
        self.details = details

    @property
    def body(self) -> dict[str, str]:
        """The JSON body the SDK reads; `additionalErrorInfo` carries a query plan."""
        body = {"code": CODES.get(self.status, str(self.status)), "message": self.message}
        return {**body, "additionalErrorInfo": self.details} if self.details else body


def not_found() -> Failure:
    """The 404 of a database, container or item that is not there."""
    return Failure(404, "Entity with the specified id does not exist in the system.")


def not_spoken(what: str) -> Failure:
    """The 400 of something the service may know and this server does not."""
    return Failure(400, f"{what} is not spoken by this protocol test server.")
