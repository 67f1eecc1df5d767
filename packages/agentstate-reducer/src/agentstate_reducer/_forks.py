"""Locks that a forked child finds free, and what they guard whole."""

from __future__ import annotations

import os
import threading
import weakref

HOLD_SECONDS = 1.0
"""How long a fork waits for one lock; each is held for bookkeeping alone."""

_locks: weakref.WeakSet[threading.Lock] = weakref.WeakSet()
_held: list[threading.Lock] = []
_forking = threading.Lock()


def fork_safe_lock() -> threading.Lock:
    """A lock that no other thread is in while the process forks."""
    lock = threading.Lock()
    with _forking:
        _locks.add(lock)
    return lock


def _hold_all() -> None:
    _forking.acquire()
    _held.extend(lock for lock in _locks if lock.acquire(timeout=HOLD_SECONDS))


def _release_all() -> None:
    while _held:
        _held.pop().release()
    _forking.release()


if hasattr(os, "register_at_fork"):  # pragma: no branch - missing on Windows
    os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_release_all)
