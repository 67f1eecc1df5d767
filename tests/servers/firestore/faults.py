"""Failures a test has ordered: the next calls fail, before or after they took effect."""

from __future__ import annotations

from dataclasses import dataclass

from grpc import StatusCode

from servers.firestore.refusals import Refused


@dataclass
class Fault:
    """``times`` calls of ``method`` end with ``code``; with ``late``, after they took effect."""

    method: str
    code: str
    times: int = 1
    late: bool = False


class Faults:
    """The ordered failures that have not happened yet."""

    def __init__(self) -> None:
        self._ordered: list[Fault] = []

    def order(self, fault: Fault) -> None:
        """Let calls fail from now on."""
        StatusCode[fault.code]
        self._ordered.append(fault)

    def clear(self) -> None:
        """Let nothing fail any more."""
        self._ordered.clear()

    def strike(self, method: str, late: bool) -> None:
        """Fail this call if a test has ordered it."""
        for fault in self._ordered:
            if fault.method == method and fault.late == late and fault.times:
                fault.times -= 1
                raise Refused(StatusCode[fault.code], f"{method} fails because a test wants it to.")
