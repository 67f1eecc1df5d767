"""The three savers hold the same state after the same operations: that of LangGraph's own saver."""

from __future__ import annotations

import copy
import pydoc_data.topics
import random
import re
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from agentstate_reducer import MessageReducer
from e2e.langgraph_databases import SAVERS

PLACES = [("t", ""), ("t", "child:1"), ("t/2 #?ä", "")]


def config_of(place: tuple[str, str], checkpoint: str | None = None) -> Any:
    """The configuration that names a thread, a namespace and perhaps a checkpoint."""
    ids = {"thread_id": place[0], "checkpoint_ns": place[1]}
    return {"configurable": ids | ({"checkpoint_id": checkpoint} if checkpoint else {})}


def told(found: Any) -> Any:
    """A checkpoint tuple as plain values to compare."""
    parent = found.parent_config and found.parent_config["configurable"]["checkpoint_id"]
    ids = found.config["configurable"]["checkpoint_id"]
    return ids, found.checkpoint, found.metadata, parent, found.pending_writes


class Everyone:
    """All savers and LangGraph's own, told to do the same."""

    def __init__(self, savers: dict[str, Any], seed: int) -> None:
        self.savers = savers
        self.rng = random.Random(seed)
        self.known: dict[tuple[str, str], dict[str, list[Any]]] = {place: {} for place in PLACES}
        self.made = 0

    def step(self) -> None:
        """Any operation, most often a step of a run."""
        place = self.rng.choice(PLACES)
        operations = [self.put] * 6 + [self.put_writes] * 3 + [self.delete]
        self.rng.choice(operations)(place)

    def put(self, place: tuple[str, str]) -> None:
        """A step changes the messages of the latest checkpoint, or of an older one."""
        known = self.known[place]
        parent = self.rng.choice([*known, *[max(known)] * 4]) if known else None
        messages = list(known[parent]) if parent else []
        text = "x" * self.rng.choice([0, 40, 2000])
        kind = self.rng.choice([HumanMessage, AIMessage])
        messages = [*messages[self.rng.choice([0, 0, 0, 2]) :], kind(text, id=str(self.made))]
        checkpoint = empty_checkpoint()
        self.made += 1
        name = f"1f0{self.made:05x}-0000-6000-8000-000000000000"
        values = {"messages": messages, "falsy": self.rng.choice([None, 0, "", [], False])}
        versions = dict.fromkeys(values, f"{self.made:032}.5")
        checkpoint.update(id=name, channel_values=values, channel_versions=versions)
        for saver in self.savers.values():
            made = copy.deepcopy(checkpoint)
            saver.put(config_of(place, parent), made, {"step": self.made}, versions)
        known[name] = messages

    def put_writes(self, place: tuple[str, str]) -> None:
        """A task of a known checkpoint writes, perhaps again."""
        if not self.known[place]:
            return
        name = self.rng.choice(list(self.known[place]))
        task = self.rng.choice(["task1", "task2"])
        channel = self.rng.choice(["messages", "__error__", "__interrupt__"])
        writes = [(channel, n) for n in range(self.rng.choice([1, 3, 12]))]
        for saver in self.savers.values():
            saver.put_writes(config_of(place, name), writes, task)

    def delete(self, place: tuple[str, str]) -> None:
        """A thread is gone, with all its namespaces."""
        for saver in self.savers.values():
            saver.delete_thread(place[0])
        for each in self.known:
            if each[0] == place[0]:
                self.known[each] = {}

    def compare(self) -> None:
        """Everything that can be listed reads the same from all of them."""
        for place in PLACES:
            states = {
                name: list(map(told, saver.list(config_of(place))))
                for name, saver in self.savers.items()
            }
            for name, state in states.items():
                assert state == states["langgraph"], name
            assert len(states["langgraph"]) == len(self.known[place])


@pytest.mark.parametrize("seed", range(4))
def test_every_database_holds_the_same_state(seed: int, request: pytest.FixtureRequest) -> None:
    """Puts, forks, writes and deletions leave the same checkpoints on every database."""
    savers = {name: at(request)() for name, at in SAVERS.items()}
    try:
        everyone = Everyone({"langgraph": InMemorySaver(), **savers}, seed)
        for _ in range(40):
            everyone.step()
        everyone.compare()
    finally:
        for saver in savers.values():
            saver.close()


PROSE = re.sub(r"\s+", " ", " ".join(pydoc_data.topics.topics.values()))


def chat(saver: Any, turns: int) -> None:
    """A chat of 400 characters a message."""
    texts = iter([PROSE[start : start + 400] for start in range(0, 2 * turns * 400, 400)])
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda _: {"messages": [("ai", next(texts))]})
    builder.add_edge(START, "answer")
    graph = builder.compile(checkpointer=saver)
    for _ in range(turns):
        said: Any = {"messages": [("human", next(texts))]}
        graph.invoke(said, {"configurable": {"thread_id": "t"}})


def body_bytes(table: Any) -> int:
    """The bytes of all bodies of the thread."""
    total, cursor = 0, None
    while True:
        page = table.query("t", cursor=cursor)
        total += sum(len(document.body) for document in page.documents)
        cursor = page.cursor
        if cursor is None:
            return total


@pytest.mark.parametrize("reducer", [None, MessageReducer(10, 20)], ids=["whole", "reduced"])
def test_every_database_holds_about_as_many_bytes(
    reducer: MessageReducer | None, request: pytest.FixtureRequest
) -> None:
    """The bodies of fifty turns are within a tenth of those on DynamoDB."""
    savers = {name: at(request)(reducer=reducer) for name, at in SAVERS.items()}
    try:
        for saver in savers.values():
            chat(saver, 50)
        stored = {name: body_bytes(saver._table) for name, saver in savers.items()}
        assert stored == pytest.approx(dict.fromkeys(stored, stored["dynamodb"]), rel=0.1)
    finally:
        for saver in savers.values():
            saver.close()
