"""Forty turns of a CrewAI flow for each of two users, with and without the reducer, in SQLite.

Shows what is stored after each turn, lets a second process resume a conversation, and then checks
that no message was lost, none was handed to the memory twice, and none under the wrong user.
"""

from __future__ import annotations

import json
import logging
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from crewai.events.event_listener import event_listener
from crewai_flow import Notebook, build_chat, open_persistence, say

from crewai_persistence_sql import SQLFlowPersistence

TURNS = 40
RESUMED_AT = 30  # from here on, a second process talks to the first user
USERS = ("alice", "bob")
LETTERS = "aaabcdeeefghiiklmnoooprstuuw     "
BAR = "▁▂▃▄▅▆▇█"


class Deliveries(Notebook):
    """A notebook that also counts how often it was handed each message, in all processes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "memories.jsonl")
        self.log = folder / "deliveries.jsonl"

    def __call__(self, pruned: Any, namespace: Any) -> None:
        """Count a batch and note it."""
        with self.log.open("a") as log:
            for key in pruned.keys:
                log.write(json.dumps([namespace, key]) + "\n")
        super().__call__(pruned, namespace)

    def counted(self) -> Counter[tuple[str, str]]:
        """How often each (user, key) was handed over."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return Counter((namespace, key) for namespace, key in map(json.loads, lines))


def said_by(user: str, turn: int) -> str:
    """What a user says in a turn: never the same, or it would all compress to nothing."""
    letters = random.Random(f"{user} {turn}").choices(LETTERS, k=250)
    return f"{user}, turn {turn}: {''.join(letters)}"


def stored(path: Path, user: str) -> tuple[int, int]:
    """How many messages are stored of a conversation, and in how many bytes."""
    persistence = SQLFlowPersistence(f"sqlite:///{path}")
    state = persistence.load_state(f"{user}-1") or {"messages": []}
    persistence.close()
    query = "SELECT sum(length(b)) FROM crewai_flow_states WHERE p = ?"
    with sqlite3.connect(path) as connection:
        (size,) = connection.execute(query, (f"flow!{user}-1",)).fetchone()
    return len(state["messages"]), int(size)


def talk(folder: Path, user: str, turn: int, deliveries: Deliveries | None) -> None:
    """One turn, in the bounded file or, without a memory, in the other one."""
    if deliveries is None:
        persistence = SQLFlowPersistence(f"sqlite:///{folder / 'plain.db'}")
    else:
        persistence = open_persistence(folder / "flows.db", deliveries)
    say(build_chat(persistence), f"{user}-1", said_by(user, turn))
    persistence.close()


def run(folder: Path) -> list[str]:
    """Talk, show, compare. Returns what is wrong."""
    deliveries = Deliveries(folder)
    sizes: list[tuple[int, int]] = []
    print(f"{'':8}with the reducer (10 to 20)   without")
    print("turn    messages    bytes      messages    bytes")
    for turn in range(TURNS):
        for user in USERS:
            if user == USERS[1] or turn < RESUMED_AT:
                talk(folder, user, turn, deliveries)
        talk(folder, USERS[1], turn, None)
        (kept, size), (all_kept, all_size) = (
            stored(folder / name, USERS[1]) for name in ("flows.db", "plain.db")
        )
        sizes.append((size, all_size))
        print(f"{turn + 1:4}{kept:12}{size:9,}{all_kept:15}{all_size:9,}")
    subprocess.run([sys.executable, __file__, "--resume", str(folder)], check=True)
    draw(sizes)
    return verdicts(folder, deliveries)


def draw(sizes: list[tuple[int, int]]) -> None:
    """A chart of the bytes stored of a conversation, turn by turn."""
    top = max(max(pair) for pair in sizes)
    print("\nBytes of the conversation, turn by turn:")
    for name, values in zip(("with the reducer", "without"), zip(*sizes, strict=True), strict=True):
        bars = "".join(BAR[min(7, 8 * value // top)] for value in values)
        print(f"  {name:17}{bars}  {values[-1]:,}")


def verdicts(folder: Path, deliveries: Deliveries) -> list[str]:
    """Count what is in the flows and in the memories, and say what does not add up."""
    wrong = [f"{key} was handed over {n} times" for key, n in deliveries.counted().items() if n > 1]
    persistence = SQLFlowPersistence(f"sqlite:///{folder / 'flows.db'}")
    print("\nWhere the messages are now:")
    for user in USERS:
        state = persistence.load_state(f"{user}-1") or {}
        in_flow = [message["content"] for message in state["messages"]]
        in_memory = [note["text"] for note in deliveries.notes(f"/user/{user}")]
        said = [text for text in in_memory + in_flow if not text.startswith("I can see")]
        print(f"  {user:8}{len(in_flow)} in the flow, {len(in_memory)} in the memory")
        if said != [said_by(user, turn) for turn in range(TURNS)]:
            wrong.append(f"{user}: flow and memory together are not what was said")
        if len(in_memory) + len(in_flow) != 2 * TURNS or len(in_flow) > 20:
            wrong.append(f"{user}: {len(in_memory)} + {len(in_flow)} messages")
    persistence.close()
    return wrong


def main() -> int:
    """Run the demo in a folder of its own, or the part of the second process."""
    event_listener.formatter.console.quiet = True  # CrewAI tells of every load,
    logging.getLogger("opentelemetry").setLevel(logging.ERROR)  # and of every turn that ended
    if len(sys.argv) > 2 and sys.argv[1] == "--resume":
        folder = Path(sys.argv[2])
        for turn in range(RESUMED_AT, TURNS):
            talk(folder, USERS[0], turn, Deliveries(folder))
        return 0
    with tempfile.TemporaryDirectory(prefix="agentstate-") as name:
        wrong = run(Path(name))
    for line in wrong:
        print(f"WRONG  {line}")
    if not wrong:
        print("\nNothing was lost, nothing was handed over twice, nothing is under another user.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
