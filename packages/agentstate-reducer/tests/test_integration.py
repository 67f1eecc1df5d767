"""A reducer inside checkpoints, by what an adapter puts and reads."""

from __future__ import annotations

import copy
import json
import pickle
from collections import namedtuple
from typing import Any, NamedTuple

import pytest

from agentstate_reducer import MessageReducer, ReducerConfig
from agentstate_reducer.integration import (
    METADATA_KEY,
    CheckpointReduction,
    arun,
    message_keys,
    run,
)


class Saved(NamedTuple):
    """What a checkpointer returns."""

    config: dict[str, Any]
    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    pending_writes: list[Any] | None = None


class Thread:
    """Checkpoints as a saver with a JSON database would keep them, and one process over them."""

    def __init__(self, **settings: Any) -> None:
        self.rows: dict[str, Saved] = {}
        self.handed: list[tuple[str | None, Any]] = []
        self.settings = {"min_messages": 2, "max_messages": 3, "preserve_first": False, **settings}
        self.restart()

    def restart(self) -> None:
        """Start a process that has seen nothing."""
        config = ReducerConfig(**{"on_prune": [self._hook], **self.settings})
        self.reduction = CheckpointReduction(MessageReducer(config=config))

    def _hook(self, pruned: Any, namespace: Any) -> None:
        self.handed += zip(pruned.keys, pruned, strict=True)

    def put(self, name: str, parent: str | None, value: Any, metadata: Any = None) -> Any:
        """Store a value; return what was stored."""
        checkpoint = {"id": name, "channel_values": {"messages": value}}
        steps = self.reduction.steps(config_of(parent), checkpoint, metadata or {})
        checkpoint, metadata = run(steps)
        self.rows[name] = Saved(config_of(name), checkpoint, json.loads(json.dumps(metadata)))
        return checkpoint["channel_values"]["messages"]

    def read(self, name: str, writes: Any = None) -> Any:
        """Load a value as new objects."""
        saved = copy.deepcopy(self.rows[name])._replace(pending_writes=writes)
        return self.reduction.read(saved)

    def load(self, name: str) -> Any:
        """Load a list."""
        return self.read(name).checkpoint["channel_values"]["messages"]


def config_of(checkpoint_id: str | None) -> dict[str, Any]:
    return {"configurable": {"thread_id": 7, "checkpoint_ns": "", "checkpoint_id": checkpoint_id}}


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def named(*ids: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": name, "id": name} for name in ids]


def texts(messages: Any) -> list[str]:
    return [message["content"] for message in messages]


def test_what_is_given_comes_back_when_nothing_leaves() -> None:
    """The very checkpoint and metadata, without a note."""
    thread = Thread()
    checkpoint = {"id": "1", "channel_values": {"messages": named("a", "b")}}
    metadata: dict[str, Any] = {"step": 1}
    result = run(thread.reduction.steps(config_of(None), checkpoint, metadata))
    assert result[0] is checkpoint
    assert result[1] is metadata
    thread.put("2", None, said("a", "b"))
    assert thread.rows["2"].metadata == {}


async def test_both_drivers_do_the_same() -> None:
    """One generator, awaited or not."""
    thread = Thread()
    checkpoint = {"id": "1", "channel_values": {"messages": named("a", "b", "c", "d")}}
    blocking = run(thread.reduction.steps(config_of(None), checkpoint, {}))
    thread.restart()
    assert await arun(thread.reduction.steps(config_of(None), checkpoint, {})) == blocking
    assert texts(blocking[0]["channel_values"]["messages"]) == ["c", "d"]


def test_an_id_no_database_takes_is_noted_in_plain_ascii() -> None:
    """NUL and half a surrogate pair break JSON columns; writes about them are still found."""
    thread = Thread()
    odd = ["a\x00b", "\ud83d", "c", "d", "e"]
    thread.put("1", None, named(*odd))
    pruned = thread.rows["1"].metadata[METADATA_KEY]["messages"]["pruned"]
    assert len(pruned) == 3
    assert all(text.isascii() and text.isprintable() for text in pruned)
    writes = thread.read("1", [("task", "messages", named(*odd, "f"))]).pending_writes
    assert [message["id"] for message in writes[0][2]] == ["d", "e", "f"]


def test_every_pruned_id_is_noted() -> None:
    """Also when a long conversation is reduced for the first time: none may come back."""
    thread = Thread()
    thread.put("1", None, named(*map(str, range(5_000))))
    pruned = thread.rows["1"].metadata[METADATA_KEY]["messages"]["pruned"]
    assert pruned == [str(n) for n in range(4_998)]


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        (named("a")[0], []),
        (tuple(named("a", "z")), tuple(named("z"))),
        ([*named("a", "d"), {"type": "remove", "id": "__remove_all__"}], None),
        ("text", None),
        (None, None),
        (("user", "a"), None),
    ],
)
def test_a_pending_write_loses_what_was_pruned_and_keeps_its_form(value: Any, cleaned: Any) -> None:
    """One message, a tuple, a list that clears everything first, and what is none of these."""
    thread = Thread()
    thread.put("1", None, named("a", "b", "c", "d"))
    writes = [("task", "messages", value), ("task", "other", value)]
    (first, second) = thread.read("1", writes).pending_writes
    assert first == ("task", "messages", value if cleaned is None else cleaned)
    assert second == writes[1]


