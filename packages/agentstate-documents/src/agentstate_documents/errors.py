"""What can go wrong below a saver.

    DocumentError
    ├── DocumentTooLarge     a body no part of this layer may split
    ├── DocumentConflict     the condition of a write did not hold
    ├── TableUnavailable     the database is missing, refuses, or gave up after retries
    └── StoredFormatUnknown  stored bytes that this version cannot read

Misuse is `ValueError` or `TypeError`. Texts name the document, the size and the limit,
never a value that was stored. What the database's client raised is the cause. Stored bytes
that are damaged are a plain `DocumentError`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class DocumentError(Exception):
    """Any failure of the document layer."""


class DocumentTooLarge(DocumentError):  # noqa: N818 -- leaves name the condition
    """A body is larger than the table's limit; nothing was stored."""

    def __init__(self, partition: str, sort: str, size: int, limit: int) -> None:
        super().__init__(
            f"document {sort!r} of partition {partition!r} has {size:,} bytes, "
            f"the table holds {limit:,}"
        )
        self.partition, self.sort, self.size, self.limit = partition, sort, size, limit


class DocumentConflict(DocumentError):  # noqa: N818
    """The condition of at least one write did not hold; nothing of its put was stored."""


class TableUnavailable(DocumentError):  # noqa: N818
    """The database cannot be reached or used, or gave up after bounded retries."""


class StoredFormatUnknown(DocumentError):  # noqa: N818
    """Stored bytes name a format or codec this version does not know; upgrade to read them."""


@contextmanager
def reading(item: str) -> Iterator[None]:
    """What goes wrong while stored bytes are read is a `DocumentError` that names the item.

    Damage shows as any error of the codecs, and as whatever the user's serializer raises, which
    is also what a wrong key looks like. So the text names both, and the cause is kept. What may
    be better the next time, such as a key service that cannot be reached, comes through.
    """
    try:
        yield
    except (DocumentError, OSError, MemoryError):
        raise
    except Exception as error:
        raise DocumentError(
            f"{item} cannot be read ({type(error).__name__}): it is damaged, or was written with"
            " another serializer or key"
        ) from error
