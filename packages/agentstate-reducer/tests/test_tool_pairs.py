"""Tool calls and their results leave together, in every form and at every cut."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from agentstate_reducer import MessageReducer, ReducerConfig, resolve_token_counter
from agentstate_reducer.testing import FORMS, Step, broken_links, written

NINE_TURNS = [
    Step("system"),
    Step("human"),
    Step("call", keys=("c1",)),
    Step("results", keys=("c1",)),
    Step("ai"),
    Step("human"),
    Step("ai"),
]


def say(role: str, **fields: Any) -> dict[str, Any]:
    """A plain dict message."""
    return {"role": role, "content": role, **fields}


def ask(*ids: str) -> dict[str, Any]:
    """An ai message with calls."""
    return say("ai", tool_calls=[{"id": key, "name": "f", "args": {}} for key in ids])


def tell(key: str) -> dict[str, Any]:
    """The result of a call."""
    return say("tool", tool_call_id=key)


def by_count(low: int, high: int, **fields: Any) -> MessageReducer:
    """A reducer by count."""
    return MessageReducer(config=ReducerConfig(min_messages=low, max_messages=high, **fields))


def leaving(reducer: MessageReducer, messages: list[Any]) -> list[int]:
    """Indices of what leaves."""
    return list(reducer.plan(messages).pruned)


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("low", range(5))
def test_no_cut_keeps_one_half_of_a_pair(form: str, low: int) -> None:
    """By count and by tokens, wherever the cut falls."""
    messages = written(NINE_TURNS, [form])
    tokens = ReducerConfig(max_tokens=low + 1, token_counter=lambda _: 1)
    for reducer in (by_count(low, 4), MessageReducer(config=tokens)):
        result = reducer.reduce(messages)
        assert result.pruned
        assert not broken_links(result.surviving)


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ({"type": "function_call", "call_id": "c"}, {"type": "function_call_output"}),
        ({"type": "tool_search_call", "call_id": "c"}, {"type": "tool_search_output"}),
        ({"type": "tool_search_call", "call_id": None}, {"type": "tool_search_output"}),
        ({"type": "local_shell_call", "call_id": "c"}, {"type": "local_shell_call_output"}),
        ({"type": "apply_patch_call", "call_id": "c"}, {"type": "apply_patch_call_output"}),
    ],
)
def test_responses_items_of_every_kind_leave_with_their_call(call: Any, result: Any) -> None:
    """A tool search of the provider has no `call_id`; a shell result has its call's as `id`."""
    key = "id" if result["type"] == "local_shell_call_output" else "call_id"
    messages = [say("user"), {**call, "id": "i"}, {"id": "o", **result, key: call["call_id"]}]
    messages += [say("assistant"), say("user")]
    fields: dict[str, Any] = {"preserve_first": False}
    assert leaving(by_count(1, 1, **fields), messages) == [0, 1, 2, 3]
    assert leaving(by_count(5, 5, repair_tool_pairs=True, **fields), messages) == []
    assert leaving(by_count(5, 5, repair_tool_pairs=True), messages[2:]) == [0]


@pytest.mark.parametrize(
    "kind", ["custom_tool_call", "computer_call", "local_shell_call", "apply_patch_call"]
)
def test_responses_calls_in_the_content_of_a_message_are_calls(kind: str) -> None:
    """LangChain keeps what OpenAI asks the client to do as blocks; what they hold costs tokens."""
    block = {"type": kind, "id": "i", "call_id": "c", "action": {"command": "w" * 40}}
    messages = [say("user"), AIMessage([block]), ToolMessage("r", tool_call_id="c")]
    messages += [say("assistant"), say("user")]
    assert leaving(by_count(1, 1, preserve_first=False), messages) == [0, 1, 2, 3]
    assert resolve_token_counter()(messages[1]) == 4 + 10


def test_a_run_of_calls_after_one_user_message_is_trimmed() -> None:
    """Whole pairs leave although no plain user message gives a cut."""
    pairs = [m for i in range(30) for m in (ask(f"c{i}"), tell(f"c{i}"))]
    result = by_count(4, 10).reduce([say("system"), say("user"), *pairs])
    assert result.surviving == [say("system"), *pairs[-4:]]


def test_the_open_exchange_stays_whatever_the_minimum() -> None:
    """A turn that waits for its results, or has just got them, is not cut in half."""
    turn = [say("system"), say("user"), ask("a", "b"), tell("a"), tell("b")]
    assert by_count(0, 4).reduce(turn).surviving == [turn[0], *turn[2:]]
    assert by_count(0, 2).reduce(turn[:3]).surviving == [turn[0], turn[2]]


def test_a_call_behind_a_system_note_is_still_open() -> None:
    """Only a human or an ai message abandons a call."""
    turn = [say("user"), say("ai"), say("user"), ask("a"), say("system")]
    assert leaving(by_count(0, 2), turn) == [1, 2]