def test_equal_content_alone_never_makes_a_write_stale() -> None:
    """People repeat themselves: an id-less message is dropped only with the whole old list."""
    thread = Thread()
    thread.put("1", None, said("hi", "b", "c", "d"))
    told = [{**message, "id": "new"} for message in said("hi", "b", "c", "d")]
    for value in (said("hi"), said("hi", "b", "c"), said("x", "hi", "b", "c", "d"), told):
        assert thread.read("1", [("t", "messages", value)]).pending_writes[0][2] == value
    again = thread.read("1", [("t", "messages", said("hi", "b", "c", "d", "e"))]).pending_writes
    assert texts(again[0][2]) == ["c", "d", "e"]


def test_a_snapshot_is_reduced_inside_and_other_named_tuples_are_not_touched() -> None:
    """LangGraph's `_DeltaSnapshot` is known by its name alone."""
    thread = Thread()
    snapshot = namedtuple("_DeltaSnapshot", ["value"])  # noqa: PYI024
    stored = thread.put("1", None, snapshot(named("a", "b", "c", "d")))
    assert type(stored) is snapshot
    assert texts(stored.value) == ["c", "d"]
    point = namedtuple("point", ["x", "y", "z", "t"])  # noqa: PYI024
    assert thread.put("2", "1", point(1, 2, 3, 4)) == point(1, 2, 3, 4)
    assert thread.load("2") == point(1, 2, 3, 4)


def test_a_key_lives_through_every_process() -> None:
    """The live list, the stored one, and another process number a message alike."""
    thread = Thread()
    live = said(*"abcd")
    thread.put("1", None, live)
    thread.put("2", "1", [*live, *said("e")])
    first = dict(thread.handed)
    for _ in range(2):
        thread.restart()
        thread.handed.clear()
        thread.put("3", "1", [*thread.load("1"), *said("e", "f")])
        assert {key: first.get(key) for key, _ in thread.handed} == {
            key: message if message["content"] == "c" else None for key, message in thread.handed
        }
        assert texts(message for _, message in thread.handed) == ["c", "d"]


def test_messages_in_front_of_a_gap_keep_their_place() -> None:
    """What stays for a while and leaves later has the key it had before the gap."""
    thread = Thread(keep=lambda message: message["content"] == "pinned")
    live = said("pinned", "b", "c", "d")
    thread.put("1", None, live)
    assert thread.rows["1"].metadata[METADATA_KEY]["messages"]["places"] == [[0, 0], [1, 2]]
    thread.settings["keep"] = None
    keys = []
    for parent, start in (("1", thread.load("1")), (None, live)):
        thread.restart()
        thread.handed.clear()
        if parent:
            start = thread.load(parent)
        thread.put("2", parent, [*start, *said("e", "f", "g")])
        keys.append({message["content"]: key for key, message in thread.handed})
    assert keys[0].items() <= keys[1].items()
    assert "pinned" in keys[0]


def test_a_parent_nobody_knows_begins_a_history_of_its_own() -> None:
    """Its keys meet no other's, and a repeat has the same ones."""
    thread = Thread()
    thread.put("1", None, said(*"abcd"))
    thread.put("x", "unseen", said(*"abcd"))
    thread.restart()
    thread.put("x", "unseen", said(*"abcd"))
    keys = [key for key, _ in thread.handed]
    assert keys[2:4] == keys[4:6]
    assert not set(keys[:2]) & set(keys[2:])


