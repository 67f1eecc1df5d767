"""Puts: all or nothing, under their conditions, within the limits, also of many at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentstate_documents.errors import DocumentConflict, DocumentTooLarge
from agentstate_documents.model import MAX_KEY_LENGTH, Document, Write
from agentstate_documents.testing.table_scenes import TableScenes, fill, read_all, writes


class PutContract(TableScenes):
    """What a put stored is there as it was, and what it refused left nothing."""

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
        """A put on a document as it was read stores, once; the next one is a conflict.

        Of what it replaces nothing stays, the expiry neither.
        """
        await face.put(partition, writes(Document("k", b"1", 4_000_000_000)))
        [read] = await face.get(partition, ["k"])
        await face.put(partition, [Write(Document("k", b"2"), if_unchanged=read)])
        with pytest.raises(DocumentConflict):
            await face.put(partition, [Write(Document("k", b"3"), if_unchanged=read)])
        [got] = await face.get(partition, ["k"])
        assert (got.body, got.expires_at) == (b"2", None)

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
        """One document too many, none, or one sort twice is a ValueError and stores nothing."""
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
