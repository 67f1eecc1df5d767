"""A hook off the request path: bounded, in order per namespace, alive after a fork."""

from __future__ import annotations

import atexit
import contextvars
import inspect
import logging
import os
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from ._delivery import REFUSED, Pruned, frozen
from ._drivers import describe, name_of, refuse_generator

if TYPE_CHECKING:
    from collections.abc import Awaitable, Hashable

    from ._config import RememberFn

log = logging.getLogger("agentstate_reducer")

EXIT_SECONDS = 30.0
"""How long the end of the process waits for the next batch to be done, before it gives up."""

_pools: weakref.WeakSet[Background] = weakref.WeakSet()


class _Batch(NamedTuple):
    pruned: Pruned
    namespace: Any
    context: contextvars.Context


class Background:
    """Runs a hook in worker threads of its own, so that `reduce()` does not wait for it.

    Batches of one namespace are run one after the other, in order; those of different namespaces
    side by side. `fn` may be async: each batch then gets an event loop of its own, so a client
    that belongs to a loop is to be made inside `fn`. It sees the context variables of the
    `reduce()` that pruned. What it raises is logged, and the batch is not repeated.

    With `max_pending` batches queued or running a further one is refused with a warning and
    counted in `dropped`; a reducer offers a refused batch again with its next `reduce()` for
    that namespace.

    Threads start with work and end when there is none. The end of the process waits for what is
    queued, as long as a batch is done every 30 seconds. Python starts no new thread then, so an
    `fn` that needs one (an executor, a connection opened by asyncio) wants a `flush()` before;
    a runtime that freezes the process after the response (AWS Lambda) wants `close()` at the end
    of its handler. A forked child starts with an empty queue: the parent runs what was queued.
    Copies and pickles start empty too.

        >>> seen = []
        >>> hook = Background(lambda pruned, namespace: seen.extend(pruned))
        >>> _ = hook(["hello"], ("memories", "ada"))
        >>> hook.flush(), seen
        (True, ['hello'])
    """

    def __init__(self, fn: RememberFn, workers: int = 2, max_pending: int = 1000) -> None:
        if not callable(fn):
            raise TypeError(f"fn must be callable, got {fn!r}")
        refuse_generator("fn", fn)
        for name, value in (("workers", workers), ("max_pending", max_pending)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name} must be a whole number, got {value!r}")
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.fn, self.workers, self.max_pending = fn, workers, max_pending
        self.dropped = 0
        self._forget()
        _pools.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.fn, self.workers, self.max_pending)

    def _forget(self) -> None:
        self._changed = threading.Condition()
        self._lanes: dict[Hashable, deque[_Batch]] = {}  # a lane: one namespace's batches
        self._ready: deque[Hashable] = deque()  # lanes with work that nobody is at
        self._pending = self._threads = 0
        self._given_up = False

    def __call__(self, pruned: list[Any], namespace: Any = None) -> object:
        """The batch, copied, is queued; falsy when it was refused."""
        batch = _Batch(Pruned.of(pruned), namespace, contextvars.copy_context())
        place = frozen(namespace)
        with self._changed:
            accepted = self._pending < self.max_pending
            if accepted:
                self._enqueue(place, batch)
            else:
                self.dropped += 1
            starts = accepted and bool(self._ready) and self._threads < self.workers
            self._threads += starts
        if not accepted:
            log.warning(
                "Background %s is full: a batch refused, %d so far", name_of(self.fn), self.dropped
            )
            return REFUSED
        if starts:
            self._start()
        return True

    def flush(self, timeout: float | None = None) -> bool:
        """Whether, after at most `timeout` seconds, nothing is queued or running."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._pending, timeout)

    def close(self, timeout: float | None = None) -> bool:
        """`flush`; when time runs out, the end of the process does not wait either.

        The object can be used again afterwards.
        """
        done = self.flush(timeout)
        self._given_up = not done
        return done

    def _enqueue(self, place: Hashable, batch: _Batch) -> None:
        self._pending += 1
        self._given_up = False
        if place in self._lanes:
            self._lanes[place].append(batch)
        else:
            self._lanes[place] = deque([batch])
            self._ready.append(place)

    def _start(self) -> None:
        try:
            threading.Thread(target=self._work, name="agentstate-background", daemon=True).start()
        except RuntimeError:  # no thread to be had: the interpreter is on its way out
            self._work()

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            place, batch = taken
            try:
                batch.context.run(self._run, batch)
            except BaseException as error:
                log.error("Background %s failed: %s", name_of(self.fn), describe(error))
            self._leave(place)

    def _run(self, batch: _Batch) -> None:
        reply = self.fn(batch.pruned, batch.namespace)
        if inspect.isawaitable(reply):
            import asyncio  # only for an async hook

            asyncio.run(_awaited(reply))

    def _take(self) -> tuple[Hashable, _Batch] | None:
        with self._changed:
            if self._ready:
                place = self._ready.popleft()
                return place, self._lanes[place].popleft()
            self._threads -= 1
            return None

    def _leave(self, place: Hashable) -> None:
        with self._changed:
            self._pending -= 1
            if self._lanes[place]:
                self._ready.append(place)
            else:
                del self._lanes[place]
            self._changed.notify_all()

    def _drain(self) -> None:
        with self._changed:
            while self._pending and not self._given_up:
                if not self._changed.wait(EXIT_SECONDS):
                    self._given_up = True
                    log.warning(
                        "Background %s: the process ends with %d batches undone",
                        name_of(self.fn),
                        self._pending,
                    )


async def _awaited(reply: Awaitable[Any]) -> None:
    await reply


@atexit.register
def _drain_all() -> None:
    for pool in list(_pools):
        pool._drain()  # noqa: SLF001 - for this function alone


def _forget_all() -> None:
    # The threads stayed in the parent, and a lock may have been held by one of them.
    for pool in list(_pools):
        pool._forget()  # noqa: SLF001 - likewise


if hasattr(os, "register_at_fork"):  # pragma: no branch - missing on Windows
    os.register_at_fork(after_in_child=_forget_all)
