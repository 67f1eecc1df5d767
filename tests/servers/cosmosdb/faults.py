"""Failures on demand: which requests break, how often, and what the client sees of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Fault:
    """A failure of the next `times` requests of an operation, after letting `skip` of them pass.

    `status` is answered instead of the result; None closes the connection without an answer.
    With `after` the request takes effect first, so that only its answer is lost. With `inside` the
    status is that of the first operation of a batch, in a 207.
    """

    operation: str
    status: int | None = None
    substatus: int = 0
    times: int = 1
    skip: int = 0
    after: bool = False
    inside: bool = False
    retry_after_ms: int = 1


class Faults:
    """The faults that wait for their request, first come first served."""

    def __init__(self) -> None:
        self.waiting: list[Fault] = []
        self.page_rows: int | None = None
        self.empty_pages = 0

    def add(self, description: dict[str, Any]) -> None:
        self.waiting.append(Fault(**description))

    def page_limit(self, asked: int) -> int:
        """How many rows the next page of a query may have."""
        if self.empty_pages:
            self.empty_pages -= 1
            return 0
        return asked if self.page_rows is None else min(asked, self.page_rows)

    def strike(self, operation: str) -> Fault | None:
        """The fault that hits a request of this operation, used up by one."""
        for fault in self.waiting:
            if fault.operation != operation or not fault.times:
                continue
            if fault.skip:
                fault.skip -= 1
                return None
            fault.times -= 1
            return fault
        return None
