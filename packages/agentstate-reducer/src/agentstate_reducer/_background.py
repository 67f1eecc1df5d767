"""A hook off the request path: in order per namespace, alive after a fork, durable if it should."""

from __future__ import annotations

import copy
import functools
import logging
import os
from typing import TYPE_CHECKING, Any

from ._delivery import REFUSED, Pruned
from ._drivers import RefusedError, name_of, refuse_generator
from ._lanes import Lanes
from ._pool import Pool

if TYPE_CHECKING:
    from ._config import RememberFn

log = logging.getLogger("agentstate_reducer")


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
    Copies share `fn` and start empty too.

        >>> seen = []
        >>> hook = Background(lambda pruned, namespace: seen.extend(pruned))
        >>> _ = hook(["hello"], ("memories", "ada"))
        >>> hook.flush(), seen
        (True, ['hello'])

    With `spool`, the path of a file, batches are durable. Each is committed to the file, or
    refused, before `reduce()` returns, and removed when `fn` has returned: a process that is
    killed loses nothing, and may repeat a batch under the same keys. A batch that failed is tried
    again, after 1 s, 2 s, 4 s and so on up to 5 minutes, before what follows in its namespace;
    after `max_attempts` it moves to the table `dead_letters`. What an earlier process left is
    taken up as soon as a `Background` is made over the file. Processes and copies may share it: a
    lease of 10 s, renewed while `fn` runs, keeps a namespace to one of them, and ends with its
    process. `fn` does not see the caller's context variables. `max_pending` bounds what is held
    in memory, and drops nothing.

    The file belongs to one hook, by module and qualified name; another one is a `ValueError`, in
    this process also one of that name that does not equal it, such as the copy of a
    `functools.partial` that a pickle brings. It is an SQLite database in WAL mode, so on a local
    disk, and holds pickles: who can write to it can run code in this process. It is created for
    its user alone, and has to stay so.
    """

    def __init__(
        self,
        fn: RememberFn,
        workers: int = 2,
        max_pending: int = 1000,
        *,
        spool: str | os.PathLike[str] | None = None,
        max_attempts: int = 10,
    ) -> None:
        if not callable(fn):
            raise TypeError(f"fn must be callable, got {fn!r}")
        refuse_generator("fn", fn)
        numbers = {"workers": workers, "max_pending": max_pending, "max_attempts": max_attempts}
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name} must be a whole number, got {value!r}")
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        self.fn, self.workers, self.max_pending = fn, workers, max_pending
        self.spool = None if spool is None else _path(spool)
        self.max_attempts = max_attempts
        self.dropped = 0
        self._pool = self._new_pool()

    def __reduce__(self) -> tuple[Any, ...]:
        make = functools.partial(type(self), spool=self.spool, max_attempts=self.max_attempts)
        return make, (self.fn, self.workers, self.max_pending)

    def __deepcopy__(self, memo: object) -> Background:
        return copy.copy(self)  # one spool, so one hook

    def __call__(self, pruned: list[Any], namespace: Any = None) -> object:
        """The batch, copied, is queued; falsy when it was refused."""
        try:
            self._pool.put(self._pool.queue.pack(Pruned.of(pruned), namespace))
        except RefusedError as refusal:
            with self._pool.lock:
                self.dropped += 1
                dropped = self.dropped
            log.warning(
                "Background %s %s: a batch refused, %d so far", name_of(self.fn), refusal, dropped
            )
            return REFUSED
        return True

    def flush(self, timeout: float | None = None) -> bool:
        """Whether, after at most `timeout` seconds, nothing is queued or running.

        With `spool`: nothing is left of what the file held, whichever process put it there or is
        at it. A batch that waits for its next attempt is waited for. False as well where the file
        cannot be used; while others have it locked, that takes some seconds more than `timeout`.

        Raises `RuntimeError` in `fn` itself without a `timeout`: it would wait for its own batch.
        """
        return self._pool.flush(timeout)

    def close(self, timeout: float | None = None) -> bool:
        """`flush`; when time runs out, the end of the process does not wait either.

        The object can be used again afterwards.
        """
        return self._pool.close(timeout)

    @property
    def dead_letters(self) -> int:
        """How many batches the file of `spool` keeps that failed `max_attempts` times."""
        return self._pool.dead()

    def _new_pool(self) -> Pool:
        limit = min(self.workers, self.max_pending)
        if self.spool is None:
            return Pool(self.fn, limit, functools.partial(Lanes, self.max_pending))
        from ._spool import Spool  # and SQLite, for those who use one

        queue = functools.partial(Spool, self.spool, self.fn, self.max_attempts)
        pool = Pool(self.fn, limit, queue)
        with pool.lock:
            pool.queue.last()  # a file that cannot be used is an error here
        pool.wake()
        return pool


def _path(spool: str | os.PathLike[str]) -> str:
    try:
        return os.path.realpath(os.fsdecode(spool))
    except TypeError:
        raise TypeError(f"spool must be a path, got {spool!r}") from None
