"""The README shows what happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from sybil.document import Document
from sybil.parsers.markdown import PythonCodeBlockParser

from servers.cosmosdb.control import CosmosServer

README = Path(__file__).parents[1] / "README.md"


def test_the_example_runs(cosmosdb_server: CosmosServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines work as written, on an account the environment names."""
    monkeypatch.setenv("COSMOSDB_ENDPOINT", cosmosdb_server.endpoint)
    monkeypatch.setenv("COSMOSDB_KEY", cosmosdb_server.key)
    [example] = Document.parse(str(README), PythonCodeBlockParser()).examples()
    example.evaluate()
    example.namespace["saver"].close()
