"""What the public description of the reducer promises, in its own words and calls."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, StateGraph
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict

from agentstate_reducer import Background, MessageReducer, ReducerConfig


def chat(turns: int, *, system: bool = True) -> list[dict[str, Any]]:
    """A system prompt and `turns` questions with their answers, with ids."""
    history: list[dict[str, Any]] = []
    if system:
        history.append({"id": "s", "role": "system", "content": "Be helpful."})
    for turn in range(turns):
        history.append({"id": f"h{turn}", "role": "user", "content": f"question {turn}"})
        history.append({"id": f"a{turn}", "role": "assistant", "content": f"answer {turn}"})
    return history


def ids(messages: list[Any]) -> list[Any]:
    """The ids of a list of messages of any shape."""
    return [m["id"] if isinstance(m, dict) else m.id for m in messages]


def test_a_short_list_survives_whole() -> None:
    """Under the limit nothing leaves, whatever is new."""
    reducer = MessageReducer(min_messages=10, max_messages=20)
    result = reducer.reduce(existing=chat(1), new=[{"role": "human", "content": "New"}])
    assert len(result.surviving) == 4
    assert (result.pruned, result.summary) == ([], None)


def test_without_arguments_nothing_is_ever_pruned() -> None:
    """The reducer's own defaults prune nothing; those of the config keep 10 of 20."""
    assert MessageReducer().reduce(chat(500)).pruned == []
    assert (MessageReducer().config.min_messages, MessageReducer().config.max_messages) == (0, None)
    assert (ReducerConfig().min_messages, ReducerConfig().max_messages) == (10, 20)
    config = ReducerConfig(min_messages=1, max_messages=2)
    assert MessageReducer(7, 9, config=config).config.max_messages == 2


@pytest.mark.parametrize("size", [20, 21, 40])
def test_the_window_leaves_the_first_and_the_recent_tail(size: int) -> None:
    """Over the limit, everything between index 0 and the last `min_messages` leaves."""
    history = chat(20)[:size]
    result = MessageReducer(min_messages=10, max_messages=20).reduce(history)
    if size <= 20:
        assert result.pruned == []
    else:
        assert ids(result.surviving) == ["s", *ids(history)[-10:]]
        assert ids(result.pruned) == ids(history)[1:-10]


def test_preserve_first_off_lets_index_zero_leave() -> None:
    """Without `preserve_first` a human message at index 0 is a candidate like any other."""
    config = ReducerConfig(min_messages=2, max_messages=4, preserve_first=False)
    result = MessageReducer(config=config).reduce(chat(3, system=False))
    assert ids(result.surviving) == ["h2", "a2"]


def test_objects_of_langchain_work_like_dicts() -> None:
    """LangChain messages come back as the same objects."""
    existing, new = [HumanMessage(content="Hello")], [AIMessage(content="Hi!")]
    result = MessageReducer(min_messages=1, max_messages=5).reduce(existing=existing, new=new)
    assert result.surviving[0] is existing[0]
    assert result.surviving[1] is new[0]


@pytest.mark.parametrize("word", ["human", "user"])
@pytest.mark.parametrize("answer", ["ai", "assistant", "agent"])
@pytest.mark.parametrize("key", ["role", "type"])
def test_role_aliases_are_candidates(word: str, answer: str, key: str) -> None:
    """Each documented alias, under `role` or `type`, is pruned like its canonical name."""
    history = [{"id": i, key: (word, answer)[i % 2], "content": "x"} for i in range(8)]
    result = MessageReducer(min_messages=2, max_messages=4).reduce(history)
    assert ids(result.surviving) == [0, 6, 7]


@pytest.mark.parametrize("role", ["system", "tool", "function"])
def test_other_roles_never_leave_on_their_own(role: str) -> None:
    """System, tool and function messages in the window stay."""
    history = chat(4)
    history.insert(3, {"id": "x", "role": role, "content": "stays", "name": "f"})
    result = MessageReducer(min_messages=2, max_messages=4).reduce(history)
    assert ids(result.surviving) == ["s", "x", "h3", "a3"]


