"""Where something is missing, or changes meanwhile: none is found, and nothing wrong."""

import uuid

import pytest

from agentstate_documents import DocumentConflict, MemoryTable, steps
from agentstate_documents.drivers import run
from agentstate_documents.model import AFTER_LAST_SORT, FIRST_SORT
from agentstate_documents.saver import DocumentSaver
from agentstate_documents.testing.saver_scenes import at, checkpoint, id_of

# Too varied to be compressed into one document.
VARIED = " ".join(uuid.uuid5(uuid.NAMESPACE_OID, str(n)).hex for n in range(30))


@pytest.fixture
def table():
    return MemoryTable(max_body_bytes=64, page_size=3)


@pytest.fixture
def saver(table):
    return DocumentSaver(table)


def put(saver, config, values, **metadata):
    return saver.put(config, checkpoint(values), metadata, {})


def sorts(table, partition="t"):
    return list(run(steps.documents(partition, low=FIRST_SORT, high=AFTER_LAST_SORT), table))


def remove(table, config, kind, partition="t"):
    """The first document of that kind of a checkpoint is removed by hand."""
    checkpoint_id = id_of(config)
    [sort, *_] = [s for s in sorts(table, partition) if f"{checkpoint_id}!{kind}" in s]
    table.delete(partition, [sort])


def chat(saver, count, **metadata):
    texts = [f"message {n} of some length, to be leant on" for n in range(count)]
    configs = [at("t")]
    for n in range(count):
        told = {name: value(n) for name, value in metadata.items()}
        configs.append(put(saver, configs[-1], {"messages": texts[: n + 1]}, **told))
    return configs[1:]


@pytest.mark.parametrize("kind", ["h", "g"])
def test_what_leans_on_a_gap_is_invisible(table, saver, kind):
    """Without the head, or a part, it leans on, a checkpoint is None and the latest is another."""
    configs = chat(saver, 4)
    whole = put(saver, at("t"), {"messages": ["whole"]})
    after = put(saver, configs[-1], {"messages": ["x" * 40]})
    remove(table, after, "h")
    remove(table, configs[1], kind)
    reader = DocumentSaver(table)
    for config in (*configs[1:], after):
        assert reader.get_tuple(config) is None
    assert reader.get_tuple(at("t")).config == whole
    assert [found.config for found in reader.list(at("t"))] == [whole, configs[0]]


def test_upkeep_of_a_thread_with_gaps(table, saver):
    """Pruning and deleting runs remove what cannot be read, and keep what can."""
    configs = chat(saver, 4)
    remove(table, configs[0], "h")
    saver.prune(["t"])
    assert list(DocumentSaver(table).list(at("t"))) == []
    config = put(saver, at("t"), {"messages": ["anew"]}, run_id="r")
    saver.delete_for_runs(["other"])
    saver.prune(["t"])
    assert [found.config for found in DocumentSaver(table).list(at("t"))] == [config]


def test_deleting_a_run_in_the_middle_of_a_gap(table, saver):
    """What could not be read before cannot be read afterwards, and the rest is untouched."""
    configs = chat(saver, 4, run_id=lambda n: f"r{n}")
    remove(table, configs[0], "h")
    saver.delete_for_runs(["r2"])
    reader = DocumentSaver(table)
    assert [reader.get_tuple(config) for config in configs] == [None] * 4


def test_pruning_a_delta_channel_that_has_a_gap(table, saver):
    """The ancestors it is still rebuilt from are kept, up to the gap."""
    config, configs = at("t"), []
    for n in range(5):
        made = checkpoint({"other": n})
        made["channel_versions"]["d"] = 1
        config = saver.put(config, made, {"counters_since_delta_snapshot": {"d": [n, n]}}, {})
        saver.put_writes(config, [("d", n)], "task")
        configs.append(config)
    remove(table, configs[1], "h")
    saver.prune(["t"])
    found = list(DocumentSaver(table).list(at("t")))
    assert [one.config for one in found] == [configs[4], configs[3], configs[2]]
    told = DocumentSaver(table).get_delta_channel_history(config=config, channels=["d"])
    assert [value for *_, value in told["d"]["writes"]] == [2, 3]


