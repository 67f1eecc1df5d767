"""Firestore servers as fixtures: the protocol test server, and Google's emulator where it is."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from servers.firestore.control import Control, controlling
from servers.firestore.processes import (
    EMULATOR,
    PROTOCOL_SERVER,
    emulator,
    emulator_jar,
    protocol_server,
)
from servers.fixtures import Servers

_NAMES = [PROTOCOL_SERVER, EMULATOR] if emulator_jar() else [PROTOCOL_SERVER]


@pytest.fixture(scope="session")
def firestore_protocol_host(servers: Servers) -> str:
    """The address of a protocol test server that all tests share."""
    return servers.start(PROTOCOL_SERVER, protocol_server())


@pytest.fixture(scope="session")
def _firestore_emulator_host(servers: Servers) -> str:
    jar = emulator_jar()
    assert jar is not None
    return servers.start(EMULATOR, emulator(jar))


@pytest.fixture(params=_NAMES)
def firestore_host(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of each Firestore there is, in turn, where clients made by the test go."""
    name = (
        "firestore_protocol_host"
        if request.param == PROTOCOL_SERVER
        else "_firestore_emulator_host"
    )
    host = str(request.getfixturevalue(name))
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", host)
    return host


@pytest.fixture
def firestore_control(
    firestore_protocol_host: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Control]:
    """The control of the protocol test server, where clients made by the test go."""
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", firestore_protocol_host)
    with controlling(firestore_protocol_host) as control:
        yield control


@pytest.fixture
def firestore_project() -> str:
    """A project of the test's own: both servers keep projects apart."""
    return f"demo-{uuid.uuid4().hex[:12]}"
