"""What the tests about the shape of the repository share."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `package` runs once for every distribution."""
    if "package" in metafunc.fixturenames:
        metafunc.parametrize("package", PACKAGES, ids=lambda path: path.name, scope="session")


@pytest.fixture(scope="session")
def root() -> Path:
    """The top of the checkout."""
    return ROOT
