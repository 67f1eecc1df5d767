"""Summaries: one text per prune, one block per list, in the list's own shape."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from agentstate_reducer import (
    MessageReducer,
    ReduceEvent,
    ReducerConfig,
    default_summary_messages_factory,
)
from agentstate_reducer.integration import run

TEXT = object()


class Summarizer:
    """Keeps what it was given; returns a numbered text, or returns or raises `answer`."""

    def __init__(self) -> None:
        self.given: list[list[Any]] = []
        self.answer: Any = TEXT

    def __call__(self, pruned: list[Any]) -> Any:
        self.given.append(list(pruned))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return f"text {len(self.given)}" if self.answer is TEXT else self.answer


def turns(count: int, start: int = 0, **extra: Any) -> list[dict[str, Any]]:
    """`count` messages, user and assistant in turn, ids m0, m1, ..."""
    roles = ("user", "assistant")
    return [
        {"id": f"m{n}", "role": roles[n % 2], "content": f"line {n}", **extra}
        for n in range(start, start + count)
    ]


SYSTEM = {"id": "s", "role": "system", "content": "be kind"}


def reducer(summarize: Any, **settings: Any) -> MessageReducer:
    """Injects, down to two messages above four, unless told otherwise."""
    limits = {"min_messages": 2, "max_messages": 4, "inject_summary": True, **settings}
    return MessageReducer(config=ReducerConfig(summarize_fn=summarize, **limits))


def contents(messages: list[Any]) -> list[Any]:
    """The contents of dicts or objects."""
    return [m["content"] if isinstance(m, dict) else m.content for m in messages]


def blocks(messages: list[Any]) -> list[Any]:
    """What a list holds of summaries, by its text."""
    return [c for c in contents(messages) if "summary of previous" in str(c)]


def test_the_default_block_stands_where_the_pruned_block_stood() -> None:
    """System prompt, human summary, ai OK, tail; index 0 stays the same object."""
    messages = [SYSTEM, *turns(6)]
    result = reducer(Summarizer()).reduce(messages)
    assert result.surviving[0] is SYSTEM
    assert contents(result.surviving) == [
        "be kind",
        "Here is the summary of previous 4 messages: text 1",
        "OK",
        "line 4",
        "line 5",
    ]
    assert [m["role"] for m in result.surviving[1:3]] == ["user", "assistant"]


@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_prompt_survives_rounds_of_summaries(role: str) -> None:
    """Index 0 is the prompt, never the summary, however often the list is reduced."""
    prompt = {"role": role, "content": "prompt"}
    pruner, surviving = reducer(Summarizer()), [prompt]
    for n in range(20):
        surviving = pruner.reduce(surviving, turns(2, 2 * n)).surviving
        assert surviving[0] is prompt
        assert len(blocks(surviving)) <= 1
    assert len(blocks(surviving)) == 1


def test_without_a_prompt_the_block_may_stand_first() -> None:
    """With preserve_first=False the block takes the place of the first messages."""
    result = reducer(Summarizer(), preserve_first=False).reduce(turns(6))
    assert contents(result.surviving)[1:] == ["OK", "line 4", "line 5"]


def test_a_list_with_its_block_is_not_reduced_again() -> None:
    """The block comes on top of the limit: reducing twice equals reducing once."""
    summarizer = Summarizer()
    pruner = reducer(summarizer, min_messages=4)
    once = pruner.reduce([SYSTEM, *turns(6)]).surviving
    twice = pruner.reduce(once)
    assert twice.surviving == once
    assert (twice.pruned, twice.summary, len(summarizer.given)) == ([], None, 1)


def test_the_old_block_is_rolled_into_the_next_summary() -> None:
    """The summariser gets the old block first, then the messages; the block leaves with them."""
    summarizer = Summarizer()
    pruner = reducer(summarizer)
    first = pruner.reduce([SYSTEM, *turns(6)]).surviving
    second = pruner.reduce(first, turns(4, 6))
    assert summarizer.given[1] == [*first[1:3], *turns(4, 4)]
    assert second.pruned == summarizer.given[1]
    assert blocks(second.surviving) == ["Here is the summary of previous 4 messages: text 2"]


def one_system_message(text: str, count: int) -> list[Any]:
    """A factory as in the documentation."""
    return [{"role": "system", "content": f"Summary ({count} msgs): {text}"}]


@pytest.mark.parametrize("tokens", [False, True])
def test_a_block_of_one_system_message_does_not_pile_up(tokens: bool) -> None:
    """Ten rounds with a factory that makes a system message leave one block, in both modes."""
    extra: dict[str, Any] = {"summary_message_factory": one_system_message}
    if tokens:
        extra |= {"max_tokens": 5, "target_tokens": 3, "token_counter": lambda m: 1}
    pruner, surviving = reducer(Summarizer(), **extra), [SYSTEM]
    for n in range(10):
        surviving = pruner.reduce(surviving, turns(6, 6 * n)).surviving
    assert sum("Summary (" in c for c in contents(surviving)) == 1


def test_synthetic_messages_never_reach_a_hook() -> None:
    """Long-term memory does not hear the summary as if the user had said it."""
    heard: list[Any] = []
    pruner = reducer(Summarizer(), on_prune=[lambda pruned, namespace: heard.extend(pruned)])
    surviving: list[Any] = [SYSTEM]
    for n in range(10):
        surviving = pruner.reduce(surviving, turns(4, 4 * n)).surviving
    assert [m["id"] for m in heard] == [f"m{n}" for n in range(38)]


def test_a_block_known_to_an_adapter_is_rolled_too() -> None:
    """A framework that drops ids: what the adapter names as the block counts as one."""
    heard: list[Any] = []
    pruner = reducer(Summarizer(), on_prune=[lambda pruned, namespace: heard.extend(pruned)])
    stripped = [
        {k: v for k, v in m.items() if k != "id"} for m in pruner.reduce(turns(6)).surviving
    ]
    steps = pruner._steps(
        [*stripped, *turns(4, 6)],
        is_summary=lambda m: m["content"] == "OK" or "summary of previous" in m["content"],
    )
    result = run(steps)
    assert len(blocks(result.surviving)) == 1
    assert blocks(heard) == []


def test_one_prune_is_summarised_once() -> None:
    """A list that is reduced again, as at every step of a graph, costs no second call."""
    summarizer = Summarizer()
    pruner = reducer(summarizer)
    results = [pruner.reduce([SYSTEM, *turns(6)]) for _ in range(3)]
    assert len(summarizer.given) == 1
    assert [r.summary for r in results] == ["text 1"] * 3
    assert results[0].surviving == results[2].surviving


@pytest.mark.parametrize("inject", [False, True])
def test_a_prune_that_grew_is_summarised_from_the_text_before(inject: bool) -> None:
    """What a remembered text covers is given as the factory's messages, followed by the rest."""
    summarizer = Summarizer()
    pruner = reducer(summarizer, inject_summary=inject)
    first = pruner.reduce([SYSTEM, *turns(6)])
    pruner.reduce([SYSTEM, *turns(8)])
    assert contents(summarizer.given[1]) == [
        "Here is the summary of previous 4 messages: text 1",
        "OK",
        "line 4",
        "line 5",
    ]
    if inject:
        assert summarizer.given[1][:2] == first.surviving[1:3]  # the very block, ids too


