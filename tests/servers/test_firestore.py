"""What a document table needs of Firestore, on every server there is, through the real SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timezone
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

MEBIBYTE = 1024 * 1024


@pytest.fixture
def client(firestore_host: str, firestore_project: str) -> Iterator[Any]:
    """A blocking client of a project of its own."""
    client = firestore.Client(project=firestore_project)
    yield client
    client._firestore_api.transport.close()


@pytest.fixture
async def async_client(firestore_host: str, firestore_project: str) -> AsyncIterator[Any]:
    """An awaiting client of the same project."""
    client = firestore.AsyncClient(project=firestore_project)
    yield client
    await client._firestore_api.transport.close()


def fill(client: Any, names: str) -> Any:
    """A collection of one document per letter, with the letter as field `s`."""
    collection = client.collection("c")
    for name in names:
        collection.document(name).set({"s": name})
    return collection


def where(field: str, operator: str, value: Any) -> Any:
    """A filter as `where` takes it."""
    return {"filter": FieldFilter(field, operator, value)}


def ids(snapshots: Any) -> list[str]:
    """The ids of the documents found."""
    return [snapshot.id for snapshot in snapshots]


# Values ------------------------------------------------------------------------------------


def test_values_come_back_as_they_were(client: Any) -> None:
    """Every type a table stores keeps its value, bytes of any content too."""
    document = client.document("c/d")
    stored = {
        "b": bytes(range(256)),
        "s": "a\x00é😀",
        "t": datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone.utc),
        "n": 2**53 + 1,
        "f": 1.5,
        "none": None,
        "yes": True,
        "m": {"list": [1, "a", {"x": b""}]},
    }
    document.set(stored)
    assert document.get().to_dict() == stored


def test_a_document_that_is_not_there_does_not_exist(client: Any) -> None:
    """Reading nothing is an answer, not an error."""
    assert not client.document("c/absent").get().exists


def test_set_replaces_and_update_changes_fields(client: Any) -> None:
    """`set` leaves nothing of the old document, `update` all that it does not name."""
    document = client.document("c/d")
    document.set({"a": 1, "b": 2, "m": {"x": 1, "y": 2}})
    document.update({"a": 3, "m.x": 4, "b": firestore.DELETE_FIELD})
    assert document.get().to_dict() == {"a": 3, "m": {"x": 4, "y": 2}}
    document.set({"z": 1})
    assert document.get().to_dict() == {"z": 1}


def test_many_documents_are_read_at_once(client: Any) -> None:
    """One call answers for present and absent documents alike."""
    collection = fill(client, "ab")
    found = client.get_all([collection.document(name) for name in "axb"])
    assert {snapshot.id: snapshot.exists for snapshot in found} == {
        "a": True,
        "x": False,
        "b": True,
    }


# Preconditions -----------------------------------------------------------------------------


def test_create_refuses_what_is_there(client: Any) -> None:
    """The second creation of a document changes nothing."""
    document = client.document("c/d")
    document.create({"n": 1})
    with pytest.raises(exceptions.AlreadyExists):
        document.create({"n": 2})
    assert document.get().to_dict() == {"n": 1}


def test_update_refuses_what_is_not_there(client: Any) -> None:
    """An update never creates."""
    with pytest.raises(exceptions.NotFound):
        client.document("c/d").update({"n": 1})


def test_an_update_time_admits_one_writer(client: Any) -> None:
    """Who read an older version cannot write over a newer one, nor delete it."""
    document = client.document("c/d")
    document.set({"n": 1})
    option = client.write_option(last_update_time=document.get().update_time)
    document.update({"n": 2}, option=option)
    with pytest.raises(exceptions.FailedPrecondition):
        document.update({"n": 3}, option=option)
    with pytest.raises(exceptions.FailedPrecondition):
        document.delete(option=option)
    assert document.get().to_dict() == {"n": 2}


def test_an_update_time_refuses_a_deleted_document(client: Any) -> None:
    """A document that went away in between is not written again."""
    document = client.document("c/d")
    document.set({"n": 1})
    option = client.write_option(last_update_time=document.get().update_time)
    document.delete()
    with pytest.raises((exceptions.FailedPrecondition, exceptions.NotFound)):
        document.update({"n": 2}, option=option)
    assert not document.get().exists


def test_a_batch_happens_whole_or_not_at_all(client: Any) -> None:
    """One condition that fails takes every other write with it."""
    fill(client, "b")
    batch = client.batch()
    batch.set(client.document("c/a"), {"n": 1})
    batch.create(client.document("c/b"), {"n": 1})
    batch.delete(client.document("c/c"))
    with pytest.raises(exceptions.AlreadyExists):
        batch.commit()
    assert not client.document("c/a").get().exists


def test_deleting_is_repeatable(client: Any) -> None:
    """Nothing is wrong with deleting what is not there."""
    document = client.document("c/d")
    document.set({})
    document.delete()
    document.delete()
    assert not document.get().exists


# Limits ------------------------------------------------------------------------------------


def test_a_document_holds_one_mebibyte(client: Any) -> None:
    """By the documented sum of name and fields, one byte more is refused."""
    document = client.document("c/d")
    name = 16 + len("c") + 1 + len("d") + 1
    other = {"t": "é" * 50, "n": 1, "no": False, "x": datetime(2030, 1, 1, tzinfo=timezone.utc)}
    size_of_other = (2 + 101) + (2 + 8) + (3 + 1) + (2 + 8)
    room = MEBIBYTE - name - 32 - size_of_other - len("b") - 1
    document.set({**other, "b": bytes(room)})
    with pytest.raises(exceptions.InvalidArgument):
        document.set({**other, "b": bytes(room + 1)})
    assert len(document.get().get("b")) == room


def test_a_value_holds_89_bytes_less(client: Any) -> None:
    """A single value has a limit of its own."""
    document = client.document("c/d")
    document.set({"b": bytes(MEBIBYTE - 89)})
    with pytest.raises(exceptions.InvalidArgument):
        document.set({"b": bytes(MEBIBYTE - 88)})


@pytest.mark.parametrize("id_", [".", "..", "__x__", "a" * 1501, "é" * 751])
def test_some_ids_are_refused(client: Any, id_: str) -> None:
    """Dots, reserved ids and ids over 1,500 bytes name no document."""
    with pytest.raises(exceptions.InvalidArgument):
        client.collection("c").document(id_).set({})


@pytest.mark.parametrize("id_", ["a" * 1500, "!\"#$%&'()*+,-.:;<=>?@[\\]^_`{|}~", "__x", "é\n😀"])
def test_other_ids_are_taken_as_they_are(client: Any, id_: str) -> None:
    """Any other text without a slash names a document."""
    document = client.collection("c").document(id_)
    document.set({"n": 1})
    assert ids(client.collection("c").stream()) == [id_]


def test_arrays_do_not_nest(client: Any) -> None:
    """An array in an array is refused."""
    with pytest.raises(exceptions.InvalidArgument):
        client.document("c/d").set({"a": [[1]]})


def test_a_value_too_long_for_an_index_is_no_filter(client: Any) -> None:
    """More than 1,500 bytes cannot be looked for."""
    query = client.collection("c").where(**where("s", ">=", "x" * 1501))
    with pytest.raises(exceptions.InvalidArgument):
        query.get()


def test_a_commit_of_three_and_a_half_mebibytes_is_taken(client: Any) -> None:
    """What a table sends at once is below the limit of every server."""
    batch = client.batch()
    for number in range(7):
        batch.set(client.document(f"c/{number}"), {"b": bytes(MEBIBYTE // 2)})
    batch.commit()
    assert len(client.collection("c").get()) == 7


# Queries -----------------------------------------------------------------------------------


def test_a_range_is_read_in_both_directions(client: Any) -> None:
    """Bounds, direction and limit hold together, without a composite index."""
    fill(client, "edcba")
    query = client.collection("c").where(**where("s", ">=", "b")).where(**where("s", "<", "e"))
    assert ids(query.order_by("s").stream()) == ["b", "c", "d"]
    descending = query.order_by("s", direction=firestore.Query.DESCENDING)
    assert ids(descending.limit(2).stream()) == ["d", "c"]


def test_texts_are_ordered_by_their_bytes(client: Any) -> None:
    """Upper case comes before lower, ASCII before the rest."""
    names = ["!", "0", "A", "Z", "a", "z", "~", "é", "\uffff", "😀"]
    for name in reversed(names):
        client.collection("c").document(f"x{name}").set({"s": name})
    found = client.collection("c").order_by("s").stream()
    assert [snapshot.get("s") for snapshot in found] == names


def test_documents_without_the_field_are_left_out(client: Any) -> None:
    """Only what an index holds can be found through it."""
    fill(client, "a").document("b").set({"other": 1})
    assert ids(client.collection("c").order_by("s").stream()) == ["a"]


def test_values_of_another_type_are_outside_a_range(client: Any) -> None:
    """A range of texts holds no numbers."""
    fill(client, "a").document("n").set({"s": 1})
    assert ids(client.collection("c").where(**where("s", ">=", "")).stream()) == ["a"]


def test_equality_finds_equal_numbers(client: Any) -> None:
    """An integer equals the float of the same value."""
    client.document("c/a").set({"n": 1})
    client.document("c/b").set({"n": 1.0})
    client.document("c/c").set({"n": 2})
    assert ids(client.collection("c").where(**where("n", "==", 1)).stream()) == ["a", "b"]


def test_cursors_and_offsets_cut_a_result(client: Any) -> None:
    """A result can begin after, and end at, a value, and skip its head."""
    query = fill(client, "abcde").order_by("s")
    assert ids(query.start_after({"s": "b"}).stream()) == ["c", "d", "e"]
    assert ids(query.start_at({"s": "b"}).end_before({"s": "d"}).stream()) == ["b", "c"]
    assert ids(query.offset(3).limit(1).stream()) == ["d"]


def test_fields_can_be_left_out_of_a_result(client: Any) -> None:
    """`select` answers the named fields alone."""
    client.document("c/a").set({"s": "a", "b": b"much"})
    assert [snapshot.to_dict() for snapshot in client.collection("c").select(["s"]).stream()] == [
        {"s": "a"}
    ]


def test_collections_do_not_see_each_other(client: Any) -> None:
    """A query reads one collection: not those below it, nor others of the same name."""
    client.document("c/a").set({"s": "a"})
    client.document("c/a/c/b").set({"s": "b"})
    client.document("cc/d").set({"s": "d"})
    assert ids(client.collection("c").stream()) == ["a"]
    assert ids(client.collection("c/a/c").stream()) == ["b"]


def test_descending_by_name_alone_is_refused(client: Any) -> None:
    """There is no index for it, so an order needs a field."""
    fill(client, "ab")
    query = client.collection("c").order_by("__name__", direction=firestore.Query.DESCENDING)
    with pytest.raises(exceptions.FailedPrecondition):
        query.get()


def test_parents_without_a_document_are_listed(client: Any) -> None:
    """What only has documents below it is listed, as long as it has any."""
    client.document("c/a/d/1").set({})
    client.document("c/b/d/1").set({})
    client.document("c/b").set({})
    client.document("x/y").set({})
    listed = client.collection("c").list_documents(page_size=1)
    assert [document.id for document in listed] == ["a", "b"]
    client.document("c/a/d/1").delete()
    assert [document.id for document in client.collection("c").list_documents()] == ["b"]


def test_databases_are_apart(client: Any, firestore_project: str) -> None:
    """The same name in another database is another document."""
    other = firestore.Client(project=firestore_project, database="other")
    client.document("c/d").set({"n": 1})
    assert not other.document("c/d").get().exists
    other._firestore_api.transport.close()


# The awaiting client -----------------------------------------------------------------------


async def test_the_awaiting_client_finds_the_same(async_client: Any) -> None:
    """Writes, conditions, batches and reads are the same RPCs."""
    collection = async_client.collection("c")
    batch = async_client.batch()
    for name in "cab":
        batch.create(collection.document(name), {"s": name, "b": b"x"})
    await batch.commit()
    with pytest.raises(exceptions.AlreadyExists):
        await collection.document("a").create({})
    query = collection.where(**where("s", ">=", "b")).order_by("s", direction="DESCENDING")
    assert [snapshot.id async for snapshot in query.stream()] == ["c", "b"]
    found = async_client.get_all([collection.document("a"), collection.document("x")])
    assert {snapshot.id: snapshot.exists async for snapshot in found} == {"a": True, "x": False}
    assert sorted([document.id async for document in collection.list_documents()]) == list("abc")