def test_a_list_that_was_there_before_us_begins_at_its_first_message() -> None:
    """A thread that grew without a reducer has no note; every process numbers it alike."""
    thread = Thread()
    thread.rows["1"] = Saved(
        config_of("1"), {"id": "1", "channel_values": {"messages": said(*"abcd")}}, {}
    )
    for _ in range(2):
        thread.restart()
        thread.put("2", "1", thread.load("1"))
    keys = [key for key, _ in thread.handed]
    assert keys[:2] == keys[2:]


def test_a_failing_reducer_stores_the_list_and_an_async_one_is_refused() -> None:
    """Only the mistake in the program comes through."""
    thread = Thread(keep=lambda message: 1 / 0)
    live = said(*"abcd")
    assert thread.put("1", None, live) is live

    async def hook(pruned: Any, namespace: Any) -> None: ...

    thread = Thread(on_prune=[hook])
    with pytest.raises(TypeError, match="async"):
        thread.put("1", None, live)


def test_a_list_that_was_rewritten_is_delivered_rather_than_lost() -> None:
    """Keys hold up to the first message that changed; the rest is new."""
    thread = Thread()
    live = said(*"abc")
    thread.put("1", None, live)
    thread.put("2", "1", [live[0], *said("B", "c", "d")])
    assert texts(message for _, message in thread.handed) == ["a", "B"]
    thread.put("3", "2", said(*"vwxyz"))
    assert texts(message for _, message in thread.handed) == ["a", "B", "v", "w", "x"]
    thread.put("4", "3", [])
    thread.put("5", "4", said(*"abcd"))
    assert len({key for key, _ in thread.handed}) == len(thread.handed) == 7


def test_one_object_may_stand_in_a_list_twice() -> None:
    """A constant message is as good as any other."""
    thread = Thread()
    (hello,) = said("hello")
    stored = thread.put("1", None, [hello] * 5)
    assert stored == [hello] * 2
    thread.put("2", "1", [*thread.load("1"), hello, hello])
    keys = [key for key, _ in thread.handed]
    assert len(set(keys)) == len(keys) == 5


def test_a_conversation_that_repeats_itself_is_delivered_rather_than_lost() -> None:
    """Copied by its node it may go on from the stored list or from the live one."""
    thread = Thread()
    thread.put("1", None, said(*"xxxx"))
    thread.put("2", "1", said(*"xxxxx"))
    assert len({key for key, _ in thread.handed}) == len(thread.handed) == 2 + 3


def test_a_checkpoint_that_names_the_parent_of_what_was_read_goes_on_from_that() -> None:
    """LangGraph copies a checkpoint so: read, and put beside it."""
    thread = Thread()
    live = said(*"abcde")
    thread.put("1", None, live[:4])
    thread.put("2", "1", live)
    stored = thread.load("2")
    thread.put("copy", "1", [*stored, *said("f", "g")])
    keys = [key for key, _ in thread.handed]
    assert texts(message for _, message in thread.handed) == list("abcde")
    assert len(set(keys)) == len(keys)
    thread.handed.clear()
    thread.put("3", "2", [*live, *said("f", "g")])
    assert thread.handed == []


def test_a_list_that_became_shorter_is_a_list_like_any_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Also where it ends before what left the longer one."""
    thread = Thread(keep=lambda message: message["content"] == "pinned")
    thread.put("1", None, said("pinned", "b", "c", "d"))
    assert thread.put("2", "1", said("e")) == said("e")
    assert not caplog.records


def test_a_summary_has_no_place_in_the_history() -> None:
    """Keys are the same with and without one in the list."""
    plain, summing = Thread(), Thread(summarize_fn=lambda pruned: "sum", inject_summary=True)
    for thread in (plain, summing):
        live = thread.put("1", None, said(*"abcd"))
        thread.restart()
        live = thread.put("2", "1", [*thread.load("1"), *said("e", "f")])
    assert plain.handed == summing.handed
    assert texts(live)[-2:] == ["e", "f"]


def test_a_copied_checkpoint_keeps_what_is_noted_in_it() -> None:
    """Platforms copy threads by reading and putting, under a wrapper too."""
    thread = Thread()
    thread.put("1", None, said(*"abcd"))
    source = thread.read("1")
    before = source.metadata[METADATA_KEY]
    thread.put("9", None, source.checkpoint["channel_values"]["messages"], source.metadata)
    assert thread.rows["9"].metadata[METADATA_KEY] == before


@pytest.mark.parametrize(("others", "handed"), [(0, "abc"), (3, "ababc")])
def test_histories_used_longest_ago_are_forgotten(
    others: int, handed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that serves many threads stays small; a message may then come again."""
    monkeypatch.setattr("agentstate_reducer._histories.MAX_LISTS", 3)
    thread = Thread()
    live = said(*"abcd")
    thread.put("1", None, live)
    for n in range(others):
        thread.put(f"other{n}", f"none{n}", said("x"))
    thread.put("2", "1", [*live, *said("e")])
    assert texts(message for _, message in thread.handed) == list(handed)


