"""Token mode: budgets, and what a message costs in every content shape."""

from __future__ import annotations

import asyncio
import copy
import functools
import pickle
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from langchain_core.messages import AIMessage, HumanMessage

from agentstate_reducer import MessageReducer, ReducerConfig, _tokens, resolve_token_counter
from agentstate_reducer.testing import FORMS, Step, histories, written


@pytest.fixture(autouse=True)
def vocabulary(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A process that has not counted yet and has no tiktoken; what is waited for is short."""
    monkeypatch.setattr(_tokens, "VOCABULARY_SECONDS", 0.05)
    monkeypatch.setattr(_tokens, "vocabulary", _tokens._Vocabulary())
    monkeypatch.setattr(_tokens, "_memo", _tokens._Memo(40))
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    return _tokens.vocabulary


def user(content: Any) -> dict[str, Any]:
    """A user message."""
    return {"role": "user", "content": content}


def tokens(message: Any) -> int:
    """What the built-in counter says."""
    return resolve_token_counter()(message)


def by_tokens(limit: int, **fields: Any) -> MessageReducer:
    """A reducer by tokens, with the built-in counter unless told otherwise."""
    return MessageReducer(config=ReducerConfig(max_tokens=limit, **fields))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", 4),
        (None, 4),
        ("a" * 40, 14),
        ("a" * 43, 14),
        ("é" * 40, 14),
        ("\u201c\u2e7f" * 20, 14),
        ("\u2e80\u2fff\u3000\U0010ffff" * 10, 44),
        ("日" * 40, 44),
        ("日" * 40 + "a" * 7, 45),
        ("\ud83d", 5),
        ("<|endoftext|>", 7),
        (["abcd", {"type": "text", "text": "efgh"}], 6),
        ({"type": "unknown", "words": "abcdefgh", "id": "x" * 400}, 6),
        ([], 4),
        (7, 4),
        (True, 5),
        ({1: 2}, 4),
        ([10**5_000], 4),
        ({"data": ["a" * 40]}, 14),
        ([{"note": "data: " + "a" * 34}], 14),
        ([SimpleNamespace(text="a" * 40)], 14),
        ([SimpleNamespace(type="thinking", thinking="a" * 40, signature="s" * 400)], 14),
        ([{"type": "tool_result", "tool_use_id": "x" * 99, "content": [{"text": "a" * 40}]}], 14),
    ],
)
def test_the_heuristic_is_the_documented_formula(content: Any, expected: int) -> None:
    """4 a message, a token for 4 characters below U+2E80 and for each other one."""
    assert tokens(user(content)) == expected
    assert tokens(SimpleNamespace(role="user", content=content)) == expected


def test_chinese_text_counts_a_token_a_character() -> None:
    """30 messages of 400 characters are over a budget of 4,000."""
    result = by_tokens(4_000).reduce([user("字" * 400) for _ in range(30)])
    assert len(result.surviving) == 9


DATA = "A" * 200_000


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
        {"type": "image", "source_type": "base64", "data": DATA, "mime_type": "image/png"},
        {"type": "image", "base64": DATA, "mime_type": "image/png"},
        {"image": {"format": "png", "source": {"bytes": DATA.encode()}}},
        {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
        {"type": "audio", "data": DATA},
        {"type": "video", "data": DATA},
        {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{DATA}"}},
        {"type": "document", "source": {"type": "base64", "data": DATA}},
        {"type": "media", "mime_type": "image/png", "data": DATA},
        {"inline_data": {"mime_type": "image/png", "data": DATA}},
        {"inlineData": {"mimeType": "image/png", "data": DATA}},
        {"type": "custom", "picture": f"data:image/png;base64,{DATA}"},
        {"type": "custom", "picture": {"data": DATA}},
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "data": DATA}]},
        {"type": "resource", "resource": {"blob": DATA}},
        SimpleNamespace(type="image", data=DATA),
        DATA.encode(),
    ],
)
def test_media_cost_a_constant_and_never_their_data(block: Any) -> None:
    """Each image, sound, video or file is 765 tokens, in whatever wire form."""
    assert tokens(user([block])) == 4 + 765
    assert tokens(user([block, "a" * 40, block])) == 14 + 2 * 765


def test_text_documents_cost_their_text() -> None:
    """A model reads them as words."""
    plain = {"type": "document", "source": {"type": "text", "data": "a" * 40}}
    assert tokens(user([plain])) == 14
    assert tokens(user([{"type": "file", "source_type": "text", "text": "a" * 40}])) == 14


def test_a_generated_image_costs_a_constant() -> None:
    """As a Responses item of its own; a screenshot too."""
    assert tokens({"type": "image_generation_call", "id": "i", "result": DATA}) == 769
    shot = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{DATA}"}
    assert tokens({"type": "computer_call_output", "call_id": "c", "output": shot}) == 769


@pytest.mark.parametrize(
    "message",
    [
        {"role": "ai", "tool_calls": [{"id": "a", "name": "search", "args": {"q": "w" * 92}}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "function": {"name": "search", "arguments": f'{{"q": "{"w" * 92}"}}'}}
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "a", "name": "search", "input": {"q": "w" * 92}}
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"toolUse": {"toolUseId": "a", "name": "search", "input": {"q": "w" * 92}}}
            ],
        },
        {
            "type": "function_call",
            "call_id": "a",
            "name": "search",
            "arguments": f'{{"q": "{"w" * 92}"}}',
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "custom", "custom": {"name": "search", "input": "w" * 101}}
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "search", "arguments": f'{{"q": "{"w" * 92}"}}'},
        },
        AIMessage("", tool_calls=[{"id": "a", "name": "search", "args": {"q": "w" * 92}}]),
        AIMessage(
            "",
            invalid_tool_calls=[
                {"id": "a", "name": "search", "args": f'{{"q": "{"w" * 92}"}}', "error": None}
            ],
        ),
        AIMessage(
            [{"type": "tool_use", "id": "a", "name": "search", "input": {"q": "w" * 92}}],
            tool_calls=[{"id": "a", "name": "search", "args": {"q": "w" * 92}}],
        ),
        AIMessage(
            "",
            additional_kwargs={
                "function_call": {"name": "search", "arguments": f'{{"q": "{"w" * 92}"}}'}
            },
        ),
    ],
)
def test_names_and_arguments_of_calls_count_in_every_form(message: Any) -> None:
    """107 characters of name and arguments are 26 tokens, once."""
    assert tokens(message) == 4 + 107 // 4
    reducer = by_tokens(26, preserve_first=False)
    plan = reducer.plan([message])
    assert plan.tokens_before == 30


def test_large_arguments_trigger_pruning() -> None:
    """20 messages that say nothing but call with 4,000 characters each."""
    calls = [
        {"role": "ai", "content": "", "tool_calls": [{"id": str(i), "args": {"q": "w" * 4_000}}]}
        for i in range(20)
    ]
    assert len(by_tokens(5_000).reduce(calls).surviving) <= 5


def test_calls_of_two_forms_in_one_list_all_count() -> None:
    """Also where one of them names nothing."""
    args = {"q": "w" * 94}
    calls = [
        {"id": "a", "function": {"name": "search", "arguments": repr(args)}},
        {"id": "b", "name": "search", "args": args},
        {"id": "c", "args": args},
        {"id": "d", "name": None, "args": None},
    ]
    messages = [{"role": "ai", "content": "", "tool_calls": [call]} for call in calls]
    assert by_tokens(1).plan(messages).tokens_before == 31 + 31 + 29 + 4
    assert by_tokens(1).plan(messages[1::2]).tokens_before == 31 + 4


def test_hostile_arguments_cost_nothing() -> None:
    """An argument that cannot be shown does not break the counter."""

    class Hidden:
        def __repr__(self) -> str:
            raise RuntimeError

    call = {"id": "a", "name": "abcd", "args": {"x": Hidden()}}
    assert tokens({"role": "ai", "content": "", "tool_calls": [call]}) == 5


@given(histories())
def test_a_list_costs_what_its_messages_cost(messages: list[Any]) -> None:
    """Counted at once or one by one, in every form."""
    plan = by_tokens(1).plan(messages)
    assert plan.tokens_before == sum(map(tokens, messages))
    assert plan.tokens_after == sum(tokens(messages[i]) for i in plan.surviving)


@pytest.mark.parametrize("form", ["role_dicts", "type_dicts", "openai", "langchain"])
def test_common_forms_cost_the_same(form: str) -> None:
    """The shape of a dict or an object is not charged."""
    steps = [
        Step("human", "w" * 40),
        Step("call", "", ("a", "b")),
        Step("results", "w" * 8, ("a", "b")),
        Step("ai", "日本"),
    ]
    assert by_tokens(9).plan(written(steps, [form])).tokens_before == 14 + 11 + 2 * 6 + 6


def test_a_system_prompt_larger_than_the_budget_stays() -> None:
    """With it the newest message; nothing raises and nothing loops."""
    messages = [user("w" * 400), user("a"), user("b")]
    assert by_tokens(10).reduce(messages).surviving == [messages[0], messages[2]]
    assert by_tokens(10).reduce(messages[:1]).surviving == messages[:1]
    assert by_tokens(10).reduce([]).surviving == []


def test_the_newest_message_stays_when_it_alone_exceeds_the_budget() -> None:
    """Losing the question is worse than exceeding the budget."""
    messages = [user("a"), {"role": "ai", "content": "b"}, user("w" * 400)]
    result = by_tokens(10, preserve_first=False).reduce(messages)
    assert result.surviving == messages[2:]


def test_a_reduction_settles_at_once() -> None:
    """Fed its own output, also where the target cannot be met, it changes nothing."""
    notes = [{"role": "system", "content": "w" * 40} for _ in range(5)]
    for reducer in (by_tokens(20), MessageReducer(0, 3)):
        once = reducer.reduce([*notes, user("a"), user("b")]).surviving
        for _ in range(50):
            assert reducer.reduce(once).surviving == once


def test_the_oldest_leave_until_the_rest_fits_and_no_hole_is_left() -> None:
    """An older message that would fit does not stay behind a larger one that left."""
    messages = [user("s"), user("a"), user("w" * 100), user("b"), user("c")]
    assert by_tokens(20).reduce(messages).surviving == [messages[0], *messages[3:]]


def test_a_target_below_the_limit_prunes_less_often() -> None:
    """Pruning starts above the limit and goes down to the target."""
    reducer = by_tokens(40, target_tokens=20)
    assert not reducer.reduce([user("") for _ in range(10)]).pruned
    assert len(reducer.reduce([user("") for _ in range(11)]).surviving) == 5


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (-1, "returned -1"),
        ("7", "returned '7'"),
        (None, "returned None"),
        (float("nan"), "returned nan"),
        (float("inf"), "returned inf"),
        (True, "returned True"),
    ],
)
def test_a_counter_that_returns_no_count_is_named(answer: Any, text: str) -> None:
    """Before anything is decided; a partial by the function inside."""

    def shaky(message: Any) -> Any:
        return answer

    for counter in (shaky, functools.partial(shaky)):
        with pytest.raises(ValueError, match=rf"token_counter .*shaky {text}"):
            by_tokens(10, token_counter=counter).reduce([user("a")])


def test_a_counter_that_raises_is_named() -> None:
    """With what it raised as the cause."""

    class Strict:
        def __call__(self, message: Any) -> int:
            return len(message["content"]) // message["divisor"]

    with pytest.raises(ValueError, match=r"token_counter .*Strict raised KeyError") as caught:
        by_tokens(10, token_counter=Strict()).reduce([user("a")])
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_counter_may_return_fractions() -> None:
    """A count is any number from zero."""
    assert len(by_tokens(3, token_counter=lambda _: 0.5).reduce([user("")] * 9).surviving) == 6


def test_a_counter_of_objects_that_are_no_chat_shape_survives() -> None:
    """`resolve_token_counter` takes what a reducer takes."""
    for junk in (None, 7, "x", b"x", [], {}, object(), HumanMessage):
        assert tokens(junk) >= 4


def test_counters_can_be_copied_and_pickled() -> None:
    """The built-in one holds nothing."""
    counter = resolve_token_counter()
    assert pickle.loads(pickle.dumps(counter))(user("a" * 40)) == 14  # noqa: S301
    assert copy.deepcopy(counter)(user("")) == 4


@pytest.fixture
def byte_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real tiktoken with a vocabulary of one token per byte."""
    monkeypatch.undo()
    monkeypatch.setattr(_tokens, "vocabulary", _tokens._Vocabulary())
    encoding = tiktoken.Encoding(
        name="bytes",
        pat_str=r"(?s:.)",
        mergeable_ranks={bytes([i]): i for i in range(256)},
        special_tokens={"<|endoftext|>": 256},
    )
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "cl100k_base", encoding)