def test_a_write_without_a_part_is_none(table, saver):
    """The others of the checkpoint are still pending."""
    config = put(saver, at("t"), {"a": 1})
    saver.put_writes(config, [("a", VARIED)], "task1")
    saver.put_writes(config, [("a", VARIED[::-1])], "task2")
    remove(table, config, "w!task1!r!p")
    assert DocumentSaver(table).get_tuple(config).pending_writes == [("task2", "a", VARIED[::-1])]


def test_writes_added_to_a_broken_document_replace_it(table, saver):
    """A task whose stored writes cannot be read may write again."""
    config = put(saver, at("t"), {"a": 1})
    saver.put_writes(config, [("a", VARIED)], "task")
    remove(table, config, "w!task!r!p")
    saver.put_writes(config, [("a", "again")], "task")
    assert DocumentSaver(table).get_tuple(config).pending_writes == [("task", "a", "again")]


def test_a_thread_whose_name_is_gone_is_not_listed(table, saver):
    """Its checkpoints are found by who knows it, and others are listed."""
    config = put(saver, at(VARIED), {"a": 1})
    other = put(saver, at("t"), {"a": 2})
    [partition] = [name for name in table.partitions() if name != "t"]
    names = [sort for sort in sorts(table, partition) if sort.startswith("~")]
    assert len(names) > 3
    for gone in (names[1:2], names):
        table.delete(partition, gone)
        assert [found.config for found in DocumentSaver(table).list(None)] == [other]
    assert DocumentSaver(table).get_tuple(config).checkpoint["channel_values"] == {"a": 1}


def test_delta_history_ends_at_a_gap(table, saver):
    """Where an ancestor is missing, what was found on the way is told."""
    config, configs = at("t"), []
    for n in range(4):
        config = put(saver, config, {"other": n})
        saver.put_writes(config, [("d", n)], "task")
        configs.append(config)
    remove(table, configs[1], "h")
    told = DocumentSaver(table).get_delta_channel_history(config=configs[3], channels=["d"])
    assert told == {"d": {"writes": [("task", "d", 2)]}}


def test_delta_history_follows_parents_through_a_wrong_clock(table, saver):
    """An ancestor whose id sorts above its child's is found."""
    early = checkpoint({})
    first = saver.put(at("t"), checkpoint({"d": ["seed"]}), {}, {})
    saver.put_writes(first, [("d", 1)], "task")
    second = saver.put(first, early, {}, {})
    saver.put_writes(second, [("d", 2)], "task")
    third = put(saver, second, {"other": 1})
    told = DocumentSaver(table).get_delta_channel_history(config=third, channels=["d"])
    assert told == {"d": {"writes": [("task", "d", 1), ("task", "d", 2)], "seed": ["seed"]}}


@pytest.mark.parametrize("counted", [None, 5, "text", ["d"], {"d": 5}, {"d": [1]}, {"d": "ab"}])
def test_a_name_of_langgraphs_may_hold_anything(table, saver, counted):
    """Metadata of the user's under the name of LangGraph's counters is in nobody's way."""
    first = put(saver, at("t"), {"d": ["seed"]}, counters_since_delta_snapshot=counted)
    saver.put_writes(first, [("d", 1)], "task")
    second = put(saver, first, {}, counters_since_delta_snapshot=counted)
    told = DocumentSaver(table).get_delta_channel_history(config=second, channels=["d"])
    assert told == {"d": {"writes": [("task", "d", 1)], "seed": ["seed"]}}
    saver.prune(["t"])
    [found] = DocumentSaver(table).list(at("t"))
    assert found.metadata == {"counters_since_delta_snapshot": counted}


