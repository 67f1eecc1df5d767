"""Gets and queries: every document once, in order, however many there are."""

from __future__ import annotations

from typing import Any

import pytest

from agentstate_documents.model import Document
from agentstate_documents.testing.table_scenes import TableScenes, fill, pages_of, read_all, writes

# In the order every table must sort them: by ASCII byte.
ORDERED = ["!a!h", '"2f!', "$", "+1", "0", "9", "A", "Z", "_", "a", "a!b", "aa", "b", "z", "~0000"]


class ReadContract(TableScenes):
    """What a get or a query answers."""

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