def test_results_leave_with_their_call() -> None:
    """A pruned ai message takes the results of its calls with it."""
    history = [
        {"id": "s", "role": "system", "content": "sys"},
        {"id": "a", "role": "ai", "content": "", "tool_calls": [{"id": "tc1"}]},
        {"id": "t", "role": "tool", "content": "result", "tool_call_id": "tc1"},
        *chat(3, system=False),
    ]
    result = MessageReducer(min_messages=2, max_messages=4).reduce(history)
    assert ids(result.surviving) == ["s", "h2", "a2"]
    assert ids(result.pruned)[:2] == ["a", "t"]


def test_without_cascade_results_stay() -> None:
    """`cascade_tool_messages=False` leaves results where they are."""
    history = [
        {"id": "s", "role": "system", "content": "sys"},
        {"id": "a", "role": "ai", "content": "", "tool_calls": [{"id": "tc1"}]},
        {"id": "t", "role": "tool", "content": "result", "tool_call_id": "tc1"},
        *chat(3, system=False),
    ]
    config = ReducerConfig(min_messages=2, max_messages=4, cascade_tool_messages=False)
    assert ids(MessageReducer(config=config).reduce(history).surviving) == ["s", "t", "h2", "a2"]


def test_the_state_annotation_reduces_on_every_update() -> None:
    """`as_langgraph_reducer()` works as the annotation of a graph's state."""
    reducer = MessageReducer(min_messages=2, max_messages=4)

    messages = Annotated[list[Any], reducer.as_langgraph_reducer()]
    State = TypedDict("State", {"messages": messages})  # noqa: UP013

    def answer(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage(content=f"seen {len(state['messages'])}")]}

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    graph = builder.compile()
    state: Any = {"messages": []}
    for turn in range(6):
        state = graph.invoke({"messages": [*state["messages"], ("user", f"turn {turn}")]})
        assert len(state["messages"]) <= 4
    assert state["messages"][-2].content == "turn 5"


def test_the_summary_is_returned_and_not_injected() -> None:
    """With `summarize_fn` the text is in the result, and the list has no more in it."""
    config = ReducerConfig(
        min_messages=10, max_messages=20, summarize_fn=lambda pruned: f"{len(pruned)} gone"
    )
    result = MessageReducer(config=config).reduce(chat(13))
    assert result.summary == "16 gone"
    assert len(result.surviving) == 11


def injecting(**more: Any) -> MessageReducer:
    """A reducer that puts a summary where the pruned block stood."""
    return MessageReducer(
        config=ReducerConfig(
            min_messages=2,
            max_messages=4,
            summarize_fn=lambda pruned: f"about {len(pruned)}",
            inject_summary=True,
            **more,
        )
    )


def test_the_injected_pair_stands_behind_the_first_message() -> None:
    """system, human with the summary, ai `OK`, the recent tail."""
    surviving = injecting().reduce(chat(3)).surviving
    roles = [(m["role"], m["content"]) for m in surviving]
    assert roles[0] == ("system", "Be helpful.")
    assert roles[1][0] == "user"
    assert "previous 4 messages: about 4" in roles[1][1]
    assert roles[2] == ("assistant", "OK")
    assert [content for _, content in roles[3:]] == ["question 2", "answer 2"]


def test_there_is_always_one_summary_block() -> None:
    """Ten prunes leave one block, of the default shape and of one system message."""
    for factory, size in (
        (None, 2),
        (lambda text, n: [{"role": "system", "content": f"Summary ({n} msgs): {text}"}], 1),
    ):
        reducer = injecting(summary_message_factory=factory)
        history = chat(3)
        for turn in range(10):
            history = reducer.reduce(
                history,
                [
                    {"id": f"n{turn}", "role": "user", "content": "new question"},
                    {"id": f"m{turn}", "role": "assistant", "content": "new answer"},
                ],
            ).surviving
        assert history[0]["id"] == "s"
        assert len([m for m in history if "about" in m["content"]]) == 1
        assert len([m for m in history if m["content"] == "OK"]) == size - 1


