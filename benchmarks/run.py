"""How long `reduce()` takes beside everyone else's, and what savers cost.

    uv run benchmarks/run.py [--quick] [--output FOLDER]

Prints Markdown tables; with `--output` it writes `speed.json` and the plots there as well. Exits
with 1 when a count is worse than it has to be: attributes read, requests made. Never for a time.

Two processes take turns, sample by sample: one in this environment, one in an environment of its
own that pins everyone else. Numbers are medians, ratios are medians of the ratios within a round.
Every list grows by one message before each call and is bounded from scratch, as in a graph.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests")]

import contestants as c  # noqa: E402
import saver_time  # noqa: E402
import savers  # noqa: E402
from measuring import Cell  # noqa: E402
from plots import plot  # noqa: E402

from servers.process import installed  # noqa: E402

PINNED = (
    "agentstate-reducer==0.5.0",
    "langchain==1.5.2",
    "langchain-core==1.8.3",
    "langgraph==1.2.24",
    "tiktoken==0.14.0",
)
# tiktoken downloads its vocabulary; this wheel holds it, and what else it needs is not wanted.
VOCABULARY = ("llama-index-core==0.14.25", "--no-deps")
VOCABULARY_FOLDER = "lib/python*/site-packages/llama_index/core/_static/tiktoken_cache"

WORKLOADS, FORMS = ("chat", "tools"), ("dicts", "LangChain")
MODES = ("count", "heuristic", "tiktoken")
SIZES = (20, 100, 1000, 10_000, 100_000)
FIRST_SIZES = SIZES[:-1]
THEIRS = (c.PUBLISHED, c.TRIM, c.MIDDLEWARE, c.ADD)

# Attributes that a reduction reads, per message of a list over the limit. Under it: none.
ACCESSES = {"LangChain": 3, "objects": 9}

Times = dict[str, list[float]]  # seconds in each round, by contestant


class Measurer:
    """A process that measures what it is told, in one environment."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, *question: Any) -> Any:
        """Its reply."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(question), file=self._process.stdin, flush=True)
        reply = self._process.stdout.readline()
        if not reply:
            raise RuntimeError(f"nobody measured {question}")
        return json.loads(reply)


@contextmanager
def measurer(python: str, mode: str) -> Iterator[Measurer]:
    """One of them, gone at the end."""
    options = [] if mode == "tiktoken" else ["--without-tiktoken"]
    command = [python, str(ROOT / "benchmarks/measuring.py"), *options]
    with subprocess.Popen(
        command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield Measurer(process)
        assert process.stdin
        process.stdin.close()


def entrants(cell: Cell) -> list[str]:
    """Who takes part: floors first."""
    names = [c.COPY, c.ROLES]
    if cell.mode != "count":
        names.append(c.LENGTHS)
    if cell.mode == "tiktoken" and cell.call == "first":
        names.append(c.ENCODE)
    names += [c.OURS, c.PUBLISHED, c.TRIM, c.ADD]
    return [*names, c.MIDDLEWARE] if cell.form == "LangChain" else names


def measure(cell: Cell, here: Measurer, there: Measurer, rounds: int, slow: set[str]) -> Times:
    """A sample of each contestant in every round, in an order that rotates."""
    names = [name for name in entrants(cell) if name not in slow]
    times: Times = {name: [] for name in names}
    for k in range(rounds):
        turn = k % len(names)
        for name in names[turn:] + names[:turn]:
            if times[name] and times[name][-1] > 1:
                continue  # seconds need no second opinion
            who = there if name in THEIRS else here
            times[name].append(who.ask("sample", name, cell, 0.05 if rounds > 1 else 0.005))
    return times


def measure_speed(sizes: tuple[int, ...], rounds: int, longest: float) -> dict[Cell, Times]:
    """All cells, mode by mode.

    Who would take more than `longest` seconds for a call, if time grew with the size, is left out.
    """
    (vocabulary,) = installed(*VOCABULARY).glob(VOCABULARY_FOLDER)
    os.environ["TIKTOKEN_CACHE_DIR"] = str(vocabulary)
    peers = str(installed(*PINNED) / "bin" / "python")
    measured: dict[Cell, Times] = {}
    for mode in MODES:
        with ExitStack() as stack:
            here, there = (
                stack.enter_context(measurer(python, mode)) for python in (sys.executable, peers)
            )
            for cells in _series(mode, sizes):
                slow: set[str] = set()
                for cell, following in zip(cells, [*cells[1:], None], strict=True):
                    measured[cell] = times = measure(cell, here, there, rounds, slow)
                    if following:
                        growth = following.size / cell.size
                        slow |= {name for name in THEIRS if _last(times, name) * growth > longest}
                    print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return measured


def _series(mode: str, sizes: tuple[int, ...]) -> Iterator[list[Cell]]:
    """Cells that differ in size alone, for every combination of the rest."""
    for workload in WORKLOADS:
        for form in FORMS:
            yield [Cell(mode, workload, form, "step", size) for size in sizes]
            firsts = [size for size in sizes if size in FIRST_SIZES]
            yield [Cell(mode, workload, form, "first", size) for size in firsts]


def _last(times: Times, name: str) -> float:
    return times[name][-1] if name in times else 0.0


def ratio(times: Times, name: str, to: str) -> float | None:
    """The median of the ratios within a round."""
    pairs = zip(times.get(name, ()), times.get(to, ()), strict=False)
    return statistics.median(a / b for a, b in pairs) if times.get(name) and times.get(to) else None


def exponent(measured: dict[Cell, Times], cell: Cell, name: str) -> float:
    """How time grows from 1,000 messages to 10,000: 1 is linear."""
    small, large = (measured[cell._replace(size=size)][name] for size in (1000, 10_000))
    return statistics.median(math.log10(b / a) for a, b in zip(small, large, strict=False))


def speed_table(measured: dict[Cell, Times], call: str, size: int) -> Iterator[str]:
    """Microseconds of one size, a row for each mode, workload and form."""
    names = [c.ROLES, c.LENGTHS, c.OURS, *THEIRS]
    yield f"| {call}, {size:,} messages, µs | {' | '.join(names)} |"
    yield "|---|" + "---|" * len(names)
    for cell, times in measured.items():
        if (cell.call, cell.size) == (call, size):
            cells = [_microseconds(times.get(name)) for name in names]
            yield f"| {cell.mode}, {cell.workload}, {cell.form} | {' | '.join(cells)} |"


def _microseconds(seconds: list[float] | None) -> str:
    return f"{statistics.median(seconds) * 1e6:,.0f}" if seconds else ""


def ratio_table(measured: dict[Cell, Times], size: int) -> Iterator[str]:
    """What the step of ours is, in floors and in steps of the others."""
    yield f"| step, {size:,} messages | times its floor | {' | '.join(THEIRS)} |"
    yield "|---|" + "---|" * (len(THEIRS) + 1)
    for cell, times in measured.items():
        if (cell.call, cell.size) == ("step", size):
            floor = ratio(times, c.OURS, c.ROLES if cell.mode == "count" else c.LENGTHS)
            others = [ratio(times, name, c.OURS) for name in THEIRS]
            cells = [f"{floor:.1f}", *(f"{r:.2g}x" if r else "" for r in others)]
            yield f"| {cell.mode}, {cell.workload}, {cell.form} | {' | '.join(cells)} |"


def tokenizer_table(measured: dict[Cell, Times], size: int) -> Iterator[str]:
    """The first call against one pass of the tokenizer, the next ones against the heuristic."""
    yield f"| tiktoken, {size:,} messages | first call, passes | step, heuristic steps |"
    yield "|---|---|---|"
    for workload in WORKLOADS:
        for form in FORMS:
            first = measured[Cell("tiktoken", workload, form, "first", size)]
            encode, ours = (statistics.median(first[name]) for name in (c.ENCODE, c.OURS))
            seen, heuristic = (
                statistics.median(measured[Cell(mode, workload, form, "step", size)][c.OURS])
                for mode in ("tiktoken", "heuristic")
            )
            yield f"| {workload}, {form} | {ours / encode:.2f} | {seen / heuristic:.2f} |"


def growth_table(measured: dict[Cell, Times]) -> Iterator[str]:
    """Exponents of ours and of the floor."""
    yield f"| growth from 1,000 to 10,000 | {c.ROLES} | {c.OURS} |\n|---|---|---|"
    for cell in measured:
        if (cell.call, cell.size) == ("step", 10_000):
            floor, ours = (exponent(measured, cell, name) for name in (c.ROLES, c.OURS))
            label = f"{cell.mode}, {cell.workload}, {cell.form}"
            yield f"| {label} | {floor:.2f} | {ours:.2f} |"


def memory_table(size: int) -> Iterator[str]:
    """The peak of a step, as a multiple of the list with its messages."""
    yield f"| peak of a step, {size:,} messages | {' | '.join(FORMS)} |\n|---|---|---|"
    for mode in ("count", "heuristic", "tiktoken"):
        with measurer(sys.executable, mode) as here:
            for workload in WORKLOADS:
                peaks = [
                    here.ask("memory", Cell(mode, workload, form, "step", size)) for form in FORMS
                ]
                yield f"| {mode}, {workload} | {' | '.join(f'{p:.3f}' for p in peaks)} |"


def worse_counts() -> Iterator[str]:
    """What is read or asked for more often than it has to be."""
    with measurer(sys.executable, "count") as here:
        for form, limit in ACCESSES.items():
            for size in (1000, 2000):
                if under := here.ask("accesses", form, "count", size, size):
                    yield f"{under} attributes of {form} read under the limit"
                read = here.ask("accesses", form, "count", size, c.LIMIT) / size
                if read > limit + 0.1:
                    yield f"{read:.2f} attributes read per message of {form}, not {limit}"
    for name, wanted, requests in savers.requests_a_turn(turns=12):
        if requests > wanted:
            yield f"{requests} requests in a turn, {name}, not {wanted}"


def write(folder: Path, measured: dict[Cell, Times], python_times: list[dict[str, Any]]) -> None:
    """Every sample as JSON, a plot for each mode."""
    cells = [{**cell._asdict(), "seconds": times} for cell, times in measured.items()]
    document = {"python": sys.version.split()[0], "speed": cells, "savers": python_times}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "speed.json").write_text(json.dumps(document) + "\n")
    for mode in MODES:
        panels: dict[str, dict[str, list[tuple[int, float]]]] = {name: {} for name in WORKLOADS}
        for cell, times in measured.items():
            if (cell.mode, cell.form, cell.call) == (mode, "LangChain", "step"):
                for name in sorted(times, key=lambda name: name != c.OURS):
                    point = cell.size, statistics.median(times[name])
                    panels[cell.workload].setdefault(name, []).append(point)
        (folder / f"speed-{mode}.svg").write_text(plot(f"A step in {mode} mode", panels))


def main() -> int:
    """Everything, or in a few seconds a little of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="100 and 1,000 messages, no database")
    parser.add_argument("--output", type=Path, help="folder for speed.json and the plots")
    options = parser.parse_args()
    quick: bool = options.quick
    if quick:
        measured = measure_speed(SIZES[1:3], rounds=1, longest=0.02)
    else:
        measured = measure_speed(SIZES, rounds=5, longest=0.4)
    python_lines, python_times = saver_time.report(rounds=3 if quick else 31)
    tables = [speed_table(measured, "step", 1000), ratio_table(measured, 1000)]
    tables += [tokenizer_table(measured, 1000)]
    if not quick:
        tables += [speed_table(measured, call, 10_000) for call in ("step", "first")]
        tables += [ratio_table(measured, 10_000), tokenizer_table(measured, 10_000)]
        tables += [growth_table(measured), memory_table(10_000)]
    for lines in [*tables, iter(python_lines)]:
        print(*lines, sep="\n", end="\n\n")
    if options.output:
        write(options.output, measured, python_times)
    if not quick:
        savers.main(savers.Length())
    faults = list(worse_counts())
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
