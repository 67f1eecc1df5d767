"""What the documentation shows is what happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from sybil.document import Document
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "packages/*/README.md")
    for path in ROOT.glob(pattern)
    if "```python" in path.read_text()
)


@pytest.fixture
def _database(request: pytest.FixtureRequest, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page about a database is run against the server the tests have for it."""
    if "firestore" in str(page):
        request.getfixturevalue("firestore_control")
    if "dynamodb" in str(page):
        aws_environment = request.getfixturevalue("aws_environment")
        aws_environment.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("dynamodb_endpoint"))
    if "cosmosdb" in str(page):
        server = request.getfixturevalue("cosmosdb_server")
        monkeypatch.setenv("COSMOSDB_ENDPOINT", server.endpoint)
        monkeypatch.setenv("COSMOSDB_KEY", server.key)


@pytest.mark.usefixtures("_database")
@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_snippet_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Python blocks of a page run in order, in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    document = Document.parse(str(page), PythonCodeBlockParser(), SkipParser())
    document.namespace["__name__"] = "__main__"  # without which pydantic builds no classes
    examples = list(document.examples())
    assert examples
    for example in examples:
        example.evaluate()
