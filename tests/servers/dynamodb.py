"""DynamoDB: ministack, which keeps to the service's limits to the byte."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from servers.process import answers, free_port, installed, running

REQUIREMENT = "ministack==1.5.33"


@contextlib.contextmanager
def dynamodb() -> Iterator[str]:
    """The endpoint of an empty DynamoDB; every region and every key is accepted."""
    command = installed(REQUIREMENT) / "bin" / "ministack"
    port = free_port()
    environment = {
        "GATEWAY_PORT": str(port),
        "EDGE_PORT": str(port),
        "BIND_HOST": "127.0.0.1",  # it would listen on every interface
        "MINISTACK_HOST": "127.0.0.1",
        "SERVICES": "dynamodb",
    }

    def ready() -> bool:
        return answers(port, "/_ministack/health")

    with (
        tempfile.TemporaryDirectory(prefix="ministack-") as folder,
        running([command], folder=Path(folder), ready=ready, environment=environment),
    ):
        yield f"http://127.0.0.1:{port}"
