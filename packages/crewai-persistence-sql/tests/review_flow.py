"""A flow that waits for a human. Run with a URL, it goes on with the answer "well done"."""

from __future__ import annotations

import sys
from typing import Any

from crewai.flow import Flow, HumanFeedbackPending, human_feedback, listen, start
from crewai.flow.persistence import persist

from crewai_persistence_sql import SQLFlowPersistence


class Mailbox:
    """Asks somebody who is not there."""

    def request_feedback(self, context: Any, flow: Any) -> str:
        raise HumanFeedbackPending(context=context)


def review(persistence: SQLFlowPersistence) -> Any:
    """A flow that writes, waits and publishes."""

    @persist(persistence)
    class Review(Flow[dict[str, Any]]):
        _skip_auto_memory = True

        @start()
        @human_feedback(message="Good?", provider=Mailbox())
        def write(self) -> str:
            self.state["draft"] = "first draft"
            return "first draft"

        @listen(write)
        def publish(self, result: Any) -> None:
            self.state["answer"] = result.feedback

    return Review


if __name__ == "__main__":
    stored = SQLFlowPersistence(sys.argv[1])
    review(stored).from_pending("review-1", stored, suppress_flow_events=True).resume("well done")
