"""Who is measured, and on what: messages, floors, and everyone who bounds a list of them.

Runs in the environment of whoever is measured, so it imports each only when it is asked for.
A contestant takes the list so far and what came, and returns whatever it makes of them.
"""

from __future__ import annotations

import json
import pydoc_data.topics
import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

Contestant = Callable[[list[Any], list[Any]], Any]

TOPICS = " ".join(pydoc_data.topics.topics.values()).encode("ascii", "ignore").decode()
PROSE = re.sub(r"\s+", " ", TOPICS)
LENGTH = 400  # characters of a message
KEPT, LIMIT = 10, 20  # messages after pruning, and where it starts
PERIOD = 10  # messages after which a conversation is where it began
TOKENS = 100  # a message of 400 characters, by everyone's rule of thumb

OURS = "agentstate-reducer"
PUBLISHED = "agentstate-reducer 0.5.0"
TRIM, MIDDLEWARE, ADD = "trim_messages", "SummarizationMiddleware", "add_messages"
COPY, ROLES, LENGTHS, ENCODE = "list + list", "+ role of each", "+ length of each", "encode each"


_NUMBERS = count()


class Conversation:
    """An endless conversation in which no text comes twice, nor in another one.

    `chat` is a question and an answer by turns; `tools` a question, two calls in one message,
    their two results and an answer. Both begin anew after `PERIOD` messages.
    """

    def __init__(self, workload: str, form: str) -> None:
        build = {"dicts": _dict, "LangChain": _langchain}[form]
        kinds = {"chat": "ha", "tools": "hcrra"}[workload]
        self._messages = (build(*said) for said in self._said(kinds))

    def take(self, size: int) -> list[Any]:
        """The next messages."""
        return [next(self._messages) for _ in range(size)]

    def _said(self, kinds: str) -> Iterator[tuple[str, int, str, str]]:
        """Kind, number, text and the id of the call that is answered."""
        while True:
            results = 0
            for kind in kinds:
                number = next(_NUMBERS)
                results += kind == "r"
                called = f"call-{number - results}-{results}"
                yield kind, number, _text(number), called


def _text(number: int) -> str:
    start = (number * 397) % (len(PROSE) - LENGTH)
    return f"{number} {PROSE[start : start + LENGTH]}"[:LENGTH]


