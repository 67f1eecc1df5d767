"""Background with a spool: batches in a file, tried again, and kept when they keep failing."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import functools
import logging
import os
import pickle
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentstate_reducer import Background, MessageReducer, ReducerConfig, _pool, _spool, _spool_file

user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that these tests wait for takes its time."""
    monkeypatch.setattr(_spool, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(_spool, "FIRST_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(_pool, "TROUBLE_SECONDS", 0.02)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another has locked is an error soon."""
    monkeypatch.setattr(_spool_file, "BUSY_SECONDS", 0.05)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of a spool that is not there yet."""
    return tmp_path / "memory.db"


@pytest.fixture
def spooled(path: Path) -> Iterator[Callable[..., Background]]:
    """Makes a Background over the spool, and closes it."""
    made = []

    def make(fn: Any, **options: Any) -> Background:
        made.append(Background(fn, spool=path, **options))
        return made[-1]

    yield make
    for background in made:
        background.close(10)


class Recorder:
    """A hook that keeps what it gets, waits while `gate` is closed, and fails when told to."""

    def __init__(self, failures: int = 0) -> None:
        self.taken: list[tuple[Any, list[Any]]] = []
        self.keys: list[Any] = []
        self.failures = failures
        self.entered = threading.Semaphore(0)
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, pruned: Any, namespace: Any) -> None:
        self.entered.release()
        assert self.gate.wait(20)
        if self.failures:
            self.failures -= 1
            raise ValueError(f"secret {pruned!r}")
        self.taken.append((namespace, list(pruned)))
        self.keys.extend(pruned.keys)

    def hold(self, background: Background, namespace: Any = "held") -> None:
        """A batch is running from here on, until the gate is open."""
        self.gate.clear()
        self.entered = threading.Semaphore(0)
        assert background(["held"], namespace)
        assert self.entered.acquire(timeout=20)


class Message:
    """One that can be pickled while its class is there."""

    role = "user"

    def __init__(self, name: str) -> None:
        self.id = name


def noop(pruned: list[Any], namespace: Any) -> None:
    """A hook that can be pickled."""


def sql(path: Path, *statements: str) -> list[Any]:
    """What the last statement finds, in a connection of its own."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=20)) as db:
        return [db.execute(statement).fetchall() for statement in statements][-1]


def until(condition: Callable[[], object]) -> None:
    """Waits for what another thread brings about."""
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError


def nobody_looks() -> bool:
    """Whether no thread works, or looks after a file, any more; connections may be open."""
    return all(thread.name != "agentstate-background" for thread in threading.enumerate())


def chat(*ids: Any) -> list[dict[str, Any]]:
    """Human messages with these ids."""
    return [{"id": str(i), "role": "user", "content": ""} for i in ids]


def test_a_batch_arrives_as_it_was_with_its_keys(spooled: Any) -> None:
    """Dicts and objects, with the keys the adapter gave; a copy, made when it was handed over."""
    hook = Recorder()
    background = spooled(hook)
    pruned = [{"id": "a", "role": "user", "n": (1, None)}, Message("b")]
    assert background(pruned, "ada")
    pruned[0].clear()
    assert background.flush(20)
    ((namespace, (first, second)),) = hook.taken
    assert (namespace, first, second.id) == (
        "ada",
        {"id": "a", "role": "user", "n": (1, None)},
        "b",
    )
    assert hook.keys == ["a", "b"]


def test_langchain_messages_arrive_equal(spooled: Any) -> None:
    """Whatever can be pickled can be spooled."""
    from langchain_core.messages import AIMessage, HumanMessage

    hook = Recorder()
    messages = [HumanMessage("hi", id="1"), AIMessage("", id="2", tool_calls=[])]
    background = spooled(hook)
    assert background(messages, None)
    assert background.flush(20)
    assert hook.taken == [(None, messages)]


def test_a_namespace_arrives_with_its_types(spooled: Any) -> None:
    """Tuple, list, text, number and None come back as they were, and none for another."""
    hook = Recorder()
    background = spooled(hook)
    namespaces = [
        ("m", "1"),
        ("m", 1),
        ["m", "1"],
        "m",
        1,
        "1",
        1.0,
        True,
        None,
        {"b": 1, "a": [2]},
    ]
    for namespace in namespaces:
        assert background([repr(namespace)], namespace)
    assert background.flush(20)
    got = {batch[0]: namespace for namespace, batch in hook.taken}
    assert got == {repr(namespace): namespace for namespace in namespaces}
    assert {name: type(got[name]) for name in got} == {repr(n): type(n) for n in namespaces}


def test_an_async_hook_is_awaited(spooled: Any) -> None:
    """Each batch has an event loop, like without a spool."""
    seen: list[Any] = []

    async def hook(pruned: list[Any], namespace: Any) -> None:
        await asyncio.sleep(0)
        seen.append((namespace, *pruned))

    background = spooled(hook)
    assert background([1], "ada")
    assert background.flush(20)
    assert seen == [("ada", 1)]


def test_context_variables_do_not_cross_the_file(spooled: Any) -> None:
    """A batch may be run by another process: it sees none, and leaves none to the next."""
    seen: list[str] = []

    def hook(pruned: list[Any], namespace: Any) -> None:
        seen.append(user.get())
        user.set("leaked")

    background = spooled(hook)
    token = user.set("ada")
    for n in range(3):
        assert background([n], None)
    user.reset(token)
    assert background.flush(20)
    assert seen == ["nobody"] * 3


def test_a_failure_is_tried_again_before_what_follows(
    spooled: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pause is twice the last, up to a limit; the order stays; no log line shows content."""
    monkeypatch.setattr(_spool, "LAST_RETRY_SECONDS", 0.03)
    hook = Recorder(failures=4)
    background = spooled(hook)
    for n in range(3):
        assert background([n], "ada")
    assert background.flush(20)
    assert hook.taken == [("ada", [0]), ("ada", [1]), ("ada", [2])]
    pauses = [line.rpartition("again in ")[2] for line in caplog.messages]
    assert pauses == ["0.01 s", "0.02 s", "0.03 s", "0.03 s"]
    assert "Recorder failed: ValueError at" in caplog.text
    assert "attempt 4 of 10" in caplog.text
    assert "secret" not in caplog.text
    assert background.dead_letters == 0


def test_a_batch_that_keeps_failing_is_a_dead_letter(
    spooled: Any, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is kept with the reason, and what follows in its namespace goes on."""
    hook = Recorder(failures=2)
    background = spooled(hook, max_attempts=2)
    assert background(chat("a"), "ada")
    assert background(chat("b"), "ada")
    assert background.flush(20)
    assert hook.taken == [("ada", chat("b"))]
    assert background.dead_letters == 1
    assert "attempt 2 of 2, now a dead letter" in caplog.text
    ((namespace, attempts, reason, added, died),) = sql(
        path, "SELECT namespace, attempts, reason, added_at, died_at FROM dead_letters"
    )
    assert ("ada" in namespace, attempts) == (True, 2)
    assert reason.startswith("ValueError: secret")
    assert 0 < added <= died


def test_a_dead_letter_put_back_is_delivered_under_its_keys(spooled: Any, path: Path) -> None:
    """The statements of the documentation make a batch of it again, also for one that is closed."""
    hook = Recorder(failures=1)
    background = spooled(hook, max_attempts=1)
    assert background(chat("a"), ("m", 1))
    assert background.close(20)
    sql(
        path,
        "INSERT INTO batches (id, namespace, payload) SELECT id, namespace, payload"
        " FROM dead_letters",
        "DELETE FROM dead_letters",
    )
    assert background.flush(20)
    assert (hook.taken, hook.keys) == ([(("m", 1), chat("a"))], ["a"])
    assert background.dead_letters == 0


def test_a_row_that_cannot_be_read_is_a_dead_letter(
    spooled: Any, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A class that is gone, or bytes that are none of ours: not lost, and nobody waits for it."""
    hook = Recorder()
    background = spooled(hook, max_attempts=2)
    hook.hold(background, "ada")
    for message in (Message("gone"), "damaged", "fine"):
        assert background([message], "ada")
    sql(
        path,
        "UPDATE batches SET payload = CAST(replace(payload, CAST('Message' AS BLOB),"
        " CAST('Massage' AS BLOB)) AS BLOB) WHERE id = 2",
        "UPDATE batches SET payload = x'00' WHERE id = 3",
    )
    hook.gate.set()
    assert background.flush(20)
    assert hook.taken == [("ada", ["held"]), ("ada", ["fine"])]
    assert background.dead_letters == 2
    reasons = [reason for (reason,) in sql(path, "SELECT reason FROM dead_letters ORDER BY id")]
    assert "AttributeError" in reasons[0]
    assert "UnpicklingError" in reasons[1]


def test_a_batch_that_cannot_be_pickled_is_refused_and_waits(
    spooled: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says so and shows nothing of it; other namespaces do not wait."""
    hook = Recorder()
    background = spooled(hook)
    config = ReducerConfig(1, 1, on_prune=[background], preserve_first=False)
    pruner = MessageReducer(config=config)
    first = [{"id": "1", "role": "user", "content": "secret", "lock": threading.Lock()}, *chat(2)]
    pruner.reduce(first, namespace="ada")
    pruner.reduce(chat(1, 2), namespace="bob")
    assert background.dropped == 1
    assert "Recorder cannot pickle what it was given (TypeError at" in caplog.text
    assert "secret" not in caplog.text
    del first[0]["lock"]
    pruner.reduce(chat(2, 3), namespace="ada")
    assert background.flush(20)
    assert sorted((name, [m["id"] for m in batch]) for name, batch in hook.taken) == [
        ("ada", ["1", "2"]),
        ("bob", ["1"]),
    ]


@pytest.mark.usefixtures("_impatient")
def test_what_a_locked_file_does_not_take_is_offered_again(
    spooled: Any, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A batch that was not committed was not accepted; the next reduction brings it first."""
    hook = Recorder()
    background = spooled(hook)
    config = ReducerConfig(1, 1, on_prune=[background], preserve_first=False)
    pruner = MessageReducer(config=config)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        pruner.reduce(chat(1, 2), namespace="ada")
        db.execute("ROLLBACK")
    assert background.dropped == 1
    assert f"cannot use {path}: database is locked: a batch refused, 1 so far" in caplog.text
    pruner.reduce(chat(2, 3), namespace="ada")
    assert background.flush(20)
    assert hook.taken == [("ada", chat(1, 2))]


def test_max_pending_bounds_what_is_out_and_drops_nothing(spooled: Any) -> None:
    """The rest lies in the file."""
    hook = Recorder()
    background = spooled(hook, workers=3, max_pending=1)
    hook.hold(background)
    for n in range(20):
        assert background([n], n)
    assert not hook.entered.acquire(blocking=False)
    assert background.dropped == 0
    hook.gate.set()
    assert background.flush(20)
    assert len(hook.taken) == 21


def test_nothing_is_held_while_the_hook_runs(spooled: Any, path: Path) -> None:
    """No lock and no transaction: it may write to the file, and hand over itself."""
    seen: list[Any] = []

    def hook(pruned: list[Any], namespace: Any) -> None:
        sql(path, "BEGIN EXCLUSIVE", "ROLLBACK")
        if pruned == [1]:
            assert background([2], namespace)
            assert not background.flush(0)
        seen.extend(pruned)

    background = spooled(hook, max_attempts=1)
    assert background([1], "ada")
    until(lambda: seen == [1, 2])
    assert background.flush(20)
    assert background.dead_letters == 0


def test_a_lease_is_renewed_while_the_hook_runs(spooled: Any, path: Path) -> None:
    """It never comes to its end, and no other takes the namespace meanwhile."""
    hook = Recorder()
    background = spooled(hook)
    hook.hold(background)
    other = copy.copy(background)
    ends = set()

    def renewed() -> bool:
        ends.update(sql(path, "SELECT free_at FROM lanes"))
        return len(ends) > 3

    until(renewed)
    assert background(["next"], "held")
    assert not other.flush(0.2)
    assert not hook.entered.acquire(blocking=False)
    hook.gate.set()
    assert other.flush(20)
    assert other.close(20)
    assert [batch for _, batch in hook.taken] == [["held"], ["next"]]


def test_a_lease_of_a_process_that_is_gone_ends(spooled: Any, path: Path) -> None:
    """However long it would last."""
    hook = Recorder()
    background = spooled(hook, workers=1)
    hook.hold(background, "ada")
    assert background([1], "bob")
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    sql(
        path,
        f"UPDATE lanes SET free_at = free_at + 200, lease = x'00', pid = {gone.pid},"  # noqa: S608
        " host = (SELECT host FROM lanes WHERE host IS NOT NULL) WHERE namespace LIKE '%bob%'",
    )
    hook.gate.set()
    assert background.flush(20)
    assert hook.taken == [("ada", ["held"]), ("bob", [1])]


def test_a_lease_of_another_machine_ends_by_time(spooled: Any, path: Path) -> None:
    """Whether a process is alive is known on one machine; elsewhere nobody says so any more."""
    hook = Recorder()
    background = spooled(hook, workers=1)
    hook.hold(background, "ada")
    assert background([1], "bob")
    sql(
        path,
        "UPDATE lanes SET free_at = free_at + 200, lease = x'00', host = 'elsewhere', pid = 1"
        " WHERE namespace LIKE '%bob%'",
    )
    hook.gate.set()
    until(lambda: hook.taken == [("ada", ["held"])])
    assert not background.flush(0.2)
    assert len(hook.taken) == 1
    sql(path, "UPDATE lanes SET free_at = 1")
    assert background.flush(20)
    assert hook.taken[1:] == [("bob", [1])]


def test_a_lease_that_was_lost_is_not_given_back(
    spooled: Any, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Who took the namespace over decides about a batch that failed; one that was done is gone."""
    hook = Recorder(failures=1)
    background = spooled(hook, workers=1)
    stolen = "UPDATE lanes SET free_at = free_at + 200, lease = x'00', host = 'elsewhere'"
    for failure in (True, False):
        hook.hold(background)
        sql(path, stolen)
        hook.gate.set()
        until(lambda: "another process has taken it over" in caplog.text)
        if failure:
            assert sql(path, "SELECT attempts FROM batches") == [(0,)]
            sql(path, "UPDATE lanes SET free_at = 1")
            assert background.flush(20)
    until(lambda: not sql(path, "SELECT * FROM batches"))
    assert hook.taken == [("held", ["held"])] * 2


def test_a_clock_that_was_set_back_makes_nothing_wait(spooled: Any, path: Path) -> None:
    """No retry and no lease is further away than the longest there is."""
    hook = Recorder()
    background = spooled(hook, workers=1)
    hook.hold(background)
    assert background([1], "ada")
    sql(path, "UPDATE lanes SET free_at = free_at + 1e6 WHERE lease IS NULL")
    hook.gate.set()
    assert background.flush(20)
    assert hook.taken[1:] == [("ada", [1])]


@pytest.mark.usefixtures("_impatient")
def test_what_was_done_and_cannot_be_removed_comes_again(
    spooled: Any, path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under its keys, when the lease is over; the worker gives way until the file can be used."""
    monkeypatch.setattr(_spool, "LOOK_SECONDS", 100)
    hook = Recorder()
    background = spooled(hook)
    hook.hold(background)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        hook.gate.set()
        until(lambda: "the batch was done and comes again; cannot use" in caplog.text)
        until(lambda: "Background Recorder cannot use" in caplog.text)
        db.execute("ROLLBACK")
    sql(path, "UPDATE lanes SET free_at = 1")
    assert background.flush(20)
    assert hook.taken == [("held", ["held"])] * 2


@pytest.mark.usefixtures("_impatient")
def test_a_file_that_cannot_be_used_for_a_while_is_tried_again(
    spooled: Any, path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A retry is late then, and not lost."""
    monkeypatch.setattr(_spool, "FIRST_RETRY_SECONDS", 100)
    hook = Recorder(failures=1)
    background = spooled(hook)
    assert background([1], "ada")
    until(lambda: "again in" in caplog.text)
    with closing(sqlite3.connect(path, isolation_level=None, timeout=20)) as db:
        db.execute("BEGIN IMMEDIATE")
        until(lambda: "database is locked" in caplog.text)
        db.execute("ROLLBACK")
    sql(path, "UPDATE lanes SET free_at = 1")
    assert background.flush(20)
    assert hook.taken == [("ada", [1])]


@pytest.mark.usefixtures("_impatient")
def test_a_log_that_raises_does_not_end_the_watch_over_the_file(
    spooled: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A retry comes after a time in which the file could not be used, whatever the log does."""
    monkeypatch.setattr(_spool, "FIRST_RETRY_SECONDS", 100)
    said: list[str] = []

    def refuse(record: logging.LogRecord) -> bool:
        said.append(record.getMessage())
        raise ZeroDivisionError

    logger = logging.getLogger("agentstate_reducer")
    logger.addFilter(refuse)
    try:
        hook = Recorder(failures=1)
        assert spooled(hook)([1], "ada")
        until(lambda: "again in" in "".join(said))
        with closing(sqlite3.connect(path, isolation_level=None, timeout=20)) as db:
            db.execute("BEGIN IMMEDIATE")
            until(lambda: "database is locked" in "".join(said))
            db.execute("ROLLBACK")
        sql(path, "UPDATE lanes SET free_at = 1")
        until(lambda: hook.taken == [("ada", [1])])
    finally:
        logger.removeFilter(refuse)


def test_without_a_thread_to_be_had_the_batch_runs_in_the_callers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at the end of the interpreter, when none can be started."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    hook = Recorder()
    background = Background(hook, spool=path)
    assert background([1], "ada")
    assert hook.taken == [("ada", [1])]
    assert background.close(0)


def test_a_retry_waits_for_a_thread_to_be_had(
    spooled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who looks after the file is started as soon as that can be done."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    hook = Recorder(failures=1)
    background = spooled(hook)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert background([1], "ada")
    assert hook.taken == []
    assert background.flush(20)
    assert hook.taken == [("ada", [1])]


def test_close_leaves_one_file_and_the_object_usable(spooled: Any, path: Path) -> None:
    """Nothing stays open, until the next batch."""
    hook = Recorder()
    background = spooled(hook)
    for n in range(2):
        assert background([n], "ada")
        assert background.close(20)
        assert background.dead_letters == 0
        assert os.listdir(path.parent) == ["memory.db"]
    assert [batch for _, batch in hook.taken] == [[0], [1]]


def test_flush_and_close_say_when_time_ran_out(spooled: Any) -> None:
    """What could not be done in time stays in the file."""
    hook = Recorder()
    background = spooled(hook)
    hook.hold(background)
    assert not background.flush(0.01)
    assert not background.close(0.01)
    hook.gate.set()
    assert background.flush(20)


def test_the_end_of_the_process_does_not_wait_for_ever(
    spooled: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the interpreter calls last gives up on a stuck hook; its batch stays in the file."""
    monkeypatch.setattr(_pool, "EXIT_SECONDS", 0.01)
    hook = Recorder()
    background = spooled(hook)
    hook.hold(background)
    assert background([2], "held")
    _pool._drain_all()
    assert "the process ends with 2 batches undone" in caplog.text
    hook.gate.set()
    assert background.flush(20)


def test_flush_does_not_wait_for_what_comes_later(spooled: Any) -> None:
    """A file that is filled again and again is flushed as well."""
    stop = threading.Event()

    def hook(pruned: list[Any], namespace: Any) -> None:
        if not stop.is_set():
            assert background([pruned[0] + 1], namespace)

    background = spooled(hook)
    assert background([0], "ada")
    assert background.flush(20)
    stop.set()


def test_a_background_that_is_made_over_a_file_does_what_lies_there(path: Path) -> None:
    """Also when it is given nothing itself; a copy shares the file, and the hook."""
    hook = Recorder(failures=1)
    with closing(sqlite3.connect(path)):
        pass  # an empty file is as good as none
    background = Background(hook, spool=path, max_attempts=1)
    assert background([1], "ada")
    assert background.flush(20)
    sql(
        path, "INSERT INTO batches (namespace, payload) SELECT namespace, payload FROM dead_letters"
    )
    twins = [copy.copy(background), copy.deepcopy(background)]
    until(lambda: hook.taken == [("ada", [1])])
    for twin in twins:
        assert (twin.fn, twin.spool, twin.max_attempts) == (hook, str(path), 1)
        assert twin.close(20)
    assert background.close(20)


def test_a_pickle_shares_the_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever its process works, and whatever path was given."""
    monkeypatch.chdir(path.parent)
    background = Background(noop, 3, 7, spool="memory.db", max_attempts=4)
    data = pickle.dumps(background)
    monkeypatch.chdir("/")
    twin = pickle.loads(data)  # noqa: S301
    assert (twin.fn, twin.workers, twin.max_pending) == (noop, 3, 7)
    assert (twin.spool, twin.max_attempts) == (str(path), 4)
    assert twin.close(20)
    assert background.close(20)


def test_the_files_are_private(spooled: Any, path: Path) -> None:
    """Nobody else may read or write them: pickles are code."""
    background = spooled(noop)
    assert background([1], None)
    files = list(path.parent.iterdir())
    assert len(files) == 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("PRAGMA user_version = 2", "has format 2, of a later version than this one"),
        ("PRAGMA application_id = 7", "is no spool but another database"),
        ("UPDATE hook SET name = 'app.other'", "belongs to the hook app.other, not to "),
    ],
)
def test_a_file_of_something_else_is_refused(path: Path, statement: str, text: str) -> None:
    """Of a newer version, another application, another hook: the error says which, and of what."""
    Background(noop, spool=path).close()
    sql(path, statement)
    with pytest.raises(ValueError, match=text) as caught:
        Background(noop, spool=path)
    assert str(path) in str(caught.value)


def test_a_database_with_tables_of_others_is_left_as_it_was(path: Path) -> None:
    """One that knows nothing of versions too."""
    sql(path, "CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="is no spool but another database"):
        Background(noop, spool=path)
    assert path.read_bytes() == before


def test_a_file_that_cannot_be_opened_is_an_error_at_construction(path: Path) -> None:
    """A folder that is not there, and what is no database."""
    with pytest.raises(ValueError, match="No such file"):
        Background(noop, spool=path.parent / "missing" / "memory.db")
    path.write_text("no database, but a text that is long enough to be looked at" * 20)
    with pytest.raises(ValueError, match="file is not a database"):
        Background(noop, spool=path)


def test_two_hooks_do_not_share_a_file(path: Path) -> None:
    """Not even two of one name, which nothing in the file would tell apart."""

    def hook(user: str) -> Any:
        return lambda pruned, namespace: None

    ada = hook("ada")
    background = Background(ada, spool=path)
    with pytest.raises(ValueError, match=r"hook.<locals>.<lambda> that does not equal this one"):
        Background(hook("bob"), spool=path)
    same = Background(ada, spool=path.parent / "." / path.name)
    assert same.close(20)
    assert background.close(20)
    assert sql(path, "SELECT name FROM hook")[0][0].startswith(f"{__name__}.test_two_hooks")


def test_the_name_of_a_partial_is_that_of_its_function(path: Path) -> None:
    """What it holds is not written down."""
    assert Background(functools.partial(noop, namespace="secret"), spool=path).close(20)
    assert sql(path, "SELECT name FROM hook") == [(f"{__name__}.noop",)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_fork_finds_no_connection_and_breaks_none(spooled: Any, path: Path) -> None:
    """The parent closes it before and goes on afterwards, also while a batch runs."""
    hook = Recorder()
    background = spooled(hook)
    hook.hold(background)
    connection = background._pool.queue._db
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whatever else is loaded may warn of forks
        child = os.fork()
    if child == 0:
        os._exit(0)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
    assert os.waitpid(child, 0)[1] == 0
    assert background(["next"], "held")
    hook.gate.set()
    assert background.flush(20)
    assert [batch for _, batch in hook.taken] == [["held"], ["next"]]


def test_processes_are_told_apart_where_that_can_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the container on Linux, by the name of the machine elsewhere; one of others is alive."""
    assert _spool.host() == _spool.host()

    def missing(path: str) -> str:
        raise FileNotFoundError(path)

    def denied(pid: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "readlink", missing)
    assert _spool.host() == os.uname().nodename
    assert not _spool.is_gone(os.getpid())
    monkeypatch.setattr(os, "kill", denied)
    assert not _spool.is_gone(1)


def test_without_a_spool_nothing_is_kept() -> None:
    """What fails is logged, and there is no dead letter."""
    background = Background(Recorder(failures=1))
    assert background([1], None)
    assert background.flush(20)
    assert background.dead_letters == 0


def test_the_reason_of_a_dead_letter_may_be_any_text(spooled: Any) -> None:
    """Half an emoji in an error stops nobody."""

    def hook(pruned: list[Any], namespace: Any) -> None:
        raise ValueError("text \udc80")

    background = spooled(hook, max_attempts=1)
    assert background([1], "ada")
    assert background.flush(20)
    assert background.dead_letters == 1


def test_a_file_that_was_removed_takes_nothing(spooled: Any, path: Path) -> None:
    """What a file without a name would take is refused, and the next batch makes a new file."""
    hook = Recorder()
    background = spooled(hook)
    assert background([1], "ada")
    assert background.flush(20)
    until(nobody_looks)
    path.rename(path.parent / "away.db")
    assert not background([2], "ada")
    assert background([2], "ada")
    assert background.flush(20)
    until(nobody_looks)
    other = path.parent / "other.db"
    other.write_bytes(path.read_bytes())
    other.replace(path)
    assert not background([3], "ada")
    assert hook.taken == [("ada", [1]), ("ada", [2])]


def test_a_file_that_cannot_be_used_is_no_reason_to_wait(tmp_path: Path) -> None:
    """`flush` and `close` say that not all was done, and nothing looks after the file."""
    folder = tmp_path / "folder"
    folder.mkdir()
    background = Background(noop, spool=folder / "memory.db")
    assert background.close(20)
    shutil.rmtree(folder)
    assert not background.flush(1)
    assert not background.close(1)


class Contested:
    """A connection whose mode another one changes at the same time, or that is broken."""

    def __init__(self, *errors: str) -> None:
        self.errors = list(errors)

    def execute(self, statement: str) -> None:
        if self.errors:
            raise sqlite3.OperationalError(self.errors.pop(0))


def test_processes_that_open_a_new_file_at_once_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SQLite itself does not wait there; what is no lock, or takes too long, is an error."""
    contested: Any = Contested("database is locked", "database is locked")
    _spool_file._use_wal(contested)
    assert contested.errors == []
    broken: Any = Contested("disk I/O error")
    with pytest.raises(sqlite3.OperationalError, match="disk"):
        _spool_file._use_wal(broken)
    monkeypatch.setattr(_spool_file, "BUSY_SECONDS", 0.05)
    locked: Any = Contested(*["database is locked"] * 1000)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        _spool_file._use_wal(locked)
