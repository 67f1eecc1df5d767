"""Who may ask: account-key signatures and bearer tokens, as the `authorization` header has them."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence
from urllib.parse import unquote

from .failure import AAD_NOT_FOR_MANAGEMENT, Failure

KEY = base64.b64encode(b"the key of a protocol test server, and no secret".ljust(64, b".")).decode()
TOKEN = "a-token-of-the-protocol-test-server"


def authorize(method: str, segments: Sequence[str], header: str, date: str) -> None:
    """The header holds a right signature or token for the path, or a 401 or 403 is raised."""
    fields = dict(part.partition("=")[::2] for part in unquote(header).split("&"))
    given = fields.get("sig", "")
    if fields.get("type") == "aad":
        _authorize_token(method, segments, given)
    elif not hmac.compare_digest(signature(method, segments, date), given):
        raise Failure(
            401,
            "The input authorization token can't serve the request. The wrong key is being used "
            "or the expected payload is not built as per the protocol.",
        )


def signature(method: str, segments: Sequence[str], date: str) -> str:
    """The HMAC-SHA256 over verb, resource type, resource link and date, in base64.

    Source: "Access control on Cosmos DB resources" of the REST API reference.
    """
    kind, link = _resource(segments)
    text = f"{method.lower()}\n{kind}\n{link}\n{date.lower()}\n\n"
    digest = hmac.new(base64.b64decode(KEY), text.encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def _authorize_token(method: str, segments: Sequence[str], token: str) -> None:
    if token != TOKEN:
        raise Failure(401, "The bearer token is not valid for this account.")
    # Tokens are for data: databases and containers may be read with one, never changed.
    if len(segments) < 5 and method != "GET":
        raise Failure(
            403,
            f"The given request [{method} /{'/'.join(segments)}] cannot be authorized by AAD "
            "token in data plane.",
            AAD_NOT_FOR_MANAGEMENT,
        )


def _resource(segments: Sequence[str]) -> tuple[str, str]:
    # An even path names a resource, an odd one a feed below its parent; the account is neither.
    if not segments:
        return "", ""
    if len(segments) % 2 == 0:
        return segments[-2], "/".join(segments)
    return segments[-1], "/".join(segments[:-1])
