"""Bodies larger than a document: parts first, all or nothing."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstate_documents import (
    Document,
    DocumentConflict,
    Limits,
    MemoryTable,
    StoredFormatUnknown,
    steps,
)
from agentstate_documents.chunks import Item, join, store
from agentstate_documents.drivers import run
from agentstate_documents.model import AFTER_LAST_SORT, FIRST_SORT
from agentstate_documents.testing.faults import FaultyTable, Stopped


def read(table, sort):
    documents = run(steps.documents("p", low=FIRST_SORT, high=AFTER_LAST_SORT), table)
    return join(documents[sort].body, f"{sort}!p", documents) if sort in documents else None


@given(st.lists(st.binary(max_size=700), min_size=1, max_size=6), st.integers(64, 300))
def test_any_bodies_at_any_limit(bodies, limit):
    """What is stored together comes back, however small the documents and the transaction."""
    table = MemoryTable(max_body_bytes=limit, max_transaction_bytes=max(limit, 512))
    items = [Item(f"k{n}", f"k{n}!p", body, expires_at=9) for n, body in enumerate(bodies)]
    written = run(store("p", items, table.limits), table)
    assert [read(table, item.sort) for item in items] == bodies
    documents = [d for page in [table.query("p", limit=1000)] for d in page.documents]
    assert all(document.expires_at == 9 for document in documents)
    assert written >= sum(map(len, bodies))


def test_nothing_is_seen_before_all_is_there():
    """Stopped anywhere, a reader finds the old bodies or the new ones."""
    old = [Item(f"k{n}", f"k{n}!p", bytes([n]) * 200) for n in range(2)]
    new = [Item(f"k{n}", f"k{n}!p", bytes([9 - n]) * 300) for n in range(2)]
    for number in itertools.count(1):
        table = MemoryTable(max_body_bytes=64)
        run(store("p", old, table.limits), table)
        try:
            run(store("p", new, table.limits), FaultyTable(table, at=number, after=True))
        except Stopped:
            found = [read(table, item.sort) for item in new]
            assert found in ([i.packed for i in old], [i.packed for i in new])
        else:
            break
    assert number > 5


def test_conditions_are_the_heads():
    """A condition that does not hold stores no head, whatever became of the parts."""
    table = MemoryTable(max_body_bytes=64)
    item = Item("k", "k!p", b"1" * 100, if_absent=True)
    run(store("p", [item], table.limits), table)
    with pytest.raises(DocumentConflict):
        run(store("p", [Item("k", "k!p", b"2" * 100, if_absent=True)], table.limits), table)
    assert read(table, "k") == b"1" * 100


def test_a_missing_part_is_no_body():
    """A head without one of its parts is None, never a shorter body."""
    table = MemoryTable(max_body_bytes=64)
    run(store("p", [Item("k", "k!p", bytes(200))], table.limits), table)
    parts = [d.sort for d in table.query("p", limit=100).documents if d.sort != "k"]
    assert len(parts) == 4
    table.delete("p", parts[2:3])
    assert read(table, "k") is None


def test_an_unknown_placement_is_said():
    """A placement of a newer version is an error that names it."""
    with pytest.raises(StoredFormatUnknown, match="placement 07"):
        join(b"\x07x", "k!p", {"k": Document("k", b"")})


def test_one_large_body_among_small_ones_is_the_one_in_parts():
    """What exceeds the transaction gives way from the largest down."""
    limits = Limits(400, 8, 600)
    table = MemoryTable(max_body_bytes=400, max_transaction_bytes=600)
    items = [Item("a", "a!p", bytes(390)), Item("b", "b!p", bytes(300))]
    run(store("p", items, limits), table)
    assert next(d.sort for d in table.query("p").documents) == "a"
    assert read(table, "a") == bytes(390)
    assert table.get("p", ["b"])[0].body == b"\0" + bytes(300)