def test_a_hook_gets_what_is_pruned_with_the_namespace_untouched() -> None:
    """`reduce(..., namespace=X)` hands X itself to each hook, in order; without one it is None."""
    seen: list[Any] = []
    namespace = object()
    config = ReducerConfig(
        min_messages=2,
        max_messages=4,
        on_prune=[lambda p, ns: seen.append((1, ids(p), ns)), lambda p, ns: seen.append((2, ns))],
    )
    reducer = MessageReducer(config=config)
    reducer.reduce(chat(3), namespace=namespace)
    assert seen == [(1, ["h0", "a0", "h1", "a1"], namespace), (2, namespace)]
    seen.clear()
    reducer.reduce(chat(4, system=False))
    assert seen[0][2] is None


def test_overlapping_saves_deliver_each_message_once() -> None:
    """A list that only grows is pruned again and again; each id reaches the hooks once."""
    seen: list[str] = []
    config = ReducerConfig(
        min_messages=2, max_messages=4, on_prune=[lambda p, _: seen.extend(ids(p))]
    )
    reducer = MessageReducer(config=config)
    for size in range(5, 21):
        history = chat(10)[:size]
        pruned = reducer.reduce(history, namespace="u").pruned
        assert ids(pruned) == ids(history)[1:-2]
    assert seen == ids(chat(10))[1:-2][: len(seen)]
    assert len(seen) == len(set(seen)) == 17


def test_a_hook_writes_to_a_store() -> None:
    """The worked example: a hook that puts each pruned message into a LangGraph store."""
    store = InMemoryStore()

    def remember(pruned: list[Any], namespace: Any) -> None:
        for m in pruned:
            value = {"role": m.type, "content": m.content}
            store.put(namespace, key=str(uuid4()), value=value)

    config = ReducerConfig(min_messages=4, max_messages=6, on_prune=[remember])
    history = [HumanMessage(f"turn {i}", id=str(i)) for i in range(8)]
    MessageReducer(config=config).reduce(history, namespace=("memories", "u"))
    found = store.search(("memories", "u"), limit=100)
    assert sorted(item.value["content"] for item in found) == ["turn 1", "turn 2", "turn 3"]


def test_background_takes_a_hook_off_the_path() -> None:
    """`Background` runs a hook in a worker; `close()` waits until it is done."""
    seen: list[Any] = []
    background = Background(lambda p, ns: seen.append((ids(p), ns)), workers=2, max_pending=1000)
    config = ReducerConfig(min_messages=2, max_messages=4, on_prune=[background])
    MessageReducer(config=config).reduce(chat(3), namespace="u")
    background.close()
    assert seen == [(["h0", "a0", "h1", "a1"], "u")]
    assert background.dropped == 0


def test_token_mode_keeps_whole_messages_within_the_target() -> None:
    """Over `max_tokens`, the first and the newest whole messages within `target_tokens` stay."""
    history = [{"id": i, "role": ("user", "ai")[i % 2], "content": "x" * 396} for i in range(41)]
    history[0]["role"] = "system"
    config = ReducerConfig(max_tokens=4000, target_tokens=2000, token_counter=lambda m: 100)
    result = MessageReducer(config=config).reduce(existing=history[:-1], new=history[-1:])
    assert ids(result.surviving) == [0, *range(22, 41)]
    assert all(m is history[m["id"]] for m in result.surviving)


def test_target_defaults_to_the_limit() -> None:
    """Without `target_tokens` pruning goes down to `max_tokens`."""
    history = [{"id": i, "role": "user", "content": "x"} for i in range(12)]
    config = ReducerConfig(max_tokens=100, token_counter=lambda m: 10, min_messages=1)
    assert len(MessageReducer(config=config).reduce(history).surviving) == 10


def test_a_result_in_the_tail_leaves_with_its_call() -> None:
    """An exchange whose call is in the window leaves whole, though a result is in the tail."""
    history = [
        HumanMessage("q", id="h"),
        AIMessage("", id="a", tool_calls=[{"id": "c", "name": "f", "args": {}}]),
        ToolMessage("r", id="t", tool_call_id="c"),
        AIMessage("done", id="d"),
        HumanMessage("next", id="n"),
    ]
    result = MessageReducer(min_messages=3, max_messages=4).reduce(history)
    assert ids(result.surviving) == ["h", "d", "n"]
