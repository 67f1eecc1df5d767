"""What a page needs to run."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _database(request: pytest.FixtureRequest, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page about a database is run against the server the tests have for it."""
    if "firestore" in str(page):
        request.getfixturevalue("firestore_control")
    if "dynamodb" in str(page):
        aws_environment = request.getfixturevalue("aws_environment")
        aws_environment.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("dynamodb_endpoint"))
    if "cosmosdb" in str(page):
        server = request.getfixturevalue("cosmosdb_server")
        monkeypatch.setenv("COSMOSDB_ENDPOINT", server.endpoint)
        monkeypatch.setenv("COSMOSDB_KEY", server.key)