def test_a_checkpoint_put_onto_itself_ends_a_chain(table, saver):
    """Its parent is itself; what follows parents ends there."""
    made = checkpoint({"other": 1})
    config = saver.put(at("t"), made, {}, {})
    made["channel_versions"]["d"] = 1
    config = saver.put(config, made, {"counters_since_delta_snapshot": {"d": [1, 1]}}, {})
    told = DocumentSaver(table).get_delta_channel_history(config=config, channels=["d"])
    assert told == {"d": {"writes": []}}
    saver.prune(["t"])
    [found] = DocumentSaver(table).list(at("t"))
    assert found.config == found.parent_config == config


class Meddling(MemoryTable):
    """Somebody else acts before a put that depends on what was read."""

    def __init__(self):
        super().__init__()
        self.meddle = None

    def put(self, partition, writes):
        if self.meddle and any(write.if_unchanged for write in writes):
            self.meddle()
        super().put(partition, writes)


def test_pruning_looks_again_when_a_head_was_replaced():
    """A head that is replaced while it is made whole is pruned as it is then."""
    table = Meddling()
    configs = chat(DocumentSaver(table), 4)

    def meddle():
        table.meddle = None
        made = {**checkpoint({"messages": ["replaced"]}), "id": id_of(configs[-1])}
        DocumentSaver(table).put(configs[-2], made, {}, {})

    table.meddle = meddle
    DocumentSaver(table).prune(["t"])
    [found] = DocumentSaver(table).list(at("t"))
    assert found.checkpoint["channel_values"] == {"messages": ["replaced"]}


def test_pruning_gives_up_on_a_thread_that_never_rests():
    """Somebody who replaces the head every time is an error, not a silent success."""
    table = Meddling()
    chat(DocumentSaver(table), 4)

    def meddle():
        raise DocumentConflict("changed by others")

    table.meddle = meddle
    with pytest.raises(DocumentConflict, match="all the time"):
        DocumentSaver(table).prune(["t"])
    assert len(list(DocumentSaver(table).list(at("t")))) == 4


def test_conflicts_that_never_end_are_an_error():
    """Who replaces the same id, or adds to the same task, all the time is not waited for."""

    class Contended(MemoryTable):
        def put(self, partition, writes):
            raise DocumentConflict("changed by others")

    saver = DocumentSaver(Contended())
    config = at("t", "1")
    with pytest.raises(DocumentConflict, match="all the time"):
        saver.put(at("t"), checkpoint({"a": 1}), {}, {})
    with pytest.raises(DocumentConflict, match="all the time"):
        saver.put_writes(config, [("a", 1)], "task")


def test_an_id_deleted_while_it_is_replaced_is_put_anew():
    """The put that met it is repeated as for an id that was never there."""
    table = Meddling()
    saver = DocumentSaver(table)
    configs = chat(saver, 3)

    def meddle():
        table.meddle = None
        DocumentSaver(table).delete_thread("t")

    table.meddle = meddle
    made = {**checkpoint({"messages": ["anew"]}), "id": id_of(configs[-1])}
    config = DocumentSaver(table).put(at("t"), made, {}, {})
    [found] = DocumentSaver(table).list(at("t"))
    assert found.config == config
    assert found.checkpoint["channel_values"] == {"messages": ["anew"]}


def test_a_special_write_is_not_lost_to_a_conflict():
    """A table that answers an unconditional put with a conflict is asked again."""

    class Contended(MemoryTable):
        calls = 0

        def put(self, partition, writes):
            self.calls += 1
            if self.calls == 2:
                raise DocumentConflict("another put was faster")
            super().put(partition, writes)

    saver = DocumentSaver(Contended())
    config = put(saver, at("t"), {"a": 1})
    saver.put_writes(config, [("__error__", "e")], "task")
    assert saver.get_tuple(config).pending_writes == [("task", "__error__", "e")]
