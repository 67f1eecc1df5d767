"""The servers as fixtures: each starts once, when the first test asks for it."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import pytest

from servers import dynamodb, mariadb, postgresql
from servers.cosmosdb import control as cosmosdb
from servers.faults import FaultProxy
from servers.process import ServerDidNotStart

T = TypeVar("T")
LINES = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """The summary has a place for what the servers have to say."""
    config.stash[LINES] = []
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(_Workers(config))


class _Workers:
    """Brings what the servers of each worker process say to the one that prints it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_sessionfinish(self) -> None:
        """A worker sends its lines."""
        output: dict[str, list[str]] = getattr(self._config, "workeroutput", {})
        output["servers"] = self._config.stash[LINES]

    def pytest_testnodedown(self, node: Any) -> None:
        """The controller adds them to its own."""
        self._config.stash[LINES] += getattr(node, "workeroutput", {}).get("servers", [])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """One line for each server: what ran, or why not."""
    for line in sorted(set(config.stash[LINES])):
        terminalreporter.write_line(line)


class Servers:
    """Starts servers for the rest of the test run."""

    def __init__(self, config: pytest.Config, stack: contextlib.ExitStack) -> None:
        self._lines = config.stash[LINES]
        self._stack = stack

    def start(self, name: str, server: AbstractContextManager[T]) -> T:
        """What the server yields. One that should start here and does not is a failure.

        Outside `scripts/test`, which sets AGENTSTATE_SERVERS=required, its tests are skipped.
        """
        try:
            started = self._stack.enter_context(server)
        except ServerDidNotStart as reason:
            if os.environ.get("AGENTSTATE_SERVERS") == "required":
                pytest.fail(f"{name}: {reason}", pytrace=False)
            self.miss(f"{name} did not start: {reason}")
        self._lines.append(f"server: {name}")
        return started

    def miss(self, reason: str) -> None:
        """The tests are skipped, and the summary says why in one line."""
        self._lines.append(f"server: {reason.splitlines()[0]}")
        pytest.skip(reason)


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """Where servers are started; all stop when the test run ends."""
    with contextlib.ExitStack() as stack:
        yield Servers(request.config, stack)


@pytest.fixture(scope="session")
def dynamodb_endpoint(servers: Servers) -> str:
    """A DynamoDB that all tests share: each takes a table name of its own."""
    return servers.start(dynamodb.REQUIREMENT, dynamodb.dynamodb())


@pytest.fixture
def aws_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment with credentials and a region, and none of the developer's own."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    return monkeypatch


@pytest.fixture(scope="session")
def _fault_proxy(servers: Servers, dynamodb_endpoint: str) -> FaultProxy:
    return servers.start("DynamoDB fault proxy", FaultProxy(dynamodb_endpoint).serving())


@pytest.fixture
def fault_proxy(_fault_proxy: FaultProxy) -> FaultProxy:
    """The same DynamoDB behind a proxy without faults so far and with nothing written down."""
    _fault_proxy.reset()
    return _fault_proxy


@pytest.fixture(scope="session")
def _cosmosdb_server(servers: Servers) -> cosmosdb.CosmosServer:
    return servers.start(cosmosdb.NAME, cosmosdb.cosmosdb(partitions=3))


@pytest.fixture
def cosmosdb_server(_cosmosdb_server: cosmosdb.CosmosServer) -> cosmosdb.CosmosServer:
    """A Cosmos DB that all tests share, without faults so far and with nothing counted."""
    _cosmosdb_server.clear()
    return _cosmosdb_server


@pytest.fixture(scope="session")
def cosmosdb_https_server(
    servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> cosmosdb.CosmosServer:
    """Another one behind HTTPS, without which the SDK sends no tokens."""
    import trustme

    path = tmp_path_factory.mktemp("cosmosdb") / "certificate.pem"
    certificate = trustme.CA().issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(path)
    return servers.start(f"{cosmosdb.NAME}, HTTPS", cosmosdb.cosmosdb(1, certificate=path))


@pytest.fixture(scope="session")
def postgresql_server(servers: Servers) -> str:
    """The URL of a PostgreSQL that all tests share, without a database name."""
    return servers.start(postgresql.REQUIREMENT, postgresql.postgresql())


@pytest.fixture
def postgresql_url(postgresql_server: str) -> str:
    """The URL of an empty PostgreSQL database of the test's own."""
    import psycopg

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(f"{postgresql_server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return f"{postgresql_server}/{name}"


@pytest.fixture(scope="session")
def mariadb_server(servers: Servers) -> str:
    """The URL of a MariaDB that all tests share, without a database name."""
    if mariadb.mariadbd() is None:
        servers.miss("MariaDB is not installed here (no mariadbd), its tests did not run")
    return servers.start("MariaDB", mariadb.mariadb())
