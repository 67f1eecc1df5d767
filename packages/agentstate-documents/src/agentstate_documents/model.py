r"""What a table keeps: documents with a sort key, and writes that may carry a condition.

Rule: a partition and a sort are 1 to `MAX_KEY_LENGTH` printable ASCII characters (`!` to
`~`) without `/ \ ? #`; a partition never starts with `.` or `_`. Every database we know
takes such text as it is, so no table escapes, hashes or parses a key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

# The smallest of what databases allow for a key: 1,024 bytes for a DynamoDB sort key,
# 1,023 for a Cosmos DB id, 1,500 for a Firestore id, about 2,700 for a PostgreSQL index
# row (partition and sort together).
MAX_KEY_LENGTH = 512

# Three thousand years: half as long again is still a timestamp of Firestore, whose last year
# is 9999.
MAX_TTL_SECONDS = 100_000_000_000

# Sort bounds that hold every document of a partition.
FIRST_SORT, AFTER_LAST_SORT = "!", "\x7f"


@dataclass(frozen=True, slots=True)
class Document:
    """One row of a partition.

    `expires_at` is in whole seconds since 1970, None for never. A table stores it where
    its database removes expired rows from, and gives it back unchanged as long as the row
    is there: databases remove late, so it is the reader who leaves out what has expired.

    `revision` is what the database calls this state of the row (an etag, an update time),
    set by tables that have one on what they read, and compared by nobody else.
    """

    sort: str
    body: bytes
    expires_at: int | None = None
    revision: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Write:
    """A document to store, and under which condition.

    With `if_absent` only where no row has that sort. With `if_unchanged`, a document as it
    was read from that table, only where that row is still there with that body. Which of
    body and revision is compared is the table's choice: a row replaced by an equal one may
    count as changed. Without a condition it replaces whatever is there.
    """

    document: Document
    if_absent: bool = False
    if_unchanged: Document | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Documents in the order asked for; `cursor` asks for what follows, None is the end.

    A page may be short, even empty, and still have a cursor.
    """

    documents: Sequence[Document]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may hold. Bytes are those of bodies alone.

    A table names numbers that leave room for its keys, attributes and encoding.
    `max_body_bytes` is at least 64, `max_transaction_documents` at least 8, and
    `max_transaction_bytes` at least `max_body_bytes`.
    """

    max_body_bytes: int
    max_transaction_documents: int
    max_transaction_bytes: int

    def __post_init__(self) -> None:
        check_count("max_body_bytes", self.max_body_bytes, 64)
        check_count("max_transaction_documents", self.max_transaction_documents, 8)
        check_count("max_transaction_bytes", self.max_transaction_bytes, self.max_body_bytes)


def check_count(name: str, value: Any, least: int) -> None:
    """The value is a whole number, and large enough."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be a whole number, not {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least:,}, not {value:,}")


def check_ttl(ttl_seconds: Any) -> float | None:
    """The value itself.

    Raises:
        TypeError: It is no number.
        ValueError: It is not above 0, or ends after every calendar.
    """
    if ttl_seconds is None:
        return None
    if isinstance(ttl_seconds, bool) or not isinstance(ttl_seconds, (int, float)):
        raise TypeError(f"ttl_seconds must be a number or None, not {ttl_seconds!r}")
    if not 0 < ttl_seconds <= MAX_TTL_SECONDS:
        raise ValueError(
            f"ttl_seconds must be above 0 and at most {MAX_TTL_SECONDS:,}, not {ttl_seconds!r}"
        )
    return ttl_seconds