def test_equal_ids_in_two_conversations_do_not_share_a_summary() -> None:
    """A summary never crosses over to another user whose messages bear the same ids."""
    summarizer = Summarizer()
    pruner = reducer(summarizer)
    pruner.reduce(turns(6))
    theirs = [{**m, "content": f"other {n}"} for n, m in enumerate(turns(6))]
    assert pruner.reduce(theirs).summary == "text 2"


def test_messages_without_ids_are_summarised_once_too() -> None:
    """A sequence without ids is known by what it says."""
    summarizer = Summarizer()
    pruner = reducer(summarizer)
    messages = [{"role": "user", "content": f"line {n}"} for n in range(6)]
    assert pruner.reduce(messages).summary == pruner.reduce(messages).summary
    assert len(summarizer.given) == 1


def test_the_number_of_remembered_texts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text used longest ago is forgotten, and made again when it is wanted."""
    monkeypatch.setattr("agentstate_reducer._summary.REMEMBERED_SUMMARIES", 2)
    summarizer = Summarizer()
    pruner = reducer(summarizer)
    for start in (0, 10, 0, 20, 0):
        pruner.reduce(turns(6, start))
    assert len(summarizer.given) == 3
    pruner.reduce(turns(6, 10))
    assert len(summarizer.given) == 4


def broken_factory(text: str, count: int) -> list[Any]:
    """A factory with a bug."""
    raise KeyError(text)


@pytest.mark.parametrize("answer", [OSError("down"), "", " \n", None, 7, ["a"], {}])
def test_a_summariser_that_fails_leaves_the_list_unpruned_and_is_asked_again(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception, blank text and anything but text is logged; nothing leaves until it works."""
    heard: list[Any] = []
    summarizer = Summarizer()
    pruner = reducer(summarizer, on_prune=[lambda pruned, namespace: heard.extend(pruned)])
    summarizer.answer = answer
    messages = [SYSTEM, *turns(6)]
    result = pruner.reduce(messages)
    assert (result.surviving, result.pruned, result.summary, heard) == (messages, [], None, [])
    assert "no summary, Summarizer failed" in caplog.text
    assert "down" not in caplog.text
    summarizer.answer = TEXT
    assert pruner.reduce(messages).summary == "text 2"


