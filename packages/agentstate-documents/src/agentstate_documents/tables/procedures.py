"""Carries out what a table has to do to answer a request, blocking or awaiting.

A table's own procedure is a generator: it yields steps (a call to the client, a pause), is sent
what came of them, and returns the answer. A step that failed is raised where it was yielded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

R = TypeVar("R")
S = TypeVar("S")


def run(procedure: Generator[S, Any, R], carry_out: Callable[[S], Any]) -> R:
    """What the procedure returns."""
    reply: Any = None
    error: Exception | None = None
    while True:
        try:
            step = procedure.throw(error) if error else procedure.send(reply)
        except StopIteration as stop:
            result: R = stop.value
            return result
        reply = error = None
        try:
            reply = carry_out(step)
        except Exception as raised:
            error = raised


async def arun(procedure: Generator[S, Any, R], carry_out: Callable[[S], Awaitable[Any]]) -> R:
    """What the procedure returns."""
    reply: Any = None
    error: Exception | None = None
    while True:
        try:
            step = procedure.throw(error) if error else procedure.send(reply)
        except StopIteration as stop:
            result: R = stop.value
            return result
        reply = error = None
        try:
            reply = await carry_out(step)
        except Exception as raised:
            error = raised
