"""What every test of the workspace may ask for."""

from __future__ import annotations

import os
import tempfile

import pytest

# CrewAI reads these when it is imported: it would report home, and keep files in the home
# directory of whoever runs the tests.
os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_STORAGE_DIR": tempfile.mkdtemp(prefix="crewai-"),
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}

pytest.register_assert_rewrite("agentstate_documents.testing")

pytest_plugins = ["servers.fixtures", "servers.firestore.fixtures"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several worker processes, a file stays in one, and all that imports CrewAI too."""
    for item in items:
        crewai = "crewai" in item.nodeid or "flows" in item.nodeid
        group = "crewai" if crewai else item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))
