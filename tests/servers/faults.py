"""A DynamoDB that misbehaves on the wire: a proxy that throttles, leaves work undone, hangs up.

It also writes down what crossed it, which is what a benchmark of any client needs.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

HOP_BY_HOP = {"connection", "content-length", "keep-alive", "transfer-encoding", "host"}
CHECKSUM = "x-amz-crc32"  # of the body as it was; a client checks it only where it is given


@dataclass
class Fault:
    """What happens to the next `times` requests of one operation.

    `error` is answered instead of the database, with `status` and, for a cancelled transaction,
    with `reasons`; `unprocessed` is how many of the last entries of a batch are left undone;
    `hang_up` cuts the connection `"before"` the request reaches the database, `"after"` it was
    carried out, or `"amid"` the reply.
    """

    operation: str
    times: int = 1
    error: str | None = None
    status: int = 400
    reasons: Sequence[str] = ()
    unprocessed: int = 0
    hang_up: str | None = None


@dataclass(frozen=True)
class Exchange:
    """One request and its reply, as they crossed the wire."""

    operation: str
    request: bytes
    reply: bytes


class FaultProxy:
    """A DynamoDB endpoint in front of another one."""

    def __init__(self, backend: str) -> None:
        self.backend = urlsplit(backend).netloc
        self.exchanges: list[Exchange] = []
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def inject(self, fault: Fault) -> None:
        """The fault strikes after those injected before it."""
        with self._lock:
            self._faults.append(fault)

    def reset(self) -> None:
        """No fault waits and nothing is written down."""
        with self._lock:
            self._faults.clear()
            self.exchanges.clear()

    def operations(self) -> list[str]:
        """The operations asked for since the last reset, refused ones too, in order."""
        return [exchange.operation for exchange in self.exchanges]

    @contextlib.contextmanager
    def serving(self) -> Iterator[FaultProxy]:
        """The endpoint answers inside the block."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def take(self, operation: str) -> Fault | None:
        """The fault that strikes this request, if one does."""
        with self._lock:
            for fault in self._faults:
                if fault.operation == operation and fault.times:
                    fault.times -= 1
                    return fault
        return None

    def record(self, exchange: Exchange) -> None:
        """The exchange is written down."""
        with self._lock:
            self.exchanges.append(exchange)


def _handler(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            operation = self.headers.get("x-amz-target", "").rpartition(".")[2]
            fault = proxy.take(operation)
            if fault and fault.hang_up == "before":
                proxy.record(Exchange(operation, body, b""))
                self.close_connection = True
                return
            status, headers, reply = self._answer(operation, body, fault)
            proxy.record(Exchange(operation, body, reply))
            if fault and fault.hang_up == "after":
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            if fault and fault.hang_up == "amid":
                self.close_connection = True
                reply = reply[: len(reply) // 2]
            self.wfile.write(reply)

        def _answer(
            self, operation: str, body: bytes, fault: Fault | None
        ) -> tuple[int, list[tuple[str, str]], bytes]:
            if fault and fault.error:
                return fault.status, [], _error(fault)
            if not (fault and fault.unprocessed):
                return self._forward(body)
            request = json.loads(body)
            undone = _set_aside(request["RequestItems"], fault.unprocessed)
            reply: dict[str, Any] = {"Responses": {}} if operation == "BatchGetItem" else {}
            if request["RequestItems"]:
                status, _, raw = self._forward(json.dumps(request).encode())
                reply = json.loads(raw)
                if status != http.client.OK:
                    return status, [], raw
            name = "UnprocessedKeys" if operation == "BatchGetItem" else "UnprocessedItems"
            return 200, [], json.dumps({**reply, name: undone}).encode()

        def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            headers = {n: v for n, v in self.headers.items() if n.lower() not in HOP_BY_HOP}
            connection = http.client.HTTPConnection(proxy.backend, timeout=60)
            with contextlib.closing(connection):
                connection.request("POST", self.path, body, headers)
                reply = connection.getresponse()
                kept = [
                    (name, value)
                    for name, value in reply.getheaders()
                    if name.lower() not in {*HOP_BY_HOP, CHECKSUM, "date", "server"}
                ]
                return reply.status, kept, reply.read()

        def log_message(self, *args: object) -> None:
            """Nothing is printed into the output of the tests."""

    return Handler


def _error(fault: Fault) -> bytes:
    error: dict[str, Any] = {
        "__type": f"com.amazonaws.dynamodb.v20120810#{fault.error}",
        "message": "injected",
    }
    if fault.reasons:
        error["CancellationReasons"] = [{"Code": reason} for reason in fault.reasons]
    return json.dumps(error).encode()


def _set_aside(tables: dict[str, Any], count: int) -> dict[str, Any]:
    """The last entries of a batch, taken out of it, in the shape they came in."""
    undone: dict[str, Any] = {}
    for table, entries in list(tables.items()):
        items = entries["Keys"] if isinstance(entries, dict) else entries
        taken = items[max(0, len(items) - count) :]
        del items[max(0, len(items) - count) :]
        count -= len(taken)
        if taken:
            undone[table] = {**entries, "Keys": taken} if isinstance(entries, dict) else taken
        if not items:
            del tables[table]
    return undone