@pytest.mark.parametrize(
    "factory",
    [broken_factory, lambda t, n: "text", lambda t, n: {"role": "user"}, lambda t, n: [t]],
)
def test_a_factory_that_fails_counts_as_a_failed_summary(factory: Any) -> None:
    """An error or anything but a list of messages corrupts nothing."""
    result = reducer(Summarizer(), summary_message_factory=factory).reduce(turns(6))
    assert (result.surviving, result.summary) == (turns(6), None)


def test_a_factory_may_make_no_message() -> None:
    """The text is in the result alone then."""
    result = reducer(Summarizer(), summary_message_factory=lambda t, n: []).reduce(turns(6))
    assert contents(result.surviving) == ["line 0", "line 4", "line 5"]
    assert result.summary == "text 1"


@pytest.mark.parametrize("tokens", [False, True])
def test_above_twice_the_limit_a_list_is_pruned_without_a_summary(tokens: bool) -> None:
    """At twice the limit it still waits for the summary, one message more and it is pruned."""
    limits: dict[str, Any] = {}
    if tokens:
        limits = {"max_tokens": 4, "target_tokens": 2, "token_counter": lambda m: 1}
    summarizer = Summarizer()
    summarizer.answer = OSError()
    heard: list[Any] = []
    pruner = reducer(summarizer, on_prune=[lambda p, n: heard.extend(p)], **limits)
    assert pruner.reduce(turns(8)).pruned == []
    result = pruner.reduce(turns(9))
    assert result.summary is None
    assert result.pruned == heard != []
    assert blocks(result.surviving) == []


def test_a_summary_outlives_a_summariser_that_fails_for_long() -> None:
    """Pruning without a new summary leaves the old one in its place, for the next that works."""
    summarizer = Summarizer()
    pruner = reducer(summarizer)
    first = pruner.reduce([SYSTEM, *turns(6)]).surviving
    summarizer.answer = OSError()
    result = pruner.reduce(first, turns(10, 6))
    assert blocks(result.surviving) == blocks(first)
    assert [m["id"] for m in result.pruned] == [f"m{n}" for n in range(4, 14)]
    summarizer.answer = TEXT
    again = pruner.reduce(result.surviving, turns(4, 16))
    assert summarizer.given[-1][:2] == first[1:3]
    assert len(blocks(again.surviving)) == 1


def test_a_summary_that_stays_without_a_new_one_is_reported_with_what_stays() -> None:
    """Tokens and messages after are those of the list that is returned."""
    summarize, events = Summarizer(), list[ReduceEvent]()
    settings = {"max_tokens": 4, "target_tokens": 2, "token_counter": lambda _: 1}
    pruner = reducer(summarize, **settings, on_reduce=events.append)
    messages = pruner.reduce(turns(6)).surviving
    summarize.answer = ValueError("down")
    left = pruner.reduce(messages, turns(9, 6)).surviving
    assert sum(str(m["id"]).startswith("m") for m in left) == len(left) - 2
    assert (events[-1].tokens_after, events[-1].messages_after) == (len(left), len(left))
    assert events[-1].tokens_before == events[-1].pruned + len(left)


def test_what_a_repair_removes_leaves_without_a_summary() -> None:
    """An orphan result is removed under the limit, unsummarised, and the old block stays."""
    summarizer = Summarizer()
    heard: list[Any] = []
    pruner = reducer(summarizer, repair_tool_pairs=True, on_prune=[lambda p, n: heard.extend(p)])
    first = pruner.reduce([SYSTEM, *turns(6)]).surviving
    heard.clear()
    orphan = {"id": "t", "role": "tool", "content": "42", "tool_call_id": "gone"}
    result = pruner.reduce([*first, orphan], turns(1, 6))
    assert (result.pruned, result.summary, heard) == ([orphan], None, [orphan])
    assert len(blocks(result.surviving)) == 1
    summarizer.answer = OSError()
    failed = pruner.reduce([SYSTEM, *turns(3), orphan, *turns(3, 3)])
    assert failed.pruned == [orphan]
    assert len(summarizer.given) == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_through_the_summary(error: type[BaseException]) -> None:
    """Only an Exception is a failed summary."""
    summarizer = Summarizer()
    summarizer.answer = error()
    with pytest.raises(error):
        reducer(summarizer).reduce(turns(6))


