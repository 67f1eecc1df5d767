"""What an error of an SQL database means: try again, a missing table, or the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError

# SQLSTATEs of PostgreSQL and error numbers of MySQL and MariaDB: a serialization failure, a
# deadlock, a lock that was not free in time.
_CONTENTION = {"40001", "40P01", "55P03", "1020", "1205", "1213"}
_NO_TABLE = {"42P01", "1146"}


def is_missing(error: DBAPIError) -> bool:
    """The table does not exist."""
    return any(code in _NO_TABLE or code.startswith("no such table") for code in _codes(error))


def may_pass(error: DBAPIError) -> bool:
    """The same request may succeed a moment later."""
    codes = _codes(error)
    locked = any(code.startswith("database") and code.endswith("locked") for code in codes)
    return error.connection_invalidated or locked or not _CONTENTION.isdisjoint(codes)


def reason(error: DBAPIError) -> str:
    """The failure in words that hold nothing of what was sent."""
    if is_missing(error):
        return "the table does not exist"
    return f"{type(error.orig).__name__} {' '.join(_codes(error)[:1])[:80]}"


def _codes(error: DBAPIError) -> list[str]:
    """What the database calls the error: its SQLSTATE, its number or, in SQLite, its text."""
    failure: Any = error.orig
    states = [getattr(failure, name, None) for name in ("sqlstate", "pgcode")]
    return [str(code) for code in (*states, *failure.args[:1]) if code]
