"""Background with a spool: processes that are killed, that share the file, that fork and end."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest

needs_signals = pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on this platform")

# What every process begins with. Lines are appended in one call each, so that they stay whole.
PREAMBLE = """
import os, sys, threading, time, warnings
from agentstate_reducer import Background, MessageReducer, ReducerConfig, _spool
folder = sys.argv[1]
spool = os.path.join(folder, "memory.db")
def write(name, *words):
    file = os.open(os.path.join(folder, name), os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    os.write(file, (" ".join(map(str, words)) + "\\n").encode())
    os.close(file)
def wait_for(name):
    while not os.path.exists(os.path.join(folder, name)):
        time.sleep(0.01)
"""


def start(folder: Path, script: str, *args: object) -> subprocess.Popen[str]:
    """A process that runs the script."""
    return subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(script), str(folder), *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    """What it said; it ended well and complained of nothing."""
    said, complaints = process.communicate(timeout=60)
    assert (process.returncode, complaints) == (0, "")
    return said


def kill(process: subprocess.Popen[str]) -> None:
    """It is gone, and did nothing any more."""
    process.send_signal(signal.SIGKILL)
    process.communicate()


def lines(file: Path) -> list[list[str]]:
    """The words that were written, line by line."""
    return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


def appears(file: Path) -> None:
    """Waits until another process wrote it."""
    for _ in range(6000):
        if lines(file):
            return
        time.sleep(0.01)
    raise AssertionError(file)


TALK = """
def hook(pruned, namespace):
    for message, key in zip(pruned, pruned.keys):
        write("delivered", namespace[1], message["place"], key)
    time.sleep(0.001)
reducer = MessageReducer(config=ReducerConfig(1, 1, on_prune=[Background(hook, spool=spool)],
                                              preserve_first=False))
number = int(sys.argv[2]) * 1000
chats = {user: [] for user in range(3)}
while True:
    for user, chat in chats.items():
        number += 1
        # What leaves now is the message before: it was written down as said, not as handed over.
        chat.append({"id": f"{user}-{number}", "role": "user", "place": number})
        chats[user] = reducer.reduce(chat, namespace=("memories", user)).surviving
        if len(chat) > 1:
            write("handed", user, chat[0]["place"], chat[0]["id"])
            print(flush=True)
"""


@needs_signals
def test_nothing_is_lost_whenever_a_process_is_killed(tmp_path: Path) -> None:
    """What `reduce()` returned for is delivered, in order, under its key; only batches repeat."""
    for turn in range(12):
        process = start(tmp_path, TALK, turn)
        for _ in range(random.randrange(1, 60)):
            assert process.stdout is not None
            assert process.stdout.readline() == "\n"
        time.sleep(random.random() / 200)
        kill(process)
    finish(
        start(
            tmp_path,
            TALK.partition("number =")[0] + "assert reducer.config.on_prune[0].flush(60)",
        )
    )
    handed, delivered = lines(tmp_path / "handed"), lines(tmp_path / "delivered")
    assert len(handed) > 12
    assert {tuple(words) for words in handed} <= {tuple(words) for words in delivered}
    places = defaultdict(list)
    for user, place, key in delivered:
        assert key == f"{user}-{place}"
        places[user].append(int(place))
    assert len(places) == 3
    for order in places.values():
        assert order == sorted(order)


@needs_signals
def test_the_work_of_a_process_that_is_gone_is_taken_over_at_once(tmp_path: Path) -> None:
    """Its lease would last for minutes more: on one machine nobody waits for the dead."""
    script = """
        _spool.LEASE_SECONDS = 250
        def hook(pruned, namespace):
            write("taken", sys.argv[2], *pruned)
            if sys.argv[2] == "killed":
                time.sleep(60)
        background = Background(hook, spool=spool)
        if sys.argv[2] == "killed":
            background([1], "ada"); background([2], "ada"); write("handed", "over")
        assert background.flush(50)
    """
    process = start(tmp_path, script, "killed")
    appears(tmp_path / "taken")
    appears(tmp_path / "handed")
    kill(process)
    finish(start(tmp_path, script, "next"))
    assert lines(tmp_path / "taken") == [["killed", "1"], ["next", "1"], ["next", "2"]]


def test_processes_share_a_file_one_at_a_namespace_and_side_by_side(tmp_path: Path) -> None:
    """Each waits inside its first batch until the other is inside one, and no two are in one."""
    script = """
        me, other = sys.argv[2:]
        def hook(pruned, namespace):
            write("log", "begin", namespace, pruned[0], os.getpid())
            write(f"at-{me}")
            wait_for(f"at-{other}")
            time.sleep(0.002)
            write("log", "end", namespace, pruned[0], os.getpid())
        background = Background(hook, spool=spool)
        for n in range(15):
            for namespace in ("shared", "both", me):
                assert background([f"{me}{n}"], namespace)
        assert background.flush(50)
    """
    processes = [start(tmp_path, script, *names) for names in (("a", "b"), ("b", "a"))]
    for process in processes:
        finish(process)
    runs = defaultdict(list)
    for word, namespace, batch, pid in lines(tmp_path / "log"):
        runs[namespace].append((word, batch, pid))
    assert len({pid for run in runs.values() for _, _, pid in run}) == 2
    for namespace, run in runs.items():
        begins, ends = run[::2], run[1::2]
        assert [("end", *rest) for _, *rest in begins] == [tuple(end) for end in ends]
        for name in "ab":
            numbers = [int(batch[1:]) for _, batch, _ in begins if batch[0] == name]
            assert numbers == (list(range(15)) if namespace in (name, "shared", "both") else [])


def test_what_was_left_is_done_by_a_process_that_only_opens_the_file(tmp_path: Path) -> None:
    """Its end waits for what is ready; what is tried again later stays for the next."""
    script = """
        import logging
        logging.disable()
        def hook(pruned, namespace):
            if sys.argv[2] == "fails":
                raise ValueError
            write("done", *pruned)
        background = Background(hook, spool=spool)
        if sys.argv[2] == "fails":
            for n in range(3):
                background([n], n)
    """
    finish(start(tmp_path, script, "fails"))
    assert not (tmp_path / "done").exists()
    with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as db:
        db.execute("UPDATE lanes SET free_at = 1")
    finish(start(tmp_path, script, "works"))
    assert sorted(lines(tmp_path / "done")) == [["0"], ["1"], ["2"]]


def test_the_end_of_the_process_waits_for_what_was_handed_over(tmp_path: Path) -> None:
    """As without a spool: a script that ends right after it leaves nothing undone."""
    script = """
        def hook(pruned, namespace):
            time.sleep(0.05)
            write("done", namespace, *pruned)
        background = Background(hook, spool=spool)
        for n in range(4):
            background([n], "a"); background([n], "b")
    """
    finish(start(tmp_path, script))
    done = lines(tmp_path / "done")
    assert [n for name, n in done if name == "a"] == ["0", "1", "2", "3"]
    assert len(done) == 8
    assert not list(tmp_path.glob("memory.db-*"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_child_shares_the_file_with_its_parent(tmp_path: Path) -> None:
    """It works, also over what the parent left in the file, and never at what runs there."""
    script = """
        warnings.simplefilter("ignore", DeprecationWarning)
        leave = threading.Event()
        def hook(pruned, namespace):
            if pruned == ["first"]:
                write("entered"); leave.wait()
            write("done", *pruned)
        background = Background(hook, workers=1, spool=spool)
        background(["first"], "ada"); background(["second"], "ada"); background(["third"], "bob")
        wait_for("entered")
        child = os.fork()
        if child == 0:
            background(["child"], "eve")
            assert not background.flush(0)
            wait_for("done")
            while len(open(os.path.join(folder, "done")).readlines()) < 2:
                time.sleep(0.01)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        leave.set()
        assert background.flush(50)
    """
    finish(start(tmp_path, script))
    done = [words[0] for words in lines(tmp_path / "done")]
    assert sorted(done[:2]) == ["child", "third"]
    # The child may be gone before its own batch is removed, which then comes again.
    assert [word for word in done[2:] if word != "child"] == ["first", "second"]
    with closing(sqlite3.connect(tmp_path / "memory.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@needs_signals
def test_what_a_full_disk_does_not_take_is_offered_again(tmp_path: Path) -> None:
    """The reduction goes on, the log says why, and the next one brings it first."""
    script = """
        import logging, resource
        logging.basicConfig(filename=os.path.join(folder, "log"))
        def hook(pruned, namespace):
            write("done", *pruned.keys)
        background = Background(hook, spool=spool)
        reducer = MessageReducer(
            config=ReducerConfig(1, 1, on_prune=[background], preserve_first=False)
        )
        chat = [{"id": str(n), "role": "user", "content": "x" * 100_000} for n in range(3)]
        resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, resource.RLIM_INFINITY))
        assert len(reducer.reduce(chat[:2], namespace="ada").surviving) == 1
        assert background.dropped == 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        reducer.reduce(chat[1:], namespace="ada")
        assert background.flush(50)
    """
    finish(start(tmp_path, script))
    assert lines(tmp_path / "done") == [["0", "1"]]
    log = (tmp_path / "log").read_text()
    assert "a batch refused, 1 so far" in log
    assert "xxx" not in log


def test_a_spool_is_what_loads_sqlite() -> None:
    """Nobody else pays for it."""
    code = "import sys; from agentstate_reducer import Background; Background(lambda p, n: 0)([1]);"
    code += "print('sqlite3' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"
