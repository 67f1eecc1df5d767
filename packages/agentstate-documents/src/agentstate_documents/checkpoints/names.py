"""The name of a thread whose partition is only its digest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentstate_documents import chunks, envelope, keys, steps
from agentstate_documents.errors import reading
from agentstate_documents.model import AFTER_LAST_SORT

if TYPE_CHECKING:
    from agentstate_documents.checkpoints.context import Context
    from agentstate_documents.steps import Procedure

# Behind every namespace: no escape begins with these two characters.
NAME = "~n"
_PARTS = "~p"


def name_items(context: Context, thread: str) -> list[chunks.Item]:
    """What to store with every head of the thread, so that it can be listed by name."""
    if not keys.is_digest(keys.encode_partition(thread)):
        return []
    packed = context.seal(envelope.pack([context.plain.dumps_typed(keys.encode(thread))]))
    return [chunks.Item(NAME, _PARTS, packed, context.expires_at)]


def read_name(context: Context, partition: str) -> Procedure[str | None]:
    """The thread a partition holds; None where its name is gone."""
    if not keys.is_digest(partition):
        return keys.decode(partition)
    documents = yield from steps.documents(partition, low=NAME, high=AFTER_LAST_SORT)
    with reading(f"the name of partition {partition!r}"):
        stored = chunks.join(documents[NAME].body, _PARTS, documents) if NAME in documents else None
        if stored is None:
            return None
        [frame] = envelope.unpack(context.open(stored))
        return keys.decode(context.serde.loads_typed(frame))
