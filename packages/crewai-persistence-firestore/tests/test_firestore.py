"""The flow contract on Firestore, and what only Firestore has."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable

import pytest
from google.cloud import firestore

import crewai_persistence_firestore
from agentstate_documents.testing.flow_contract import FlowContract
from crewai_persistence_firestore import FirestoreFlowPersistence

PROJECT = f"p{uuid.uuid4().hex[:20]}"


@pytest.mark.usefixtures("firestore_host")
class TestFirestore(FlowContract):
    """A collection, on each server there is."""

    @pytest.fixture
    def backend(self, firestore_host: str) -> Callable[..., FirestoreFlowPersistence]:
        """One collection for all tests."""
        return functools.partial(FirestoreFlowPersistence, project_id=PROJECT)


def test_a_client_of_the_caller_is_used(firestore_host: str) -> None:
    """A given client is asked, and stays open; a dump names its place, and nothing else."""
    client = firestore.Client(project=PROJECT)
    persistence = FirestoreFlowPersistence(
        project_id=PROJECT, collection_name="others", client=client
    )
    flow = uuid.uuid4().hex
    persistence.save_state(flow, "m", {"id": flow})
    persistence.close()
    assert not client.document("others/none").get().exists
    restored = FirestoreFlowPersistence.model_validate(persistence.model_dump(mode="json"))
    assert restored.load_state(flow) == {"id": flow}
    assert FirestoreFlowPersistence(project_id=PROJECT).load_state(flow) is None
    restored.close()
    client.close()


def test_a_bad_name_is_refused() -> None:
    """A name Firestore does not take is told where it is given."""
    with pytest.raises(ValueError, match="collection"):
        FirestoreFlowPersistence(project_id=PROJECT, collection_name="a/b")


def test_the_package_names_its_class() -> None:
    """The names of the package are found, and no others."""
    names = set(dir(crewai_persistence_firestore))
    assert {"FirestoreFlowPersistence", "register_reducer"} <= names
    with pytest.raises(AttributeError, match="Nothing"):
        _ = crewai_persistence_firestore.Nothing
