"""Measures contestants in one environment; `run.py` starts one of these in each.

    python benchmarks/measuring.py [--without-tiktoken]

A line of JSON on standard input names what to measure, the reply is a line on standard output.
`run.py` asks for one sample at a time, so that all contestants are measured by turns. Seconds are
those of the processor, since a busy machine interrupts who takes long more often.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import tracemalloc
from collections.abc import Iterator
from time import thread_time
from typing import Any, NamedTuple

import contestants as c


class Cell(NamedTuple):
    """What one number is about."""

    mode: str  # count, heuristic or tiktoken
    workload: str  # chat or tools
    form: str  # dicts or LangChain
    call: str  # first or step
    size: int


def contestant(name: str, cell: Cell, existing: list[Any], new: list[Any]) -> c.Contestant:
    """Ready to be called for the first time."""
    if name in (c.OURS, c.PUBLISHED):
        return c.reducer(cell.mode)
    if name in (c.TRIM, c.MIDDLEWARE, c.ADD):
        return {c.TRIM: c.trim, c.MIDDLEWARE: c.middleware, c.ADD: c.add}[name](cell.mode)
    if name == c.ENCODE:
        return c.encode_all(existing, new)
    return {c.COPY: lambda _: c.copy, c.ROLES: c.roles_of, c.LENGTHS: c.lengths_of}[name](cell.form)


class Bench:
    """Keeps the messages of a cell from one sample to the next."""

    def __init__(self) -> None:
        self._cell: Cell | None = None
        self._conversation: c.Conversation
        self._existing: list[Any] = []

    def sample(self, name: str, cell: Cell, seconds: float) -> float:
        """Seconds of a call: the first one, or the median of steps that each add a message.

        There are as many steps as `seconds` allow, at least one and at most a period.
        """
        if cell != self._cell:
            self._cell, self._existing = cell, []
            gc.collect()
            self._conversation = c.Conversation(cell.workload, cell.form)
        # Whoever remembers texts must not have seen those of a first call.
        if cell.call == "first" or not self._existing:
            self._existing = self._conversation.take(cell.size)
        existing = list(self._existing)
        call = contestant(name, cell, existing, [])
        if cell.call == "first":
            return next(timed(call, existing, [[]], seconds))
        warm = next(timed(call, existing, [[]], seconds))
        if warm > 1 and name != c.OURS:  # they take as long every time
            return warm
        news = [self._conversation.take(1) for _ in range(c.PERIOD)]
        return statistics.median(timed(call, existing, news, seconds))


def timed(
    call: c.Contestant, existing: list[Any], news: list[list[Any]], seconds: float
) -> Iterator[float]:
    """Seconds of each call, each with a list that has grown by what is new, till time is up."""
    gc.disable()
    for new in news:
        began = thread_time()
        result = call(existing, new)
        spent = thread_time() - began
        del result
        existing += new
        yield spent
        seconds -= spent
        if seconds < 0:
            break
    gc.enable()


def memory(cell: Cell) -> float:
    """The peak during a call of ours, as a multiple of the list with its messages."""
    conversation = c.Conversation(cell.workload, cell.form)
    call = c.reducer(cell.mode)
    call(conversation.take(100), [])  # what is imported at the first call counts for nothing
    tracemalloc.start()
    try:
        existing, new = conversation.take(cell.size), conversation.take(1)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        call(existing, new)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak / held


def main(*options: str) -> None:
    """One reply a line."""
    if "--without-tiktoken" in options:
        sys.modules["tiktoken"] = None  # type: ignore[assignment]  # as if it was not installed
    bench, replies = Bench(), sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        what, *arguments = json.loads(line)
        if what == "sample":
            name, cell, seconds = arguments
            reply = bench.sample(name, Cell(*cell), seconds)
        elif what == "memory":
            reply = memory(Cell(*arguments[0]))
        else:
            form, mode, size, limit = arguments
            reply = c.accesses(form, mode, size, limit=limit)
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
