"""Wire forms of messages: one conversation, written as each framework writes it."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

_CANONICAL = {"system": "system", "human": "human", "ai": "ai"}
_OPENAI = {"system": "developer", "human": "user", "ai": "assistant"}


class _Role(str, enum.Enum):
    """Roles as some frameworks have them."""

    SYSTEM, HUMAN, AI, TOOL = "system", "user", "assistant", "tool"


@dataclass
class Form:
    """One wire form: how the steps of a conversation are written down."""

    words: dict[str, str]
    key: str = "role"
    most_calls = 1_000  # in one step
    reasons = False  # whether there are `reasoning` items

    def say(self, role: str, words: str) -> Any:
        """A message of a role: system, human or ai."""
        return {self.key: self.words[role], "content": words}

    def call(self, keys: tuple[str, ...], words: str) -> list[Any]:
        """The messages that make these calls in parallel."""
        calls = [{"id": key, "name": "search", "args": {"n": 1}} for key in keys]
        return [{**self.say("ai", words), "tool_calls": calls}]

    def results(self, keys: tuple[str, ...], words: str) -> list[Any]:
        """The messages that answer these calls."""
        return [{self.key: "tool", "content": words, "tool_call_id": key} for key in keys]


class _OpenAI(Form):
    def call(self, keys: tuple[str, ...], words: str) -> list[Any]:
        function = {"name": "search", "arguments": '{"n": 1}'}
        calls = [{"id": key, "type": "function", "function": function} for key in keys]
        return [{"role": "assistant", "content": words or None, "tool_calls": calls}]


class _Legacy(Form):
    """OpenAI's `function_call`: one call a message, linked by its name."""

    most_calls = 1

    def call(self, keys: tuple[str, ...], words: str) -> list[Any]:
        function = {"name": keys[0], "arguments": '{"n": 1}'}
        return [{"role": "assistant", "content": words or None, "function_call": function}]

    def results(self, keys: tuple[str, ...], words: str) -> list[Any]:
        return [{"role": "function", "name": key, "content": words} for key in keys]


class _Anthropic(Form):
    """Blocks; the results of one step share a user message."""

    def call(self, keys: tuple[str, ...], words: str) -> list[Any]:
        blocks = [{"type": "tool_use", "id": k, "name": "search", "input": {"n": 1}} for k in keys]
        said = [{"type": "text", "text": words}] if words else []
        return [{"role": "assistant", "content": [*said, *blocks]}]

    def results(self, keys: tuple[str, ...], words: str) -> list[Any]:
        blocks = [{"type": "tool_result", "tool_use_id": k, "content": words} for k in keys]
        note = [{"type": "text", "text": "and one more thing"}] if "also" in words else []
        return [{"role": "user", "content": [*blocks, *note]}]


class _Bedrock(Form):
    def say(self, role: str, words: str) -> Any:
        return {"role": self.words[role], "content": [{"text": words}]}

    def call(self, keys: tuple[str, ...], words: str) -> list[Any]:
        calls = [{"toolUse": {"toolUseId": k, "name": "search", "input": {"n": 1}}} for k in keys]
        said = [{"text": words}] if words else []
        return [{"role": "assistant", "content": [*said, *calls]}]

    def results(self, keys: tuple[str, ...], words: str) -> list[Any]:
        told = [{"toolResult": {"toolUseId": k, "content": [{"text": words}]}} for k in keys]
        return [{"role": "user", "content": told}]


class _Responses(Form):
    """Items without a role: parallel calls stand side by side, `reasoning` before them."""

    reasons = True

    def say(self, role: str, words: str) -> Any:
        if role == "reasoning":
            return {"type": "reasoning", "summary": [{"type": "summary_text", "text": words}]}
        return super().say(role, words)

    def call(self, keys: tuple[str, ...], words: str) -> list[Any]:
        arguments = json.dumps({"query": words})
        call = {"type": "function_call", "name": "search", "arguments": arguments}
        return [{**call, "call_id": key} for key in keys]

    def results(self, keys: tuple[str, ...], words: str) -> list[Any]:
        return [{"type": "function_call_output", "call_id": k, "output": words} for k in keys]


class _Objects(Form):
    def say(self, role: str, words: str) -> Any:
        return SimpleNamespace(role=_Role[role.upper()], content=words, id=None)

    def call(self, keys: tuple[str, ...], words: str) -> list[Any]:
        function = SimpleNamespace(name="search", arguments='{"n": 1}')
        message = self.say("ai", words)
        message.tool_calls = [SimpleNamespace(id=key, function=function) for key in keys]
        return [message]

    def results(self, keys: tuple[str, ...], words: str) -> list[Any]:
        told = [self.say("tool", words) for _ in keys]
        for message, key in zip(told, keys, strict=True):
            message.tool_call_id = key
        return told


class _LangChain(Form):
    chunks = False

    def say(self, role: str, words: str) -> Any:
        from langchain_core import messages

        name = {"system": "System", "human": "Human", "ai": "AI"}[role] + "Message"
        return getattr(messages, name + "Chunk" * self.chunks)(content=words)

    def call(self, keys: tuple[str, ...], words: str) -> list[Any]:
        from langchain_core.messages import AIMessage

        wrong = {"args": "{", "error": "no JSON"} if "also" in words else {"args": {"n": 1}}
        calls = [{"id": key, "name": "search", "args": {"n": 1}} for key in keys[:-1]]
        last = {"id": keys[-1], "name": "search", **wrong}
        if "also" in words:
            return [AIMessage(words, tool_calls=calls, invalid_tool_calls=[last])]
        return [AIMessage(words, tool_calls=[*calls, last])]

    def results(self, keys: tuple[str, ...], words: str) -> list[Any]:
        from langchain_core.messages import ToolMessage

        return [ToolMessage(words, tool_call_id=key) for key in keys]


class _LangChainChunks(_LangChain):
    chunks = True


FORMS: dict[str, Form] = {
    "role_dicts": Form(_CANONICAL),
    "type_dicts": Form(_CANONICAL, key="type"),
    "openai": _OpenAI(_OPENAI),
    "legacy": _Legacy(_OPENAI),
    "anthropic": _Anthropic(_OPENAI),
    "bedrock": _Bedrock(_OPENAI),
    "responses": _Responses(_OPENAI),
    "objects": _Objects(_CANONICAL),
    "langchain": _LangChain(_CANONICAL),
    "langchain_chunks": _LangChainChunks(_CANONICAL),
}
"""The wire forms by their names."""