@pytest.mark.usefixtures("byte_tokens")
async def test_tiktoken_never_encodes_on_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long texts take their time also when the vocabulary is there."""
    threads: set[int] = set()
    reducer = MessageReducer(config=ReducerConfig(max_tokens=100))
    await reducer.areduce([{"role": "user", "content": "first"}])
    encode = _tokens.vocabulary.encode()
    assert encode is not None

    def noted(text: str) -> list[int]:
        threads.add(threading.get_ident())
        return encode(text)

    monkeypatch.setattr(_tokens.vocabulary, "_encode", noted)
    await reducer.areduce([{"role": "user", "content": "a text nobody has counted yet"}])
    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.usefixtures("byte_tokens")
def test_tiktoken_counts_where_its_vocabulary_is_found() -> None:
    """Special tokens as the text they are, calls included, the same at once and one by one."""
    call = {"id": "a", "name": "fn", "args": {}}
    messages = [user("abc"), user("<|endoftext|>"), user("\ud83d"), user("abc")]
    messages.append({"role": "ai", "content": None, "tool_calls": [call]})
    assert list(map(tokens, messages)) == [7, 17, 7, 7, 8]
    assert by_tokens(1).plan(messages).tokens_before == 46


@pytest.mark.usefixtures("byte_tokens")
@pytest.mark.parametrize("form", sorted(FORMS))
def test_all_forms_are_counted_by_tiktoken_too(form: str) -> None:
    """More than by the heuristic, with a token a byte."""
    steps = [Step("human", "w"), Step("call", "w", ("a",)), Step("results", "w", ("a",))]
    assert all(tokens(message) > 4 for message in written(steps, [form]))


class SlowTiktoken:
    """A tiktoken that hangs in its download, for ever."""

    def __init__(self) -> None:
        self.asked = 0

    def get_encoding(self, name: str) -> Any:
        self.asked += 1
        threading.Event().wait()


def test_an_unreachable_vocabulary_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is the heuristic for good, for all threads that ask."""
    slow = SlowTiktoken()
    monkeypatch.setitem(sys.modules, "tiktoken", slow)
    costs: list[int] = []
    threads = [
        threading.Thread(target=lambda: costs.append(tokens(user("w" * 40)))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [*costs, tokens(user("w" * 40))] == [14] * 4
    assert slow.asked == 1


def test_a_lock_that_a_fork_left_behind_is_not_waited_for_without_end(vocabulary: Any) -> None:
    """The child counts by the heuristic."""
    vocabulary._lock.acquire()
    assert tokens(user("w" * 40)) == 14


def test_what_another_thread_found_meanwhile_is_taken(vocabulary: Any) -> None:
    """A thread that waited for the lock does not look again."""

    class Busy:
        def acquire(self, timeout: float) -> bool:
            vocabulary.settled, vocabulary._encode = True, lambda text: [0] * 7
            return True

        def release(self) -> None:
            """Was never locked."""

    vocabulary._lock = Busy()
    assert tokens(user("w")) == 4 + 7


def test_nothing_is_looked_for_before_the_first_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a reducer nor a counter imports tiktoken when it is made."""
    slow = SlowTiktoken()
    monkeypatch.setitem(sys.modules, "tiktoken", slow)
    by_tokens(10, token_counter=len).reduce([[]])
    by_tokens(10)
    resolve_token_counter()
    assert slow.asked == 0


@pytest.mark.parametrize("messages", [[user("a")], [user("a" * 40)] * 3])
async def test_on_an_event_loop_a_thread_looks_for_tiktoken_alone(
    messages: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it is known not to be there, counting leaves the loop's thread no more."""
    loop = asyncio.get_running_loop()
    in_executor, asked = loop.run_in_executor, list[Any]()

    def note(*args: Any) -> Any:
        asked.append(args)
        return in_executor(*args)

    monkeypatch.setattr(loop, "run_in_executor", note)
    reducer = by_tokens(20, preserve_first=False)
    first = await reducer.areduce(messages)
    assert len(asked) == 1
    assert (await reducer.areduce(messages)).surviving == first.surviving == messages[-1:]
    assert len(asked) == 1


def test_texts_are_counted_once_and_the_memo_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keyed by the text, so that a changed message is counted anew; the oldest are forgotten."""
    seen: list[str] = []

    def encode(text: str) -> list[int]:
        seen.append(text)
        return [0]

    encoding = SimpleNamespace(encode_ordinary=encode)
    monkeypatch.setitem(
        sys.modules, "tiktoken", SimpleNamespace(get_encoding=lambda name: encoding)
    )

    def counted(*texts: str) -> int:
        seen.clear()
        for text in texts:
            tokens(user(text * 8))
        return len(seen)

    assert counted("a", "a", "b") == 2
    assert counted("a", "b") == 0
    assert counted("c", "a") == 1  # fills the younger half of 20 characters
    assert counted("b") == 0  # is in the older one
    seen.clear()
    by_tokens(99).reduce([user("d"), user("d")])
    assert seen == ["d"]
    assert counted("d", "e", "f", "g") == 4  # fill it twice
    assert counted("a") == 1
    assert counted("long" * 3, "long" * 3) == 2  # never kept
