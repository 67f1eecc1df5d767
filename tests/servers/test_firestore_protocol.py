"""Where the protocol test server is stricter than Google's emulator, or serves tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import firestore
from google.cloud.firestore_admin_v1 import FirestoreAdminClient
from google.cloud.firestore_admin_v1.services.firestore_admin.transports import (
    FirestoreAdminGrpcTransport,
)
from google.cloud.firestore_v1.base_query import FieldFilter

from servers.firestore.control import Control

ASCENDING, DESCENDING = firestore.Query.ASCENDING, firestore.Query.DESCENDING
MEBIBYTE = 1024 * 1024


@pytest.fixture
def client(firestore_control: Control, firestore_project: str) -> Iterator[Any]:
    """A blocking client of a project of its own."""
    client = firestore.Client(project=firestore_project)
    yield client
    client._firestore_api.transport.close()


@pytest.fixture
def admin(firestore_protocol_host: str) -> Iterator[FirestoreAdminClient]:
    """A client of the admin API."""
    with grpc.insecure_channel(firestore_protocol_host) as channel:
        yield FirestoreAdminClient(transport=FirestoreAdminGrpcTransport(channel=channel))


def equal(field: str) -> Any:
    """A filter for 1."""
    return FieldFilter(field, "==", 1)


# Indexes -----------------------------------------------------------------------------------


def test_what_single_field_indexes_answer_is_answered(client: Any) -> None:
    """Any equalities together, or a range and sort on one field, need nothing else."""
    c = client.collection("c")
    c.document("d").set({"a": 1, "b": 1})
    for query in (
        c,
        c.order_by("__name__"),
        c.order_by("a", direction=DESCENDING),
        c.where(filter=FieldFilter("a", ">", 0)).order_by("a", direction=DESCENDING),
        c.where(filter=equal("a")).where(filter=equal("b")),
        c.where(filter=equal("a")).order_by("a"),
        c.where(filter=equal("a")).order_by("__name__", direction=DESCENDING),
    ):
        assert len(query.get()) == 1


def test_what_needs_a_composite_index_is_refused(client: Any) -> None:
    """A sort or range on one field beside anything on another, or names the other way."""
    c = client.collection("c")
    for query in (
        c.where(filter=equal("a")).order_by("b"),
        c.where(filter=equal("a")).where(filter=FieldFilter("b", ">", 0)),
        c.where(filter=FieldFilter("a", ">", 0)).order_by("a").order_by("b"),
        c.order_by("a").order_by("b"),
        c.order_by("a", direction=DESCENDING).order_by("__name__", direction=ASCENDING),
    ):
        with pytest.raises(exceptions.FailedPrecondition, match="requires an index"):
            query.get()


def test_an_exempt_field_cannot_be_queried(
    client: Any, admin: FirestoreAdminClient, firestore_project: str
) -> None:
    """Exempting a field of a collection group takes its indexes, in its database, and no other."""
    groups = f"projects/{firestore_project}/databases/(default)/collectionGroups"
    field = {"name": f"{groups}/c/fields/b", "index_config": {"indexes": []}}
    admin.update_field(request={"field": field, "update_mask": {"paths": ["index_config"]}})
    with pytest.raises(exceptions.FailedPrecondition, match="exempt"):
        client.collection("c").order_by("b").get()
    with pytest.raises(exceptions.FailedPrecondition, match="exempt"):
        client.collection("x/y/c").where(filter=equal("b")).get()
    assert client.collection("c").order_by("a").get() == []
    assert client.collection("other").order_by("b").get() == []


def test_a_collection_expires_by_one_field(
    admin: FirestoreAdminClient, firestore_project: str
) -> None:
    """A second expiry field is refused; the first may be set again and can be read."""
    groups = f"projects/{firestore_project}/databases/(default)/collectionGroups"
    mask = {"paths": ["ttl_config"]}
    for _ in range(2):
        field = {"name": f"{groups}/c/fields/x", "ttl_config": {}}
        admin.update_field(request={"field": field, "update_mask": mask})
    other = {"name": f"{groups}/c/fields/y", "ttl_config": {}}
    with pytest.raises(exceptions.InvalidArgument):
        admin.update_field(request={"field": other, "update_mask": mask})
    assert "ttl_config" in admin.get_field(name=f"{groups}/c/fields/x")
    assert "ttl_config" not in admin.get_field(name=f"{groups}/c/fields/y")


def test_an_index_holds_1500_bytes_of_a_text(client: Any) -> None:
    """Texts that differ only behind them are equal in an index, and come by name."""
    c = client.collection("c")
    c.document("1").set({"s": "x" * 1500 + "b"})
    c.document("2").set({"s": "x" * 1500 + "a"})
    assert [found.id for found in c.order_by("s").stream()] == ["1", "2"]


# Limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("documents", "fits"), [(10, False), (9, True)])
def test_a_request_holds_ten_mebibytes(client: Any, documents: int, fits: bool) -> None:
    """The service's limit, and not the 4 MiB of the emulator."""
    batch = client.batch()
    for number in range(documents):
        batch.set(client.document(f"c/{number}"), {"b": bytes(MEBIBYTE - 200)})
    batch.set(client.document("c/more"), {"b": bytes(MEBIBYTE - 200)})
    if fits:
        batch.commit()
    else:
        with pytest.raises(exceptions.InvalidArgument, match="10485760"):
            batch.commit()
    assert client.document("c/more").get().exists is fits


