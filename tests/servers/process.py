"""Starting a server: what it needs is installed, it answers, and it goes when the test run goes."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

# Resolved: a server's scripts name the folder it was installed in, and a link there may go.
SERVERS = (Path(__file__).parents[2] / ".servers").resolve()
START_SECONDS = 60
STOP_SECONDS = 15


class ServerDidNotStart(Exception):  # noqa: N818 (the outcome, as in the packages)
    """A server could not be installed or does not answer; the text has its last words."""


def free_port() -> int:
    """A loopback port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def accepts(port: int) -> bool:
    """Whether something on this machine listens on the port."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def answers(port: int, path: str = "/") -> bool:
    """Whether a GET of the path gets a reply from this machine's port."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        with contextlib.closing(connection):
            connection.request("GET", path)
            connection.getresponse().read()
            return True
    return False


def run(command: Sequence[str | Path], user: str | None = None) -> None:
    """The command succeeded, or `ServerDidNotStart` says what it printed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, **_as(user))
    except OSError as error:
        raise ServerDidNotStart(f"{command[0]}: {error}") from error
    if done.returncode:
        raise ServerDidNotStart(f"{command[0]}: {(done.stdout + done.stderr)[-2000:]}")


def installed(requirement: str, *more: str) -> Path:
    """The environment that holds the requirements (`name==version`) and what they need.

    Servers stay out of the environment of the tests: they pin what the packages need in other
    versions. Test runs that start together wait for the one that installs.
    """
    home = SERVERS / requirement.replace("==", "-")
    SERVERS.mkdir(exist_ok=True)
    with open(home.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "complete").exists():
            # Not the link in an environment, which may go before the server does.
            run([Path(sys.executable).resolve(), "-m", "venv", "--clear", home])
            pip = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet")
            run([home / "bin" / "python", *pip, requirement, *more])
            (home / "complete").touch()
    return home


@contextlib.contextmanager
def running(
    command: Sequence[str | Path],
    *,
    folder: Path,
    ready: Callable[[], bool],
    environment: Mapping[str, str] | None = None,
    user: str | None = None,
    stop: signal.Signals = signal.SIGTERM,
) -> Iterator[None]:
    """The server answers, and is gone with all its children when the block ends.

    Its output is in `folder/log`.
    """
    log = folder / "log"
    try:
        with open(log, "wb") as output:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
                **_as(user),
            )
    except OSError as error:
        raise ServerDidNotStart(f"{command[0]}: {error}") from error
    try:
        if not _answers_in_time(process, ready):
            words = log.read_text(errors="replace")[-2000:]
            raise ServerDidNotStart(f"{command[0]} does not answer: {words}")
        yield
    finally:
        _stop(process, stop)


def _as(user: str | None) -> dict[str, Any]:
    if user is None:
        return {}
    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _answers_in_time(process: subprocess.Popen[bytes], ready: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if ready():
            return True
        time.sleep(0.02)
    return False


def _stop(process: subprocess.Popen[bytes], stop: signal.Signals) -> None:
    process.send_signal(stop)  # the server's children are its own to stop
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
