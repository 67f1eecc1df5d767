"""Wherever an operation is stopped, what is read is the old state or the new; again, it is done."""

import copy
import itertools
import uuid

import pytest

from agentstate_documents import MemoryTable, TableUnavailable
from agentstate_documents.saver import DocumentSaver
from agentstate_documents.testing.faults import FaultyTable, Stopped
from agentstate_documents.testing.saver_scenes import at, checkpoint

TEXTS = [str(uuid.UUID(int=n)) * 2 for n in range(12)]
CHILD = "child:1"
PLACES = [(thread, namespace) for thread in ("t", "other", "copy") for namespace in ("", CHILD)]


def put(saver, config, values, **metadata):
    return saver.put(config, checkpoint(values), metadata, {})


def filled(limit):
    """A table with a thread of two namespaces, forks, writes, runs, and another thread."""
    table = MemoryTable(max_body_bytes=limit, page_size=4, max_transaction_documents=8)
    saver = DocumentSaver(table)
    configs = {}
    for thread, namespace in (("t", ""), ("t", CHILD), ("other", "")):
        config = at(thread, namespace=namespace)
        for n in range(5):
            values = {"messages": TEXTS[: n + 3], "n": n}
            config = put(saver, config, values, step=n, run_id=f"r{n // 2}")
            saver.put_writes(config, [("messages", n), ("__error__", "e")], "task")
            configs[thread, namespace, n] = config
    put(saver, configs["t", "", 1], {"messages": [*TEXTS[:4], "fork"]}, step=9, run_id="r1")
    return table, saver, configs


def state(table):
    """All that can be read, by thread and namespace, by a process that knows nothing."""
    saver = DocumentSaver(table)
    return {place: list(saver.list(at(place[0], namespace=place[1]))) for place in PLACES}


def latest(table):
    """What `get_tuple` finds, by thread and namespace."""
    saver = DocumentSaver(table)
    return {place: saver.get_tuple(at(place[0], namespace=place[1])) for place in PLACES}


def put_child(saver, configs):
    made = {**checkpoint({"messages": [*TEXTS[2:9], "new " * 40]}), "id": NEW, "ts": "now"}
    saver.put(configs["t", "", 4], made, {"step": 5}, {})


def put_anew(saver, configs):
    target = configs["t", "", 3]["configurable"]["checkpoint_id"]
    made = {**checkpoint({"messages": ["anew " * 40]}), "id": target, "ts": "now"}
    saver.put(configs["t", "", 2], made, {"step": 3}, {})


def put_writes(saver, configs):
    writes = [("messages", TEXTS), ("__interrupt__", TEXTS), ("__error__", 1), ("x", TEXTS)]
    saver.put_writes(configs["t", "", 4], writes, "other task")


def add_writes(saver, configs):
    writes = [("messages", "x"), ("messages", TEXTS), ("__error__", TEXTS)]
    saver.put_writes(configs["t", "", 4], writes, "task")


def delete_thread(saver, configs):
    saver.delete_thread("t")


def prune(saver, configs):
    saver.prune(["t", "other"])


def delete_for_runs(saver, configs):
    saver.delete_for_runs(["r1"])


def copy_thread(saver, configs):
    saver.copy_thread("t", "copy")


NEW = "9" * 36
ATOMIC = [put_child, put_anew, put_writes, add_writes]
BY_NAMESPACE = [prune, delete_for_runs, delete_thread]


def stops(operation, limit, **fault):
    """The table after each stop: at every request, until the operation needs no more."""
    for number in itertools.count(1):
        table, saver, configs = filled(limit)
        old = state(table)
        faulty = FaultyTable(table, at=number, **fault)
        # The process that goes on knows what it knew; only its requests fail.
        saver._table = faulty
        try:
            operation(saver, configs)
        except (Stopped, TableUnavailable):
            yield old, table, configs
        else:
            assert number > 1
            return


def finished(operation, table, configs):
    """What is read once the operation was repeated by another process."""
    operation(DocumentSaver(table), configs)
    return state(table)


def expected(operation, limit):
    table, saver, configs = filled(limit)
    operation(saver, configs)
    return state(table)


