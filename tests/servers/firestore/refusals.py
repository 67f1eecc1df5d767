"""How the server says no: a gRPC status code and a text."""

from __future__ import annotations

from grpc import StatusCode


class Refused(Exception):  # noqa: N818 (the outcome, as in the packages)
    """The request was not carried out; nothing of it was stored."""

    def __init__(self, code: StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid(message: str) -> Refused:
    """The request is wrong whatever the state of the database."""
    return Refused(StatusCode.INVALID_ARGUMENT, message)


def unimplemented(what: str) -> Refused:
    """The service can do this, this test server cannot."""
    return Refused(StatusCode.UNIMPLEMENTED, f"the test server does not speak {what}")
