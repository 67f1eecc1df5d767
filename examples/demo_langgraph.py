"""Forty turns of an agent for each of two users, with and without the reducer, in SQLite files.

Shows what is stored after each turn, lets a second process resume a thread, and then checks that
no message was lost, none was handed to the memory twice, and none under the wrong user.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph_sqlite import build_agent, open_saver, open_store

from agentstate_reducer import RememberFn, store_hook

TURNS = 40
RESUMED_AT = 30  # from here on, a second process talks to the first user
USERS = ("alice", "bob")
BAR = "▁▂▃▄▅▆▇█"


def config_of(user: str) -> dict[str, Any]:
    """The thread and the memory of a user."""
    return {"configurable": {"thread_id": f"{user}-1", "memory_namespace": ("memories", user)}}


def question(user: str, turn: int) -> HumanMessage:
    """What a user says in a turn; every third turn needs the tool."""
    text = "How is the weather in Kyoto now?" if turn % 3 == 2 else "Here is something to keep."
    return HumanMessage(f"{text} ({user}, turn {turn}) " + "Some more words. " * 12)


class Deliveries:
    """Writes down every message that is handed over, before it goes to the store."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "deliveries.jsonl"
        self.remember: RememberFn = store_hook(open_store(folder / "memories.db"))

    def __call__(self, pruned: list[Any], namespace: Any) -> None:
        """Pass a batch on, noting key and namespace of each message."""
        with self.log.open("a") as log:
            for message in pruned:
                log.write(json.dumps([list(namespace), message.id]) + "\n")
        self.remember(pruned, namespace)

    def counted(self) -> Counter[tuple[str, str]]:
        """How often each (user, message id) was handed over, by all processes."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return Counter((ns[-1], key) for ns, key in map(json.loads, lines))


def stored_bytes(path: Path, thread: str) -> int:
    """The size of the newest checkpoint of a thread."""
    query = (
        "SELECT length(checkpoint) FROM checkpoints WHERE thread_id = ? "
        "ORDER BY checkpoint_id DESC LIMIT 1"
    )
    with sqlite3.connect(path) as connection:
        return int(connection.execute(query, (thread,)).fetchone()[0])


def talk(agent: Any, user: str, turns: range) -> Iterator[list[str]]:
    """Say one thing a turn; yields the ids of the messages that the turn added."""
    for turn in turns:
        asked = question(user, turn)
        messages = agent.invoke({"messages": [asked]}, config_of(user))["messages"]
        start = max(i for i, m in enumerate(messages) if isinstance(m, HumanMessage))
        yield [message.id for message in messages[start:]]


def resume(folder: Path) -> list[str]:
    """Let another process take the last turns of the first user; the ids it added."""
    command = [sys.executable, __file__, "--resume", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    added: list[str] = json.loads(done.stdout)
    return added


def run_resumed(folder: Path) -> None:
    """The second process: open the same files and go on."""
    agent = build_agent(open_saver(folder / "threads.db", Deliveries(folder)))
    added = chain.from_iterable(talk(agent, USERS[0], range(RESUMED_AT, TURNS)))
    print(json.dumps(list(added)))


def run(folder: Path) -> list[str]:
    """The first process: talk, show, compare. Returns what is wrong."""
    deliveries = Deliveries(folder)
    threads, plain_threads = folder / "threads.db", folder / "plain.db"
    agent = build_agent(open_saver(threads, deliveries))
    plain = build_agent(SqliteSaver(sqlite3.connect(plain_threads, check_same_thread=False)))
    said: dict[str, list[str]] = {user: [] for user in USERS}
    sizes: list[tuple[int, int]] = []

    print(f"{'':8}with the reducer (10 to 20)   without\n{'turn':8}messages    bytes      ", end="")
    print("messages    bytes")
    for turn in range(TURNS):
        for user in USERS:
            mine = range(turn, turn + 1)
            if user == USERS[1] or turn < RESUMED_AT:
                said[user] += chain.from_iterable(talk(agent, user, mine))
            if user == USERS[1]:
                list(talk(plain, user, mine))
        shown = USERS[1]
        kept = [len(a.get_state(config_of(shown)).values["messages"]) for a in (agent, plain)]
        size = [stored_bytes(path, f"{shown}-1") for path in (threads, plain_threads)]
        sizes.append((size[0], size[1]))
        print(f"{turn + 1:4}{kept[0]:12}{size[0]:9,}{kept[1]:15}{size[1]:9,}")
    said[USERS[0]] += resume(folder)
    draw(sizes)
    return verdicts(folder, agent, deliveries, said)


def draw(sizes: list[tuple[int, int]]) -> None:
    """A chart of the bytes of the newest checkpoint, turn by turn."""
    top = max(max(pair) for pair in sizes)
    print("\nBytes of the newest checkpoint, turn by turn:")
    for name, values in zip(("with the reducer", "without"), zip(*sizes, strict=True), strict=True):
        bars = "".join(BAR[min(7, 8 * value // top)] for value in values)
        print(f"  {name:17}{bars}  {values[-1]:,}")


def verdicts(
    folder: Path, agent: Any, deliveries: Deliveries, said: dict[str, list[str]]
) -> list[str]:
    """Count what is in the threads and in the memories, and say what does not add up."""
    store, wrong = open_store(folder / "memories.db"), []
    counted = deliveries.counted()
    print("\nWhere the messages are now:")
    for user in USERS:
        in_thread = {m.id for m in agent.get_state(config_of(user)).values["messages"]}
        in_memory = {item.key for item in store.search(("memories", user), limit=10_000)}
        delivered = Counter({key: n for (owner, key), n in counted.items() if owner == user})
        print(
            f"  {user:8}{len(said[user])} said, {len(in_thread)} in the thread, "
            f"{len(in_memory)} in the memory"
        )
        if lost := set(said[user]) - in_thread - in_memory:
            wrong.append(f"{user}: {len(lost)} messages are lost")
        if strangers := (in_memory | in_thread) - set(said[user]):
            wrong.append(f"{user}: {len(strangers)} messages belong to somebody else")
        if set(delivered) != in_memory:
            wrong.append(f"{user}: the memory does not hold what was handed over")
        if twice := [key for key, n in delivered.items() if n > 1]:
            wrong.append(f"{user}: {len(twice)} messages were handed over twice")
        if len(in_thread) > 20:
            wrong.append(f"{user}: the thread holds {len(in_thread)} messages")
    return wrong


def main() -> int:
    """Run the demo in a folder of its own, or the part of the second process."""
    if len(sys.argv) > 2 and sys.argv[1] == "--resume":
        run_resumed(Path(sys.argv[2]))
        return 0
    with tempfile.TemporaryDirectory(prefix="agentstate-") as folder:
        wrong = run(Path(folder))
    for line in wrong:
        print(f"WRONG  {line}")
    if not wrong:
        print("\nNothing was lost, nothing was handed over twice, nothing is under another user.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
