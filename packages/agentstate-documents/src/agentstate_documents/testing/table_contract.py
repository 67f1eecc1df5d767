"""What every table must keep, as tests.

A backend inherits `TableContract` and gives it one fixture, `table`; one with a client of
its own for coroutines gives `async_table` too. Every test runs on both faces:

    class TestMyTable(TableContract):
        @pytest.fixture
        def table(self):
            table = MyTable(...)
            yield table
            table.close()

Each test has partitions of its own, so tests may share one database.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from agentstate_documents.errors import DocumentConflict, DocumentTooLarge
from agentstate_documents.model import MAX_KEY_LENGTH, Document, Write
from agentstate_documents.tables.threaded import Threaded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from agentstate_documents.model import Limits
    from agentstate_documents.port import AsyncDocumentTable, DocumentTable

# In the order every table must sort them: by ASCII byte.
ORDERED = [
    "!a!h",
    '"2f!',
    "$",
    "+1",
    "0",
    "9",
    "A",
    "Z",
    "_",
    "a",
    "a!b",
    "aa",
    "b",
    "z",
    "~0000e9",
]


class Blocking:
    """A blocking table behind awaitable methods, so that one test serves both faces."""

    def __init__(self, table: DocumentTable) -> None:
        self._table = table

    @property
    def limits(self) -> Limits:
        """Those of the table."""
        return self._table.limits

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._table, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return call


def writes(*documents: Document, if_absent: bool = False) -> list[Write]:
    """The documents as writes with the same condition."""
    return [Write(document, if_absent=if_absent) for document in documents]


async def pages_of(
    table: AsyncDocumentTable, partition: str, **query: Any
) -> AsyncIterator[list[Document]]:
    """The documents of each page of a range; every cursor leads to another."""
    cursor: str | None = None
    followed: set[str | None] = set()
    while cursor not in followed:
        followed.add(cursor)
        page = await table.query(partition, cursor=cursor, **query)
        yield list(page.documents)
        cursor = page.cursor
        if cursor is None:
            return
    pytest.fail(f"the cursor {cursor!r} leads back to itself")


async def read_all(table: AsyncDocumentTable, partition: str, **query: Any) -> list[Document]:
    """The whole range, page by page."""
    return [d async for page in pages_of(table, partition, **query) for d in page]


async def fill(table: AsyncDocumentTable, partition: str, sorts: Sequence[str]) -> None:
    """One document per sort, its body the sort."""
    size = table.limits.max_transaction_documents
    for start in range(0, len(sorts), size):
        batch = sorts[start : start + size]
        await table.put(partition, writes(*(Document(sort, sort.encode()) for sort in batch)))


@pytest.mark.asyncio
class TableContract:
    """The guarantees of `agentstate_documents.port`, on both faces."""

    @pytest.fixture
    def table(self) -> Any:
        """The backend's table, empty or shared."""
        raise NotImplementedError("a table contract needs a `table` fixture")

    @pytest.fixture
    def async_table(self, table: DocumentTable) -> Any:
        """The awaiting table, by default the blocking one in threads."""
        return Threaded(table)

    @pytest.fixture(params=["blocking", "awaiting"])
    def face(self, request: pytest.FixtureRequest) -> Any:
        """The table under test, awaitable either way."""
        if request.param == "blocking":
            return Blocking(request.getfixturevalue("table"))
        return request.getfixturevalue("async_table")

    @pytest.fixture
    def partition(self) -> str:
        """A partition nobody else uses."""
        return f"contract-{uuid.uuid4()}"

    async def test_setup_may_be_repeated(self, face: Any) -> None:
        """Setting up an existing table changes nothing and raises nothing."""
        await face.setup()
        await face.setup()

    async def test_limits_are_large_enough_to_work_with(self, face: Any) -> None:
        """Limits keep the minimums the procedures rely on."""
        limits = face.limits
        assert limits.max_body_bytes >= 64
        assert limits.max_transaction_documents >= 8
        assert limits.max_transaction_bytes >= limits.max_body_bytes

    async def test_get_answers_in_the_order_asked(self, face: Any, partition: str) -> None:
        """Documents come in the order of the sorts, with None where there is none."""
        await fill(face, partition, ["a", "b", "c"])
        found = await face.get(partition, ["c", "nothing", "a", "c"])
        assert [d and d.sort for d in found] == ["c", None, "a", "c"]
        assert list(await face.get(partition, [])) == []

    async def test_get_of_many(self, face: Any, partition: str) -> None:
        """More sorts than databases take at once are answered, in order."""
        sorts = [f"k{n:03}" for n in range(230)]
        await fill(face, partition, sorts[::2])
        found = await face.get(partition, sorts[::-1])
        assert [d and d.sort for d in found] == [
            sort if n % 2 == 0 else None for n, sort in reversed(list(enumerate(sorts)))
        ]

    @pytest.mark.parametrize(
        "body", [b"", b"\0", bytes(range(256)), "ä€\U0001f600".encode(), b"\xff\xfe"]
    )
    async def test_bytes_come_back_as_they_were(
        self, face: Any, partition: str, body: bytes
    ) -> None:
        """Any bytes are stored and come back equal, as `bytes`, by get and by query."""
        await face.put(partition, writes(Document("k", body)))
        [got] = await face.get(partition, ["k"])
        [queried] = await read_all(face, partition)
        assert type(got.body) is bytes
        assert type(queried.body) is bytes
        assert got.body == queried.body == body

    async def test_expiry_comes_back(self, face: Any, partition: str) -> None:
        """An expiry is kept to the second, and its absence too."""
        await face.put(
            partition, writes(Document("never", b"1"), Document("later", b"2", 4_000_000_000))
        )
        found = await face.get(partition, ["never", "later"])
        assert [d.expires_at for d in found] == [None, 4_000_000_000]
        assert [d.expires_at for d in await read_all(face, partition)] == [4_000_000_000, None]

    async def test_put_replaces(self, face: Any, partition: str) -> None:
        """A write without a condition replaces body and expiry."""
        await face.put(partition, writes(Document("k", b"old", 4_000_000_000)))
        await face.put(partition, writes(Document("k", b"new")))
        [got] = await face.get(partition, ["k"])
        assert (got.body, got.expires_at) == (b"new", None)

    async def test_if_absent_keeps_what_is_there(self, face: Any, partition: str) -> None:
        """The second conditional put is a conflict and changes nothing."""
        await face.put(partition, writes(Document("k", b"first"), if_absent=True))
        with pytest.raises(DocumentConflict):
            await face.put(partition, writes(Document("k", b"second"), if_absent=True))
        [got] = await face.get(partition, ["k"])
        assert got.body == b"first"

    async def test_if_unchanged_replaces_what_was_read(self, face: Any, partition: str) -> None:
        """A put on a document as it was read stores, once; the next one is a conflict."""
        await face.put(partition, writes(Document("k", b"1")))
        [read] = await face.get(partition, ["k"])
        await face.put(partition, [Write(Document("k", b"2"), if_unchanged=read)])
        with pytest.raises(DocumentConflict):
            await face.put(partition, [Write(Document("k", b"3"), if_unchanged=read)])
        [got] = await face.get(partition, ["k"])
        assert got.body == b"2"

    async def test_if_unchanged_takes_what_a_query_read(self, face: Any, partition: str) -> None:
        """A document from a page serves as the condition as well as one from a get."""
        await face.put(partition, writes(Document("k", b"1")))
        [read] = await read_all(face, partition)
        await face.put(partition, [Write(Document("k", b"2"), if_unchanged=read)])
        [got] = await face.get(partition, ["k"])
        assert got.body == b"2"

    async def test_if_unchanged_needs_the_document(self, face: Any, partition: str) -> None:
        """A document that has gone since is a conflict and is not created."""
        await face.put(partition, writes(Document("k", b"1")))
        [read] = await face.get(partition, ["k"])
        await face.delete(partition, ["k"])
        with pytest.raises(DocumentConflict):
            await face.put(partition, [Write(Document("k", b"2"), if_unchanged=read)])
        assert list(await face.get(partition, ["k"])) == [None]

    async def test_conditions_are_those_of_each_write(self, face: Any, partition: str) -> None:
        """One put may create, replace what was read, and overwrite."""
        await fill(face, partition, ["read", "there"])
        [read] = await face.get(partition, ["read"])
        await face.put(
            partition,
            [
                Write(Document("new", b"1"), if_absent=True),
                Write(Document("read", b"2"), if_unchanged=read),
                Write(Document("there", b"3")),
            ],
        )
        assert [d.body for d in await read_all(face, partition)] == [b"1", b"2", b"3"]

    @pytest.mark.parametrize("place", [0, 1, 2])
    async def test_a_put_is_all_or_nothing(self, face: Any, partition: str, place: int) -> None:
        """A conflict of any write of a put leaves the others undone."""
        await fill(face, partition, ["b", "there"])
        batch = [Write(Document("a", b"new")), Write(Document("b", b"new"))]
        batch.insert(place, Write(Document("there", b"new"), if_absent=True))
        with pytest.raises(DocumentConflict):
            await face.put(partition, batch)
        assert [(d.sort, d.body) for d in await read_all(face, partition)] == [
            ("b", b"b"),
            ("there", b"there"),
        ]

    async def test_a_full_put_is_stored(self, face: Any, partition: str) -> None:
        """As many documents, and as many bytes, as the limits name fit one put."""
        limits = face.limits
        count = limits.max_transaction_documents
        sorts = [f"k{n:05}" for n in range(count)]
        await fill(face, partition, sorts)
        assert [d.sort for d in await read_all(face, partition)] == sorts
        size = min(limits.max_body_bytes, limits.max_transaction_bytes // count)
        bodies = [bytes([n % 256]) * size for n in range(count)]
        await face.put(partition, writes(*map(Document, sorts, bodies)))
        assert [d.body for d in await read_all(face, partition)] == bodies

    async def test_more_than_a_full_put_is_refused(self, face: Any, partition: str) -> None:
        """One document too many, or none, is a ValueError and stores nothing."""
        count = face.limits.max_transaction_documents + 1
        with pytest.raises(ValueError, match="documents"):
            await face.put(partition, writes(*(Document(f"k{n}", b"") for n in range(count))))
        with pytest.raises(ValueError, match="documents"):
            await face.put(partition, [])
        with pytest.raises(ValueError, match="twice"):
            await face.put(partition, writes(Document("k", b"1"), Document("k", b"2")))
        assert await read_all(face, partition) == []

    async def test_the_largest_body_fits(self, face: Any, partition: str) -> None:
        """A body of exactly the limit is stored, under the longest key there is."""
        body = b"\xff" * face.limits.max_body_bytes
        long = "k" * MAX_KEY_LENGTH
        where = partition + "-" * (MAX_KEY_LENGTH - len(partition))
        await face.put(where, writes(Document(long, body, 4_000_000_000), if_absent=True))
        [got] = await face.get(where, [long])
        assert got.body == body
        await face.delete(where, [long])

    async def test_a_larger_body_is_refused(self, face: Any, partition: str) -> None:
        """One byte more is `DocumentTooLarge`, which names size and limit; nothing is stored."""
        size = face.limits.max_body_bytes + 1
        with pytest.raises(DocumentTooLarge) as caught:
            await face.put(
                partition, writes(Document("small", b"1"), Document("large", b"\xff" * size))
            )
        assert (caught.value.sort, caught.value.size, caught.value.limit) == (
            "large",
            size,
            size - 1,
        )
        assert await read_all(face, partition) == []

    @pytest.mark.parametrize("descending", [False, True])
    async def test_order_is_that_of_ascii(
        self, face: Any, partition: str, descending: bool
    ) -> None:
        """Sorts come in byte order, ascending or descending, whatever was stored first."""
        await fill(face, partition, ORDERED[::2] + ORDERED[1::2])
        found = await read_all(face, partition, descending=descending)
        assert [d.sort for d in found] == (ORDERED[::-1] if descending else ORDERED)

    @pytest.mark.parametrize("descending", [False, True])
    async def test_low_is_included_and_high_is_not(
        self, face: Any, partition: str, descending: bool
    ) -> None:
        """A range holds its lower bound and everything below its upper one."""
        await fill(face, partition, ["a", "a!", "b", "ba", "c"])
        found = await read_all(face, partition, low="a!", high="ba", descending=descending)
        assert sorted(d.sort for d in found) == ["a!", "b"]
        assert await read_all(face, partition, low="d", high="e", descending=descending) == []
        assert await read_all(face, partition, low="b", high="b", descending=descending) == []

    @pytest.mark.parametrize("descending", [False, True])
    @pytest.mark.parametrize("limit", [1, 2, 3, 7])
    async def test_pages_show_each_document_once(
        self, face: Any, partition: str, descending: bool, limit: int
    ) -> None:
        """Following cursors shows the range once, in order, in pages of at most `limit`."""
        sorts = [f"k{n}" for n in range(7)]
        await fill(face, partition, ["j", *sorts, "l"])
        seen: list[str] = []
        page_options = {"descending": descending, "limit": limit}
        async for page in pages_of(face, partition, low="k", high="l", **page_options):
            assert len(page) <= limit
            seen += [d.sort for d in page]
        assert seen == (sorts[::-1] if descending else sorts)

    async def test_a_limit_is_met_where_documents_are(self, face: Any, partition: str) -> None:
        """The first page of small documents is as long as asked for, up to 24."""
        await fill(face, partition, [f"k{n:02}" for n in range(30)])
        for limit in (1, 5, 24):
            page = await face.query(partition, descending=True, limit=limit)
            assert len(page.documents) == limit
        with pytest.raises(ValueError, match="limit"):
            await face.query(partition, limit=0)

    async def test_the_limit_may_change_between_pages(self, face: Any, partition: str) -> None:
        """A cursor goes on with any other limit."""
        sorts = [f"k{n:02}" for n in range(12)]
        await fill(face, partition, sorts)
        first = await face.query(partition, limit=2)
        rest = await read_all(face, partition)
        page = await face.query(partition, limit=5, cursor=first.cursor)
        assert [d.sort for d in page.documents] == sorts[2:7]
        assert [d.sort for d in rest] == sorts

    async def test_deleting_while_paging_misses_nothing(self, face: Any, partition: str) -> None:
        """What a cursor stands on may be deleted; the next page begins behind it."""
        sorts = [f"k{n:02}" for n in range(9)]
        await fill(face, partition, sorts)
        seen: list[str] = []
        async for page in pages_of(face, partition, limit=2):
            shown = [d.sort for d in page]
            seen += shown
            await face.delete(partition, shown)
        assert seen == sorts

    async def test_a_large_range_is_paged(self, face: Any, partition: str) -> None:
        """Ranges larger than a database sends at once come whole, in order."""
        size = min(face.limits.max_body_bytes, 300_000)
        for n in range(8):
            await face.put(partition, writes(Document(f"k{n}", bytes([n]) * size)))
        found = await read_all(face, partition, descending=True)
        assert [(d.sort, len(d.body), d.body[0]) for d in found] == [
            (f"k{n}", size, n) for n in reversed(range(8))
        ]

    async def test_partitions_are_separate(self, face: Any, partition: str) -> None:
        """A partition whose name begins like another's, or differs by case, is another."""
        names = [partition, partition + "a", partition + "!", partition.upper(), partition[:-1]]
        for name in names:
            await face.put(name, writes(Document("k", name.encode())))
        for name in names:
            assert [d.body for d in await read_all(face, name)] == [name.encode()]
        await face.delete(partition, ["k"])
        assert [len(await read_all(face, name)) for name in names] == [0, 1, 1, 1, 1]
        for name in names:
            await face.delete(name, ["k"])

    async def test_partitions_are_named_once(self, face: Any, partition: str) -> None:
        """Every partition with a document is named, once; an emptied one is not."""
        names = [f'{partition}"2f~{n}' for n in range(3)]
        for name in names:
            await fill(face, name, ["a", "b"])
        mine = [name for name in await face.partitions() if name.startswith(partition)]
        assert sorted(mine) == names
        await face.delete(names[0], ["a", "b"])
        mine = [name for name in await face.partitions() if name.startswith(partition)]
        assert sorted(mine) == names[1:]

    async def test_delete_is_repeatable(self, face: Any, partition: str) -> None:
        """Deleting what is not there, and nothing at all, is no error."""
        await fill(face, partition, ["a", "b", "c"])
        await face.delete(partition, ["a", "nothing"])
        await face.delete(partition, ["a"])
        await face.delete(partition, [])
        assert [d.sort for d in await read_all(face, partition)] == ["b", "c"]

    async def test_delete_of_many(self, face: Any, partition: str) -> None:
        """More sorts than databases delete at once are gone afterwards."""
        sorts = [f"k{n:03}" for n in range(130)]
        await fill(face, partition, sorts)
        await face.delete(partition, sorts[:-1])
        assert [d.sort for d in await read_all(face, partition)] == sorts[-1:]

    async def test_one_of_many_creators_wins(self, face: Any, partition: str) -> None:
        """Of concurrent conditional puts of one document one stores, and the others hear of it."""

        async def create(n: int) -> bool:
            try:
                await face.put(partition, writes(Document("k", b"%d" % n), if_absent=True))
            except DocumentConflict:
                return False
            return True

        won = await asyncio.gather(*(create(n) for n in range(8)))
        assert sum(won) == 1
        [got] = await face.get(partition, ["k"])
        assert got.body == b"%d" % won.index(True)

    async def test_compare_and_put_counts_right(self, face: Any, partition: str) -> None:
        """Writers that read, add and put on what they read lose no addition."""
        await face.put(partition, writes(Document("k", b"0")))

        async def add() -> None:
            # In every round somebody's put succeeds.
            for _ in range(6):
                [read] = await face.get(partition, ["k"])
                try:
                    body = b"%d" % (int(read.body) + 1)
                    await face.put(partition, [Write(Document("k", body), if_unchanged=read)])
                except DocumentConflict:
                    continue
                return
            pytest.fail("a put whose condition held was refused")

        await asyncio.gather(*(add() for _ in range(6)))
        [got] = await face.get(partition, ["k"])
        assert got.body == b"6"

    async def test_close_may_be_repeated(self, face: Any, partition: str) -> None:
        """A closed table connects again when it is used again."""
        await face.put(partition, writes(Document("k", b"1")))
        await face.close()
        await face.close()
        [got] = await face.get(partition, ["k"])
        assert got.body == b"1"
