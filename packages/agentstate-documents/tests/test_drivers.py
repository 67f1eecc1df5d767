"""Drivers: procedures are carried out, told of failures, and always closed."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from agentstate_documents import Document, MemoryTable, TableUnavailable, Write, steps
from agentstate_documents.drivers import arun, astream, run, stream
from agentstate_documents.steps import Aside, Emit
from agentstate_documents.tables.threaded import Threaded
from agentstate_documents.testing.faults import FaultyTable


class Closing:
    """Procedures that say when they are closed."""

    def __init__(self):
        self.closed = False

    def reading(self):
        try:
            yield from steps.put("p", [Write(Document("k", b"1"))])
            [found] = yield from steps.get("p", ["k"])
            return found.body
        finally:
            self.closed = True

    def emitting(self):
        try:
            for n in range(3):
                yield Emit(n)
                yield from steps.get("p", ["k"])
        finally:
            self.closed = True


def unavailable(at):
    return FaultyTable(MemoryTable(), at=at, error=TableUnavailable)


async def test_results_come_back():
    """Both drivers return what the procedure returns."""
    assert run(Closing().reading(), MemoryTable()) == b"1"
    assert await arun(Closing().reading(), Threaded(MemoryTable())) == b"1"


async def test_streams_emit_in_order():
    """Both streams hand out every item."""
    assert list(stream(Closing().emitting(), MemoryTable())) == [0, 1, 2]
    found = [item async for item in astream(Closing().emitting(), Threaded(MemoryTable()))]
    assert found == [0, 1, 2]


async def test_failures_reach_caller_and_procedure():
    """An error nobody handles is raised, and the procedure is closed by then."""
    for number in (1, 2):
        one, other = Closing(), Closing()
        with pytest.raises(TableUnavailable):
            run(one.reading(), unavailable(number))
        with pytest.raises(TableUnavailable):
            await arun(other.reading(), Threaded(unavailable(number)))
        assert one.closed
        assert other.closed


async def test_a_procedure_may_handle_a_failure():
    """An error is raised at the step that asked, where it can be caught."""

    def procedure():
        try:
            yield from steps.get("p", ["k"])
        except TableUnavailable:
            return (yield from steps.get("p", ["k"]))

    assert run(procedure(), unavailable(1)) == [None]
    assert await arun(procedure(), Threaded(unavailable(1))) == [None]


async def test_streams_fail_where_they_are():
    """Items before a failure were handed out."""
    items = stream(Closing().emitting(), unavailable(2))
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(TableUnavailable):
        next(items)
    more = astream(Closing().emitting(), Threaded(unavailable(2)))
    assert [await more.__anext__(), await more.__anext__()] == [0, 1]
    with pytest.raises(TableUnavailable):
        await more.__anext__()


async def test_a_stream_that_is_left_is_closed():
    """Whoever stops early closes the procedure."""
    one, other = Closing(), Closing()
    items = stream(one.emitting(), MemoryTable())
    assert next(items) == 0
    items.close()
    more = astream(other.emitting(), Threaded(MemoryTable()))
    assert await more.__anext__() == 0
    await more.aclose()
    assert one.closed
    assert other.closed


async def test_a_cancelled_procedure_is_closed():
    """Cancelling while a request is under way unwinds the procedure."""

    class Waiting(Threaded):
        async def put(self, partition, writes):
            started.set()
            await asyncio.Event().wait()

    started = asyncio.Event()
    closing = Closing()
    task = asyncio.create_task(arun(closing.reading(), Waiting(MemoryTable())))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closing.closed


async def test_a_cancelled_procedure_is_closed_when_its_work_aside_is_done():
    """However often a task is cancelled meanwhile, it waits for the thread."""
    started, go_on, closed = threading.Event(), threading.Event(), threading.Event()

    def procedure():
        try:
            yield Aside()
            started.set()
            assert go_on.wait(20)
            yield from steps.get("p", ["k"])
        finally:
            closed.set()

    task = asyncio.create_task(arun(procedure(), Threaded(MemoryTable())))
    await asyncio.to_thread(started.wait)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
        assert not closed.is_set()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed.is_set()


async def test_work_aside_that_no_thread_was_free_for_is_called_off():
    """A cancelled task need not wait for it, and it is never begun."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    leave, begun, closed = threading.Event(), threading.Event(), threading.Event()

    def procedure():
        try:
            yield Aside()
            begun.set()
        finally:
            closed.set()

    busy = asyncio.create_task(asyncio.to_thread(leave.wait))
    task = asyncio.create_task(arun(procedure(), Threaded(MemoryTable())))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert closed.is_set()
    leave.set()
    await busy
    await asyncio.to_thread(lambda: None)  # the only thread has got round to it
    assert not begun.is_set()


async def test_work_aside_returns_raises_and_emits():
    """Where a procedure goes on makes no difference to what comes of it."""

    def returning():
        yield Aside()
        return threading.get_ident()

    def raising():
        yield Aside()
        raise KeyError("k")

    def emitting():
        yield Aside()
        yield Emit(1)
        yield Aside()

    table = MemoryTable()
    assert run(returning(), table) == threading.get_ident()
    assert await arun(returning(), Threaded(table)) != threading.get_ident()
    for driven in (partial(run, table=table), partial(arun, table=Threaded(table))):
        with pytest.raises(KeyError):
            await driven(raising())
    assert list(stream(emitting(), table)) == [1]
    assert [item async for item in astream(emitting(), Threaded(table))] == [1]


async def test_no_request_for_nothing():
    """Getting or deleting no documents asks nobody."""

    def procedure():
        yield from steps.delete("p", [])
        return (yield from steps.get("p", []))

    assert run(procedure(), unavailable(1)) == []
