"""Random histories read as they do from LangGraph's own saver, whatever is done in what order."""

import copy
import random
from collections import defaultdict

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver

from agentstate_documents import MemoryTable
from agentstate_documents.checkpoints import put as put_module
from agentstate_documents.checkpoints import reader as reader_module
from agentstate_documents.saver import DocumentSaver

THREADS = ["t1", "t1 ", 't/2 #?!"ä\x00', "long" * 200]
NAMESPACES = ["", "child:1", "a|b:!2"]
PLACES = [("t1", "")] * 16 + [(thread, name) for thread in THREADS for name in NAMESPACES]
RUNS = ["r1", "r2", "r3"]
CHANNELS = ["messages", "messages", "messages", "x", "__interrupt__", "__error__", "__resume__"]


def message(rng):
    """One of what a list of messages may hold, now and then the same as another."""
    text = "".join(rng.choices("abcdefgh ", k=rng.choice([0, 5, 80, 400])))
    kind = rng.randrange(10)
    if kind < 8:
        return (HumanMessage if kind % 2 else AIMessage)(text, id=str(rng.random()))
    return {"role": "user", "content": text} if kind == 8 else rng.choice(["dup", None, 0, [], {}])


def edited(rng, old):
    """What a node might make of a list."""
    new = [message(rng) for _ in range(rng.randint(1, 4))]
    cut = rng.randint(0, len(old))
    return rng.choice(
        [
            *[old + new] * 8,
            old[cut:] + new,
            old[:1] + old[cut:] + new,
            [*old[:cut], *new[:1], *old[cut + 1 :]],
            old[:cut] + old[cut + 1 :],
            old + old[:2],
            rng.sample(old, len(old)),
            new,
            [],
        ]
    )


def told(found):
    """A checkpoint tuple as plain values to compare."""
    if found is None:
        return None
    parent = found.parent_config and found.parent_config["configurable"]
    ids = found.config["configurable"]
    return (
        {name: ids[name] for name in ("thread_id", "checkpoint_ns", "checkpoint_id")},
        found.checkpoint,
        found.metadata,
        parent,
        # In an order of its own before langgraph-checkpoint 4.3; the contract tests ours.
        sorted(found.pending_writes, key=repr),
    )


