"""The saver keeps the contract of every saver."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentstate_documents.testing.saver_contract import SaverContract
from langgraph_dynamodb_checkpoint import DynamoDBSaver


class TestDynamoDBSaver(SaverContract):
    """boto3 on the blocking face, aiobotocore on the awaiting one."""

    @pytest.fixture
    def make_saver(self, savers: Callable[..., DynamoDBSaver]) -> Callable[..., DynamoDBSaver]:
        """Savers over one table."""
        return savers
