"""The Firestore tables keep the contract, on every Firestore there is."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import subprocess
import sys
import textwrap
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from google.api_core import exceptions
from google.auth.exceptions import DefaultCredentialsError
from google.cloud import firestore

from agentstate_documents.errors import DocumentConflict, TableUnavailable
from agentstate_documents.model import Document, Write
from agentstate_documents.tables import backoff
from agentstate_documents.tables.firestore import (
    INDEXES_FILE,
    AsyncFirestoreTable,
    FirestoreTable,
    firestore_tables,
)
from agentstate_documents.testing.table_contract import TableContract
from servers.firestore.control import Control

PUT = [Write(Document("k", b"1"))]


@pytest.mark.usefixtures("firestore_host")  # on each server: the contract asks for tables by name
class TestFirestoreTables(TableContract):
    """Both faces, each with the client it makes itself."""

    @pytest.fixture
    def table(self, firestore_host: str, firestore_project: str) -> Iterator[FirestoreTable]:
        table = FirestoreTable("documents", project_id=firestore_project)
        yield table
        table.close()

    @pytest.fixture
    async def async_table(
        self, firestore_host: str, firestore_project: str
    ) -> AsyncIterator[AsyncFirestoreTable]:
        table = AsyncFirestoreTable("documents", project_id=firestore_project)
        yield table
        await table.close()


class Face:
    """A table on the protocol test server, blocking or awaiting, behind awaitable methods."""

    def __init__(self, kind: Any, project: str) -> None:
        self._make: Callable[..., Any] = lambda **options: kind(
            options.pop("collection", "documents"), project_id=project, **options
        )
        self._tables: list[Any] = []

    def table(self, **options: Any) -> Any:
        self._tables.append(self._make(**options))
        return self._tables[-1]

    async def close(self) -> None:
        for table in self._tables:
            await done(table.close())


async def done(answer: Any) -> Any:
    """The answer of either face."""
    return await answer if inspect.isawaitable(answer) else answer


@pytest.fixture(params=[FirestoreTable, AsyncFirestoreTable])
async def face(
    request: pytest.FixtureRequest, firestore_control: Control, firestore_project: str
) -> AsyncIterator[Face]:
    """Tables of each kind, in a project of the test's own."""
    face = Face(request.param, firestore_project)
    yield face
    await face.close()


# Where documents are -----------------------------------------------------------------------


async def test_a_document_is_below_its_partition(face: Face, firestore_project: str) -> None:
    """The layout is a promise: others may read it, and rules and exports may name it."""
    table = face.table(collection="tenants/t/checkpoints")
    await done(table.put("p", [Write(Document("k", b"body", 2_000_000_000))]))
    client = firestore.Client(project=firestore_project)
    found = client.document("tenants/t/checkpoints/p/agentstate/=k").get().to_dict()
    client._firestore_api.transport.close()
    assert (found["s"], found["b"], found["x"].timestamp()) == ("k", b"body", 2_000_000_000)


@pytest.mark.parametrize("sort", [".", "..", "__x__", "__"])
async def test_reserved_ids_are_sorts_like_others(face: Face, sort: str) -> None:
    """What Firestore refuses as an id is a sort like any other."""
    table = face.table()
    await done(table.put("p", [Write(Document(sort, b"1"))]))
    assert [d.sort for d in await done(table.get("p", [sort]))] == [sort]


@pytest.mark.parametrize("name", ["", "a/b", "a//b", ".", "a/../b", "__a__", "a" * 1501, "é" * 751])
def test_a_collection_that_cannot_be_is_refused(name: str) -> None:
    """A wrong name is found at construction."""
    for kind in (FirestoreTable, AsyncFirestoreTable):
        with pytest.raises(ValueError, match="collection"):
            kind(name)


async def test_collections_and_databases_are_apart(face: Face) -> None:
    """Partitions of the same name in two tables are two partitions."""
    await done(face.table().put("p", PUT))
    for other in (face.table(collection="others"), face.table(database="other")):
        assert list(await done(other.get("p", ["k"]))) == [None]
        assert list(await done(other.partitions())) == []


# Failures ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    ["ABORTED", "DEADLINE_EXCEEDED", "INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE"],
)
async def test_what_fails_for_a_moment_is_asked_again(
    face: Face, firestore_control: Control, code: str
) -> None:
    """Contention, overload and lost connections cost time, not data."""
    table = face.table()
    for method in ("Commit", "BatchGetDocuments", "RunQuery", "ListDocuments"):
        firestore_control.fail(method, code, times=2)
    await done(table.put("p", PUT))
    assert [d.body for d in await done(table.get("p", ["k"]))] == [b"1"]
    assert [d.body for d in (await done(table.query("p"))).documents] == [b"1"]
    assert list(await done(table.partitions())) == ["p"]
    firestore_control.fail("Commit", code, times=2)
    await done(table.delete("p", ["k"]))
    assert list(await done(table.get("p", ["k"]))) == [None]


