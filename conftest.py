"""What every test of the workspace may ask for."""

from __future__ import annotations

pytest_plugins = ["servers.fixtures"]
