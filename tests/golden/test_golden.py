"""What every release stored is read by this one, from every database."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentstate_documents import MemoryTable, Write, envelope
from agentstate_documents.dictionary import DICTIONARY
from agentstate_documents.flows import Flows
from golden.flow_states import (
    CONTEXT,
    EVERY_TYPE,
    EXPIRING,
    FLOW_KEYS,
    LONG,
    REDUCED,
    SAVED_AT,
    reduction,
)
from golden.make import HERE, make
from golden.shapes import SHAPES
from golden.threads import THREAD_KEYS, THREADS, WRITES, Thread, checkpoint, said, told

RELEASES = sorted(path.name for path in HERE.iterdir() if (path / "memory.jsonl").exists())


@pytest.fixture(scope="module", params=[*RELEASES, "this version"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a release stored; and what this version would."""
    if request.param in RELEASES:
        return HERE / str(request.param)
    made = tmp_path_factory.mktemp("golden") / "made"
    make(made)
    return made


def rows(folder: Path, database: str, scratch: Path) -> list[Any]:
    """The documents that were stored in a database, in order."""
    items = [json.loads(line) for line in (folder / f"{database}.jsonl").read_text().splitlines()]
    return sorted(SHAPES[database].read(items, scratch), key=lambda row: (row[0], row[1].sort))


@pytest.fixture
def table(folder: Path, tmp_path: Path) -> MemoryTable:
    """A table with the documents of the release."""
    filled = MemoryTable()
    for partition, document in rows(folder, "memory", tmp_path):
        filled.put(partition, [Write(document, if_absent=True)])
    return filled


@pytest.mark.parametrize("database", SHAPES)
def test_every_database_gives_the_documents_back(
    folder: Path, database: str, tmp_path: Path
) -> None:
    """The documents a database's table reads from what was stored are those of every other."""
    expected = rows(folder, "memory", tmp_path)
    assert expected
    assert rows(folder, database, tmp_path) == expected


@pytest.mark.parametrize("thread", THREADS, ids=lambda thread: thread.name[:9])
def test_a_thread_is_read(table: MemoryTable, thread: Thread) -> None:
    """Values, metadata, parents and writes of each checkpoint are those that were put."""
    found = list(thread.saver(table).list(thread.config()))[::-1]
    assert [one.checkpoint["channel_values"] for one in found] == thread.expected
    assert [one.metadata["step"] for one in found] == list(range(len(found)))
    assert [one.parent_config for one in found] == [None, *(one.config for one in found[:-1])]
    assert [one.pending_writes for one in found] == [*([] for _ in found[:-1]), WRITES]


def test_a_thread_goes_on_where_it_was(table: MemoryTable) -> None:
    """What leaves next is handed over under the keys its place in the whole history gives."""
    thread = next(thread for thread in THREADS if thread.name == "reduced")
    given: list[Any] = []
    saver = thread.saver(table, lambda pruned, namespace: given.append((namespace, pruned)))
    last = saver.get_tuple(thread.config())
    assert last is not None
    messages = [*last.checkpoint["channel_values"]["messages"], said(5), said(6)]
    saver.put(last.config, checkpoint(2, {"messages": messages}), told(2), {})
    [(namespace, pruned)] = given
    assert (namespace, list(pruned)) == (("memories", "reduced"), [said(3), said(4)])
    assert pruned.keys == THREAD_KEYS


def test_a_flow_is_read(table: MemoryTable) -> None:
    """Every type comes back as itself, also what waits for feedback and what lies in parts."""
    flows = Flows(lambda: table)
    for state in (EVERY_TYPE, LONG, EXPIRING, REDUCED):
        loaded = flows.load(state["id"])
        assert loaded == state
        assert loaded.pop("large", None) == state.get("large")  # too large to be shown
        assert all(repr(loaded[name]) == repr(state[name]) for name in loaded)
    assert flows.load_waiting("every type") == (EVERY_TYPE, CONTEXT)
    assert all(flow.saved_at == SAVED_AT for flow in flows.list())


def test_a_flow_goes_on_where_it_was(table: MemoryTable) -> None:
    """The same as for a thread."""
    given: list[Any] = []
    hook = reduction(lambda pruned, namespace: given.append((namespace, pruned)))
    flows = Flows(lambda: table, reduction=hook)
    state = flows.load("reduced")
    assert state is not None
    flows.save("reduced", "answer", {**state, "messages": [*state["messages"], said(6), said(7)]})
    [(namespace, pruned)] = given
    assert (namespace, list(pruned)) == ("/flow/reduced", [said(4), said(5)])
    assert pruned.keys == FLOW_KEYS


def test_every_way_to_store_a_body_is_recorded(folder: Path, tmp_path: Path) -> None:
    """Whole and in parts; as it is, deflated and sealed. Of a sealed thread nothing is plain."""
    bodies = [
        (partition, document.body) for partition, document in rows(folder, "memory", tmp_path)
    ]
    assert {b"\0\0", b"\0\1", b"\0\2"} <= {body[:2] for _, body in bodies}
    assert any(re.fullmatch(rb"\x01[0-9a-f]{16}:\d+", body) for _, body in bodies)
    assert {body[:2] for partition, body in bodies if partition == "sealed"} == {b"\0\2"}


def test_the_dictionary_never_changes() -> None:
    """Without its very bytes nothing that was deflated can be read."""
    digest = "228bd35c6df8f98ea1c52d772bf8aa28f7281917e5d94b35c9d593869a86c9fd"
    assert hashlib.sha256(DICTIONARY).hexdigest() == digest


def test_the_codes_of_types_never_change() -> None:
    """A frame's first byte names what a serializer called its value."""
    body = b"\0" + b"".join(bytes([code, 0]) for code in range(1, 8))
    names = [name for name, _ in envelope.unpack(body)]
    assert names[:7] == ["msgpack", "null", "bytes", "bytearray", "json", "pickle", "bytes+aes"]
