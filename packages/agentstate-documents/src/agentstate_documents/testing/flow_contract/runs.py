"""Real flows, without a model: they resume, fork and repeat, and stay bounded."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from crewai import flow as crewai_flow

# Where CrewAI 1.15.0 has them; newer versions keep the name.
from crewai.experimental import ConversationConfig, ConversationMessage, ConversationState
from crewai.flow.flow import Flow, listen, router, start
from crewai.flow.persistence import persist
from pydantic import BaseModel, Field

from agentstate_documents.testing.flow_contract.messages import (
    Deliveries,
    contents,
    reducing,
    talk,
)
from agentstate_documents.testing.flow_contract.states import new_id

if TYPE_CHECKING:
    from agentstate_documents.testing.flow_contract.states import Connect


class Talk(BaseModel):
    """A state with a message list and room for what a test wants to see."""

    id: str = Field(default_factory=new_id)
    messages: list[dict[str, Any]] = Field(default_factory=list)
    seen: list[str] = Field(default_factory=list)

    def say(self, count: int) -> None:
        """So many messages more, numbered on."""
        first = int(self.messages[-1]["content"][1:]) + 1 if self.messages else 0
        self.messages += talk(first, first + count)


class Quick:
    """Flows of tests make no memory of their own, which would take seconds."""

    _skip_auto_memory = True


class RunContract:
    """Flows as CrewAI runs them."""

    def test_a_flow_resumes(self, connect: Connect) -> None:
        """A flow started with the id of an older one goes on with its state, once delivered."""
        deliveries = Deliveries()

        def flow_of_a_process() -> Any:
            @persist(connect(reducer=reducing(deliveries)))
            class Steps(Quick, Flow[Talk]):
                @start()
                def first(self) -> None:
                    self.state.say(6)

                @listen(first)
                def second(self) -> None:
                    pass

                @listen(second)
                def third(self) -> None:
                    self.state.say(2)

            return Steps(suppress_flow_events=True)

        one = flow_of_a_process()
        one.kickoff()
        assert len(one.state.messages) == 8
        assert deliveries.texts == [f"t{n}" for n in range(6)]
        two = flow_of_a_process()
        two.kickoff(inputs={"id": one.state.id})
        assert contents(two.state.messages) == [f"t{n}" for n in range(6, 16)]
        assert deliveries.texts == [f"t{n}" for n in range(14)]
        assert len(set(deliveries.keys)) == 14

    def test_an_unknown_id_starts_a_flow_of_that_id(self, connect: Connect) -> None:
        """An id nobody has saved is no error: the flow begins under it, as a dict too."""
        persistence, flow_id = connect(), new_id()

        @persist(persistence)
        class Plain(Quick, Flow[dict[str, Any]]):
            @start()
            def first(self) -> None:
                self.state["n"] = self.state.get("n", 0) + 1

        for expected in (1, 2):
            flow = Plain(suppress_flow_events=True)
            flow.kickoff(inputs={"id": flow_id})
            assert connect().load_state(flow_id) == {"id": flow_id, "n": expected}

    def test_a_cycle_runs_all_its_rounds(self, connect: Connect) -> None:
        """A router that comes back to a method saves every round, also in a resumed flow."""
        persistence, flow_id = connect(reducer=reducing()), new_id()

        @persist(persistence)
        class Rounds(Quick, Flow[Talk]):
            rounds = 0

            @start("again")
            def work(self) -> None:
                self.rounds += 1
                self.state.say(3)

            @router(work)
            def decide(self) -> str:
                return "again" if self.rounds < 4 else "enough"

            @listen("enough")
            def finish(self) -> None:
                self.state.seen.append(f"{self.rounds} rounds")

        for expected in (1, 2):
            Rounds(suppress_flow_events=True).kickoff(inputs={"id": flow_id})
            stored = connect().load_state(flow_id)
            assert stored["seen"] == ["4 rounds"] * expected
            assert len(stored["messages"]) <= 4

    def test_parallel_listeners_lose_nothing(self, connect: Connect) -> None:
        """Methods that finish at the same time save one after the other, the newest last."""
        persistence, together = connect(reducer=reducing()), threading.Barrier(3)

        @persist(persistence)
        class Parallel(Quick, Flow[Talk]):
            @start()
            def begin(self) -> None:
                self.state.say(6)

            @listen(begin)
            def one(self) -> None:
                together.wait(30)
                self.state.seen.append("one")

            @listen(begin)
            def two(self) -> None:
                together.wait(30)
                self.state.seen.append("two")

            @listen(begin)
            def three(self) -> None:
                together.wait(30)
                self.state.seen.append("three")

        flow = Parallel(suppress_flow_events=True)
        flow.kickoff()
        assert sorted(connect().load_state(flow.state.id)["seen"]) == ["one", "three", "two"]

    def test_a_fork_leaves_its_source_alone(self, connect: Connect) -> None:
        """A flow forked from a stored one has an id of its own and recognises its summary."""
        deliveries = Deliveries()
        summaries = {"summarize_fn": lambda pruned: f"{len(pruned)} more", "inject_summary": True}
        persistence = connect(reducer=reducing(deliveries, **summaries), namespace="/user/ann")

        @persist(persistence)
        class Forked(Quick, Flow[ConversationState]):
            @start()
            def work(self) -> None:
                self.state.messages += [
                    ConversationMessage(role="user", content=new_id()) for _ in range(6)
                ]

        source = Forked(suppress_flow_events=True)
        source.kickoff()
        before = connect().load_state(source.state.id)
        fork = Forked(suppress_flow_events=True)
        fork.kickoff(restore_from_state_id=source.state.id)
        assert fork.state.id != source.state.id
        assert connect().load_state(source.state.id) == before
        stored = contents(connect().load_state(fork.state.id)["messages"])
        assert [text == "OK" or "summary" in text for text in stored] == [True, True, False, False]
        assert not [text for text in deliveries.texts if "summary" in text or text == "OK"]
        assert len(set(deliveries.texts)) == len(deliveries.texts) == 10
        assert {namespace for namespace, _, _ in deliveries.seen} == {"/user/ann"}

    def test_methods_have_persistences_of_their_own(self, connect: Connect) -> None:
        """Only decorated methods save, each where it says, on one instance again and again."""
        deliveries = Deliveries()
        one, two = connect(reducer=reducing(deliveries)), connect(reducer=reducing())

        class Methods(Quick, Flow[Talk]):
            @start()
            @persist(one)
            def first(self) -> None:
                self.state.say(2)

            @listen("first")
            def unsaved(self) -> None:
                self.state.seen.append("unsaved")

            @listen(unsaved)
            @persist(two)
            def last(self) -> None:
                self.state.seen.append("last")

        flow = Methods(suppress_flow_events=True)
        for _ in range(5):
            flow.kickoff()
        assert len(flow.state.messages) == 10
        assert len(connect().load_state(flow.state.id)["messages"]) <= 4
        assert deliveries.texts == [f"t{n}" for n in range(len(deliveries.texts))]

    def test_a_state_that_cannot_be_stored_fails_the_flow(self, connect: Connect) -> None:
        """A save that is refused is told, and what was stored before stays."""
        persistence = connect()

        @persist(persistence)
        class Circular(Quick, Flow[dict[str, Any]]):
            @start()
            def fine(self) -> None:
                self.state["n"] = 1

            @listen(fine)
            def wrong(self) -> None:
                self.state["self"] = self.state

        flow = Circular(suppress_flow_events=True)
        with pytest.raises(RuntimeError, match="contains itself"):
            flow.kickoff()
        assert connect().load_state(flow.state["id"])["n"] == 1

    @pytest.mark.skipif(
        not hasattr(crewai_flow, "ConversationConfig"),
        reason="CrewAI saves the last answer of a conversation since 1.15.18",
    )
    def test_a_conversation_of_two_hundred_turns(self, connect: Connect) -> None:
        """Over four processes it stays bounded, is handed over once, with one summary."""
        deliveries, flow_id = Deliveries(), new_id()

        def summarize(pruned: list[Any]) -> str:
            return f"so far {contents(pruned)[-1]}"

        for process in range(4):
            settings = {"summarize_fn": summarize, "inject_summary": True}
            persistence = connect(
                reducer=reducing(deliveries, min_messages=4, max_messages=8, **settings)
            )

            @persist(persistence)
            @ConversationConfig(defer_trace_finalization=False)
            class Chat(Quick, Flow[ConversationState]):
                def route_turn(self, context: Any) -> str:
                    return "help"

                @listen("help")
                def answer(self) -> str:
                    return f"answer to {self.state.current_user_message}"

            chat: Any = Chat(suppress_flow_events=True)
            for turn in range(50 * process, 50 * process + 50):
                chat.handle_turn(f"turn {turn}", session_id=flow_id)
        stored = connect().load_state(flow_id)["messages"]
        spoken = [
            text for turn in range(200) for text in (f"turn {turn}", f"answer to turn {turn}")
        ]
        assert len(stored) <= 8 + 2
        assert stored[1]["content"] == "OK"
        assert "so far" in stored[0]["content"]
        assert deliveries.texts + contents(stored)[2:] == spoken
        assert len(set(deliveries.keys)) == len(deliveries.keys)
