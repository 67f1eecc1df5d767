"""A CrewAI conversation that stays bounded in SQLite, with a memory for each user.

Run it twice: the second run goes on where the first one stopped.

    pip install crewai crewai-persistence-sql
    python examples/crewai_flow.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from crewai.flow.flow import Flow, start
from crewai.flow.persistence import FlowPersistence, persist

from agentstate_reducer import MessageReducer, ReducerConfig, RememberFn
from crewai_persistence_sql import SQLFlowPersistence


class Notebook:
    """Stands in for a memory, so that the example needs no network.

    `crewai_memory_hook(memory)` of agentstate_reducer writes to one of CrewAI's own.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, pruned: Any, namespace: Any) -> None:
        """Note each message under its user, and none twice."""
        known = {note["key"] for note in self.notes()}
        with self.path.open("a") as file:
            for message, key in zip(pruned, pruned.keys, strict=True):
                if key not in known:
                    note = {"of": namespace, "key": key, "text": message["content"]}
                    file.write(json.dumps(note) + "\n")

    def notes(self, namespace: str | None = None) -> list[dict[str, str]]:
        """What was noted, of everybody or of one user."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        notes = [json.loads(line) for line in lines]
        return [note for note in notes if namespace in (None, note["of"])]


def user_of(_: dict[str, Any], flow_id: str) -> str:
    """Whose memories the messages of a conversation are: its id says so here."""
    return f"/user/{flow_id.partition('-')[0]}"


def open_persistence(path: Path, remember: RememberFn) -> SQLFlowPersistence:
    """Flows in a file, with the newest 10 to 20 messages of each conversation."""
    config = ReducerConfig(
        min_messages=10, max_messages=20, preserve_first=False, on_prune=[remember]
    )
    return SQLFlowPersistence(
        f"sqlite:///{path}", reducer=MessageReducer(config=config), namespace=user_of
    )


def build_chat(persistence: FlowPersistence) -> Any:
    """A conversation that is stored after every step."""

    @persist(persistence)
    class Chat(Flow):
        _skip_auto_memory = True  # it would want an embedding model

        @start()
        def answer(self) -> str:
            """Stand in for a crew or a model: replace it with yours."""
            messages = self.state.setdefault("messages", [])
            messages.append({"role": "user", "content": self.state["question"]})
            asked = sum(message["role"] == "user" for message in messages)
            reply = f"I can see {asked} of your messages."
            messages.append({"role": "assistant", "content": reply})
            return reply

    return Chat


def say(chat: Any, conversation: str, text: str) -> Any:
    """One turn: a run of the flow, which goes on with what is stored under its id."""
    flow = chat(suppress_flow_events=True)  # or CrewAI prints five boxes a turn
    return flow.kickoff(inputs={"id": conversation, "question": text})


def main() -> None:
    """Say six things, and show what is stored and what is remembered."""
    notebook = Notebook(Path("memories.jsonl"))
    persistence = open_persistence(Path("flows.db"), notebook)
    chat = build_chat(persistence)
    for n in range(6):
        print(say(chat, "alice-1", f"Message {n}"))
    stored = persistence.load_state("alice-1")
    assert stored is not None
    print(f"{len(stored['messages'])} messages in the flow, ", end="")
    print(f"{len(notebook.notes('/user/alice'))} in the memory")


if __name__ == "__main__":
    main()
