"""Batches in an SQLite file: they outlive the process, and processes may share them."""

from __future__ import annotations

import contextvars
import os
import pickle
import sqlite3
import time
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ._delivery import Pruned, frozen
from ._drivers import RefusedError, describe, full_name_of
from ._spool_file import open_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._config import RememberFn

PICKLE_PROTOCOL: Final = 5
"""The newest that every supported Python reads."""

LEASE_SECONDS = 10.0
"""How long a process that says nothing more keeps a namespace."""

LOOK_SECONDS = LEASE_SECONDS / 10
"""How often leases are renewed, and the file is looked at, while it holds batches."""

FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 300.0
"""How long a batch that failed waits; each time twice as long, up to the last."""

_owners: weakref.WeakValueDictionary[str, _Owner] = weakref.WeakValueDictionary()


class _Owner:
    """The hook of a file in this process: two of one name are told apart where they meet."""

    def __init__(self, fn: RememberFn) -> None:
        self.fn = fn


class SpooledBatch(NamedTuple):
    """A batch under a lease."""

    id: int
    namespace: str
    lease: bytes
    payload: bytes
    attempts: int

    @property
    def context(self) -> contextvars.Context:
        """An empty one: those of the caller do not outlive its process."""
        return contextvars.Context()

    def content(self) -> tuple[Pruned, Any]:
        """The messages with their keys, and the namespace with its types."""
        messages, keys, namespace = pickle.loads(self.payload)  # noqa: S301 - the file is private
        return Pruned(messages, keys), namespace