async def test_a_lost_reply_is_a_conflict_with_oneself(
    face: Face, firestore_control: Control
) -> None:
    """A conditional put that was carried out unnoticed is stored once and says conflict."""
    table = face.table()
    firestore_control.fail("Commit", "UNAVAILABLE", late=True)
    with pytest.raises(DocumentConflict):
        await done(table.put("p", [Write(Document("k", b"1"), if_absent=True)]))
    assert [d.body for d in await done(table.get("p", ["k"]))] == [b"1"]


async def test_giving_up_is_an_error(
    face: Face, firestore_control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After bounded attempts the table says so, with the cause."""
    monkeypatch.setattr(backoff, "FIRST_WAIT_SECONDS", 0.0)
    firestore_control.fail("Commit", "UNAVAILABLE", times=backoff.ATTEMPTS)
    with pytest.raises(TableUnavailable, match="ServiceUnavailable") as caught:
        await done(face.table().put("p", PUT))
    assert isinstance(caught.value.__cause__, exceptions.ServiceUnavailable)
    assert firestore_control.usage()["Commit"] == backoff.ATTEMPTS


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("NOT_FOUND", "database does not exist"),
        ("PERMISSION_DENIED", r"roles/datastore\.user"),
        ("FAILED_PRECONDITION", "native mode"),
        ("INVALID_ARGUMENT", "request failed"),
    ],
)
@pytest.mark.parametrize("write", [Write(Document("k", b"1")), Write(Document("k", b"1"), True)])
async def test_a_refusal_is_no_conflict(
    face: Face, firestore_control: Control, code: str, text: str, write: Write
) -> None:
    """What is wrong with the database is said at once, also of a put that carries a condition."""
    firestore_control.fail("Commit", code)
    with pytest.raises(TableUnavailable, match=text):
        await done(face.table().put("p", [write]))
    assert firestore_control.usage()["Commit"] == 1


async def test_without_credentials_nothing_can_be_asked(
    face: Face, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table says that there are none, at the first request and at the next."""

    def none_found(**_: Any) -> Any:
        raise DefaultCredentialsError("none")

    monkeypatch.setattr(firestore, "Client", none_found)
    monkeypatch.setattr(firestore, "AsyncClient", none_found)
    table = face.table()
    for _ in range(2):
        with pytest.raises(TableUnavailable, match="credentials"):
            await done(table.get("p", ["k"]))


async def test_an_error_of_the_program_stays_itself(face: Face) -> None:
    """Only what the SDK says is translated."""
    with pytest.raises(TypeError):
        await done(face.table().put("p", [Write(Document("k", b"1", "soon"))]))  # type: ignore[arg-type]


# Settings ----------------------------------------------------------------------------------


async def test_setup_takes_bodies_and_expiries_out_of_the_indexes(
    face: Face, firestore_control: Control, firestore_project: str
) -> None:
    """Afterwards only the sort can be looked for, and the table still works."""
    table = face.table()
    for _ in range(2):
        await done(table.setup())
    assert firestore_control.usage()["UpdateField"] == 2
    client = firestore.Client(project=firestore_project)
    for field in ("b", "x"):
        with pytest.raises(exceptions.FailedPrecondition, match="exempt"):
            client.collection("documents/p/agentstate").order_by(field).get()
    client._firestore_api.transport.close()
    await done(table.put("p", PUT))
    assert [d.sort for d in (await done(table.query("p", descending=True))).documents] == ["k"]


async def test_setup_without_the_right_to_names_it(face: Face, firestore_control: Control) -> None:
    """Who may use the database may not yet see or set its fields."""
    for method in ("GetField", "UpdateField"):
        firestore_control.fail(method, "PERMISSION_DENIED")
        with pytest.raises(TableUnavailable, match=r"datastore\.indexes\.update"):
            await done(face.table().setup())


async def test_an_emulator_has_nothing_to_set(face: Face, firestore_control: Control) -> None:
    """Where there is no admin API there are no settings, and the database is usable."""
    firestore_control.fail("GetField", "UNIMPLEMENTED", times=2)
    await done(face.table().setup())
    assert "UpdateField" not in firestore_control.usage()


async def test_setup_may_be_told_to_set_nothing(face: Face, firestore_control: Control) -> None:
    """With `create=False` it only finds out whether the database answers."""
    table = face.table(create=False)
    await done(table.setup())
    assert "GetField" not in firestore_control.usage()
    firestore_control.fail("BatchGetDocuments", "NOT_FOUND")
    with pytest.raises(TableUnavailable, match="does not exist"):
        await done(table.setup())


def test_the_indexes_file_says_what_setup_does() -> None:
    """Deployed settings and those of `setup` are the same."""
    overrides = json.loads(INDEXES_FILE.read_text())["fieldOverrides"]
    assert {(o["collectionGroup"], o["fieldPath"], o.get("ttl", False)) for o in overrides} == {
        ("agentstate", "b", False),
        ("agentstate", "x", True),
    }
    assert all(override["indexes"] == [] for override in overrides)


# Costs -------------------------------------------------------------------------------------


async def test_a_request_costs_what_it_reads(face: Face, firestore_control: Control) -> None:
    """Each document read or written is billed once, and a page reads none beyond its limit."""
    table = face.table()
    await done(table.put("p", [Write(Document(f"k{n}", b"1")) for n in range(9)]))
    await done(table.query("p", descending=True, limit=4))
    await done(table.get("p", ["k1", "k1", "nothing"]))
    usage = firestore_control.usage()
    assert (usage["document_writes"], usage["document_reads"]) == (9, 4 + 2)
    assert (usage["Commit"], usage["RunQuery"], usage["BatchGetDocuments"]) == (1, 1, 1)


# Clients -----------------------------------------------------------------------------------


async def test_clients_that_were_given_are_used_and_left_open(
    firestore_control: Control, firestore_project: str
) -> None:
    """A client serves its caller after the table was closed."""
    client = firestore.Client(project=firestore_project)
    async_client = firestore.AsyncClient(project=firestore_project)
    table, async_table = firestore_tables("documents", client=client, async_client=async_client)
    table.put("p", PUT)
    [found] = await async_table.get("p", ["k"])
    assert found is not None
    table.close()
    await async_table.close()
    assert client.document("documents/p/agentstate/=k").get().exists
    assert (await async_client.document("documents/p/agentstate/=k").get()).exists
    client._firestore_api.transport.close()
    await async_client._firestore_api.transport.close()


async def test_a_blocking_client_serves_both_faces(
    firestore_control: Control, firestore_project: str
) -> None:
    """Its credentials are the ones the caller meant, so no others are looked for."""
    client = firestore.Client(project=firestore_project)
    table, async_table = firestore_tables("documents", client=client)
    table.put("p", PUT)
    [found] = await async_table.get("p", ["k"])
    assert found is not None
    client._firestore_api.transport.close()


async def test_without_clients_each_face_makes_its_own(
    firestore_control: Control, firestore_project: str
) -> None:
    """What one face stores the other finds."""
    table, async_table = firestore_tables("documents", project_id=firestore_project)
    table.put("p", PUT)
    [found] = await async_table.get("p", ["k"])
    assert found is not None
    table.close()
    await async_table.close()


def test_one_loop_after_another_may_use_a_table(
    firestore_control: Control, firestore_project: str
) -> None:
    """A channel of an ended loop is not used again, and many tasks share the one of theirs."""
    table = AsyncFirestoreTable("documents", project_id=firestore_project)

    async def use(number: int, close: bool) -> int:
        await asyncio.gather(
            *(table.put("p", [Write(Document(f"{number}-{n}", b"1"))]) for n in range(5))
        )
        found = await table.query("p")
        if close:
            await table.close()
        return len(found.documents)

    assert [asyncio.run(use(number, number != 0)) for number in range(3)] == [5, 10, 15]


def test_clients_of_ended_loops_are_given_up(
    firestore_control: Control, firestore_project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that runs loop after loop, and closes nothing, does not gather clients."""
    make, made = firestore.AsyncClient, []

    def watched(**place: Any) -> Any:
        client = make(**place)
        made.append(weakref.ref(client))
        return client

    monkeypatch.setattr(firestore, "AsyncClient", watched)
    table = AsyncFirestoreTable("documents", project_id=firestore_project)
    for _ in range(4):
        asyncio.run(table.get("p", ["k"]))
    gc.collect()
    assert [client() is None for client in made] == [True, True, True, False]
    asyncio.run(table.close())


def test_the_event_loop_imports_nothing(firestore_control: Control, firestore_project: str) -> None:
    """The SDK, which takes a second to import, is imported beside the loop, that of setup too."""
    program = f"""
        import asyncio, sys, threading
        from agentstate_documents.model import Document, Write
        from agentstate_documents.tables.firestore import AsyncFirestoreTable

        class Watch:
            seen = []
            def find_spec(self, name, path=None, target=None):
                if threading.current_thread() is threading.main_thread():
                    self.seen.append(name)

        async def main():
            table = AsyncFirestoreTable("c", project_id="{firestore_project}")
            await asyncio.sleep(0)
            sys.meta_path.insert(0, Watch())
            await table.setup()
            await table.put("p", [Write(Document("k", b"1"))])
            await table.query("p")
            await table.get("p", ["k"])
            await table.partitions()
            await table.delete("p", ["k"])
            await table.close()

        asyncio.run(main())
        sys.exit(", ".join(name for name in Watch.seen if name.startswith("google")) or 0)
    """
    # On an old Python the SDK warns that it will not support it much longer.
    command = [sys.executable, "-W", "ignore::FutureWarning", "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
