"""Graphs on the saver: what LangGraph makes of it is what it makes of its own."""

from __future__ import annotations

import inspect
import operator
import uuid
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig  # noqa: TC002 - LangGraph looks for it
from langchain_core.runnables.config import set_config_context
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from langgraph.types import Command, interrupt

from agentstate_documents.testing.saver_scenes import Scenes, at, checkpoint, listed, put


class GraphContract(Scenes):
    """Runs, interrupts, forks, subgraphs and delta channels."""

    async def test_signatures_are_langgraphs(self, make_saver: Any) -> None:
        """Every public method takes what the base class's takes."""
        saver = type(make_saver())
        for name, method in inspect.getmembers(BaseCheckpointSaver, inspect.isfunction):
            if not name.startswith("_"):
                want = inspect.signature(method).parameters
                have = inspect.signature(getattr(saver, name)).parameters
                assert list(have) == list(want), name
                assert [p.kind for p in have.values()] == [p.kind for p in want.values()], name
                assert [p.default for p in have.values()] == [p.default for p in want.values()]

    @pytest.mark.parametrize("durability", ["sync", "async", "exit"])
    async def test_a_conversation(self, make_saver: Any, thread: str, durability: Any) -> None:
        """Turns add up over new savers, and history is the whole of it."""
        for turn in range(4):
            graph = chat_graph(make_saver())
            result = await graph.ainvoke(
                {"messages": [f"question {turn}"]}, at(thread), durability=durability
            )
            assert len(result["messages"]) == 2 * turn + 2
        state = await chat_graph(make_saver()).aget_state(at(thread))
        assert state.values["messages"] == [
            text for turn in range(4) for text in (f"question {turn}", f"answer {2 * turn + 1}")
        ]
        assert state.next == ()

    async def test_the_blocking_face_too(self, make_saver: Any, thread: str) -> None:
        """`invoke` and `stream` work on the same thread as `ainvoke`."""
        graph = chat_graph(make_saver())
        graph.invoke({"messages": ["one"]}, at(thread))
        list(graph.stream({"messages": ["two"]}, at(thread)))
        await graph.ainvoke({"messages": ["three"]}, at(thread))
        assert len(graph.get_state(at(thread)).values["messages"]) == 6
        steps = [state.metadata["step"] for state in graph.get_state_history(at(thread))]
        assert steps == list(range(7, -2, -1))

    async def test_long_messages(self, make_saver: Any, thread: str, random_text: Any) -> None:
        """Two dozen turns with 40,000 characters a message: every message comes back."""
        said: list[str] = []

        def say(_: Any = None) -> dict[str, Any]:
            said.append(f"{len(said)} {random_text(40_000)}")
            return {"messages": [AIMessage(said[-1], id=str(len(said)))]}

        graph = _graph(MessagesState, say).compile(checkpointer=make_saver())
        for _ in range(24):
            await graph.ainvoke(say(), at(thread))
        stored = await make_saver().aget_tuple(at(thread))
        found = [message.content for message in stored.checkpoint["channel_values"]["messages"]]
        assert found == said
        assert len(found) == 48

    async def test_an_interrupt_is_resumed_elsewhere(self, make_saver: Any, thread: str) -> None:
        """A run that waits for a person goes on in another process with all it had."""
        graph = approval_graph(make_saver())
        await graph.ainvoke({"messages": ["do it"]}, at(thread))
        state = await approval_graph(make_saver()).aget_state(at(thread))
        assert state.next == ("ask",)
        assert [one.value for one in state.interrupts] == ["may I?"]
        resumed = await approval_graph(make_saver()).ainvoke(Command(resume="yes"), at(thread))
        assert resumed["messages"] == ["do it", "other", "yes"]

    async def test_time_travel(self, make_saver: Any, thread: str) -> None:
        """A named checkpoint is as it was; going on from it forks, and the rest stays."""
        graph = chat_graph(make_saver())
        for turn in range(3):
            await graph.ainvoke({"messages": [f"question {turn}"]}, at(thread))
        history = [state async for state in graph.aget_state_history(at(thread))]
        old = next(state for state in history if len(state.values["messages"]) == 4)
        fork = await graph.aupdate_state(old.config, {"messages": ["edited"]})
        result = await chat_graph(make_saver()).ainvoke({"messages": ["on"]}, fork)
        assert result["messages"][:5] == [*old.values["messages"], "edited"]
        assert (await graph.aget_state(fork)).parent_config == old.config
        for state in history:
            found = await chat_graph(make_saver()).aget_state(state.config)
            assert found.values == state.values
            assert found.parent_config == state.parent_config

    async def test_subgraphs(self, make_saver: Any, thread: str) -> None:
        """A subgraph's memory is its own, nested ones too, as on LangGraph's saver."""
        seen = []
        for saver in (make_saver(), InMemorySaver()):
            graph = nested_graph(saver)
            for turn in range(3):
                await graph.ainvoke({"messages": [f"in {turn}"]}, at(thread))
            namespaces = {
                one.config["configurable"]["checkpoint_ns"].split(":")[0]
                for one in await listed(saver, {"configurable": {"thread_id": thread}})
            }
            state = await graph.aget_state(at(thread), subgraphs=True)
            seen.append((state.values, namespaces))
        assert seen[0] == seen[1]

    async def test_delta_channels(self, new: Any, make_saver: Any, thread: str) -> None:
        """A channel kept as deltas is rebuilt, after forks, copies and prunes too."""
        graph = delta_graph(make_saver())
        for turn in range(9):
            question = HumanMessage(f"question {turn}", id=str(uuid.uuid4()))
            await graph.ainvoke({"messages": [question]}, at(thread))
            saver = new()
            for found in (await listed(saver, at(thread)))[:4]:
                told = await saver.aget_delta_channel_history(
                    config=found.config, channels=["messages", "unknown"]
                )
                want = await BaseCheckpointSaver.aget_delta_channel_history(
                    saver, config=found.config, channels=["messages", "unknown"]
                )
                assert told == want
        want = (await graph.aget_state(at(thread))).values["messages"]
        assert [message.content for message in want] == [
            text for turn in range(9) for text in (f"question {turn}", f"answer {2 * turn + 1}")
        ]
        await new().acopy_thread(thread, thread + "2")
        await new().aprune([thread])
        for name in (thread, thread + "2"):
            state = await delta_graph(make_saver()).aget_state(at(name))
            assert state.values["messages"] == want
        assert len(await listed(new(), at(thread))) < len(await listed(new(), at(thread + "2")))

    async def test_delta_history_of_nothing(self, saver: Any, thread: str) -> None:
        """No channels, an unknown thread and a first checkpoint have no history."""
        history = saver.aget_delta_channel_history
        assert await history(config=at(thread), channels=[]) == {}
        assert await history(config=at(thread), channels=["a"]) == {"a": {"writes": []}}
        config = await put(saver, at(thread), {"a": 1})
        assert await history(config=config, channels=["a"]) == {"a": {"writes": []}}

    async def test_delta_history_stops_at_the_nearest_value(
        self, saver: Any, new: Any, thread: str
    ) -> None:
        """Each channel ends at its own nearest value, and takes writes of the way to it."""
        configs = [at(thread)]
        for n in range(6):
            made = checkpoint({"a": [f"a{n}" * 20]} if n in (1, 3) else {"b": n} if n == 2 else {})
            configs.append(await saver.aput(configs[-1], made, {}, {}))
            await saver.aput_writes(configs[-1], [("a", n), ("b", n), ("c", n)], f"task{n}")
        told = await new().aget_delta_channel_history(config=configs[-1], channels=["a", "b", "c"])
        assert told["a"]["seed"] == ["a3" * 20]
        assert [value for *_, value in told["a"]["writes"]] == [3, 4]
        assert told["b"]["seed"] == 2
        assert [value for *_, value in told["b"]["writes"]] == [2, 3, 4]
        assert "seed" not in told["c"]
        assert [value for *_, value in told["c"]["writes"]] == [0, 1, 2, 3, 4]


