"""The databases savers are measured over, and what each of them counts.

Every `take` has `requests`, `sent` and `received`, the latter two in bytes of bodies. Beside them
DynamoDB has what it bills, `units`, and `largest`, the bytes of the largest item; Firestore has
what Google bills, documents `written`, `read` and `deleted`. Cosmos DB bills request units, which
nobody but the service knows.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from agentstate_documents import MemoryTable, Page, Write  # noqa: E402
from servers.bill import write_units, written_items  # noqa: E402
from servers.cosmosdb.control import cosmosdb as cosmosdb_server  # noqa: E402
from servers.dynamodb import dynamodb as dynamodb_server  # noqa: E402
from servers.faults import FaultProxy  # noqa: E402
from servers.firestore.control import controlling  # noqa: E402
from servers.firestore.processes import protocol_server  # noqa: E402

if TYPE_CHECKING:
    from agentstate_documents import Document

Costs = Counter[str]


@dataclass(frozen=True)
class Database:
    """Where it is, as environment variables, and what it was asked for since the last `take`."""

    environment: dict[str, str]
    take: Callable[[], Costs]


@contextmanager
def dynamodb() -> Iterator[Database]:
    """Through a proxy that writes down what crosses it, so that any client's bill is known."""
    with dynamodb_server() as endpoint, FaultProxy(endpoint).serving() as proxy:

        def take() -> Costs:
            exchanges = list(proxy.exchanges)
            proxy.reset()
            return Counter(
                requests=len(exchanges),
                sent=sum(len(exchange.request) for exchange in exchanges),
                received=sum(len(exchange.reply) for exchange in exchanges),
                units=sum(map(write_units, exchanges)),
                largest=max((size for one in exchanges for size in written_items(one)), default=0),
            )

        environment = {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_ENDPOINT_URL": proxy.endpoint,
        }
        yield Database(environment, take)


@contextmanager
def cosmosdb() -> Iterator[Database]:
    """The protocol test server, which counts itself."""
    with cosmosdb_server(partitions=1) as server:

        def take() -> Costs:
            costs = Counter(
                requests=sum(server.requests().values()),
                sent=server.bytes_received(),
                received=server.bytes_sent(),
            )
            server.clear()
            return costs

        place = {"COSMOSDB_ENDPOINT": server.endpoint, "COSMOSDB_KEY": server.key}
        yield Database(place, take)


@contextmanager
def firestore() -> Iterator[Database]:
    """The protocol test server, which keeps the bill as Google describes it."""
    with protocol_server() as host, controlling(host) as control:

        def take() -> Costs:
            usage = Counter(control.usage())
            control.reset()
            return Counter(
                requests=usage["requests"],
                sent=usage["request_bytes"],
                received=usage["reply_bytes"],
                written=usage["document_writes"],
                read=usage["document_reads"],
                deleted=usage["document_deletes"],
            )

        yield Database({"FIRESTORE_EMULATOR_HOST": host}, take)


class CountingTable(MemoryTable):
    """A memory table that counts bytes of keys and bodies, and write units as DynamoDB does."""

    def __init__(self) -> None:
        super().__init__(page_size=1000)
        self._costs: Costs = Counter()

    def take(self) -> Costs:
        """As of a `Database`."""
        taken, self._costs = self._costs, Counter()
        return taken

    def put(self, partition: str, writes: Sequence[Write]) -> None:
        """Counted, refused ones too."""
        sizes = [_size(write.document) + len(partition) + 3 for write in writes]
        factor = 1 if len(sizes) == 1 else 2
        units = sum(-(-size // 1024) * factor for size in sizes)
        largest = max(self._costs["largest"], *sizes)
        self._costs.update(requests=1, sent=sum(sizes), units=units)
        self._costs["largest"] = largest
        super().put(partition, writes)

    def get(self, partition: str, sorts: Sequence[str]) -> Sequence[Document | None]:
        """Counted with what was there."""
        found = super().get(partition, sorts)
        self._costs.update(requests=1, received=sum(map(_size, filter(None, found))))
        return found

    def query(self, partition: str, **range_: Any) -> Page:
        """Counted with what it read."""
        page = super().query(partition, **range_)
        self._costs.update(requests=1, received=sum(map(_size, page.documents)))
        return page


def _size(document: Document) -> int:
    return len(document.sort) + len(document.body)
