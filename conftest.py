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
