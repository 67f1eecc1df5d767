"""The saver keeps the contract of every saver, on each Firestore there is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentstate_documents.testing.saver_contract import SaverContract
from langgraph_checkpoint_firestore import FirestoreSaver


class TestFirestoreSaver(SaverContract):
    """Each face with the client the saver makes itself."""

    @pytest.fixture
    async def make_saver(
        self, firestore_host: str, firestore_project: str
    ) -> AsyncIterator[Callable[..., FirestoreSaver]]:
        savers: list[FirestoreSaver] = []

        def make(**options: Any) -> FirestoreSaver:
            savers.append(FirestoreSaver(firestore_project, **options))
            return savers[-1]

        yield make
        for saver in savers:
            saver.close()
            await saver.aclose()
