"""What a page needs to run."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _firestore(request: pytest.FixtureRequest, page: Path) -> None:
    """A page about Firestore is run against the protocol test server."""
    if "firestore" in str(page):
        request.getfixturevalue("firestore_control")
