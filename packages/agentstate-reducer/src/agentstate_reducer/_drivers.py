"""Two ways to carry out what an operation asks for: `run` blocks, `arun` awaits."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Call(NamedTuple):
    """A request to call `fn`; the reply is what it returned or raised.

    `user_fn` is the function of the user inside, for errors, where `fn` is ours.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    user_fn: Callable[..., Any] | None = None


class Awaits(NamedTuple):
    """A request that performs nothing; a blocking driver refuses it, as `fn` needs awaiting."""

    fn: Callable[..., Any]


Steps = Generator["Call | Awaits", Any, T]


class AsyncCallableError(TypeError):
    """An async callable met a blocking call. A mistake in the program, which adapters let out."""


class RefusedError(ValueError):
    """A value of the user's is refused. The text holds no message content, so it may be logged."""


def is_async(fn: Any) -> bool:
    """Whether calling `fn` gives something to await, in a partial or by its `__call__` as well."""
    return any(map(inspect.iscoroutinefunction, _functions(fn)))


def refuse_generator(name: str, fn: Any) -> None:
    """Raise `TypeError` for a generator function: calling one runs nothing of it."""
    for function in _functions(fn):
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{name} must return, got {name_of(fn)}, which yields")


def _functions(fn: Any) -> tuple[Any, Any]:
    """What a call of `fn` may run: the function in a partial, the method of an object."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn, getattr(type(fn), "__call__", None)  # noqa: B004 - the method, not whether


def name_of(fn: Any) -> str:
    """A name for logs and errors that shows nothing of what the callable holds."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return getattr(fn, "__qualname__", None) or type(fn).__qualname__


def full_name_of(fn: Any) -> str:
    """`name_of`, with the module."""
    function = _functions(fn)[0]
    return f"{getattr(function, '__module__', None)}.{name_of(function)}"


def describe(error: BaseException) -> str:
    """An error without its text, which may quote a message; our own refusals with theirs."""
    if isinstance(error, RefusedError):
        return str(error)
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f" at {frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}" if frame else ""
    return type(error).__name__ + place


def run(steps: Steps[T]) -> T:
    """Carry out an operation, blocking.

    Raises `AsyncCallableError` into it, and out of it, when something needs to be awaited.
    """
    try:
        request = next(steps)
        while True:
            try:
                reply = _perform(request)
            except BaseException as error:  # noqa: PERF203 - one call each
                request = steps.throw(error)
            else:
                request = steps.send(reply)
    except StopIteration as done:
        result: T = done.value
        return result


def _perform(request: Call | Awaits) -> Any:
    if isinstance(request, Awaits):
        raise _refusal(request.fn)
    reply = request.fn(*request.args)
    if not inspect.isawaitable(reply):
        return reply
    if inspect.iscoroutine(reply):
        reply.close()  # or it would warn that nobody awaited it
    raise _refusal(request.user_fn or request.fn)


def _refusal(fn: Callable[..., Any]) -> AsyncCallableError:
    return AsyncCallableError(
        f"{name_of(fn)} is async: use `await areduce(...)`, or wrap a hook in Background"
    )


async def arun(steps: Steps[T]) -> T:
    """Carry out an operation, awaiting what is async; the rest runs in worker threads.

    A cancelled task abandons the thread it waits for, as `asyncio.to_thread` does.
    """
    try:
        request = next(steps)
        while True:
            try:
                reply = None if isinstance(request, Awaits) else await _aperform(request)
            except BaseException as error:  # noqa: PERF203 - one call each
                request = steps.throw(error)
            else:
                request = steps.send(reply)
    except StopIteration as done:
        result: T = done.value
        return result


async def _aperform(call: Call) -> Any:
    if is_async(call.fn):
        return await call.fn(*call.args)
    import asyncio  # only who awaits pays for it, and has it loaded already

    reply, error = await asyncio.to_thread(_outcome, call)
    if error is not None:
        raise error
    return await reply if inspect.isawaitable(reply) else reply


def _outcome(call: Call) -> tuple[Any, BaseException | None]:
    # A StopIteration cannot be raised into a future: it would never be done.
    try:
        return call.fn(*call.args), None
    except BaseException as error:
        return None, error