def test_a_copy_or_pickle_starts_with_empty_memory() -> None:
    """The reducer and the channels come along."""
    reduction = CheckpointReduction(MessageReducer(1, 2), ["a", "b"])
    for twin in (copy.deepcopy(reduction), pickle.loads(pickle.dumps(reduction))):  # noqa: S301
        assert twin.messages_keys == ("a", "b")
        assert twin.reducer.config == reduction.reducer.config


def test_foreign_metadata_under_our_name_is_left_alone() -> None:
    """It is no note of ours unless it looks like one."""
    thread = Thread()
    thread.put("1", None, named(*"ab"), {METADATA_KEY: "mine"})
    saved = thread.read("1", [("t", "messages", named("a"))])
    assert saved.metadata == {METADATA_KEY: "mine"}
    assert saved.pending_writes == [("t", "messages", named("a"))]
    assert thread.reduction.read(None) is None
    thread.put("2", "1", said(*"ab"), {METADATA_KEY: {"messages": {"places": 7}}})
    thread.rows["2"].metadata[METADATA_KEY] = {"messages": {"places": [7]}}
    thread.restart()
    assert texts(thread.load("2")) == ["a", "b"]


def test_names_of_channels_are_text() -> None:
    """One or several."""
    assert message_keys("messages") == ("messages",)
    assert message_keys(["a", "b"]) == ("a", "b")
    assert message_keys(["a", "b", "a"]) == ("a", "b")
    for no_text in (None, 7, b"a"):
        with pytest.raises(TypeError, match="messages_key must be text"):
            message_keys(no_text)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="messages_key"):
        message_keys([7])  # type: ignore[list-item]
    for empty in ("", (), [], ["a", ""]):
        with pytest.raises(ValueError, match="messages_key"):
            message_keys(empty)
    with pytest.raises(TypeError, match="MessageReducer"):
        CheckpointReduction(None)  # type: ignore[arg-type]


def test_a_note_nobody_understands_is_logged_and_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A thread stays readable, whatever stands where our note should be."""
    thread = Thread()
    thread.put("1", None, said("a"))
    thread.restart()
    broken = {METADATA_KEY: {"messages": {"places": "?", "following": None}}}
    saved = thread.rows["1"]._replace(metadata=broken)
    assert thread.reduction.read(saved) is saved
    assert "unreadable" in caplog.text


def test_a_history_that_begins_after_its_checkpoint_is_counted_from_one() -> None:
    """A list that was absent when the parent was read starts at its first message."""
    thread = Thread()
    absent = Saved(config_of("1"), {"id": "1", "channel_values": {}}, {})
    thread.reduction.read(absent)
    thread.put("2", "1", said("a", "b", "c", "d"))
    first_run = [key for key, _ in thread.handed]
    thread.handed.clear()
    thread.put("2", None, said("a", "b", "c", "d"))
    assert [key for key, _ in thread.handed] == []
    assert len(first_run) == 2


def test_the_namespace_is_that_of_the_call_else_the_last_one_of_the_thread() -> None:
    """A call that names none, as `update_state` does, writes where the thread's last one did."""
    seen: list[Any] = []
    config = ReducerConfig(
        min_messages=1, max_messages=1, on_prune=[lambda _, namespace: seen.append(namespace)]
    )
    reduction = CheckpointReduction(MessageReducer(config=config))
    for number, given in enumerate([None, ("memories", "ada"), None, ()]):
        call = config_of(None)
        call["configurable"]["memory_namespace"] = given
        messages = named(*(f"{number}{letter}" for letter in "abc"))
        checkpoint = {"id": str(number), "channel_values": {"messages": messages}}
        run(reduction.steps(call, checkpoint, {}))
    assert seen == [("memories", "7"), *[("memories", "ada")] * 3]


