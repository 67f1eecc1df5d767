"""The server from the outside: starting it, and asking it for faults, time and counts."""

from __future__ import annotations

import contextlib
import http.client
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from servers.cosmosdb.auth import KEY
from servers.cosmosdb.faults import Fault
from servers.process import accepts, answers, free_port, running

NAME = "Cosmos DB protocol test server (not the service)"


@dataclass(frozen=True)
class CosmosServer:
    """A running server: where it is, with which key, and what tests may do to it."""

    endpoint: str
    port: int
    key: str = KEY

    def inject(self, fault: Fault) -> None:
        """The fault strikes after those injected before it."""
        self._ask("fault", asdict(fault))

    def forward(self, seconds: float) -> None:
        """The server's clock is put forward, until the next `clear`."""
        self._ask("clock", {"seconds": seconds})

    def shorten_pages(self, rows: int) -> None:
        """No page of a query has more rows than this, whatever was asked for."""
        self._ask("page_rows", {"rows": rows})

    def empty_pages(self, count: int) -> None:
        """The next pages of queries have no rows and go on where they were asked to begin."""
        self._ask("empty_pages", {"count": count})

    def requests(self) -> dict[str, int]:
        """How often each operation was asked for since the last `clear`."""
        return dict(self._ask("counts", {})["requests"])

    def operations(self) -> dict[str, int]:
        """The same without what the SDK asks about the account, every five minutes by itself."""
        return {name: n for name, n in self.requests().items() if name != "read_account"}

    def bytes_received(self) -> int:
        """The bytes of all request bodies since the last `clear`."""
        return sum(self._ask("counts", {})["bytes"].values())

    def bytes_sent(self) -> int:
        """The bytes of all reply bodies since the last `clear`."""
        return int(self._ask("counts", {})["replied"])

    def clear(self) -> None:
        """No fault waits, the clock is right, pages are long, nothing has been counted."""
        self._ask("clear", {})

    def _ask(self, command: str, body: dict[str, Any]) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        with contextlib.closing(connection):
            connection.request(
                "POST",
                f"/_test/{command}",
                json.dumps(body),
                {"content-type": "application/json"},
            )
            reply: dict[str, Any] = json.loads(connection.getresponse().read())
            return reply


@contextlib.contextmanager
def cosmosdb(partitions: int, certificate: Path | None = None) -> Iterator[CosmosServer]:
    """An empty account whose containers have this many physical partitions."""
    port = free_port()
    options = ["--port", str(port), "--partitions", str(partitions)]
    if certificate is not None:
        options += ["--certificate", str(certificate)]

    def ready() -> bool:
        return answers(port) if certificate is None else accepts(port)

    with (
        tempfile.TemporaryDirectory(prefix="cosmosdb-") as folder,
        running(
            [sys.executable, "-m", "servers.cosmosdb", *options],
            folder=Path(folder),
            ready=ready,
            environment={"PYTHONPATH": str(Path(__file__).parents[2])},
        ),
    ):
        scheme = "http" if certificate is None else "https"
        yield CosmosServer(f"{scheme}://127.0.0.1:{port}/", port)
