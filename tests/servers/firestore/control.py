"""What a test can ask of a running protocol test server beside Firestore's own protocol."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import grpc


class Control:
    """Orders failures and reads what was counted."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel

    def fail(self, method: str, code: str, *, times: int = 1, late: bool = False) -> None:
        """The next calls of a method end with a gRPC status, `late` ones after they took effect."""
        self._call("Fault", {"method": method, "code": code, "times": times, "late": late})

    def usage(self) -> dict[str, int]:
        """What was counted since the last reset: see `usage.py`."""
        counted: dict[str, int] = json.loads(self._call("Usage", {}))
        return counted

    def reset(self) -> None:
        """No failure is waiting and nothing is counted. Documents stay."""
        self._call("Reset", {})

    def _call(self, method: str, request: dict[str, Any]) -> bytes:
        reply: bytes = self._channel.unary_unary(f"/testing.Control/{method}")(
            json.dumps(request).encode(), timeout=10
        )
        return reply


@contextlib.contextmanager
def controlling(host: str) -> Iterator[Control]:
    """The control of the server at that address, reset."""
    with grpc.insecure_channel(host) as channel:
        control = Control(channel)
        control.reset()
        yield control
