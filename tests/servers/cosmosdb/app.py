"""The HTTP face of one account: authorisation, faults, and what every answer has."""

from __future__ import annotations

import uuid
from collections import Counter
from urllib.parse import unquote

from aiohttp import web

from . import items
from .auth import authorize
from .documents import serve_document
from .exchange import Answer, Request
from .failure import Failure
from .faults import Fault, Faults
from .resources import serve_resource
from .store import Account


class Server:
    """One account behind HTTP, the faults that wait for it, and counts of what was asked."""

    def __init__(self, partition_count: int) -> None:
        self.account = Account(partition_count)
        self.faults = Faults()
        self.counts: Counter[str] = Counter()
        self.sizes: Counter[str] = Counter()
        self.replied = 0

    def application(self) -> web.Application:
        application = web.Application(client_max_size=16 * items.MAX_REQUEST_BYTES)
        application.router.add_post("/_test/{command}", self.control)
        application.router.add_route("*", "/{path:.*}", self.serve)
        return application

    async def control(self, request: web.Request) -> web.Response:
        """What tests ask of the server itself, outside the protocol."""
        body = await request.json()
        match request.match_info["command"]:
            case "fault":
                self.faults.add(body)
            case "page_rows":
                self.faults.page_rows = body["rows"]
            case "empty_pages":
                self.faults.empty_pages = body["count"]
            case "clock":
                self.account.clock_offset += body["seconds"]
            case "counts":
                counted = {"requests": self.counts, "bytes": self.sizes, "replied": self.replied}
                return web.json_response(counted)
            case "clear":
                self.faults = Faults()
                self.account.clock_offset = 0
                self.counts.clear()
                self.sizes.clear()
                self.replied = 0
        return web.json_response({})

    async def serve(self, request: web.Request) -> web.StreamResponse:
        path = request.raw_path.partition("?")[0]
        seen = Request(
            request.method,
            tuple(unquote(part) for part in path.split("/") if part),
            request.headers,
            await request.read(),
            f"{request.scheme}://{request.host}/",
        )
        self.counts[seen.operation] += 1
        self.sizes[seen.operation] += len(seen.raw)
        fault = self.faults.strike(seen.operation)
        try:
            answer = self.answer(seen, fault)
        except Failure as failure:
            answer = _failed(failure)
        if fault is not None and fault.status is None and request.transport is not None:
            request.transport.abort()
        return self._response(answer)

    def answer(self, request: Request, fault: Fault | None) -> Answer:
        """The handler's answer, or what a fault makes of it."""
        date = request.headers.get("x-ms-date", "")
        authorize(request.method, request.segments, request.headers.get("authorization", ""), date)
        if fault is None or fault.status is None:
            return Answer(500) if fault and not fault.after else self._dispatch(request)
        if fault.after:
            self._dispatch(request)
        failure = Failure(
            fault.status,
            "A fault that a test asked for.",
            fault.substatus,
            {"x-ms-retry-after-ms": str(fault.retry_after_ms)},
        )
        if fault.inside:
            return Answer(207, items.failed_batch(len(request.body), 0, failure))
        raise failure

    def _dispatch(self, request: Request) -> Answer:
        if len(request.segments) < 5 or request.segments[4] == "pkranges":
            return serve_resource(self.account, request)
        return serve_document(self.account, request, self.faults)

    def _response(self, answer: Answer) -> web.Response:
        headers = {
            "x-ms-request-charge": "1",
            "x-ms-activity-id": str(uuid.uuid4()),
            "x-ms-session-token": f"0:-1#{self.account.next_number()}",
        }
        body = b"" if answer.body is None else items.encode(answer.body)
        self.replied += len(body)
        return web.Response(
            status=answer.status,
            body=body,
            content_type="application/json",
            headers={**headers, **answer.headers},
        )


def _failed(failure: Failure) -> Answer:
    headers = dict(failure.headers)
    if failure.substatus:
        headers["x-ms-substatus"] = str(failure.substatus)
    return Answer(failure.status, None if failure.status == 304 else failure.body, headers)