def test_an_abandoned_call_does_not_block_pruning() -> None:
    """It leaves like any message, and the list stays bounded round after round."""
    reducer = by_count(4, 8)
    messages = [say("system"), say("user"), ask("lost")]
    for _ in range(40):
        messages = reducer.reduce(messages, [say("user"), say("ai")]).surviving
        assert len(messages) <= 8
    assert ask("lost") not in messages


def test_a_result_that_comes_after_its_call_was_pruned_stays() -> None:
    """And leaves with `repair_tool_pairs`."""
    messages = [say("system"), say("user"), ask("p"), *[say("user"), say("ai")] * 5]
    late = [*by_count(2, 4).reduce(messages).surviving, tell("p")]
    assert tell("p") in by_count(2, 4).reduce(late).surviving
    assert by_count(2, 40, repair_tool_pairs=True).reduce(late).pruned == [tell("p")]


def test_an_id_used_again_in_a_later_turn_is_another_call() -> None:
    """A result answers the nearest earlier call with its id, not the first."""
    turn = [say("user"), ask("call_0"), tell("call_0"), say("ai")]
    result = by_count(4, 8).reduce([say("system"), *turn, *turn])
    assert result.surviving == [say("system"), *turn]


def test_two_calls_that_share_a_result_message_are_one_exchange() -> None:
    """Neither leaves without the other."""
    use = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": k, "name": "f", "input": {}}]}
        for k in "ab"
    ]
    shared = say("user", content=[{"type": "tool_result", "tool_use_id": k} for k in "ab"])
    tail = [say("ai"), say("user")]
    messages = [say("user"), *use, shared, *tail]
    assert leaving(by_count(2, 4), messages) == [1, 2, 3]
    assert leaving(by_count(4, 4), messages) == []


def test_a_user_message_with_results_and_words_goes_with_the_exchange() -> None:
    """It has a vote: in the tail it keeps the call, else it leaves with it."""
    use = say("assistant", content=[{"type": "tool_use", "id": "a", "name": "f", "input": {}}])
    both = say("user", content=[{"type": "tool_result", "tool_use_id": "a"}, {"text": "and"}])
    messages = [say("system"), say("user"), use, both, say("ai"), say("user"), say("ai")]
    assert leaving(by_count(4, 5), messages) == [1]
    assert leaving(by_count(3, 5), messages) == [1, 2, 3]


def test_call_items_side_by_side_and_their_reasoning_are_one_message() -> None:
    """Responses items: parallel calls leave together, with the reasoning before each."""
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    think = {"type": "reasoning", "summary": []}
    items = [
        say("user"),
        think,
        {**call, "call_id": "a"},
        think,
        {**call, "call_id": "b"},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        think,
        say("assistant"),
        say("user"),
        say("assistant"),
    ]
    assert leaving(by_count(6, 8, preserve_first=False), items) == [0, 1, 2, 3, 4, 5, 6]
    assert leaving(by_count(2, 8), items) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert leaving(by_count(0, 6, repair_tool_pairs=True), items[:7]) == []


def test_reasoning_at_the_end_waits_for_its_item() -> None:
    """It is neither pruned nor does it close the open exchange."""
    items = [say("user")] * 6 + [{"type": "reasoning", "summary": []}]
    assert leaving(by_count(0, 3), items) == [1, 2, 3, 4]


def test_a_call_item_without_call_id_is_an_ai_message() -> None:
    """A server-side call has no result to wait for."""
    search = {"type": "web_search_call", "id": "ws", "status": "completed"}
    messages = [say("user"), search, say("user"), say("ai")]
    assert leaving(by_count(1, 2), messages) == [1, 2]


def test_thinking_and_server_tool_blocks_stay_inside_their_message() -> None:
    """A message leaves or stays whole, and a server tool's id links nothing."""
    content = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "text", "text": "found"},
    ]
    messages = [say("system"), say("assistant", content=content), say("user"), say("ai")]
    plan = by_count(2, 3, repair_tool_pairs=True).plan(messages)
    assert plan.pruned == (1,)
    assert content[1]["id"] == "s1"
    assert by_count(9, 9, repair_tool_pairs=True).reduce(messages).surviving == messages


