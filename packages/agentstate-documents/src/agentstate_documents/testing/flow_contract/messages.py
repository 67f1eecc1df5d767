"""What the tests about message lists share: a reducer, a hook, and something to say."""

from __future__ import annotations

from typing import Any

from agentstate_reducer import MessageReducer, ReducerConfig


class Deliveries:
    """A hook that keeps what it is given: namespace, key and content of each message."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, str, str]] = []

    def __call__(self, pruned: Any, namespace: Any) -> None:
        """Keep the batch."""
        self.seen += [
            (namespace, k, m["content"]) for m, k in zip(pruned, pruned.keys, strict=True)
        ]

    @property
    def texts(self) -> list[str]:
        """The contents, in the order they came."""
        return [text for _, _, text in self.seen]

    @property
    def keys(self) -> list[str]:
        """The keys, in the order they came."""
        return [key for _, key, _ in self.seen]


def reducing(*hooks: Any, **settings: Any) -> MessageReducer:
    """A reducer that keeps 2 of more than 4 messages."""
    limits = {"min_messages": 2, "max_messages": 4, "preserve_first": False}
    return MessageReducer(config=ReducerConfig(**{**limits, **settings}, on_prune=list(hooks)))


def talk(first: int, last: int) -> list[dict[str, Any]]:
    """Messages as CrewAI dumps them: without ids, with every optional field."""
    return [
        {
            "role": "assistant" if n % 2 else "user",
            "content": f"t{n}",
            "name": None,
            "tool_call_id": None,
            "tool_calls": None,
            "files": None,
        }
        for n in range(first, last)
    ]


def contents(messages: list[Any]) -> list[str]:
    """What the messages say."""
    return [message["content"] for message in messages]