def test_only_threads_whose_subgraphs_keep_lists_carry_what_left_the_root(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The root's checkpoints say so after such a subgraph stored one; the newest ids alone."""
    reduction = CheckpointReduction(MessageReducer(1, 2))

    def noted(graph: str, *ids: str) -> Any:
        config = config_of(None)
        config["configurable"]["checkpoint_ns"] = graph
        checkpoint = {"id": "".join(ids), "channel_values": {"messages": named(*ids)}}
        _, metadata = run(reduction.steps(config, checkpoint, {}))
        reduction.read(Saved(config, checkpoint, metadata))
        return metadata.get(METADATA_KEY, {}).get("messages", {})

    assert noted("", *"abc") == {"pruned": ["b"]}
    assert noted("one_call:5f", "a") == {}
    assert "departed" not in noted("", *"ade")
    assert noted("keeps", "a") == {}
    assert noted("", *"afg") == {"pruned": ["f"], "departed": []}
    assert noted("", "a") == {"departed": ["f"]}
    assert noted("keeps", "a") == {}
    monkeypatch.setattr("agentstate_reducer._departed.MAX_DEPARTED", 2)
    assert noted("", *"ahijk")["departed"] == ["f"]
    assert noted("", "a") == {"departed": ["i", "j"]}


def test_a_subgraph_s_list_is_read_without_what_left_the_root() -> None:
    """What the root pruned would come back with the list of a subgraph that keeps it."""
    reduction = CheckpointReduction(MessageReducer(1, 2))

    def stored(graph: str, *ids: str) -> Any:
        config = config_of(None)
        config["configurable"]["checkpoint_ns"] = graph
        checkpoint = {"id": "".join(ids), "channel_values": {"messages": named(*ids)}}
        return Saved(config, *run(reduction.steps(config, checkpoint, {})))

    child = stored("keeps", *"ab")
    reduction.read(stored("", *"abc"))
    again = reduction.read(child)
    assert texts(again.checkpoint["channel_values"]["messages"]) == ["a"]
    waiting = child._replace(pending_writes=[("task", "other", 1)])  # inside its call
    assert reduction.read(waiting).checkpoint is child.checkpoint


def test_a_deleted_thread_leaves_no_namespace_to_the_next_of_its_name() -> None:
    """The next conversation of that name does not write into the memory of the old one."""
    seen: list[Any] = []
    config = ReducerConfig(
        min_messages=1, max_messages=1, on_prune=[lambda _, namespace: seen.append(namespace)]
    )
    reduction = CheckpointReduction(MessageReducer(config=config))
    for number, given in enumerate([("memories", "ada"), None]):
        call = config_of(None)
        call["configurable"]["memory_namespace"] = given
        messages = named(*(f"{number}{letter}" for letter in "abc"))
        checkpoint = {"id": str(number), "channel_values": {"messages": messages}}
        run(reduction.steps(call, checkpoint, {}))
        reduction.forget(7)
    assert seen == [("memories", "ada"), ("memories", "7")]


def test_a_deleted_thread_may_begin_with_the_same_words() -> None:
    """It is another conversation: what leaves it is handed over, under keys of its own."""
    keys: list[Any] = []
    config = ReducerConfig(
        min_messages=1, max_messages=1, on_prune=[lambda pruned, _: keys.extend(pruned.keys)]
    )
    reduction = CheckpointReduction(MessageReducer(config=config))
    words = said(*"abc")
    for values in ({}, {"messages": words}):  # the list may begin at a later checkpoint
        keys.clear()
        for _ in range(3):
            first = {"id": "1", "channel_values": values}
            run(reduction.steps(config_of(None), first, {}))
            second = {"id": "2", "channel_values": {"messages": words}}
            run(reduction.steps(config_of("1"), second, {}))
            reduction.forget(7)
        assert len(keys) == len(set(keys)) == 3


@pytest.mark.parametrize("config", [None, {}, {"configurable": None}, {"configurable": {}}])
def test_a_config_without_a_thread_is_refused_before_a_hook_is_served(config: Any) -> None:
    """Bad input is named, and nothing has been handed over."""
    thread = Thread()
    checkpoint = {"id": "1", "channel_values": {"messages": named(*"abcd")}}
    with pytest.raises(ValueError, match="config must name a thread"):
        run(thread.reduction.steps(config, checkpoint, {}))
    assert thread.handed == []
