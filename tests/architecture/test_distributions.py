"""Every distribution is complete, and works alone from its wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

UV = shutil.which("uv")
ALLOWED_IN_SDIST = re.compile(
    r"src/[a-z_]+/.*(\.py|py\.typed|\.json)|tests/.*\.py|README\.md|LICENSE|PKG-INFO|pyproject\.toml"
    r"|\.gitignore"  # hatchling always adds it
)


def run(*command: str, cwd: Path | None = None) -> str:
    """The output of a command that has to succeed."""
    # The index and the lock of the checkout must not reach what is installed here.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"UV_FROZEN", "VIRTUAL_ENV", "PYTHONPATH"}
    }
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def dist(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of every distribution."""
    if UV is None:
        pytest.skip("uv is not on the path")
    folder = tmp_path_factory.mktemp("dist")
    run(
        UV, "build", "--quiet", "--all-packages", "--no-sources", "--out-dir", str(folder), cwd=root
    )
    return folder


def wheel_of(dist: Path, package: Path) -> Path:
    """The one wheel of a package."""
    (wheel,) = dist.glob(f"{package.name.replace('-', '_')}-1.*.whl")
    return wheel


def info_of(wheel: Path) -> str:
    """The folder of its metadata, which has the name and the version of the wheel."""
    return "-".join(wheel.name.split("-")[:2]) + ".dist-info"


@pytest.fixture(scope="session")
def installed(package: Path, dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds one wheel of ours and what it requires."""
    home = tmp_path_factory.mktemp("alone")
    python = home / "bin" / "python"
    run(UV, "venv", "--quiet", "--python", sys.executable, str(home))
    wheel = wheel_of(dist, package)
    run(
        UV,
        "pip",
        "install",
        "--quiet",
        "--python",
        str(python),
        "--find-links",
        str(dist),
        str(wheel),
    )
    return python


def test_a_wheel_has_types_and_a_license(package: Path, dist: Path) -> None:
    """Type checkers and lawyers find what they look for in every wheel."""
    wheel = wheel_of(dist, package)
    names = zipfile.ZipFile(wheel).namelist()
    assert f"{package.name.replace('-', '_')}/py.typed" in names
    assert f"{info_of(wheel)}/licenses/LICENSE" in names


def test_an_sdist_holds_only_what_it_should(package: Path, dist: Path) -> None:
    """No database, cache or note of a developer's machine is published."""
    (sdist,) = dist.glob(f"{package.name.replace('-', '_')}-1.*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert [name for name in names if not ALLOWED_IN_SDIST.fullmatch(name)] == []


def test_a_wheel_works_alone(package: Path, installed: Path) -> None:
    """Each module's public names can be had with nothing else of ours installed by hand."""
    module = package.name.replace("-", "_")
    run(
        str(installed),
        "-I",
        "-c",
        f"import {module} as m; [getattr(m, name) for name in m.__all__]; assert m.__all__",
    )


def test_what_is_ours_came_from_our_wheels(
    package: Path, installed: Path, dist: Path, root: Path
) -> None:
    """No distribution of the same name on a public index takes the place of one of ours."""
    (site,) = installed.parents[1].glob("lib/python*/site-packages")
    for other in root.glob("packages/*"):
        wheel = wheel_of(dist, other)
        info = info_of(wheel)
        there = [path.name for path in site.glob(f"{other.name.replace('-', '_')}-*.dist-info")]
        assert there in ([], [info])
        if there:
            metadata = zipfile.ZipFile(wheel).read(f"{info}/METADATA")
            assert (site / info / "METADATA").read_bytes() == metadata
