"""What the saver makes of its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud import firestore
from langgraph.checkpoint.base import empty_checkpoint

from langgraph_checkpoint_firestore import FirestoreSaver
from servers.firestore.control import Control

CONFIG: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


def put(saver: FirestoreSaver) -> None:
    """One checkpoint of the thread is stored."""
    saver.put(CONFIG, empty_checkpoint(), {"source": "input", "step": -1, "parents": {}}, {})


@pytest.fixture
def client(firestore_control: Control, firestore_project: str) -> Iterator[Any]:
    """A client to look into the database with."""
    client = firestore.Client(project=firestore_project)
    yield client
    client._firestore_api.transport.close()


def test_nothing_connects_before_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A saver can be made where there is no network and no credentials."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a client was made")

    monkeypatch.setattr(firestore, "Client", refuse)
    monkeypatch.setattr(firestore, "AsyncClient", refuse)
    FirestoreSaver("some-project")


def test_checkpoints_are_in_the_collection_and_database_named(
    client: Any, firestore_project: str
) -> None:
    """Project, collection and database reach the client, and a thread is a document's id."""
    saver = FirestoreSaver(firestore_project, "tenants/a/checkpoints", database="agents")
    put(saver)
    saver.close()
    other = firestore.Client(project=firestore_project, database="agents")
    [thread] = other.collection("tenants/a/checkpoints").list_documents()
    assert [found.id for found in thread.collection("agentstate").list_documents()] != []
    other._firestore_api.transport.close()
    assert list(client.collection("tenants/a/checkpoints").list_documents()) == []


async def test_clients_that_are_given_are_used_and_stay_open(
    client: Any, firestore_project: str
) -> None:
    """Credentials and settings are the caller's, and so is closing."""
    async_client = firestore.AsyncClient(project=firestore_project)
    saver = FirestoreSaver(client=client, async_client=async_client)
    put(saver)
    assert await saver.aget_tuple(CONFIG) is not None
    saver.close()
    await saver.aclose()
    assert [found.id async for found in async_client.collection("checkpoints").list_documents()]
    assert list(client.collection("checkpoints").list_documents())
    await async_client._firestore_api.transport.close()


async def test_a_blocking_client_serves_awaiting_methods_too(client: Any) -> None:
    """One client is enough for both faces."""
    saver = FirestoreSaver(client=client)
    put(saver)
    assert await saver.aget_tuple(CONFIG) is not None


def test_setup_is_told_whether_it_may_change_settings(
    client: Any, firestore_control: Control
) -> None:
    """With `create=False` fields keep the settings they have."""
    FirestoreSaver(client=client, create=False).setup()
    assert "UpdateField" not in firestore_control.usage()
    FirestoreSaver(client=client).setup()
    assert firestore_control.usage()["UpdateField"] == 2


def test_an_expiring_checkpoint_has_a_timestamp(client: Any) -> None:
    """`ttl_seconds` reaches the field Firestore deletes by; without it there is none."""
    put(FirestoreSaver(client=client, ttl_seconds=3600))
    put(FirestoreSaver("unused", "lasting", client=client))
    for collection, expires in (("checkpoints", True), ("lasting", False)):
        [thread] = client.collection(collection).list_documents()
        [document] = thread.collection("agentstate").stream()
        assert ("x" in document.to_dict()) is expires


@pytest.mark.parametrize(
    "arguments", [{"checkpoints_collection": "a/b"}, {"ttl_seconds": 0}, {"ttl_seconds": -1}]
)
def test_arguments_that_cannot_be_are_refused(arguments: dict[str, Any]) -> None:
    """A mistake is found where it was made, and named."""
    with pytest.raises(ValueError, match="collection" if "collection" in str(arguments) else "ttl"):
        FirestoreSaver("some-project", **arguments)
