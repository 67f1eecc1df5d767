"""Shows the READMEs and the changelog as pages of the site, from the one text there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]


def on_files(files: Files, config: Any) -> Files:
    """Every package's README is a page, and the changelog too."""
    for readme in ROOT.glob("packages/*/README.md"):
        text = _within_packages(readme.read_text())
        files.append(File.generated(config, f"packages/{readme.parent.name}.md", content=text))
    changes = (ROOT / "CHANGELOG.md").read_text()
    files.append(File.generated(config, "changelog.md", content=changes))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links out of this folder lead to the pages made above."""
    markdown = re.sub(r"\]\(\.\./packages/([a-z-]+)/README\.md", r"](packages/\1.md", markdown)
    return _without_files(markdown.replace("](../CHANGELOG.md", "](changelog.md"), "../")


def _within_packages(text: str) -> str:
    text = text.replace("](../../docs/", "](../").replace(
        "](../../CHANGELOG.md", "](../changelog.md"
    )
    text = text.replace("](../../README.md#packages", "](../index.md#packages")
    text = re.sub(r"\]\(\.\./([a-z-]+)/README\.md", r"](\1.md", text)
    return _without_files(text, "../../")


def _without_files(text: str, up: str) -> str:
    """Links to files that are no pages become their names."""
    folders = "examples|tests|benchmarks|packages|scripts"
    return re.sub(rf"\[([^\]]+)\]\({re.escape(up)}((?:{folders})/[^)]+)\)", r"\1 (`\2`)", text)
