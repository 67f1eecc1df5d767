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

from typing import Any

from agentstate_documents.model import Document
from agentstate_documents.testing.table_puts import PutContract
from agentstate_documents.testing.table_reads import ReadContract
from agentstate_documents.testing.table_scenes import Blocking, fill, pages_of, read_all, writes

__all__ = ["Blocking", "TableContract", "fill", "pages_of", "read_all", "writes"]


class TableContract(PutContract, ReadContract):
    """The guarantees of `agentstate_documents.port`, on both faces."""

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

    async def test_close_may_be_repeated(self, face: Any, partition: str) -> None:
        """A closed table connects again when it is used again."""
        await face.put(partition, writes(Document("k", b"1")))
        await face.close()
        await face.close()
        [got] = await face.get(partition, ["k"])
        assert got.body == b"1"