def without_ids(read):
    """Comparable between tables: ids and times are minted anew for each."""
    return {
        place: [
            (
                one.metadata,
                one.checkpoint["channel_values"],
                one.pending_writes,
            )
            for one in found
        ]
        for place, found in read.items()
    }


@pytest.mark.parametrize("limit", [64, 390_000])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("error", [Stopped, TableUnavailable])
@pytest.mark.parametrize("operation", ATOMIC)
def test_one_step_is_done_or_not(operation, error, after, limit):
    """A put or a put of writes is seen whole or not at all."""
    new = without_ids(expected(operation, limit))
    for old, table, configs in stops(operation, limit, after=after, error=error):
        assert without_ids(state(table)) in (without_ids(old), new)
        assert without_ids(finished(operation, table, configs)) == new


@pytest.mark.parametrize("limit", [64, 390_000])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("operation", BY_NAMESPACE)
def test_upkeep_is_done_or_not_in_each_namespace(operation, after, limit):
    """Deleting and pruning leave every namespace as it was or as it shall be."""
    new = without_ids(expected(operation, limit))
    for old, table, configs in stops(operation, limit, after=after):
        before = without_ids(old)
        for place, found in without_ids(state(table)).items():
            assert found in (before[place], new[place])
        assert without_ids(finished(operation, table, configs)) == new


@pytest.mark.parametrize("limit", [64, 390_000])
@pytest.mark.parametrize("operation", BY_NAMESPACE)
def test_half_a_deletion_spoils_nothing(operation, limit):
    """A delete that stops half way leaves only checkpoints as they were, and the kept latest."""
    new = expected(operation, limit)
    for old, table, configs in stops(operation, limit, after=True, half=True):
        for place, found in state(table).items():
            assert all(one in old[place] for one in found)
        if operation is prune:
            assert [one and one[1:] for one in latest(table).values()] == [
                old[place][0][1:] if old[place] else None for place in old
            ]
        assert without_ids(finished(operation, table, configs)) == without_ids(new)


@pytest.mark.parametrize("limit", [64, 390_000])
@pytest.mark.parametrize("after", [False, True])
def test_a_copy_grows_from_the_oldest(after, limit):
    """Every checkpoint a stopped copy shows is the source's, with all its ancestors."""
    for old, table, configs in stops(copy_thread, limit, after=after):
        read = state(table)
        for namespace in ("", CHILD):
            source = [one[1:3] for one in read["t", namespace]]
            copied = [one[1:3] for one in read["copy", namespace]]
            assert source[len(source) - len(copied) :] == copied
            for one in read["copy", namespace]:
                [same] = [s for s in read["t", namespace] if s.checkpoint == one.checkpoint]
                assert same.pending_writes == one.pending_writes
        done = finished(copy_thread, table, configs)
        assert [one[1:3] for one in done["copy", ""]] == [one[1:3] for one in old["t", ""]]


def test_a_run_goes_on_after_a_failed_put():
    """What a failed put left, stored or not, never ends up in what is put next."""
    for after in (False, True):
        table, saver, configs = filled(64)
        saver._table = FaultyTable(table, at=2, after=after, error=TableUnavailable)
        made = {**checkpoint({"messages": [*TEXTS[:7], "lost"]}), "id": NEW}
        with pytest.raises(TableUnavailable):
            saver.put(configs["t", "", 4], made, {}, {})
        config = saver.put(at("t", NEW), checkpoint({"messages": [*TEXTS[:7], "on"]}), {}, {})
        found = DocumentSaver(table).get_tuple(config)
        assert found.checkpoint["channel_values"]["messages"] == [*TEXTS[:7], "on"]


def test_a_stale_process_never_makes_a_wrong_list():
    """Leaning on what others deleted or replaced yields the right list or none."""
    for upkeep in (prune, delete_thread, delete_for_runs, put_anew):
        for n in (2, 3, 4):
            table, saver, configs = filled(390_000)
            stale = copy.copy(saver)
            upkeep(DocumentSaver(table), configs)
            values = {"messages": [*TEXTS[: n + 3], "later"]}
            config = put(stale, configs["t", "", n], values)
            found = DocumentSaver(table).get_tuple(config)
            assert found is None or found.checkpoint["channel_values"] == values
