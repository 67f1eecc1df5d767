"""Flows that wait for a human, in another process or in their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crewai.flow import HumanFeedbackPending, human_feedback
from crewai.flow.flow import Flow, listen, start
from crewai.flow.persistence import persist

from agentstate_documents.testing.flow_contract.messages import Deliveries, contents, reducing
from agentstate_documents.testing.flow_contract.runs import Quick, Talk

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentstate_documents.testing.flow_contract.states import Connect


class LaterProvider:
    """Asks a human who is not there."""

    def request_feedback(self, context: Any, flow: Any) -> str:
        """The flow pauses."""
        raise HumanFeedbackPending(context=context)


class InputProvider:
    """Answers at once, after it has looked at what is stored."""

    def __init__(self, look: Callable[[Any], None]) -> None:
        self._look = look

    def request_input(self, message: str, flow: Any, metadata: Any = None) -> str:
        """The answer."""
        self._look(flow)
        return "blue"


class PauseContract:
    """What is stored while nobody runs."""

    def test_a_flow_waits_for_a_human(self, connect: Connect) -> None:
        """Paused in one process and answered in another, it ends, and hands over once."""
        deliveries = Deliveries()

        def review() -> Any:
            @persist(connect(reducer=reducing(deliveries)))
            class Review(Quick, Flow[Talk]):
                @start()
                def write(self) -> None:
                    self.state.say(6)

                @listen(write)
                @human_feedback(message="Good?", provider=LaterProvider())
                def show(self) -> str:
                    return "a draft"

                @listen(show)
                def publish(self, result: Any) -> str:
                    self.state.say(4)
                    self.state.seen.append(f"{result.output}: {result.feedback}")
                    return "published"

            return Review

        paused = review()(suppress_flow_events=True)
        assert isinstance(paused.kickoff(), HumanFeedbackPending)
        flow_id = paused.state.id
        persistence = connect(reducer=reducing(deliveries))
        assert persistence.load_pending_feedback(flow_id)[1].message == "Good?"
        resumed = review().from_pending(flow_id, persistence, suppress_flow_events=True)
        assert resumed.resume("fine") == "published"
        assert connect().load_pending_feedback(flow_id) is None
        assert connect().load_state(flow_id)["seen"] == ["a draft: fine"]
        assert deliveries.texts == [f"t{n}" for n in range(8)]

    def test_a_question_is_asked_with_the_state_stored(self, connect: Connect) -> None:
        """What `ask()` saves before it waits delivers nothing twice, whatever it is a copy of."""
        deliveries, stored = Deliveries(), list[Any]()
        persistence = connect(reducer=reducing(deliveries))

        @persist(persistence)
        class Asking(Quick, Flow[Talk]):
            @start()
            def work(self) -> None:
                self.state.say(6)

            @listen(work)
            def question(self) -> None:
                self.state.say(1)
                self.state.seen.append(self.ask("Which?") or "")

        look = InputProvider(lambda flow: stored.append(connect().load_state(flow.state.id)))
        flow = Asking(input_provider=look, suppress_flow_events=True)
        flow.kickoff()
        assert [contents(state["messages"]) for state in stored] == [["t5", "t6"]]
        assert deliveries.texts == ["t0", "t1", "t2", "t3", "t4"]
        assert connect().load_state(flow.state.id)["seen"] == ["blue"]
