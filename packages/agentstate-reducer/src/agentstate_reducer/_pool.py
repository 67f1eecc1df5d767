"""Worker threads that run a hook for the batches of a queue, and all such pools of the process."""

from __future__ import annotations

import atexit
import inspect
import logging
import os
import threading
import weakref
from contextlib import suppress
from traceback import format_exception_only
from typing import TYPE_CHECKING, Any

from ._drivers import RefusedError, describe, name_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ._config import RememberFn
    from ._lanes import Batch, Queue

log = logging.getLogger("agentstate_reducer")

EXIT_SECONDS = 30.0
"""How long the end of the process waits for the next batch to be done, before it gives up."""

TROUBLE_SECONDS = 1.0
"""How long until a file that cannot be used now is tried again."""

pools: weakref.WeakSet[Pool] = weakref.WeakSet()


class Pool:
    """At most `limit` threads, which start with work and end when there is none."""

    def __init__(self, fn: RememberFn, limit: int, new_queue: Callable[[], Queue]) -> None:
        self.fn = fn
        self._limit, self._new_queue = limit, new_queue
        self.forget()
        with _forking:
            pools.add(self)

    def forget(self) -> None:
        """It is as new."""
        self.lock = threading.Condition()
        self.queue = self._new_queue()
        self._threads = self._done = 0
        self._busy: set[int] = set()  # the threads that are in the hook
        self._kept = self._given_up = False
        self._closed = threading.Event()

    def put(self, packed: Any) -> None:
        """The batch is queued; raises `RefusedError` when the queue does not take it."""
        with self.lock:
            self.queue.put(packed)
            self._given_up = False
            self._closed.clear()
        self.wake()

    def flush(self, timeout: float | None) -> bool:
        """Whether what is queued now was done in time; False where the queue cannot say."""
        if timeout is None and threading.get_ident() in self._busy:
            raise RuntimeError("flush() and close() in the hook would wait for its own batch")
        self.wake()
        try:
            with self.lock:
                last = self.queue.last()
                return self.lock.wait_for(lambda: not self.queue.holds(last), timeout)
        except RefusedError as error:
            self._report(error)
            return False

    def close(self, timeout: float | None) -> bool:
        """`flush`; nothing is open afterwards, or the end of the process does not wait."""
        done = self.flush(timeout)
        with self.lock:
            self._given_up = not done
            try:
                left = self.queue.holds(self.queue.last())  # put meanwhile
            except RefusedError:
                left = False
            if not left:
                self._closed.set()
                self.queue.close()
        return done

    def dead(self) -> int:
        """How many batches were given up and kept; a pool that is closed stays so."""
        with self.lock:
            try:
                return self.queue.dead()
            finally:
                if self._closed.is_set():
                    self.queue.close()

    def wake(self, *, keeper: bool = False) -> float | None:
        """What is ready has a thread; returns in how many seconds to look again, if at all."""
        with self.lock:
            if not keeper:
                self._closed.clear()
            ready, pause, trouble = self._tend()
            hires = ready and self._threads < self._limit
            self._threads += hires
            keeps = pause is not None and not self._kept
            self._kept = pause is not None if keeper else self._kept or keeps
            self.lock.notify_all()
        if trouble is not None:
            self._report(trouble)
        if keeps and not _started(self._keep):
            self._kept = False
        if hires and not _started(self._work):
            self._work()  # the interpreter is on its way out
        return pause

    def _tend(self) -> tuple[bool, float | None, RefusedError | None]:
        if self._closed.is_set():
            return False, None, None
        try:
            return (*self.queue.tend(), None)
        except RefusedError as error:
            return False, TROUBLE_SECONDS, error

    def _keep(self) -> None:
        """What comes due is done, for as long as the queue needs to be looked at."""
        while (pause := self.wake(keeper=True)) is not None:
            self._closed.wait(pause)

    def _work(self) -> None:
        try:
            while (batch := self._take()) is not None:
                self._do(batch)
        except RefusedError as error:
            self._report(error)

    def _take(self) -> Batch | None:
        batch = None
        with self.lock:
            try:
                batch = None if self._closed.is_set() else self.queue.take()
            finally:
                if batch is None:
                    self._threads -= 1
                    self.lock.notify_all()
        return batch

    def _do(self, batch: Batch) -> None:
        failure = reason = None
        try:
            batch.context.run(self._call, batch)
        except BaseException as error:
            failure, reason = describe(error), format_exception_only(error)[-1].strip()
        with self.lock:
            self._done += 1
            try:
                fate = self.queue.settle(batch, reason)
            except RefusedError as refusal:
                failure, fate = failure or "the batch was done and comes again", f"; {refusal}"
            self.lock.notify_all()
        if failure is not None:
            self._report(f"failed: {failure}{fate}")

    def _report(self, trouble: object) -> None:
        with suppress(Exception):  # a log handler that raises must not end a thread
            log.error("Background %s %s", name_of(self.fn), trouble)

    def _call(self, batch: Batch) -> None:
        thread = threading.get_ident()
        self._busy.add(thread)
        try:
            reply = self.fn(*batch.content())
            if inspect.isawaitable(reply):
                import asyncio  # only for an async hook

                asyncio.run(_awaited(reply))
        finally:
            self._busy.discard(thread)

    def drain(self) -> None:
        """What is ready is done, unless a batch takes too long; nothing is open."""
        with self.lock:
            while self._threads and not self._given_up:
                if not self.lock.wait_for(self._progress(), EXIT_SECONDS):
                    self._given_up = True
                    log.warning(
                        "Background %s: the process ends with %d batches undone",
                        name_of(self.fn),
                        self.queue.undone(),
                    )
            self.queue.close()

    def _progress(self) -> Callable[[], bool]:
        done = self._done
        return lambda: self._done != done or not self._threads


def _started(work: Callable[[], None]) -> bool:
    try:
        threading.Thread(target=work, name="agentstate-background", daemon=True).start()
    except RuntimeError:  # no thread to be had
        return False
    return True


async def _awaited(reply: Awaitable[Any]) -> None:
    await reply


@atexit.register
def _drain_all() -> None:
    for pool in list(pools):
        with suppress(RefusedError):  # a file that cannot be used any more
            pool.drain()


# SQLite forbids to fork with a connection that is open: there is none, and nobody opens one.
_forking = threading.Lock()
_held: list[Pool] = []


def _hold_all() -> None:
    _forking.acquire()
    _held.extend(pools)
    for pool in _held:
        pool.lock.acquire()
        pool.queue.close()


def _release_all() -> None:
    while _held:
        _held.pop().lock.release()
    _forking.release()


def _forget_all() -> None:
    # The threads stayed in the parent, and so did what it had queued.
    for pool in list(pools):
        pool.forget()
    _held.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):  # pragma: no branch - missing on Windows
    os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_forget_all)
