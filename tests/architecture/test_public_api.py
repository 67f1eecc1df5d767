"""The public names, and how they are called, change only where somebody means it."""

from __future__ import annotations

from pathlib import Path

from architecture.public_api import API, described


def test_the_public_api_is_the_recorded_one(package: Path) -> None:
    """A change of it is written to `api/` by `python tests/architecture/public_api.py`."""
    recorded = (API / f"{package.name}.txt").read_text()
    assert described(package.name) == recorded
