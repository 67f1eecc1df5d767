"""An assistant on CrewAI: it looks things up, and a person confirms some answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

from crewai.flow import (
    ConversationMessage,
    ConversationState,
    HumanFeedbackPending,
    human_feedback,
)
from crewai.flow.flow import Flow, listen, start
from crewai.flow.persistence import persist
from langgraph.store.memory import InMemoryStore

from agentstate_documents.persistence import DocumentFlowPersistence
from agentstate_reducer import MessageReducer, ReducerConfig, store_hook

Opener = Callable[[MessageReducer], DocumentFlowPersistence]


class State(ConversationState):
    question: str = ""
    memory_namespace: tuple[str, str] = ("memories", "nobody")


class Consent:
    """Asks a person, who is not there, about the questions that want it."""

    def request_feedback(self, context: Any, flow: Any) -> str:
        if "ask me first" in flow.state.question:
            raise HumanFeedbackPending(context=context)
        return "yes"


def assistant(persistence: DocumentFlowPersistence) -> Any:
    """The flow, every step of it stored."""

    @persist(persistence)
    class Assistant(Flow[State]):
        _skip_auto_memory = True

        def add(self, role: Any, content: str, **links: Any) -> None:
            message = ConversationMessage(role=role, content=content, **links)
            self.state.messages.append(message)

        @start()
        def ask_for_facts(self) -> None:
            """The model calls a tool; its call ids start anew in every turn, as some models' do."""
            self.add("user", self.state.question)
            function = {"name": "look_up", "arguments": "{}"}
            call = {"id": "call_0", "type": "function", "function": function}
            self.add("assistant", f"looking up {self.state.question}", tool_calls=[call])

        @listen(ask_for_facts)
        def look_up(self) -> None:
            """The tool answers."""
            self.add("tool", f"facts on {self.state.question}", tool_call_id="call_0")

        @listen(look_up)
        @human_feedback(message="may I?", provider=Consent())
        def wait(self) -> str:
            """The user may want a person's consent."""
            return str(self.state.question)

        @listen(wait)
        def answer(self, consent: Any) -> None:
            """The model answers."""
            self.add("assistant", f"answer to {self.state.question}")

    return Assistant


class CrewAIApp:
    """What the story needs of an application; `store` is the long-term memory, outside of it.

    CrewAI's messages have no ids, so the story knows them by what they say.
    """

    def __init__(self, opener: Opener) -> None:
        self.store = InMemoryStore()
        self.said: dict[str, dict[str, Any]] = {}
        self.handed: Counter[str] = Counter()
        self._opener = opener
        self._persistence: Any = None
        self._assistant: Any = None

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls, opener: Opener) -> AsyncIterator[CrewAIApp]:
        """An application that has started and will stop."""
        app = cls(opener)
        await app.restart()
        try:
            yield app
        finally:
            app._persistence.close()

    async def restart(self) -> None:
        """All that lived in the process is gone; the database is opened again."""
        if self._persistence is not None:
            self._persistence.close()
        self.handed.clear()
        hooks = [store_hook(self.store), self._count]
        config = ReducerConfig(min_messages=4, max_messages=8, preserve_first=False, on_prune=hooks)
        self._persistence = self._opener(MessageReducer(config=config))
        self._assistant = assistant(self._persistence)

    def _count(self, pruned: Any, namespace: Any) -> None:
        self.handed.update(pruned.keys)

    async def say(self, user: str, text: str) -> bool:
        """One turn; true when it waits for consent."""
        flow = self._assistant(suppress_flow_events=True)
        given = {
            "id": f"flow of {user}",
            "question": text,
            "memory_namespace": ("memories", user),
        }
        return await self._run(user, flow, lambda: flow.kickoff(inputs=given))

    async def consent(self, user: str) -> None:
        """The turn that waited goes on."""
        flow = await asyncio.to_thread(
            self._assistant.from_pending,
            f"flow of {user}",
            self._persistence,
            suppress_flow_events=True,
        )
        assert not await self._run(user, flow, lambda: flow.resume("yes"))

    async def stored(self, user: str) -> dict[str, Any]:
        """What is stored of the conversation, by what it says."""
        state = await asyncio.to_thread(self._persistence.load_state, f"flow of {user}")
        return {message["content"]: message["content"] for message in state["messages"]}

    def remembered(self, user: str) -> dict[str, Any]:
        """What the long-term memory holds of a user, by what it says."""
        found = self.store.search(("memories", user), limit=1000)
        return {item.value["content"]: item.value["content"] for item in found}

    def namespaces(self) -> set[tuple[str, ...]]:
        """All namespaces the memory has."""
        return set(self.store.list_namespaces())

    async def _run(self, user: str, flow: Any, step: Callable[[], Any]) -> bool:
        result = await asyncio.to_thread(step)
        said = self.said.setdefault(user, {})
        said.update({message.content: message.content for message in flow.state.messages})
        return isinstance(result, HumanFeedbackPending)