class History:
    """Two processes on one table, beside LangGraph's saver."""

    def __init__(self, table):
        self.table = table
        self.oracle = InMemorySaver()
        self.ids = defaultdict(dict)  # (thread, namespace) -> id -> (values, versions)
        self.restart()

    def restart(self, *_):
        """Both processes are new and know nothing."""
        self.savers = [DocumentSaver(self.table), DocumentSaver(self.table)]

    def config(self, place, checkpoint=None):
        configurable = {"thread_id": place[0], "checkpoint_ns": place[1]}
        if checkpoint:
            configurable["checkpoint_id"] = checkpoint
        return {"configurable": configurable}

    def choose(self, rng, place):
        """Usually the latest checkpoint."""
        known = sorted(self.ids[place])
        return None if not known else known[-1] if rng.random() < 0.75 else rng.choice(known)

    def put(self, rng, saver, place):
        """A step: reads its parent or not, and changes some channels."""
        parent = self.choose(rng, place)
        values, versions = copy.deepcopy(self.ids[place].get(parent, ({}, {})))
        if parent and rng.random() < 0.3:
            latest = parent == max(self.ids[place])
            found = saver.get_tuple(self.config(place, None if latest else parent))
            values = dict(found.checkpoint["channel_values"])
        changes = {}
        if rng.random() < 0.8:
            changes["messages"] = edited(rng, list(values.get("messages", [])))
        if rng.random() < 0.2:
            changes["log"] = edited(rng, list(values.get("log", [])))
        if rng.random() < 0.3:
            changes["flag"] = rng.choice([None, 0, "", [], False, {}, [1.5, 2], ["x"]])
        if rng.random() < 0.2:
            changes["doc"] = {"text": "y" * rng.choice([10, 1000, 5000]), "n": rng.random()}
        values.update(changes)
        if rng.random() < 0.1:
            changes["doc"] = values.pop("doc", None)
        made = empty_checkpoint()
        new = self.bump(versions, changes)
        made.update(id=str(uuid6()), channel_values=values, channel_versions=versions)
        metadata = {"step": len(self.ids[place]) % 3, "run_id": rng.choice(RUNS)}
        self.store(saver, place, parent, made, metadata, new)

    def put_anew(self, rng, saver, place):
        """A checkpoint is put again under its id, with another list."""
        checkpoint_id = self.choose(rng, place)
        if checkpoint_id is None:
            return
        old = self.oracle.get_tuple(self.config(place, checkpoint_id))
        made = copy.deepcopy(old.checkpoint)
        values = made["channel_values"]
        values["messages"] = edited(rng, list(values.get("messages", [])))
        new = self.bump(made["channel_versions"], ["messages"])
        parent = old.parent_config and old.parent_config["configurable"]["checkpoint_id"]
        self.store(saver, place, parent, made, dict(old.metadata), new)

    def bump(self, versions, channels):
        new = {c: self.oracle.get_next_version(versions.get(c), None) for c in channels}
        versions.update(new)
        return new

    def store(self, saver, place, parent, made, metadata, new):
        before = copy.deepcopy(made)
        config = self.config(place, parent)
        stored = saver.put(config, made, dict(metadata), dict(new))
        assert made == before
        assert stored == self.oracle.put(config, copy.deepcopy(made), dict(metadata), dict(new))
        self.ids[place][made["id"]] = (before["channel_values"], before["channel_versions"])

    def put_writes(self, rng, saver, place):
        """A task's writes, also some it has written before."""
        checkpoint_id = self.choose(rng, place)
        if checkpoint_id is None:
            return
        task, path = rng.choice(["task1", "task2"]), rng.choice(["", "~a", "b"])
        writes = [(rng.choice(CHANNELS), message(rng)) for _ in range(rng.choice([1, 1, 2, 13]))]
        config = self.config(place, checkpoint_id)
        saver.put_writes(config, writes, task, path)
        self.oracle.put_writes(config, writes, task, path)

    def read(self, rng, saver, place):
        """The latest or a named checkpoint reads as on LangGraph's saver."""
        config = self.config(place, rng.choice([None, self.choose(rng, place)]))
        assert told(saver.get_tuple(config)) == told(self.oracle.get_tuple(config))

    def list(self, rng, saver, place):
        """Listings are equal, whatever they select."""
        before = self.config(place, self.choose(rng, place))
        self.compare(
            saver,
            place,
            filter=rng.choice([{}, {"run_id": "r1"}, {"run_id": "r2", "step": 1}]),
            before=rng.choice([None, before]),
            limit=rng.choice([None, 0, 1, 3]),
        )

    def compare(self, saver, place, **selection):
        found = saver.list(self.config(place), **selection)
        want = self.oracle.list(self.config(place), **selection)
        assert list(map(told, found)) == list(map(told, want))

    def delete_thread(self, rng, saver, place):
        """The thread is gone."""
        saver.delete_thread(place[0])
        self.oracle.delete_thread(place[0])
        for gone in [key for key in self.ids if key[0] == place[0]]:
            del self.ids[gone]
        self.restart()

    def prune(self, rng, saver, place):
        """The latest of each namespace of the thread is left."""
        saver.prune([place[0]])
        for pruned in [key for key in self.ids if key[0] == place[0] and self.ids[key]]:
            self.forget(pruned, set(self.ids[pruned]) - {max(self.ids[pruned])})
        self.restart()

    def delete_for_runs(self, rng, saver, place):
        """The runs' checkpoints are gone everywhere."""
        runs = rng.sample(RUNS, rng.choice([1, 1, 2]))
        saver.delete_for_runs(runs)
        for each in list(self.ids):
            found = self.oracle.list(self.config(each))
            self.forget(each, {t.checkpoint["id"] for t in found if t.metadata["run_id"] in runs})
        self.restart()

    def copy_thread(self, rng, saver, place):
        """The copy reads as the thread does, once the target's own history is gone."""
        thread, target = place[0], rng.choice([name for name in THREADS if name != place[0]])
        self.delete_thread(rng, saver, (target, ""))
        saver.copy_thread(thread, target)
        for source in [key for key in self.ids if key[0] == thread]:
            self.ids[target, source[1]] = copy.deepcopy(self.ids[source])
            storage = self.oracle.storage
            storage[target][source[1]].update(storage[thread][source[1]])
            for kept in (self.oracle.writes, self.oracle.blobs):
                for key in [key for key in kept if key[:2] == source]:
                    kept[(target, *key[1:])] = copy.deepcopy(kept[key])

    def forget(self, place, gone):
        for checkpoint_id in gone:
            self.oracle.storage[place[0]][place[1]].pop(checkpoint_id, None)
            self.oracle.writes.pop((*place, checkpoint_id), None)
            self.ids[place].pop(checkpoint_id, None)


OPERATIONS = (
    [History.put] * 12
    + [History.put_writes] * 4
    + [History.read, History.list] * 2
    + [History.put_anew, History.restart]
)
RARE = [History.delete_thread, History.prune, History.delete_for_runs, History.copy_thread]
operations = st.sampled_from(OPERATIONS) | st.sampled_from(OPERATIONS * 3 + RARE)
steps = st.tuples(operations, st.sampled_from(PLACES), st.booleans(), st.integers(0, 2**32))


@pytest.fixture
def knobs(monkeypatch):
    """Sets how early a channel is written whole, and how much a cold read asks for first."""

    def turn(slack, first):
        monkeypatch.setattr(put_module, "_SLACK_BYTES", slack)
        monkeypatch.setattr(reader_module, "FIRST_LIMIT", first)

    return turn


@given(
    history=st.lists(steps, min_size=20, max_size=80),
    limit=st.sampled_from([390_000, 500, 64]),
    page=st.sampled_from([1, 3, 25]),
    slack=st.sampled_from([0, 300, 6144, 100_000]),
    first=st.sampled_from([1, 2, 24]),
)
@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_histories_read_as_on_langgraphs_saver(knobs, history, limit, page, slack, first):
    """Puts, edits, forks, writes, restarts and upkeep leave what they leave there."""
    knobs(slack, first)
    table = MemoryTable(max_body_bytes=limit, page_size=page, max_transaction_documents=8)
    run = History(table)
    for operation, place, process, seed in history:
        operation(run, random.Random(seed), run.savers[process], place)
    for place in list(run.ids):
        run.compare(DocumentSaver(table), place)
        for checkpoint_id in run.ids[place]:
            config = run.config(place, checkpoint_id)
            want = told(run.oracle.get_tuple(config))
            assert told(DocumentSaver(table).get_tuple(config)) == want
