"""What conversations cost over savers, ours and others', in the units of each database.

    python benchmarks/savers.py [--turns 50] [--length 400] [--seconds 600] [--output FOLDER]
        [--only REGEX] [DATABASE ...]

Prints a Markdown table for each database: memory, dynamodb, cosmosdb, firestore. With `--output`
it also writes what every turn cost as JSON, and a plot of the growth over the turns.

Every saver over a server runs in an environment of its own, those over one database against the
same server. "Sent" is the bodies of all requests, "received" those of all replies, on memory keys
and bodies of documents. The first turn, which also creates tables, is part of "sent" and of the
write units only. A conversation ends early where its saver fails, or after `--seconds`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests")]

import databases  # noqa: E402
import savers_chat  # noqa: E402
from conversation import CALLS, Conversation  # noqa: E402
from databases import Costs, Database  # noqa: E402
from plots import plot, size  # noqa: E402

from agentstate_documents.saver import DocumentSaver  # noqa: E402
from servers.process import installed  # noqa: E402

LANGGRAPH = "langgraph==1.2.24"
PUBLISHED = ("langgraph-dynamodb-checkpoint==0.5.0", "agentstate-reducer==0.5.0", LANGGRAPH)
AWS = ("langgraph-checkpoint-aws==1.2.6", LANGGRAPH)

LONG = 200  # turns from which on growth is worth a look, and others' savers only chat
EARLY, LATE = slice(9, 109), slice(-100, None)  # turns 10 to 109, and the last hundred
MARKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # of the plots
REPLIES = (["ready"], ["done"], ["failed"])


@dataclass(frozen=True)
class Length:
    """How far a conversation goes."""

    turns: int = 50
    characters: int = 400  # of a message
    seconds: float = 600


@dataclass(frozen=True)
class Contestant:
    """A saver with its options; what has to be installed for it, if it is not ours."""

    name: str
    saver: str
    options: str = "plain"
    requirements: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ("chat", "tools", "exit")


def ours(name: str, saver: str) -> list[Contestant]:
    """The three ways a saver of this project is measured."""
    return [
        Contestant(name, saver, shapes=tuple(CALLS)),
        Contestant(f"{name}, reducer 10/20", saver, "reduced"),
        Contestant(f"{name}, encrypted", saver, "encrypted", shapes=("chat",)),
    ]


CONTESTANTS = {
    "memory": ours("`MemoryTable`", "memory"),
    "dynamodb": [
        *ours("`DynamoDBSaver`", "dynamodb"),
        Contestant("0.5.0", "dynamodb", "plain", PUBLISHED, tuple(CALLS)),
        Contestant("0.5.0, reducer 10/20", "dynamodb", "reduced", PUBLISHED),
        Contestant("aws 1.2.6", "aws", "plain", AWS, tuple(CALLS)),
        Contestant("aws 1.2.6, gzip", "aws", "gzip", AWS),
    ],
    "cosmosdb": ours("`CosmosDBSaver`", "cosmosdb"),
    "firestore": ours("`FirestoreSaver`", "firestore"),
}
SERVERS: dict[str, Callable[[], AbstractContextManager[Database]]] = {
    "dynamodb": databases.dynamodb,
    "cosmosdb": databases.cosmosdb,
    "firestore": databases.firestore,
}


@dataclass(frozen=True)
class Played:
    """What each turn cost, how many messages the thread had then, and why it ended early."""

    shape: str
    name: str
    costs: list[Costs]
    messages: int
    ended: str = ""


Turn = Callable[[], str]  # its reply is that of `savers_chat.py`


@contextmanager
def in_memory(one: Contestant, shape: str, characters: int) -> Iterator[tuple[Database, Turn]]:
    """A conversation in this process."""
    table = databases.CountingTable()
    saver = DocumentSaver(table, **savers_chat.options(one.options))
    conversation = Conversation(saver, shape, characters)
    yield Database({}, table.take), lambda: f"done {conversation.turn()}"


@contextmanager
def elsewhere(
    one: Contestant, shape: str, characters: int, database: Database
) -> Iterator[tuple[Database, Turn]]:
    """A conversation in a process of its own, over a table of its own."""
    python = installed(*one.requirements) / "bin/python" if one.requirements else sys.executable
    place = f"{one.saver}-{one.options}-{shape}-{characters}-{len(one.requirements)}"
    script = str(ROOT / "benchmarks/savers_chat.py")
    with subprocess.Popen(
        [str(python), script, one.saver, one.options, shape, str(characters), place],
        env={**os.environ, **database.environment},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as chat:
        assert chat.stdin
        assert chat.stdout
        # Some savers print as well.
        replies = (line for line in chat.stdout if line.split()[:1] in REPLIES)

        def turn() -> str:
            print(file=chat.stdin, flush=True)
            return next(replies)

        next(replies)
        database.take()
        yield database, turn
        chat.stdin.close()


def play(one: Contestant, shape: str, length: Length, database: Database | None = None) -> Played:
    """The turns of one conversation."""
    costs: list[Costs] = []
    messages, ended = 0, ""
    until = time.monotonic() + length.seconds
    which = one, shape, length.characters
    with elsewhere(*which, database) if database else in_memory(*which) as (place, turn):
        while len(costs) < length.turns and not ended:
            said, _, rest = turn().strip().partition(" ")
            cost = place.take()
            if said == "failed":
                ended = rest
                continue
            costs.append(cost)
            messages = int(rest)
            if time.monotonic() > until and len(costs) < length.turns:
                ended = f"{length.seconds:.0f} seconds were over"
    return Played(shape, one.name, costs, messages, ended)


def measure(name: str, length: Length, only: str = "") -> Iterator[Played]:
    """The conversations over one database that match `only`, one after another."""
    entries = [
        (one, shape)
        for shape in (CALLS if length.characters == 400 else ["chat"])
        for one in CONTESTANTS[name]
        if shape in one.shapes and re.search(only, f"{shape}, {one.name}")
        if not one.requirements or shape == "chat" or length.turns < LONG
    ]
    if name == "memory":
        for one, shape in entries:
            yield play(one, shape, length)
        return
    with SERVERS[name]() as database:
        for one, shape in entries:
            yield play(one, shape, length, database)


def requests_a_turn(turns: int) -> Iterator[tuple[str, int, int]]:
    """(name, requests wanted, most requests in a turn) of every conversation on memory."""
    for played in measure("memory", Length(turns)):
        most = max(cost["requests"] for cost in played.costs)
        yield f"{played.shape}, {played.name}", CALLS[played.shape], most


def growth(costs: list[Costs]) -> str:
    """Mean bytes sent a turn, early and late, and what the one is of the other."""
    if len(costs) < LONG:
        return ""
    early, late = (statistics.mean(cost["sent"] for cost in costs[part]) for part in (EARLY, LATE))
    return f"{early / 1000:.2f}, {late / 1000:.2f} KB: {late / early:.3f}"


def columns(played: Played, turns: int) -> Iterator[tuple[str, str]]:
    """The cells of a row, with the names of their columns."""
    costs, steady = played.costs, played.costs[1:]
    requests = [cost["requests"] for cost in steady]
    median, most = int(statistics.median(requests)), max(requests)
    received = [cost["received"] / 1000 for cost in steady]
    yield "", f"{played.shape}, {played.name}"
    yield "turns", f"{len(costs):,}"
    yield "requests a turn", f"{median}" if most == median else f"{median}, at most {most}"
    yield "sent", f"{sum(cost['sent'] for cost in costs) / 1e6:.3f} MB"
    if turns >= LONG:
        yield "sent a turn, early, late: ratio", growth(costs)
    yield "received a turn, mean / max", f"{statistics.mean(received):.0f} / {max(received):.0f} KB"
    if "units" in costs[0]:
        yield "write units", f"{sum(cost['units'] for cost in costs):,}"
        yield "largest item", f"{max(cost['largest'] for cost in costs) / 1000:.1f} KB"
    if "read" in costs[0]:
        for what in ("written", "read", "deleted"):
            yield f"{what} a turn", f"{statistics.mean(cost[what] for cost in steady):.1f}"


def table(name: str, length: Length, only: str) -> Iterator[tuple[Played, list[str]]]:
    """Each conversation with its lines of the table."""
    head = f"| {name}, {length.characters:,} characters "
    for played in measure(name, length, only):
        lines = []
        if len(played.costs) > 1:
            names, cells = zip(*columns(played, length.turns), strict=True)
            if head:
                lines = [f"{head}{' | '.join(names)} |", "|---" * len(names) + "|"]
                head = ""
            lines.append(f"| {' | '.join(cells)} |")
        if played.ended:
            last = f"turn {len(played.costs)}, {played.messages} messages"
            print(f"{played.shape}, {played.name}: {last}: {played.ended}", file=sys.stderr)
        yield played, lines


def growth_plot(name: str, measured: list[Played]) -> str:
    """Bytes sent a turn, chat and tools: means of the turns up to each mark."""
    panels: dict[str, dict[str, list[tuple[int, float]]]] = {"chat": {}, "tools": {}}
    for played in (one for one in measured if one.shape in panels):
        line = [
            (mark, statistics.mean(cost["sent"] for cost in played.costs[before:mark]))
            for before, mark in zip((0, *MARKS), MARKS, strict=False)
            if mark <= len(played.costs)
        ]
        if line:
            panels[played.shape][played.name.replace("`", "")] = line
    drawn = {shape: lines for shape, lines in panels.items() if lines}
    return plot(f"Bytes sent a turn, {name}", drawn, size) if drawn else ""


def main(length: Length, *names: str, only: str = "", output: Path | None = None) -> None:
    """The tables of these databases, or of all."""
    for name in names or CONTESTANTS:
        measured = []
        for played, lines in table(name, length, only):
            measured.append(played)
            for line in lines:
                print(line, flush=True)
        print()
        if output:
            output.mkdir(parents=True, exist_ok=True)
            records = json.dumps([vars(played) for played in measured])
            (output / f"{name}-{length.turns}-{length.characters}.json").write_text(records + "\n")
            if drawn := growth_plot(name, measured):
                (output / f"growth-{name}-{length.turns}.svg").write_text(drawn)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("databases", nargs="*", metavar="DATABASE")
    parser.add_argument("--turns", type=int, default=Length.turns)
    parser.add_argument("--length", type=int, default=Length.characters, help="of a message")
    parser.add_argument("--seconds", type=float, default=Length.seconds, help="for a conversation")
    parser.add_argument("--only", default="", help="conversations and savers, a pattern")
    parser.add_argument("--output", type=Path, help="folder for JSON and plots")
    given = parser.parse_args()
    length = Length(given.turns, given.length, given.seconds)
    main(length, *given.databases, only=given.only, output=given.output)
