"""Starting one of the two Firestore servers the tests know."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from servers.process import accepts, free_port, running

PROTOCOL_SERVER = "Firestore protocol test server"
EMULATOR = "Google's Firestore emulator"
_EMULATOR_CLASS = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"
_JAR = Path("platform/cloud-firestore-emulator/cloud-firestore-emulator.jar")


def emulator_jar() -> Path | None:
    """The emulator inside the Google Cloud SDK that `gcloud` belongs to; None without it or Java.

    `FIRESTORE_EMULATOR_JAR` names it where there is no `gcloud` on the path.
    """
    named = os.environ.get("FIRESTORE_EMULATOR_JAR")
    gcloud = shutil.which("gcloud")
    if not (named or gcloud) or not shutil.which("java"):
        return None
    jar = Path(named) if named else Path(str(gcloud)).resolve().parents[1] / _JAR
    return jar if jar.exists() else None


@contextlib.contextmanager
def protocol_server() -> Iterator[str]:
    """The `host:port` of an empty protocol test server."""
    port = free_port()
    command = [sys.executable, "-m", "servers.firestore", "--port", str(port)]
    tests = str(Path(__file__).parents[2])
    with _running(command, port, {"PYTHONPATH": tests}) as host:
        yield host


@contextlib.contextmanager
def emulator(jar: Path) -> Iterator[str]:
    """The `host:port` of an empty emulator. `gcloud` itself would leave orphans behind."""
    port = free_port()
    command = ["java", "-Duser.language=en", "-Xmx1g", "-cp", str(jar), _EMULATOR_CLASS]
    with _running([*command, "--host", "127.0.0.1", "--port", str(port)], port, {}) as host:
        yield host


@contextlib.contextmanager
def _running(command: list[str], port: int, environment: dict[str, str]) -> Iterator[str]:
    with (
        tempfile.TemporaryDirectory(prefix="firestore-") as folder,
        running(command, folder=Path(folder), ready=lambda: accepts(port), environment=environment),
    ):
        yield f"127.0.0.1:{port}"
