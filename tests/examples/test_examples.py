"""The examples and the benchmarks do what they say."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., list[str]]:
    """The lines an example prints when it is run as a script."""

    def run(name: str, *arguments: str) -> list[str]:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(ROOT / name), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


def test_threads_and_memories_share_a_postgresql_database(
    postgresql_url: str, printed: Callable[..., list[str]]
) -> None:
    """Each message of both runs is in the thread or in the memory of its user."""
    for run in (1, 2):
        lines = printed("examples/langgraph_postgres.py", postgresql_url)
        assert [line.split(":")[0] for line in lines] == ["alice", "bob"]
        for line in lines:
            stored, remembered = (int(word) for word in line.split() if word.isdigit())
            assert stored <= 20
            assert stored + remembered == 30 * run


@pytest.mark.parametrize(("name", "said"), [("crewai_flow", 12), ("langgraph_sqlite", 36)])
def test_conversations_go_on_in_files(name: str, said: int, tmp_path: Path) -> None:
    """The second run resumes the first; each message is stored or in the memory of its user."""
    for run in (1, 2):
        command = [sys.executable, str(ROOT / "examples" / f"{name}.py")]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        last = done.stdout.splitlines()[-1]
        stored, remembered = (int(word) for word in last.split() if word.isdigit())
        assert stored <= 20
        assert stored + remembered == said * run


# LangMem 0.0.30 imports names that LangGraph has moved since.
@pytest.mark.filterwarnings("ignore::DeprecationWarning:langmem")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:trustcall")
def test_langmem_extracts_from_what_left_the_window(printed: Callable[..., list[str]]) -> None:
    """Behind `Background`, each user's likes under that user and nobody else's."""
    assert printed("examples/langmem_pairing.py") == [
        "alice ['likes cats', 'likes talking', 'likes tea']",
        "bob ['likes maps', 'likes rain', 'likes talking']",
    ]


def test_a_bounded_thread_takes_an_eighth_of_the_bytes_in_postgresql(
    postgresql_server: str, printed: Callable[..., list[str]]
) -> None:
    """Over 150 turns, values and pending writes and all; the benchmark says so by its exit code."""
    with pytest.raises(SystemExit) as left:
        printed("benchmarks/langgraph_storage.py", postgresql_server)
    assert left.value.code == 0


def test_the_quick_benchmark_measures_everyone_and_finds_no_count_worse() -> None:
    """A row for each mode, workload and form; attributes read and requests made as they were."""
    command = [sys.executable, str(ROOT / "benchmarks/run.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    head = next(line for line in lines if line.startswith("| step, 1,000 messages, µs |"))
    contestants = ("agentstate-reducer", "agentstate-reducer 0.5.0", "trim_messages")
    assert {*contestants, "add_messages"} <= {cell.strip() for cell in head.split("|")}
    rows = {line.split("|")[1].strip() for line in lines if line.startswith("|")}
    for mode in ("count", "heuristic", "tiktoken"):
        for workload in ("chat", "tools"):
            assert {f"{mode}, {workload}, dicts", f"{mode}, {workload}, LangChain"} <= rows


def test_the_page_shows_what_the_backend_does() -> None:
    """Each excerpt on the page about backends is in the example, word for word."""
    page = (ROOT / "docs/write-a-backend.md").read_text()
    lines = [
        line.strip()
        for path in (ROOT / "examples/backend").glob("*.py")
        for line in path.read_text().splitlines()
    ]
    example = "\n".join(line for line in lines if line)
    excerpts = re.findall(r"<!-- skip: next -->\n```python\n(.*?)```", page, re.DOTALL)
    assert excerpts
    for excerpt in excerpts:
        shown = [line.strip() for line in excerpt.splitlines()]
        assert "\n".join(line for line in shown if line) in example
