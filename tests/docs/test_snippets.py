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
