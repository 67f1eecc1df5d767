"""What the tests of tables share."""

from __future__ import annotations

import boto3
import pytest

from agentstate_documents.tables import backoff


@pytest.fixture
def fresh_session(aws_environment: pytest.MonkeyPatch) -> None:
    """boto3 has looked at nothing yet: its default session keeps the credentials it found."""
    aws_environment.setattr(boto3, "DEFAULT_SESSION", None)


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts follow each other at once."""
    monkeypatch.setattr(backoff, "FIRST_WAIT_SECONDS", 0.0)