def test_a_call_named_in_two_places_is_one_call() -> None:
    """`tool_calls` and the block of the same id, as LangChain keeps both."""
    twice = say(
        "ai",
        content=[{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
        tool_calls=[{"id": "a", "name": "f", "args": {}}],
    )
    messages = [say("user"), twice, tell("a"), say("ai")]
    assert by_count(0, 9, repair_tool_pairs=True).reduce(messages).surviving == messages


def test_calls_without_ids_are_answered_by_results_without_ids() -> None:
    """Where a framework names neither, position alone links them."""
    nameless = say("ai", tool_calls=[{"name": "f", "args": {}, "id": None}])
    messages = [say("system"), nameless, say("tool"), say("user"), say("ai")]
    assert leaving(by_count(2, 3), messages) == [1, 2]


def test_the_poison_of_a_broken_history_does_not_spread() -> None:
    """Without repair an orphan result and an unanswered call do no more than stay or leave."""
    messages = [say("system"), tell("gone"), ask("never"), say("user"), say("ai"), say("user")]
    result = by_count(2, 4).reduce(messages)
    assert result.surviving == [say("system"), tell("gone"), say("ai"), say("user")]


def test_results_stay_when_asked_to_in_both_modes() -> None:
    """`cascade_tool_messages=False`: the call leaves, its result does not."""
    messages = [say("system"), ask("a"), say("user"), tell("a"), say("user"), say("ai")]
    adjacent = [say("system"), ask("a"), tell("a"), say("user"), say("user"), say("ai")]
    tokens = ReducerConfig(max_tokens=3, token_counter=lambda _: 1, cascade_tool_messages=False)
    for reducer in (
        by_count(2, 4, cascade_tool_messages=False),
        MessageReducer(config=tokens),
    ):
        assert tell("a") in reducer.reduce(messages).surviving
        assert ask("a") in reducer.reduce(messages).pruned
        assert tell("a") in reducer.reduce(adjacent).surviving
        assert ask("a") in reducer.reduce(adjacent).pruned
        assert "result that stays without its call" in [
            verdict.reason for verdict in reducer.plan(adjacent).verdicts
        ]


class TestRepair:
    """`repair_tool_pairs` takes out what a strict provider refuses, also under the limit."""

    repair = staticmethod(
        lambda messages: leaving(by_count(9, 99, repair_tool_pairs=True), messages)
    )

    def test_a_second_answer_leaves_alone(self) -> None:
        """What it stood between follows its call again, and stays."""
        messages = [say("user"), ask("a", "b"), tell("a"), tell("a"), tell("b"), say("ai")]
        assert self.repair(messages) == [3]

    def test_an_abandoned_call_does_not_take_the_result_of_a_later_one(self) -> None:
        """The result answers the nearest call with its id."""
        messages = [say("user"), ask("a"), say("user"), ask("a"), tell("a"), say("ai")]
        assert self.repair(messages) == [1]

    def test_an_abandoned_call_leaves_with_its_text_and_its_other_results(self) -> None:
        """Half answered is unanswered."""
        messages = [say("user"), ask("a", "b"), tell("a"), say("user"), say("ai")]
        assert self.repair(messages) == [1, 2]

    def test_results_away_from_their_call_take_it_along(self) -> None:
        """Whatever stands between stays."""
        messages = [say("user"), ask("a"), say("system"), tell("a"), say("ai")]
        assert self.repair(messages) == [1, 3]

    def test_two_messages_that_share_a_result_leave(self) -> None:
        """The result cannot follow both."""
        use = [say("ai", content=[{"type": "tool_use", "id": k}]) for k in "ab"]
        shared = say("user", content=[{"type": "tool_result", "tool_use_id": k} for k in "ab"])
        assert self.repair([say("user"), *use, shared, say("ai")]) == [1, 2, 3]

    def test_a_caller_between_results_of_another_takes_both_along(self) -> None:
        """Results that share a message with those of a later call do not follow directly."""
        use = [say("ai", content=[{"type": "tool_use", "id": k}]) for k in "ab"]
        first = say("user", content=[{"type": "tool_result", "tool_use_id": "a"}])
        shared = say("user", content=[{"type": "tool_result", "tool_use_id": k} for k in "ba"])
        twice = say(
            "ai", content=[{"type": "tool_use", "id": "a"}, {"type": "tool_use", "id": "a"}]
        )
        assert self.repair([twice, first, use[1], shared, say("ai")]) == [0, 1, 2, 3]

    def test_the_open_exchange_is_spared(self) -> None:
        """It may still be answered, and its results may stand apart."""
        assert self.repair([say("user"), ask("a", "b"), say("system"), tell("a")]) == []

    def test_a_foreign_result_in_a_message_of_the_open_exchange_takes_that_message(self) -> None:
        """The call stays and waits for its answer anew."""
        mixed = say("user", content=[{"type": "tool_result", "tool_use_id": k} for k in "ax"])
        use = say("ai", content=[{"type": "tool_use", "id": "a"}])
        assert self.repair([say("user"), use, mixed]) == [2]

    def test_a_foreign_result_in_a_message_takes_the_exchange(self) -> None:
        """A message is never edited, so it cannot stay without the foreign one."""
        mixed = say("user", content=[{"type": "tool_result", "tool_use_id": k} for k in "ax"])
        use = say("ai", content=[{"type": "tool_use", "id": "a"}])
        assert self.repair([say("user"), use, mixed, say("ai")]) == [1, 2]

    def test_it_overrides_keep_and_the_first_and_the_newest_message(self) -> None:
        """Then index 0, trigger and window are those of what is left."""
        reducer = by_count(1, 2, repair_tool_pairs=True, keep=lambda m: m["role"] == "tool")
        messages = [tell("x"), say("system"), say("user"), say("ai"), tell("y")]
        plan = reducer.plan(messages)
        assert plan.pruned == (0, 2, 4)
        assert [plan.verdicts[i].reason for i in plan.pruned] == [
            "result without a call",
            "in the window",
            "result without a call",
        ]