def test_a_summariser_may_use_the_same_reducer() -> None:
    """No lock is held while it runs."""
    inner: list[Any] = []

    def summarize(pruned: list[Any]) -> str:
        if not inner:
            inner.append(None)
            inner[0] = pruner.reduce(turns(6, 100)).summary
        return "text"

    pruner = reducer(summarize)
    assert (pruner.reduce(turns(6)).summary, inner) == ("text", ["text"])


def test_among_langchain_messages_the_block_is_of_their_classes() -> None:
    """Human and ai of the neighbours' classes, without their calls and metadata."""
    call = {"name": "f", "args": {}, "id": "c1"}
    messages = [
        SystemMessage("p", id="s"),
        HumanMessage("1", id="1", name="ada"),
        AIMessage("", id="2", tool_calls=[call], response_metadata={"model": "x"}),
        ToolMessage("r", tool_call_id="c1", id="3"),
        AIMessage(
            "4",
            id="4",
            usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
        ),
        HumanMessage("5", id="5"),
    ]
    original = messages[4].model_copy(deep=True)
    result = reducer(Summarizer()).reduce(messages)
    human, ai = result.surviving[1:3]
    assert (type(human), type(ai)) == (HumanMessage, AIMessage)
    assert (ai.content, ai.tool_calls, ai.usage_metadata, ai.response_metadata) == (
        "OK",
        [],
        None,
        {},
    )
    assert human.name is None
    assert len({human.id, ai.id, "4", "5"}) == 4
    assert messages[4] == original


def test_chunks_and_dicts_in_one_list_are_each_a_model() -> None:
    """The nearest neighbour of the role decides, message by message."""
    messages = turns(6)
    messages[1] = AIMessageChunk(content="1", id="m1")  # type: ignore[call-overload]
    result = reducer(Summarizer()).reduce(messages)
    human, ai = result.surviving[1:3]
    assert human["role"] == "user"
    assert isinstance(ai, AIMessageChunk)


def test_the_ids_of_a_block_depend_on_what_it_sums_up_alone() -> None:
    """Another process makes the same ids, so that add_messages replaces a block by itself."""
    first = reducer(Summarizer()).reduce(turns(6)).surviving[1:3]
    second = reducer(Summarizer()).reduce(turns(6)).surviving[1:3]
    assert first == second
    other = reducer(Summarizer()).reduce(turns(7)).surviving[1:3]
    assert {m["id"] for m in first}.isdisjoint(m["id"] for m in other)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("user", "assistant"), ("user", "assistant")),
        (("human", "ai"), ("human", "ai")),
        (("Human", "AI"), ("Human", "AI")),
        (("user", "model"), ("user", "model")),
        (("user", None), ("user", "assistant")),
        (("human", None), ("human", "ai")),
        ((None, "assistant"), ("user", "assistant")),
        ((None, "agent"), ("user", "agent")),
    ],
)
@pytest.mark.parametrize("field", ["role", "type"])
def test_dicts_use_the_role_words_of_the_list(field: str, words: Any, expected: Any) -> None:
    """The block says the roles as the list says them, and in the same field."""
    messages = [
        {"id": f"m{n}", field: words[n % 2] or words[(n + 1) % 2], "content": "x"} for n in range(6)
    ]
    result = reducer(Summarizer(), preserve_first=False).reduce(messages)
    assert tuple(m[field] for m in result.surviving[:2]) == expected


def test_the_nearest_neighbour_shows_how_a_role_is_said() -> None:
    """Where a list changed its words, those around the block count."""
    messages = turns(8)
    messages[0]["role"], messages[1]["role"] = "human", "ai"
    pruner = reducer(Summarizer(), keep=lambda m: m["id"] < "m4")
    assert [m["role"] for m in pruner.reduce(messages).surviving] == [
        "human",
        "ai",
        *["user", "assistant"] * 3,
    ]


def test_a_list_that_says_no_role_word_of_either_side_gets_the_factorys() -> None:
    """Without a word to go by the factory's words stay."""
    made = default_summary_messages_factory("t", 3)
    assert [m["role"] for m in made] == ["human", "ai"]
    calls = [
        item
        for n in range(4)
        for item in (
            {"type": "function_call", "call_id": f"c{n}", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"c{n}", "output": "1"},
        )
    ]
    result = reducer(Summarizer(), preserve_first=False).reduce(calls)
    assert [m.get("role") for m in result.surviving[:2]] == ["human", "ai"]