class Spool:
    """The queue in a file. What it cannot do now is a `RefusedError`, which says why."""

    def __init__(self, path: str, fn: RememberFn, max_attempts: int) -> None:
        self._path, self._max_attempts = path, max_attempts
        self._db: sqlite3.Connection | None = None
        self._inode = 0  # what is committed to a file without a name is lost
        self._leases: dict[bytes, str] = {}  # of the batches that are out, and their namespaces
        self._host = host()
        self._owner = _owners.setdefault(path, _Owner(fn))
        if self._owner.fn != fn:
            raise RefusedError(
                f"the spool {path} is in use for a hook {full_name_of(self._owner.fn)}"
                " that does not equal this one: every hook needs a file of its own"
            )

    def pack(self, pruned: Pruned, namespace: Any) -> tuple[str, bytes]:
        """The namespace as text, the same in every process, and everything as bytes."""
        try:
            content = list(pruned), pruned.keys, namespace
            return ascii(frozen(namespace)), pickle.dumps(content, PICKLE_PROTOCOL)
        except Exception as error:
            raise RefusedError(f"cannot pickle what it was given ({describe(error)})") from error

    def put(self, packed: tuple[str, bytes]) -> None:
        """The batch is committed."""
        with self._writing() as db:
            db.execute(
                "INSERT INTO batches (namespace, payload, added_at) VALUES (?, ?, ?)",
                (*packed, time.time()),
            )

    def take(self) -> SpooledBatch | None:
        """The first batch of the namespace that waited longest, which is leased."""
        lease = os.urandom(16)
        with self._writing() as db:
            now = time.time()
            self._renew(db, now)  # a computer that slept finds them expired
            found = db.execute(
                "SELECT id, namespace, payload, attempts FROM batches WHERE namespace ="
                " (SELECT namespace FROM lanes WHERE free_at <= ? ORDER BY free_at LIMIT 1)"
                " ORDER BY id LIMIT 1",
                (now,),
            ).fetchone()
            if found is None:
                return None
            id_, namespace, payload, attempts = found
            db.execute(
                "UPDATE lanes SET free_at = ?, lease = ?, host = ?, pid = ? WHERE namespace = ?",
                (now + LEASE_SECONDS, lease, self._host, os.getpid(), namespace),
            )
        self._leases[lease] = namespace
        return SpooledBatch(id_, namespace, lease, payload, attempts + 1)

    def settle(self, batch: SpooledBatch, reason: str | None) -> str:
        """It is removed, or tried again later, or a dead letter; and the lease ends."""
        self._leases.pop(batch.lease, None)
        retry = self._retry_seconds(batch, reason)
        with self._writing() as db:
            now = time.time()
            mine = db.execute(
                "UPDATE lanes SET free_at = ?, lease = NULL, host = NULL, pid = NULL"
                " WHERE namespace = ? AND lease = ?",
                (now + (retry or 0), batch.namespace, batch.lease),
            ).rowcount
            if reason is not None and not mine:
                return "; another process has taken it over"
            if retry is not None:
                db.execute(
                    "UPDATE batches SET attempts = ? WHERE id = ?", (batch.attempts, batch.id)
                )
                return f"; attempt {batch.attempts} of {self._max_attempts}, again in {retry:g} s"
            if reason is not None:
                text = reason.encode("utf-8", "backslashreplace").decode()  # as SQLite wants it
                db.execute(
                    "INSERT INTO dead_letters SELECT id, namespace, payload, added_at, ?, ?, ?"
                    " FROM batches WHERE id = ?",
                    (batch.attempts, text, now, batch.id),
                )
            db.execute("DELETE FROM batches WHERE id = ?", (batch.id,))
        return f"; attempt {batch.attempts} of {self._max_attempts}, now a dead letter"

    def tend(self) -> tuple[bool, float | None]:
        """Leases are renewed, and those of processes that are gone have ended."""
        with self._writing() as db:
            now = time.time()
            self._renew(db, now)
            # Nothing is that far away, unless the clock was set back.
            db.execute(
                "UPDATE lanes SET free_at = ? WHERE free_at > ?", (now, now + LAST_RETRY_SECONDS)
            )
            for (pid,) in db.execute(
                "SELECT DISTINCT pid FROM lanes WHERE host = ?", (self._host,)
            ).fetchall():
                if is_gone(pid):
                    db.execute(
                        "UPDATE lanes SET free_at = ?, lease = NULL, host = NULL, pid = NULL"
                        " WHERE host = ? AND pid = ?",
                        (now, self._host, pid),
                    )
            first, later = db.execute(
                "SELECT (SELECT min(free_at) FROM lanes),"
                " (SELECT min(free_at) FROM lanes WHERE free_at > ?)",
                (now,),
            ).fetchone()
        if first is None:
            return False, None
        return first <= now, LOOK_SECONDS if later is None else min(LOOK_SECONDS, later - now)

    def last(self) -> int:
        """The newest id; ids only grow."""
        return self._number("SELECT coalesce(max(id), 0) FROM batches")

    def holds(self, last: int) -> bool:
        """Whether the file still has a batch up to this one."""
        return bool(self._number("SELECT EXISTS (SELECT 1 FROM batches WHERE id <= ?)", last))

    def undone(self) -> int:
        """How many batches are in the file."""
        return self._number("SELECT count(*) FROM batches")

    def dead(self) -> int:
        """How many dead letters are in the file."""
        return self._number("SELECT count(*) FROM dead_letters")

    def close(self) -> None:
        """The connection is closed, and what it had not committed rolled back."""
        db, self._db = self._db, None
        if db is not None:
            db.close()

    __del__ = close

    def _retry_seconds(self, batch: SpooledBatch, reason: str | None) -> float | None:
        if reason is None or batch.attempts >= self._max_attempts:
            return None
        doubled: float = FIRST_RETRY_SECONDS * 2 ** min(batch.attempts - 1, 16)
        return min(LAST_RETRY_SECONDS, doubled)

    def _renew(self, db: sqlite3.Connection, now: float) -> None:
        db.executemany(
            "UPDATE lanes SET free_at = ? WHERE namespace = ? AND lease = ?",
            [(now + LEASE_SECONDS, name, lease) for lease, name in self._leases.items()],
        )

    def _number(self, query: str, *values: int) -> int:
        with self._using() as db:
            return int(db.execute(query, values).fetchone()[0])

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._using() as db:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        try:
            if self._db is None:
                self._db = open_file(self._path, full_name_of(self._owner.fn))
                self._inode = os.stat(self._path).st_ino
            elif os.stat(self._path).st_ino != self._inode:
                raise RefusedError(f"cannot use {self._path}: it was replaced by another file")
            yield self._db
        except BaseException as error:
            self.close()
            if isinstance(error, (sqlite3.Error, OSError)):
                raise RefusedError(f"cannot use {self._path}: {error}") from error
            raise


def host() -> str | None:
    """Where a process id means one process: this start of this machine, and this container.

    None where processes cannot be looked up: there a lease ends by time alone.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        return os.uname().nodename if hasattr(os, "uname") else None


def is_gone(pid: int) -> bool:
    """Whether no process has this id any more."""
    try:
        os.kill(pid, 0)
    except OSError as error:  # it may be another user's, and alive
        return isinstance(error, ProcessLookupError)
    return False
