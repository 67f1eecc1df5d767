"""A namespace, read newest first, only as far as somebody asks.

A descending query meets a checkpoint's writes, then its head, the head's parts, what the
head replaced, and then the next older checkpoint.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentstate_documents import chunks, keys, steps
from agentstate_documents.checkpoints.heads import (
    HEAD,
    PARTS,
    REPLACED,
    Head,
    missing_link,
    read_head,
)
from agentstate_documents.errors import reading

if TYPE_CHECKING:
    from agentstate_documents.checkpoints.context import Context
    from agentstate_documents.model import Document
    from agentstate_documents.steps import Procedure

# A first look at a namespace this process knows nothing of.
FIRST_LIMIT = 24
# Documents asked for in one query.
MAX_LIMIT = 1000
# put_writes calls in flight land behind what the process knew; one more query costs more.
MARGIN = 4


def checkpoint_prefix(namespace: str, checkpoint: str) -> str:
    """What every sort of a checkpoint begins with."""
    return keys.encode_namespace(namespace) + keys.END + keys.encode(checkpoint) + keys.END


@dataclass(frozen=True, slots=True)
class Place:
    """What lies above a head in reading order: bytes and documents newer than it."""

    size: int
    count: int


class Reader:
    """The documents of one namespace read so far, by checkpoint."""

    def __init__(
        self, context: Context, partition: str, prefix: str, *, high: str | None = None
    ) -> None:
        """Nothing is read yet; `prefix` is the encoded namespace, `high` an upper sort."""
        self._context = context
        self._partition = partition
        self.prefix = prefix + keys.END
        self._high = high or prefix + keys.AFTER_END
        self._cursor: str | None = None
        self._heads: dict[str, Head] = {}
        self.limit: int | None = FIRST_LIMIT
        self.ended = False
        self.last = self._high
        self.size = self.count = 0
        self.ids: deque[str] = deque()
        self.places: dict[str, Place] = {}
        self.documents: dict[str, dict[str, Document]] = {}

    def head(self, checkpoint: str) -> Head | None:
        """The checkpoint's head, if it and its parts have been read."""
        if checkpoint not in self._heads:
            head = self._read(checkpoint, HEAD)
            if head is None:
                return None
            self._heads[checkpoint] = head
        return self._heads[checkpoint]

    def find(self, checkpoint: str, tag: bytes) -> Head | None:
        """The head with this content, in its place or kept as replaced."""
        head = self.head(checkpoint)
        if head is not None and head.tag == tag:
            return head
        return self._read(checkpoint, REPLACED + tag.hex())

    def forget(self, checkpoint: str) -> None:
        """The checkpoint's documents are let go; nothing older leans on it."""
        self.documents.pop(checkpoint, None)
        self._heads.pop(checkpoint, None)

    def passed(self, checkpoint: str) -> bool:
        """Whether all there is of the checkpoint has been read."""
        return self.ended or self.last < self.prefix + keys.encode(checkpoint) + keys.END

    def more(self, needed: int = 0) -> Procedure[None]:
        """One more page is read, of the right size if `needed` documents in all will do."""
        limit = self.limit
        if limit is not None:
            self.limit = min(8 * limit, MAX_LIMIT)
            limit = min(needed - self.count + MARGIN if needed else limit, MAX_LIMIT)
        page = yield from steps.page(
            self._partition,
            low=self.prefix,
            high=self._high,
            descending=True,
            limit=limit if limit is None else max(limit, MARGIN),
            cursor=self._cursor,
        )
        for document in page.documents:
            self._add(document)
        self._cursor = page.cursor
        self.ended = page.cursor is None
        yield from steps.aside(self.size)

    def path(self, head: Head) -> Procedure[list[Head] | None]:
        """The head and all it leans on, nearest first; None if something of it is gone."""
        while True:
            found = missing_link(head, self.find)
            if isinstance(found, list):
                return found
            if found.parent is None or self.passed(found.parent):
                return None
            yield from self.more(self.places[head.id].count + head.back + 1)

    def reach(self, checkpoint: str) -> Procedure[Head | None]:
        """The checkpoint's head, read as far as it takes; None where there is none."""
        while True:
            head = self.head(checkpoint)
            if head is not None or self.passed(checkpoint):
                return head
            yield from self.more()

    def visible(self, head: Head) -> bool:
        """Whether the head has not expired."""
        return head.visible_until is None or head.visible_until > self._context.clock()

    def _read(self, checkpoint: str, kind: str) -> Head | None:
        documents = self.documents.get(checkpoint, {})
        if kind not in documents:
            return None
        context, expires_at = self._context, documents[kind].expires_at
        with reading(f"checkpoint {checkpoint!r} in partition {self._partition!r}"):
            stored = chunks.join(documents[kind].body, PARTS, documents)
            if stored is None:
                return None
            return read_head(checkpoint, context.open(stored), context.serde, expires_at)

    def _add(self, document: Document) -> None:
        encoded, _, kind = document.sort[len(self.prefix) :].partition(keys.END)
        checkpoint = keys.decode(encoded)
        self.documents.setdefault(checkpoint, {})[kind] = document
        if kind == HEAD:
            self.ids.append(checkpoint)
        if kind[0] in (HEAD, REPLACED):
            self.places[checkpoint] = Place(self.size, self.count)
        self.last = document.sort
        self.size += len(document.sort) + len(document.body)
        self.count += 1
