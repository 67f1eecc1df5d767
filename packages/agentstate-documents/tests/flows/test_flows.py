"""What is stored of a flow, request by request, and what is left when one of them fails."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from string import ascii_letters
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from agentstate_documents import (
    Document,
    DocumentError,
    MemoryTable,
    Page,
    StoredFormatUnknown,
    TableUnavailable,
    Write,
    envelope,
    steps,
)
from agentstate_documents.drivers import run
from agentstate_documents.flow_reduction import register_reducer
from agentstate_documents.flows import Flows
from agentstate_documents.model import AFTER_LAST_SORT, FIRST_SORT
from agentstate_documents.saver import DocumentSaver
from agentstate_documents.testing.faults import FaultyTable, Stopped
from agentstate_reducer import MessageReducer

CONTEXT = {"method_name": "review", "message": "Good?"}


def tiny() -> MemoryTable:
    """A table in which every state lies in parts, over several pages."""
    return MemoryTable(max_body_bytes=64, max_transaction_documents=8, page_size=2)


def flows_in(table: Any) -> Flows:
    """The flows of a process that has just begun."""
    return Flows(lambda: table)


def state(n: int) -> dict[str, Any]:
    """A state of several parts, different each time."""
    return {"id": "f1", "n": n, "text": "".join(random.Random(n).choices(ascii_letters, k=300))}


def documents_in(table: MemoryTable, partition: str = "flow!f1") -> list[str]:
    """The sorts of everything stored in a partition."""
    return list(run(steps.documents(partition, low=FIRST_SORT, high=AFTER_LAST_SORT), table))


def test_a_new_state_replaces_the_parts_of_the_old_one() -> None:
    """However often a large state is saved, by one process or by another, one is stored."""
    table = tiny()
    flows = flows_in(table)
    sizes = []
    for n in range(4):
        flows.save("f1", "m", state(1000 + n))
        sizes.append(len(documents_in(table)))
    assert max(sizes) - min(sizes) <= 1
    flows_in(table).save("f1", "m", {"id": "f1"})
    assert len(documents_in(table)) < min(sizes)
    flows.load("f1")  # as CrewAI does before it goes on
    flows.save_waiting("f1", CONTEXT, state(1))
    flows_in(table).clear_waiting("f1")
    assert len(documents_in(table)) <= max(sizes)
    flows.delete("f1")
    assert list(table.partitions()) == []


def operations() -> dict[str, tuple[Callable[[Flows], Any], Callable[[Flows], Any]]]:
    """What may be interrupted, and what shows that it has happened."""
    return {
        "save": (lambda f: f.save("f1", "m", state(2)), lambda f: f.load("f1")),
        "wait": (lambda f: f.save_waiting("f1", CONTEXT, state(2)), lambda f: f.load("f1")),
        "clear": (lambda f: f.clear_waiting("f1"), lambda f: f.load_waiting("f1")),
        "delete": (lambda f: f.delete("f1"), lambda f: f.load("f1")),
    }


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", ["save", "wait", "clear", "delete"])
def test_a_stop_at_any_request_leaves_the_old_or_the_new(name: str, after: bool) -> None:
    """Whatever request is the last, a reader finds what was there or what was to be there."""
    operation, result = operations()[name]
    done = tiny()
    flows_in(done).save_waiting("f1", CONTEXT, state(1))
    operation(flows_in(done))
    new = result(flows_in(done))
    for at in itertools.count(1):
        table = tiny()
        flows_in(table).save_waiting("f1", CONTEXT, state(1))
        old = result(flows_in(table))
        faulty = FaultyTable(table, at=at, after=after, half=True)
        try:
            operation(flows_in(faulty))
        except Stopped:
            assert result(flows_in(table)) in (old, new)
        operation(flows_in(table))
        assert result(flows_in(table)) == new
        flows_in(table).delete("f1")
        assert list(table.partitions()) == []
        if faulty.requests < at:
            break
    assert at > 2


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_failed_save_can_be_repeated(after: bool) -> None:
    """An error of the database comes through, and the same process goes on after it."""
    for at in itertools.count(1):
        table = tiny()
        flows_in(table).save("f1", "m", state(1))
        faulty = FaultyTable(table, at=at, after=after, error=TableUnavailable)
        flows = flows_in(faulty)
        try:
            flows.save("f1", "m", state(2))
        except TableUnavailable:
            flows.save("f1", "m", state(2))
        assert flows_in(table).load("f1") == state(2)
        if faulty.requests < at:
            break
    assert at > 3


def test_what_a_flow_costs() -> None:
    """A first save looks once at what is there; then a save is one put, a load one query."""
    table = FaultyTable(MemoryTable(), at=0, error=TableUnavailable)  # which never comes
    flows = flows_in(table)
    calls: list[Callable[[], Any]] = [
        lambda: flows.save("f1", "m", {"id": "f1"}),
        lambda: flows.save("f1", "m", {"id": "f1", "n": 1}),
        lambda: flows.load("f1"),
        lambda: flows.save("f1", "m", {"id": "f1", "n": 2}),
    ]
    counts = []
    for step in calls:
        before = table.requests
        step()
        counts.append(table.requests - before)
    assert counts == [2, 1, 1, 1]


class Overtaken(MemoryTable):
    """While somebody reads the first page, somebody else replaces the state."""

    overtake: Callable[[], Any] | None = None

    def query(self, partition: str, **options: Any) -> Page:
        page = super().query(partition, **options)
        if self.overtake is not None:
            overtake, self.overtake = self.overtake, None
            overtake()
        return page


def test_a_reader_that_is_overtaken_reads_again() -> None:
    """A state replaced between two pages is never half of one and half of the other."""
    table = Overtaken(max_body_bytes=64, max_transaction_documents=8, page_size=2)
    writer = flows_in(table)
    writer.save("f1", "m", state(1))
    table.overtake = lambda: writer.save("f1", "m", state(2))
    assert flows_in(table).load("f1") == state(2)


class Forgetful(MemoryTable):
    """A database that has lost the last part of everything."""

    def query(self, partition: str, **options: Any) -> Page:
        page = super().query(partition, **options)
        return Page(page.documents if page.cursor else page.documents[:-1], page.cursor)


def test_a_damaged_state_is_an_error() -> None:
    """A state whose parts are gone is not taken for one that never was."""
    table = Forgetful(max_body_bytes=64, max_transaction_documents=8, page_size=2)
    MemoryTable.put(table, "flow!f1", [Write(Document("a", b""))])
    flows = flows_in(table)
    flows.save("f1", "m", state(1))
    with pytest.raises(DocumentError, match="missing"):
        flows_in(table).load("f1")


@pytest.mark.parametrize("record", [b'{"format":2}', b'{"format":1,"state":{"$new":1}}'])
def test_what_a_later_version_wrote_is_refused(record: bytes) -> None:
    """A format this version does not know is an error, and not an empty state."""
    table = MemoryTable()
    flows_in(table).save("f1", "m", {})
    (sort,) = documents_in(table)
    table.put("flow!f1", [Write(Document(sort, b"\x00" + envelope.pack([("json", record)])))])
    with pytest.raises(StoredFormatUnknown):
        flows_in(table).load("f1")


@pytest.mark.parametrize("make_table", [MemoryTable, tiny])
def test_one_table_holds_threads_and_flows(make_table: Callable[[], MemoryTable]) -> None:
    """A thread and a flow of one name are neither listed nor deleted with each other."""
    table = make_table()
    flows, saver = flows_in(table), DocumentSaver(table)
    flows.save("f1", "m", state(1))
    flows.save_waiting("f1", CONTEXT, state(2))
    thread: RunnableConfig = {"configurable": {"thread_id": "f1", "checkpoint_ns": ""}}
    told = flows.list()
    assert [flow.flow_uuid for flow in told] == ["f1"]
    assert list(saver.list(None)) == []

    for metadata in ({"run_id": "r1"}, {"run_id": "r2"}):
        saver.put(thread, empty_checkpoint(), {**metadata, "source": "loop"}, {})
    saver.delete_for_runs(["r1"])
    saver.prune(["f1"])
    assert len(list(saver.list(None))) == 1
    saver.delete_thread("f1")
    assert flows.list() == told
    assert flows.load("f1") == state(2)

    saver.put(thread, empty_checkpoint(), {"source": "loop"}, {})
    flows.delete("f1")
    assert documents_in(table) == []
    assert len(list(saver.list(None))) == 1
    assert flows.list() == []


def test_a_table_is_made_once() -> None:
    """Threads that all come first share one table, and so one client."""
    together, made = threading.Barrier(8), list[MemoryTable]()

    def open_table() -> MemoryTable:
        made.append(MemoryTable())
        return made[-1]

    flows = Flows(open_table)

    def save(n: int) -> None:
        together.wait(30)
        flows.save(f"f{n}", "m", {"n": n})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(save, range(8)))
    assert len(made) == 1
    assert len(flows.list()) == 8


def test_closing_what_was_never_opened_is_nothing() -> None:
    """No table is made only to be closed."""

    def open_table() -> MemoryTable:
        raise AssertionError

    Flows(open_table).close()


@pytest.mark.parametrize(
    ("name", "reducer", "error"),
    [("", MessageReducer(), ValueError), (7, MessageReducer(), ValueError), ("r", None, TypeError)],
)
def test_what_cannot_be_registered_is_refused(name: Any, reducer: Any, error: Any) -> None:
    """A name is text that is not empty, and it stands for a reducer."""
    with pytest.raises(error):
        register_reducer(name, reducer)


def test_flows_load_no_framework() -> None:
    """All but the face of CrewAI works where neither CrewAI nor pydantic is installed."""
    code = (
        "import sys, agentstate_documents.flows, agentstate_documents.flow_reduction;"
        "print([m for m in ('crewai', 'pydantic', 'langchain_core') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
