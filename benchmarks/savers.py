"""What 50 turns of a chat cost on DynamoDB, beside the savers others published.

    python benchmarks/savers.py [turns]

Prints a Markdown table. Every saver runs in an environment of its own, against the same test
server, through a proxy that writes down what the client sends and receives: "sent" is the bodies
of all requests, "received" those of all replies, write units are DynamoDB's rule applied to the
items in them. The first turn, which also creates tables, is part of "sent" and of the units only.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from servers.bill import write_units, written_items  # noqa: E402
from servers.dynamodb import dynamodb  # noqa: E402
from servers.faults import Exchange, FaultProxy  # noqa: E402
from servers.process import installed  # noqa: E402

LANGGRAPH = "langgraph==1.2.24"
PUBLISHED = ("langgraph-dynamodb-checkpoint==0.5.0", "agentstate-reducer==0.5.0", LANGGRAPH)
AWS = ("langgraph-checkpoint-aws==1.2.6", LANGGRAPH)
HERE: tuple[str, ...] = ()

AWS_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "eu-central-1",
}

# What it is called in the table, the chat, and what has to be installed for it.
RUNS = [
    ("DynamoDBSaver", "plain", HERE),
    ("DynamoDBSaver, reducer 10/20", "reduced", HERE),
    ("DynamoDBSaver, encrypted", "encrypted", HERE),
    ("langgraph-dynamodb-checkpoint 0.5.0", "plain", PUBLISHED),
    ("the same, reducer 10/20", "reduced", PUBLISHED),
    ("langgraph-checkpoint-aws 1.2.6", "aws", AWS),
    ("the same, gzip", "aws gzip", AWS),
]
COLUMNS = ["requests a turn", "sent", "write units", "received a turn, mean / max", "largest item"]


@dataclass(frozen=True)
class Turn:
    """What crossed the wire in one turn."""

    exchanges: list[Exchange]

    @property
    def sent(self) -> int:
        """Bytes of request bodies."""
        return sum(len(exchange.request) for exchange in self.exchanges)

    @property
    def received(self) -> int:
        """Bytes of reply bodies."""
        return sum(len(exchange.reply) for exchange in self.exchanges)

    @property
    def units(self) -> int:
        """Write units."""
        return sum(map(write_units, self.exchanges))


def play(chat: str, requirements: tuple[str, ...], proxy: FaultProxy, turns: int) -> list[Turn]:
    """The turns of one chat."""
    python = installed(*requirements) / "bin" / "python" if requirements else sys.executable
    table = f"t{len(requirements)}-{chat.replace(' ', '-')}"
    if chat.startswith("aws"):
        create_for_aws(table, proxy.endpoint)
    with talking([str(python), str(ROOT / "benchmarks/savers_chat.py"), chat, table], proxy) as go:
        played = []
        for _ in range(turns):
            proxy.reset()
            go()
            played.append(Turn(list(proxy.exchanges)))
        return played


@contextmanager
def talking(command: list[str], proxy: FaultProxy) -> Iterator[Callable[[], None]]:
    """A chat that takes a turn each time it is told to."""
    environment = {**os.environ, "AWS_ENDPOINT_URL": proxy.endpoint}
    with subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as chat:
        assert chat.stdin
        assert chat.stdout
        replies = (line for line in chat.stdout if line in {"ready\n", "done\n"})

        def go() -> None:
            print(file=chat.stdin, flush=True)
            next(replies)

        next(replies)
        yield go
        chat.stdin.close()


def create_for_aws(table: str, endpoint: str) -> None:
    """The table that package expects to find."""
    import boto3

    keys = {"PK": "HASH", "SK": "RANGE"}
    client = boto3.client("dynamodb", endpoint_url=endpoint)
    client.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys.items()],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in keys],
    )
    client.close()


def row(name: str, turns: list[Turn]) -> str:
    """A line of the table."""
    steady = turns[1:]
    received = [turn.received / 1000 for turn in steady]
    largest = max(size for turn in turns for one in turn.exchanges for size in written_items(one))
    cells = [
        name,
        f"{statistics.median(len(turn.exchanges) for turn in steady):.0f}",
        f"{sum(turn.sent for turn in turns) / 1e6:.3f} MB",
        f"{sum(turn.units for turn in turns):,}",
        f"{statistics.mean(received):.0f} / {max(received):.0f} KB",
        f"{largest / 1000:.1f} KB",
    ]
    return f"| {' | '.join(cells)} |"


def main(turns: int) -> None:
    """Every saver, one after another."""
    os.environ.update(AWS_ENVIRONMENT)
    print(f"| {turns} turns | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 1)}")
    with dynamodb() as endpoint, FaultProxy(endpoint).serving() as proxy:
        for name, chat, requirements in RUNS:
            print(row(name, play(chat, requirements, proxy, turns)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