def test_a_map_counts_as_a_document_does(client: Any) -> None:
    """The documentation has 32 bytes for each map; the emulator does not count them."""
    document = client.document("c/d")
    room = MEBIBYTE - (16 + 2 + 2) - 32 - (2 + 32 + 2 + 1000) - 2
    document.set({"m": {"b": bytes(1000)}, "b": bytes(room)})
    with pytest.raises(exceptions.InvalidArgument):
        document.set({"m": {"b": bytes(1000)}, "b": bytes(room + 1)})


def test_what_it_does_not_speak_is_refused(client: Any) -> None:
    """A wrong answer would be worse than none."""
    c = client.collection("c")
    with pytest.raises(exceptions.MethodNotImplemented):
        c.document("d").set({"n": firestore.SERVER_TIMESTAMP})
    with pytest.raises(exceptions.MethodNotImplemented):
        client.collection_group("c").get()
    with pytest.raises(exceptions.MethodNotImplemented):
        c.where(filter=firestore.Or([equal("a"), equal("b")])).get()
    with pytest.raises(exceptions.MethodNotImplemented):
        c.where(filter=FieldFilter("a", "in", [1])).get()
    with pytest.raises(exceptions.MethodNotImplemented):
        c.count().get()
    with pytest.raises(exceptions.MethodNotImplemented):
        client._firestore_api.begin_transaction(request={"database": client._database_string})
    with pytest.raises(exceptions.MethodNotImplemented):
        list(client.collections())


# Failures and counts -----------------------------------------------------------------------


def test_a_call_fails_as_often_as_asked(client: Any, firestore_control: Control) -> None:
    """A failure strikes the calls of its method before they take effect, and then ends."""
    firestore_control.fail("Commit", "ABORTED", times=2)
    document = client.document("c/d")
    for _ in range(2):
        with pytest.raises(exceptions.Aborted):
            document.set({})
    assert not document.get().exists
    document.set({})
    assert document.get().exists


def test_a_late_failure_loses_the_reply_alone(client: Any, firestore_control: Control) -> None:
    """The call took effect and its client cannot know."""
    firestore_control.fail("Commit", "DEADLINE_EXCEEDED", late=True)
    with pytest.raises(exceptions.DeadlineExceeded):
        client.document("c/d").set({})
    assert client.document("c/d").get().exists


def test_an_ordered_failure_needs_a_status(firestore_control: Control) -> None:
    """A failure that could never strike is refused when it is ordered."""
    with pytest.raises(grpc.RpcError):
        firestore_control.fail("Commit", "NO_SUCH_STATUS")


def test_reads_and_writes_are_counted_as_billed(client: Any, firestore_control: Control) -> None:
    """Every document read, written or deleted, and one read for an empty answer."""
    batch = client.batch()
    for name in "abc":
        batch.set(client.document(f"c/{name}"), {"s": name})
    batch.delete(client.document("c/d"))
    batch.commit()
    client.collection("c").order_by("s").limit(2).get()
    client.collection("nothing").get()
    list(client.get_all([client.document("c/a"), client.document("c/x")]))
    usage = firestore_control.usage()
    billed = {name: usage[f"document_{name}"] for name in ("reads", "writes", "deletes")}
    assert billed == {"reads": 2 + 1 + 2, "writes": 3, "deletes": 1}
    assert (usage["Commit"], usage["RunQuery"], usage["BatchGetDocuments"]) == (1, 2, 1)
    # Name 16 + 2 + 2, field 2 + 2, document 32.
    assert usage["written_bytes"] == 3 * 56
    assert usage["requests"] == 4
    assert usage["request_bytes"] > usage["reply_bytes"] > 0
