"""What the tests of tables share."""

from __future__ import annotations

import boto3
import pytest

from agentstate_documents.tables import backoff


@pytest.fixture
def aws_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment with credentials and a region, and none of the developer's own."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    return monkeypatch


@pytest.fixture
def fresh_session(aws_environment: pytest.MonkeyPatch) -> None:
    """boto3 has looked at nothing yet: its default session keeps the credentials it found."""
    aws_environment.setattr(boto3, "DEFAULT_SESSION", None)


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow each other at once."""
    monkeypatch.setattr(backoff, "FIRST_WAIT_SECONDS", 0.0)
