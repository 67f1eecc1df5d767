"""What every test of the workspace may ask for."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# CrewAI reads these when it is imported: it would report home, and keep files in the home
# directory of whoever runs the tests.
os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_STORAGE_DIR": tempfile.mkdtemp(prefix="crewai-"),
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}

# `HYPOTHESIS_PROFILE=nightly pytest ...` is the long run. No example has to end in time.
settings.register_profile("default", max_examples=200, deadline=None)
settings.register_profile(
    "nightly",
    max_examples=100_000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

pytest.register_assert_rewrite("agentstate_documents.testing")

pytest_plugins = ["servers.fixtures", "servers.firestore.fixtures"]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Each test stands for a process of its own, in which no flow runs yet."""
    flow_reduction: Any = sys.modules.get("agentstate_documents.flow_reduction")
    if flow_reduction is not None:
        nothing = flow_reduction.Recent(flow_reduction.MAX_FLOWS)
        flow_reduction._running = nothing  # noqa: SLF001 - what a new process has


def pytest_unconfigure() -> None:
    """What CrewAI has kept is gone."""
    shutil.rmtree(os.environ["CREWAI_STORAGE_DIR"], ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several worker processes, a file stays in one, and all that imports CrewAI too."""
    for item in items:
        crewai = "crewai" in item.nodeid or "flows" in item.nodeid
        group = "crewai" if crewai else item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))
