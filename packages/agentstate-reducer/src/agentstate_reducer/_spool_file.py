"""The file of a spool: its tables, and whose it is."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import suppress
from typing import Final

from ._drivers import RefusedError

APPLICATION_ID: Final = 0x61677370
"""Tells a spool from other databases."""

FORMAT: Final = 1
"""Of the tables and of the payload."""

BUSY_SECONDS = 5.0
"""How long another process may have the file to itself before an operation is refused."""

# A lane is a namespace that has batches. Nobody may take its first before `free_at`: that is when
# a lease ends, or a retry is due, or it is past. The triggers keep lanes true whoever writes.
SCHEMA: Final = (
    """CREATE TABLE batches (
        id INTEGER PRIMARY KEY AUTOINCREMENT, namespace TEXT NOT NULL, payload BLOB NOT NULL,
        added_at REAL NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE lanes (
        namespace TEXT PRIMARY KEY, free_at REAL NOT NULL, lease BLOB, host TEXT, pid INTEGER)""",
    """CREATE TABLE dead_letters (
        id INTEGER PRIMARY KEY, namespace TEXT NOT NULL, payload BLOB NOT NULL,
        added_at REAL NOT NULL, attempts INTEGER NOT NULL, reason TEXT NOT NULL,
        died_at REAL NOT NULL)""",
    "CREATE TABLE hook (name TEXT NOT NULL)",
    "CREATE INDEX batches_by_namespace ON batches (namespace, id)",
    "CREATE INDEX lanes_by_time ON lanes (free_at)",
    "CREATE INDEX lanes_by_process ON lanes (host, pid) WHERE host IS NOT NULL",
    """CREATE TRIGGER batch_added AFTER INSERT ON batches BEGIN
        INSERT OR IGNORE INTO lanes (namespace, free_at) VALUES (new.namespace, new.added_at);
    END""",
    """CREATE TRIGGER batch_removed AFTER DELETE ON batches
    WHEN NOT EXISTS (SELECT 1 FROM batches WHERE namespace = old.namespace) BEGIN
        DELETE FROM lanes WHERE namespace = old.namespace;
    END""",
)

_creating = threading.Lock()


def open_file(path: str, hook: str) -> sqlite3.Connection:
    """The file is there, of our format and of this hook; errors are `RefusedError` or SQLite's."""
    # Closing a file ends every lock that the process has on it, so nobody opens it meanwhile.
    with _creating, suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _is_new(db, path)  # before anything is changed in a file that is not ours
        _use_wal(db)
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("BEGIN IMMEDIATE")
        if _is_new(db, path):
            _create(db, hook)
        (name,) = db.execute("SELECT name FROM hook").fetchone()
        db.execute("COMMIT")
        if name != hook:
            raise RefusedError(
                f"the spool {path} belongs to the hook {name}, not to {hook}:"
                " every hook needs a file of its own"
            )
    except BaseException:
        db.close()
        raise
    return db


def _use_wal(db: sqlite3.Connection) -> None:
    """The file is in WAL mode. Of two who change that at once SQLite lets one fail, not wait."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:  # noqa: PERF203 - a few rounds at most
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _is_new(db: sqlite3.Connection, path: str) -> bool:
    application, version, tables = db.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
        " FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if (application, version, tables) == (0, 0, 0):
        return True
    if application != APPLICATION_ID:
        raise RefusedError(f"{path} is no spool but another database")
    if version > FORMAT:
        raise RefusedError(
            f"the spool {path} has format {version}, of a later version than this one, which"
            f" knows {FORMAT}"
        )
    return False


def _create(db: sqlite3.Connection, hook: str) -> None:
    for statement in SCHEMA:
        db.execute(statement)
    db.execute("INSERT INTO hook VALUES (?)", (hook,))
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {FORMAT}")
