"""The gRPC server: which methods there are, how requests reach them and refusals go back."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import grpc
from google.cloud.firestore_admin_v1 import types as admin_types
from google.cloud.firestore_v1 import types

from servers.firestore.admin import FirestoreAdmin
from servers.firestore.faults import Fault, Faults
from servers.firestore.refusals import Refused
from servers.firestore.service import Firestore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_UNARY = ("Commit", "ListDocuments")
_ADMIN = ("GetField", "UpdateField")
_STREAMING = ("BatchGetDocuments", "RunQuery")
_THREADS = 16
# Above the service's limit, so that the server refuses a request as the service does.
_OPTIONS = [
    ("grpc.max_receive_message_length", 64 * 1024 * 1024),
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),
]


@dataclass
class Server:
    """A running server and its address."""

    address: str
    stop: Callable[[], None]


def serve(host: str = "127.0.0.1", port: int = 0) -> Server:
    """Answer on that port, or on a free one, from now on."""
    dispatch = _Dispatch()
    server = grpc.server(ThreadPoolExecutor(_THREADS), options=_OPTIONS)
    server.add_generic_rpc_handlers(dispatch.handlers())
    bound = server.add_insecure_port(f"{host}:{port}")
    server.start()
    return Server(f"{host}:{bound}", lambda: server.stop(grace=None).wait())


class _Dispatch:
    """One lock around every request: a request sees all of another or nothing."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._faults = Faults()
        self._firestore = Firestore()
        self._admin = FirestoreAdmin(self._firestore.databases)

    def handlers(self) -> tuple[grpc.GenericRpcHandler, ...]:
        """Return the handlers of Firestore, of its admin API and of `control.Control`."""
        firestore = {name: self._unary(self._firestore, types, name) for name in _UNARY}
        firestore |= {name: self._streaming(name) for name in _STREAMING}
        admin = {name: self._unary(self._admin, admin_types, name) for name in _ADMIN}
        control = {
            name: grpc.unary_unary_rpc_method_handler(getattr(self, f"_control_{name.lower()}"))
            for name in ("Fault", "Usage", "Reset")
        }
        return tuple(
            grpc.method_handlers_generic_handler(service, methods)
            for service, methods in {
                "google.firestore.v1.Firestore": firestore,
                "google.firestore.admin.v1.FirestoreAdmin": admin,
                "testing.Control": control,
            }.items()
        )

    def _unary(self, service: Any, messages: Any, name: str) -> grpc.RpcMethodHandler:
        method = getattr(service, name)

        def handle(request: Any, context: grpc.ServicerContext) -> Any:
            [reply] = self._answer(name, context, request, lambda: [method(request)])
            return reply

        return grpc.unary_unary_rpc_method_handler(
            handle,
            request_deserializer=getattr(messages, f"{name}Request").pb().FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )

    def _streaming(self, name: str) -> grpc.RpcMethodHandler:
        method = getattr(self._firestore, name)

        def handle(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            yield from self._answer(name, context, request, lambda: list(method(request)))

        return grpc.unary_stream_rpc_method_handler(
            handle,
            request_deserializer=getattr(types, f"{name}Request").pb().FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )

    def _answer(
        self,
        name: str,
        context: grpc.ServicerContext,
        request: Any,
        operation: Callable[[], list[Any]],
    ) -> list[Any]:
        try:
            with self._lock:
                usage = self._firestore.usage
                usage.add(**{name: 1}, requests=1, request_bytes=request.ByteSize())
                self._faults.strike(name, late=False)
                answer = operation()
                usage.add(reply_bytes=sum(message.ByteSize() for message in answer))
                self._faults.strike(name, late=True)
                return answer
        except Refused as refused:
            context.abort(refused.code, refused.message)
            raise  # `abort` has raised already

    def _control_fault(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        with self._lock:
            self._faults.order(Fault(**json.loads(request)))
        return b""

    def _control_usage(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        with self._lock:
            return json.dumps(self._firestore.usage.counts).encode()

    def _control_reset(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        with self._lock:
            self._faults.clear()
            self._firestore.usage.counts.clear()
        return b""
