"""Each guarantee in the documentation has a test that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path


def is_there(root: Path, named: str) -> bool:
    """The file has the test, in the class that is named."""
    path, *names = named.split("::")
    body = ast.parse((root / path).read_text()).body if (root / path).exists() else []
    for name in names:
        found = [node for node in body if getattr(node, "name", None) == name]
        body = getattr(found[0], "body", []) if found else []
    return bool(body) and names[-1].startswith("test_")


def test_each_guarantee_names_a_test(root: Path) -> None:
    """A sentence without evidence is no guarantee."""
    page = (root / "docs/guarantees.md").read_text()
    guarantees = re.split(r"^- ", page, flags=re.MULTILINE)[1:]
    named = [re.findall(r"`([\w./-]+\.py(?:::\w+)+)`", guarantee) for guarantee in guarantees]
    assert [text for text, tests in zip(guarantees, named, strict=True) if not tests] == []
    assert [test for tests in named for test in tests if not is_there(root, test)] == []
    assert guarantees
