"""Carries procedures out: the only code that knows blocking from awaiting.

A procedure is closed however its driver ends, also by cancellation, so that its own
clean-up runs before control returns to the caller.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from agentstate_documents.steps import Aside, Emit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator

    from agentstate_documents.port import AsyncDocumentTable, DocumentTable
    from agentstate_documents.steps import Procedure, Request, Stream

R = TypeVar("R")
T = TypeVar("T")
S = TypeVar("S")


class _Outcome(NamedTuple):
    """What became of a request; a failure is the procedure's to handle or let pass."""

    reply: Any = None
    error: Exception | None = None

    def resume(self, procedure: Generator[S, Any, Any]) -> S:
        """The procedure's next step."""
        return procedure.throw(self.error) if self.error else procedure.send(self.reply)


def _perform(request: Request | Aside, table: DocumentTable) -> _Outcome:
    if isinstance(request, Aside):
        return _Outcome()
    try:
        return _Outcome(request.perform(table))
    except Exception as error:
        return _Outcome(error=error)


async def _aperform(request: Request, table: AsyncDocumentTable) -> _Outcome:
    try:
        return _Outcome(await request.perform(table))
    except Exception as error:
        return _Outcome(error=error)


@dataclass(frozen=True, slots=True)
class _Found(Generic[S]):
    """A procedure's next step, or what it raised instead, its return included."""

    step: S | None = None
    error: BaseException | None = None

    def get(self) -> S:
        """The step; raises what the procedure raised."""
        if self.error is not None:
            raise self.error
        return self.step  # type: ignore[return-value]


async def _find_aside(procedure: Generator[S, Any, Any]) -> _Found[S]:
    """The next step, found in a worker thread.

    A cancelled task that comes before the thread calls it off, else it waits for the thread: a
    generator cannot be closed while it runs.
    """
    begun = threading.Lock()

    def find() -> _Found[S]:
        if not begun.acquire(blocking=False):
            return _Found()
        # A StopIteration can be raised neither into a future nor out of a coroutine.
        try:
            return _Found(next(procedure))
        except BaseException as error:
            return _Found(error=error)

    found = asyncio.ensure_future(asyncio.to_thread(find))
    try:
        return await asyncio.shield(found)
    except asyncio.CancelledError:
        while not found.done() and not begun.acquire(blocking=False):
            with suppress(asyncio.CancelledError):
                await asyncio.wait([found])
        raise


def run(procedure: Procedure[R], table: DocumentTable) -> R:
    """What the procedure returns after `table` answered its requests."""
    try:
        step = next(procedure)
        while True:
            step = _perform(step, table).resume(procedure)
    except StopIteration as stop:
        result: R = stop.value
        return result
    finally:
        procedure.close()


async def arun(procedure: Procedure[R], table: AsyncDocumentTable) -> R:
    """What the procedure returns after `table` answered its requests."""
    try:
        step = next(procedure)
        while True:
            if isinstance(step, Aside):
                step = (await _find_aside(procedure)).get()
            else:
                step = (await _aperform(step, table)).resume(procedure)
    except StopIteration as stop:
        result: R = stop.value
        return result
    finally:
        procedure.close()


def stream(procedure: Stream[T], table: DocumentTable) -> Iterator[T]:
    """The items the procedure emits, each as soon as it is known; requests as needed."""
    try:
        step = next(procedure)
        while True:
            if isinstance(step, Emit):
                yield step.item
                step = next(procedure)
            else:
                step = _perform(step, table).resume(procedure)
    except StopIteration:
        return
    finally:
        procedure.close()


async def astream(procedure: Stream[T], table: AsyncDocumentTable) -> AsyncIterator[T]:
    """The items the procedure emits, each as soon as it is known; requests as needed."""
    try:
        step = next(procedure)
        while True:
            if isinstance(step, Emit):
                yield step.item
                step = next(procedure)
            elif isinstance(step, Aside):
                step = (await _find_aside(procedure)).get()
            else:
                step = (await _aperform(step, table)).resume(procedure)
    except StopIteration:
        return
    finally:
        procedure.close()
