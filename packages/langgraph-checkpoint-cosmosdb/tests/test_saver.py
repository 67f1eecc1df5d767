"""The saver keeps the contract of every saver."""

from __future__ import annotations

from typing import Any

import pytest

from agentstate_documents.testing.saver_contract import SaverContract


class TestCosmosDBSaver(SaverContract):
    """Each face with the client the saver makes itself, each test in a container of its own."""

    @pytest.fixture
    def make_saver(self, make_saver: Any) -> Any:
        return make_saver
