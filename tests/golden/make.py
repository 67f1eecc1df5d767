"""Stores what `threads` and `flow_states` record, in the shape of every database.

Run in `tests` as `python -m golden.make RELEASE`, for a release that stores something in a
new way. What an earlier release stored is never written again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from agentstate_documents import Document, MemoryTable
from golden.flow_states import store_flows
from golden.shapes import SHAPES, documents_in
from golden.threads import THREADS, store_thread

HERE = Path(__file__).parent


def rows_of(table: MemoryTable) -> list[tuple[str, Document]]:
    """Every document of the table, in order."""
    return [
        (partition, document)
        for partition in sorted(table.partitions())
        for document in documents_in(table, partition)
    ]


def stored() -> list[tuple[str, Document]]:
    """All that is recorded, as this version stores it."""
    table, small = MemoryTable(), MemoryTable(max_body_bytes=64)
    for thread in THREADS:
        store_thread(thread, small if thread.in_parts else table)
    store_flows(table, small)
    return rows_of(table) + rows_of(small)


def make(folder: Path) -> None:
    """The folder, which is new, holds a file for every database."""
    folder.mkdir()
    rows = stored()
    for database, shape in SHAPES.items():
        with tempfile.TemporaryDirectory() as scratch:
            lines = map(json.dumps, shape.items(rows, Path(scratch)))
            (folder / f"{database}.jsonl").write_text("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    make(HERE / sys.argv[1])
