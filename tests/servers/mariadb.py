"""MariaDB, where it is installed: no registry for Python has it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from servers.process import accepts, free_port, run, running

PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"


def mariadbd() -> str | None:
    """The server's program, `None` where there is none."""
    return shutil.which("mariadbd", path=PATH)


@contextlib.contextmanager
def mariadb() -> Iterator[str]:
    """The URL of a server without a database name; it has an empty one, `test`, and a `root`."""
    with tempfile.TemporaryDirectory(prefix="mariadb-") as name:
        folder = Path(name)
        port = free_port()
        options = ["--no-defaults", f"--datadir={folder / 'data'}", f"--user={_user()}"]
        # A server that starts removes temporary tables, also those of others in the same folder.
        options.append(f"--tmpdir={folder}")
        method = "--auth-root-authentication-method=normal"
        run(["mariadb-install-db", *options, method])
        command = [mariadbd() or "mariadbd", *options, "--bind-address=127.0.0.1"]
        command += [
            f"--port={port}",
            f"--socket={folder / 'socket'}",
            f"--pid-file={folder / 'pid'}",
        ]
        command += ["--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0"]
        with running(command, folder=folder, ready=lambda: accepts(port)):
            yield f"mysql://root@127.0.0.1:{port}"


def _user() -> str:
    return "root" if os.geteuid() == 0 else os.environ.get("USER", "mysql")