def _calls(number: int, text: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Id, name and arguments of two calls."""
    arguments = {"query": text[:80], "limit": 10, "fresh": True}
    return [(f"call-{number}-{n}", name, arguments) for n, name in ((1, "search"), (2, "fetch"))]


def _dict(kind: str, number: int, text: str, called: str) -> dict[str, Any]:
    """OpenAI's form."""
    if kind == "r":
        return {"role": "tool", "content": text, "tool_call_id": called}
    if kind != "c":
        return {"role": "user" if kind == "h" else "assistant", "content": text}
    calls = [
        {"id": call, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for call, name, args in _calls(number, text)
    ]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def _langchain(kind: str, number: int, text: str, called: str) -> Any:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    key = f"message-{number}"
    if kind == "r":
        return ToolMessage(text, tool_call_id=called, id=key)
    if kind != "c":
        return (HumanMessage if kind == "h" else AIMessage)(text, id=key)
    calls = [
        {"id": call, "name": name, "args": args, "type": "tool_call"}
        for call, name, args in _calls(number, text)
    ]
    return AIMessage("", tool_calls=calls, id=key)


def texts(messages: list[Any]) -> list[str]:
    """Each text a tokenizer has to read, once."""
    found: dict[str, None] = {}
    for message in messages:
        fields = message if isinstance(message, dict) else vars(message)
        found[fields["content"]] = None
        for call in fields.get("tool_calls") or ():
            body = call.get("function", call)
            arguments = body["arguments"] if "arguments" in body else json.dumps(body["args"])
            found |= {body["name"]: None, arguments: None}
    return list(found)


def copy(existing: list[Any], new: list[Any]) -> list[Any]:
    """What nobody who returns a list gets around."""
    return existing + new


def roles_of(form: str) -> Contestant:
    """And a look at the role of each message."""
    if form == "dicts":
        return lambda existing, new: [message["role"] for message in existing + new]
    return lambda existing, new: [message.type for message in existing + new]


def lengths_of(form: str) -> Contestant:
    """And at the length of each."""
    roles = roles_of(form)
    if form == "dicts":
        return lambda existing, new: (
            roles(existing, new),
            sum([len(message["content"]) // 4 for message in existing + new]),
        )
    return lambda existing, new: (
        roles(existing, new),
        sum([len(message.content) // 4 for message in existing + new]),
    )


def encoding() -> Callable[[str], list[int]]:
    """How `tiktoken` encodes a text."""
    import tiktoken

    return tiktoken.get_encoding("cl100k_base").encode_ordinary


def reducer(mode: str) -> Contestant:
    """`MessageReducer` as installed here, whoever's it is."""
    from agentstate_reducer import MessageReducer, ReducerConfig

    if mode == "count":
        return MessageReducer(min_messages=KEPT, max_messages=LIMIT).reduce
    limits = ReducerConfig(max_tokens=LIMIT * TOKENS, target_tokens=KEPT * TOKENS)
    return MessageReducer(config=limits).reduce


def trim(mode: str) -> Contestant:
    """LangChain's function, which trims at every call."""
    from langchain_core.messages import trim_messages

    counters: dict[str, Any] = {"count": len, "heuristic": "approximate"}
    counter = counters.get(mode) or count_tokens()
    limit = KEPT if mode == "count" else KEPT * TOKENS

    def call(existing: list[Any], new: list[Any]) -> Any:
        return trim_messages(existing + new, max_tokens=limit, token_counter=counter)

    return call


def middleware(mode: str) -> Contestant:
    """LangChain's middleware, with a summary that costs nothing."""
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages.utils import count_tokens_approximately

    unit, factor = ("messages", 1) if mode == "count" else ("tokens", TOKENS)
    before = SummarizationMiddleware(
        FakeListChatModel(responses=["unused"]),
        trigger=(unit, LIMIT * factor),  # type: ignore[arg-type]
        keep=(unit, KEPT * factor),  # type: ignore[arg-type]
        token_counter=count_tokens() if mode == "tiktoken" else count_tokens_approximately,
        trim_tokens_to_summarize=None,
        summarizer=lambda _: "What was said.",
    ).before_model
    return lambda existing, new: before({"messages": existing + new}, None)  # type: ignore


def count_tokens() -> Callable[[list[Any]], int]:
    """A counter for LangChain's two: the content of each message, by `tiktoken`."""
    encode = encoding()
    return lambda messages: sum(len(encode(message.content)) + 4 for message in messages)


def add(_mode: str) -> Contestant:
    """LangGraph's merge, which bounds nothing: every graph pays for it beside the bounding."""
    from langgraph.graph.message import add_messages

    return add_messages


def encode_all(existing: list[Any], new: list[Any]) -> Contestant:
    """One pass of the tokenizer over the texts of these messages."""
    encode, said = encoding(), texts(existing + new)
    return lambda _existing, _new: sum([len(encode(text)) for text in said])


def accesses(form: str, mode: str, size: int, *, limit: int = LIMIT) -> int:
    """How often `MessageReducer` reads an attribute of `size` messages that count it."""
    from agentstate_reducer import MessageReducer, ReducerConfig

    seen = count()
    kinds = [_counting(form, n, seen) for n in (0, 1)]
    messages = [kinds[n % 2](content=_text(n), id=str(n)) for n in range(size)]
    config = ReducerConfig(min_messages=KEPT, max_messages=limit)
    if mode != "count":
        config = ReducerConfig(max_tokens=limit * TOKENS, target_tokens=KEPT * TOKENS)
    began = next(seen)
    MessageReducer(config=config).reduce(messages)
    return next(seen) - began - 1


def _counting(form: str, number: int, seen: Iterator[int]) -> type[Any]:
    """A class of messages, human for 0 and ai for 1, that counts the reading of its fields."""
    if form == "LangChain":
        plain: type[Any] = type(_langchain("ha"[number], number, "", ""))
    else:
        plain = type("Plain", (), {"role": ("user", "assistant")[number], "__init__": _keep})

    class Counting(plain):
        def __getattribute__(self, name: str) -> Any:
            if not name.startswith("_"):
                next(seen)
            return super().__getattribute__(name)

    return Counting


def _keep(self: Any, **said: Any) -> None:
    vars(self).update(said)
