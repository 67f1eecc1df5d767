"""Rules about the repository that no other tool holds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

LONGEST_MODULE = 300
"""Lines; a module that outgrows them is two ideas."""

SDKS = {
    "boto3",
    "botocore",
    "aiobotocore",
    "azure",
    "google.cloud",
    "sqlalchemy",
    "crewai",
    "langgraph.graph",
}


def loaded_by(module: str) -> set[str]:
    """The modules a fresh interpreter has after one import."""
    code = (
        f"import sys; before = set(sys.modules); import {module};"
        "print(*(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_a_package_loads_no_sdk(package: Path) -> None:
    """An adapter costs nothing until it is used."""
    loaded = loaded_by(package.name.replace("-", "_"))
    assert not {sdk for sdk in SDKS if any(f"{name}.".startswith(f"{sdk}.") for name in loaded)}


def test_the_lock_names_the_public_index_only(root: Path) -> None:
    """A lock made against a mirror works on one machine and for nobody else."""
    hosts = set(re.findall(r'https?://([^/"]+)', (root / "uv.lock").read_text()))
    assert hosts <= {"pypi.org", "files.pythonhosted.org"}


def test_every_package_has_the_same_license(root: Path, package: Path) -> None:
    """The license is one text, and every distribution carries it."""
    assert (package / "LICENSE").read_bytes() == (root / "LICENSE").read_bytes()


def test_a_module_holds_one_idea(root: Path) -> None:
    """A module that outgrows the limit is two ideas."""
    long = {
        str(path.relative_to(root)): lines
        for path in root.glob("packages/*/src/**/*.py")
        if (lines := len(path.read_text().splitlines())) > LONGEST_MODULE
    }
    assert long == {}