def test_bedrock_contents_stay_lists_of_blocks() -> None:
    """Where every content is a list of bare text blocks the summary is one too."""
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": [{"text": str(n)}]} for n in range(6)
    ]
    result = reducer(Summarizer()).reduce(messages)
    assert result.surviving[2]["content"] == [{"text": "OK"}]


class Role(enum.Enum):
    """Roles as an enum."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclasses.dataclass(frozen=True)
class Frozen:
    """A message that cannot be changed."""

    id: str
    role: Role
    content: str
    tool_calls: list[Any] = dataclasses.field(default_factory=list)


class Slotted:
    """A message with slots, known by `tracking_id`."""

    __slots__ = ("content", "role", "tracking_id")

    def __init__(self, tracking_id: str, role: Role, content: str) -> None:
        self.tracking_id, self.role, self.content = tracking_id, role, content


@pytest.mark.parametrize("cls", [Frozen, Slotted])
def test_other_objects_are_copied_too(cls: Any) -> None:
    """Frozen and slotted classes give copies, which the next round recognises and rolls."""
    summarizer = Summarizer()
    pruner = reducer(summarizer, preserve_first=False)
    messages = [cls(f"m{n}", list(Role)[n % 2], str(n)) for n in range(10)]
    first = pruner.reduce(messages[:6]).surviving
    assert [type(m) for m in first[:2]] == [cls, cls]
    second = pruner.reduce(first, messages[6:]).surviving
    assert len(blocks(second)) == 1


class NoId:
    """A message that has no room for an id."""

    __slots__ = ("content", "role")

    def __init__(self, role: str, content: str) -> None:
        self.role, self.content = role, content


class Sealed:
    """A message that keeps its content whatever it is told."""

    def __init__(self, role: str, content: str) -> None:
        self.role, self.id = role, "x"

    content = property(lambda self: "sealed")


@pytest.mark.parametrize("cls", [NoId, Sealed])
def test_an_object_that_cannot_carry_the_block_gives_way_to_a_dict(cls: Any) -> None:
    """A copy that would not take the id or the content is not used."""
    messages = [cls(("user", "assistant")[n % 2], str(n)) for n in range(6)]
    result = reducer(Summarizer()).reduce(messages)
    assert [m["role"] for m in result.surviving[1:3]] == ["human", "ai"]


def objects_factory(text: str, count: int) -> list[Any]:
    """A factory that makes LangChain messages."""
    return [HumanMessage(text, id="mine"), SystemMessage("note")]


def test_a_factorys_objects_become_dicts_among_dicts() -> None:
    """With the list's words, and with our ids instead of the factory's."""
    pruner = reducer(Summarizer(), summary_message_factory=objects_factory)
    human, system = pruner.reduce(turns(6)).surviving[1:3]
    assert (human["role"], human["content"], system["role"]) == ("user", "text 1", "system")
    assert human["id"] != "mine"


def test_a_factorys_objects_stay_objects_among_objects() -> None:
    """Also where no neighbour has that role: then the factory's own is the model."""
    messages = [HumanMessage(str(n), id=str(n)) for n in range(6)]
    pruner = reducer(Summarizer(), summary_message_factory=objects_factory)
    human, system = pruner.reduce(messages).surviving[1:3]
    assert (type(human), type(system)) == (HumanMessage, SystemMessage)
    assert human.id != "mine"


def test_what_else_a_factorys_dict_says_is_kept_among_dicts() -> None:
    """Its other fields stay, an unknown role word too."""

    def factory(text: str, count: int) -> list[Any]:
        return [
            {"role": "user", "content": text, "cache": True},
            {"role": "note", "x": 1},
            {"y": 2},
        ]

    first, note, bare = (
        reducer(Summarizer(), summary_message_factory=factory).reduce(turns(6)).surviving[1:4]
    )
    assert first["cache"] is True
    assert (note["role"], note["x"]) == ("note", 1)
    assert set(bare) == {"id", "y"}


def test_a_block_does_not_part_a_call_from_its_result() -> None:
    """The block stands behind an exchange that stays, not inside it."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        SYSTEM,
        {"id": "a", "role": "assistant", "content": "", "tool_calls": [call]},
        *turns(1),
        {"id": "t", "role": "tool", "content": "r", "tool_call_id": "c"},
        *turns(5, 1),
    ]
    pruner = reducer(Summarizer(), keep=lambda m: m.get("id") == "a")
    survivors = pruner.reduce(messages).surviving
    assert [m["role"] for m in survivors[:5]] == [
        "system",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]
