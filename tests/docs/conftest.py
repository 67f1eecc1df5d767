"""What a page needs to run."""

from __future__ import annotations

from pathlib import Path

import boto3
import pytest


@pytest.fixture(autouse=True)
def _database(request: pytest.FixtureRequest, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page about a database is run against the server the tests have for it."""
    if "firestore" in str(page):
        request.getfixturevalue("firestore_control")
    if "dynamodb" in str(page):
        monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
        monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("dynamodb_endpoint"))
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
