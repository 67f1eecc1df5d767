"""Carries procedures out: the only code that knows blocking from awaiting.

A procedure is closed however its driver ends, also by cancellation, so that its own
clean-up runs before control returns to the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from agentstate_documents.steps import Emit

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


def _perform(request: Request, table: DocumentTable) -> _Outcome:
    try:
        return _Outcome(request.perform(table))
    except Exception as error:
        return _Outcome(error=error)


async def _aperform(request: Request, table: AsyncDocumentTable) -> _Outcome:
    try:
        return _Outcome(await request.perform(table))
    except Exception as error:
        return _Outcome(error=error)


def run(procedure: Procedure[R], table: DocumentTable) -> R:
    """What the procedure returns after `table` answered its requests."""
    try:
        request = next(procedure)
        while True:
            request = _perform(request, table).resume(procedure)
    except StopIteration as stop:
        result: R = stop.value
        return result
    finally:
        procedure.close()


async def arun(procedure: Procedure[R], table: AsyncDocumentTable) -> R:
    """What the procedure returns after `table` answered its requests."""
    try:
        request = next(procedure)
        while True:
            request = (await _aperform(request, table)).resume(procedure)
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
            else:
                step = (await _aperform(step, table)).resume(procedure)
    except StopIteration:
        return
    finally:
        procedure.close()
