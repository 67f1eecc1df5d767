"""What every table refuses before it sends anything."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agentstate_documents.errors import DocumentTooLarge

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from agentstate_documents.model import Limits, Write


def check_put(limits: Limits, partition: str, writes: Sequence[Write]) -> None:
    """The writes may be sent in one put."""
    for write in writes:
        sort, size = write.document.sort, len(write.document.body)
        if size > limits.max_body_bytes:
            raise DocumentTooLarge(partition, sort, size, limits.max_body_bytes)
    if len({write.document.sort for write in writes}) != len(writes):
        raise ValueError(f"a put to partition {partition!r} names a sort twice")
    if not 1 <= len(writes) <= limits.max_transaction_documents:
        raise ValueError(f"a put holds 1 to {limits.max_transaction_documents} documents")
    if sum(len(write.document.body) for write in writes) > limits.max_transaction_bytes:
        raise ValueError(f"a put holds at most {limits.max_transaction_bytes:,} bytes")


def check_limit(limit: int | None) -> None:
    """The number of documents a page may have is one a database takes."""
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be 1 or more, not {limit}")


def check_kind(field: str, value: object, kind: str, *, fits: bool) -> None:
    """The value is not given, or fits; `kind` says in words what it should be."""
    if value is not None and not fits:
        given = f"{type(value).__module__}.{type(value).__qualname__}"
        raise TypeError(f"{field} must be {kind}, not of the type {given}")


def check_name(field: str, value: object, pattern: re.Pattern[str], rule: str) -> None:
    """The name is text that the database takes; `rule` says in words what `pattern` does."""
    if not isinstance(value, str):
        raise TypeError(f"{field} must be text, not {value!r}")
    if not pattern.fullmatch(value):
        raise ValueError(f"{field} must be {rule}, not {value!r}")


def check_address(field: str, url: object) -> None:
    """The address holds no credentials: it is shown, and those have a place of their own."""
    if isinstance(url, str) and "@" in urlsplit(url).netloc:
        raise ValueError(f"{field} must be without user and password, which are given elsewhere")