class _State(TypedDict):
    messages: Annotated[list[Any], operator.add]


_DELTAS: Any = DeltaChannel(_messages_delta_reducer, snapshot_frequency=4)  # type: ignore[arg-type]


class _DeltaState(TypedDict):
    messages: Annotated[list[Any], _DELTAS]


def chat_graph(saver: Any) -> Any:
    """One node that answers."""

    def answer(state: _State) -> dict[str, Any]:
        return {"messages": [f"answer {len(state['messages'])}"]}

    return _graph(_State, answer).compile(checkpointer=saver)


def approval_graph(saver: Any) -> Any:
    """A node that asks a person, beside one that does not."""

    def ask(state: _State, config: RunnableConfig) -> dict[str, Any]:
        # Before Python 3.11 a node of an awaited run has to say which run it belongs to.
        with set_config_context(config) as context:
            return {"messages": [context.run(interrupt, "may I?")]}

    def aside(state: _State) -> dict[str, Any]:
        return {"messages": ["other"]}

    return _graph(_State, ask, aside).compile(checkpointer=saver)


def nested_graph(saver: Any) -> Any:
    """A graph in a graph, the inner one with a memory of its own."""

    def answer(state: _State) -> dict[str, Any]:
        return {"messages": [f"inner {len(state['messages'])}"]}

    inner = _graph(_State, answer).compile(checkpointer=True)
    builder = StateGraph(_State)
    builder.add_node("child", inner)
    builder.add_edge(START, "child")
    return builder.compile(checkpointer=saver)


def delta_graph(saver: Any) -> Any:
    """A chat whose messages are kept as deltas, with a snapshot now and then."""

    def answer(state: _DeltaState) -> dict[str, Any]:
        text = f"answer {len(state['messages'])}"
        return {"messages": [AIMessage(text, id=str(uuid.uuid4()))]}

    return _graph(_DeltaState, answer).compile(checkpointer=saver)


def _graph(state: Any, *nodes: Any) -> Any:
    """The nodes side by side, each run once."""
    builder = StateGraph(state)
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(START, node.__name__)
    return builder
