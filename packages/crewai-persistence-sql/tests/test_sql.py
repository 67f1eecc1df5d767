"""What only SQL databases have: URLs with secrets, engines, memory, processes of their own."""

from __future__ import annotations

import logging
import pickle
import runpy
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from crewai.flow import HumanFeedbackPending
from crewai.flow.flow import Flow, listen, start
from crewai.flow.persistence import persist

import crewai_persistence_sql
from agentstate_documents import TableUnavailable
from crewai_persistence_sql import SQLFlowPersistence
from crewai_persistence_sql.persistence import URL_VARIABLE

SECRET = "s3cr3t/p@ss"
# Nothing listens on port 1.
HOST = "127.0.0.1:1/flows"
URLS = [
    sqlalchemy.make_url(f"postgresql+psycopg://ann@{HOST}").set(password=SECRET),
    sqlalchemy.make_url(f"postgresql://ann@{HOST}").update_query_dict({"password": SECRET}),
    sqlalchemy.make_url(f"mysql://ann@{HOST}").set(password=SECRET),
]
REVIEW = Path(__file__).with_name("review_flow.py")


@pytest.mark.parametrize("url", URLS, ids=["userinfo", "query", "mysql"])
def test_a_secret_is_never_shown(
    url: sqlalchemy.URL, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither dump nor repr, pickle, log or error holds it; the environment gives it back."""
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    persistence = SQLFlowPersistence(url, ttl_seconds=9.5)
    dump = persistence.model_dump(mode="json")
    restored = SQLFlowPersistence.model_validate(dump)
    with caplog.at_level(logging.DEBUG):
        with pytest.raises(TableUnavailable) as refused:
            persistence.load_state("f1")
        with pytest.raises(ValueError, match=URL_VARIABLE) as missing:
            restored.load_state("f1")
    shown = [dump, persistence.model_dump(), persistence.model_dump_json(), persistence, restored]
    shown += [pickle.dumps(persistence), refused.value, missing.value, caplog.text]
    for text in map(repr, [*shown, *map(str, shown)]):
        assert "s3cr3t" not in text
    monkeypatch.setenv(URL_VARIABLE, url.render_as_string(hide_password=False))
    with pytest.raises(TableUnavailable):
        restored.load_state("f1")
    assert restored.model_dump(mode="json") == dump


def test_the_environment_must_name_the_same_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """A restored persistence never reads somewhere else than where it was written."""
    restored = SQLFlowPersistence.model_validate(SQLFlowPersistence(URLS[0]).model_dump())
    monkeypatch.setenv(URL_VARIABLE, f"postgresql://ann:{'x'}@127.0.0.1:1/other")
    with pytest.raises(ValueError, match="/other"):
        restored.load_state("f1")


def test_the_environment_may_name_the_database(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a URL the variable is read at the first call, and named if it is missing."""
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    persistence = SQLFlowPersistence()
    with pytest.raises(ValueError, match=URL_VARIABLE):
        persistence.save_state("f1", "m", {"id": "f1"})
    monkeypatch.setenv(URL_VARIABLE, f"sqlite:///{tmp_path / 'flows.db'}")
    persistence.save_state("f1", "m", {"id": "f1"})
    assert SQLFlowPersistence().load_state("f1") == {"id": "f1"}
    assert (tmp_path / "flows.db").exists()


def test_an_engine_of_the_caller_is_used_and_kept(tmp_path: Path) -> None:
    """A given engine is never disposed of, and its URL stands in the dump, without secrets."""
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'flows.db'}")
    persistence = SQLFlowPersistence(engine=engine)
    persistence.save_state("f1", "m", {"id": "f1"})
    pool = engine.pool
    persistence.close()
    assert engine.pool is pool
    restored = SQLFlowPersistence.model_validate(persistence.model_dump())
    assert restored.load_state("f1") == {"id": "f1"}
    restored.close()
    engine.dispose()


def test_a_url_beside_an_engine_is_refused(tmp_path: Path) -> None:
    """They may name two databases, and nobody could tell which one holds the flows."""
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'flows.db'}")
    with pytest.raises(ValueError, match="one of url and engine"):
        SQLFlowPersistence("sqlite:///other.db", engine=engine)


@pytest.mark.parametrize("create", [False, "no"])
def test_a_missing_table_is_told_where_none_may_be_made(tmp_path: Path, create: Any) -> None:
    """With `create=False`, in whatever words, a wrong table name is an error that names it."""
    url = f"sqlite:///{tmp_path / 'flows.db'}"
    persistence = SQLFlowPersistence(url, table_name="missing", create=create)
    assert persistence.create is False
    with pytest.raises(TableUnavailable, match="missing"):
        persistence.save_state("f1", "m", {"id": "f1"})


def test_an_engine_is_one_of_sqlalchemy() -> None:
    """Anything else is refused where it is given."""
    engine: Any = 5
    with pytest.raises(TypeError, match="engine"):
        SQLFlowPersistence(engine=engine)


WRONG_URLS = [
    "no url",
    f"://{SECRET}",
    "",
    7,
    "mongodb://ann:s3cr3t@example/db",
    "oracle://ann:s3cr3t@example/db",
    "mssql+pyodbc://ann:s3cr3t@example/db",
    "sqlite+bogus:///flows.db",
    "postgresql+bogus://ann:s3cr3t@example/db",
    "sqlite+aiosqlite://",
    "postgresql://ann:b@example:s3cr3t/db",
]


@pytest.mark.parametrize("bad", WRONG_URLS)
def test_what_is_no_url_is_refused(bad: Any) -> None:
    """A mistake is told at once, and not repeated: it may hold a password."""
    with pytest.raises((ValueError, TypeError), match="url") as refused:
        SQLFlowPersistence(bad)
    assert "s3cr3t" not in repr(refused.value)


def test_a_bad_table_name_is_refused() -> None:
    """A name no database takes is told where it is given."""
    with pytest.raises(ValueError, match="table_name"):
        SQLFlowPersistence("sqlite://", table_name="flows; drop")


def test_a_database_in_memory_is_shared_by_threads() -> None:
    """A flow saves in one thread and loads in another, all in one database in memory."""
    persistence = SQLFlowPersistence("sqlite://")

    @persist(persistence)
    class Counting(Flow[dict[str, Any]]):
        _skip_auto_memory = True

        @start()
        def first(self) -> None:
            self.state["n"] = self.state.get("n", 0) + 1

        @listen(first)
        def left(self) -> None:
            self.state["left"] = True

        @listen(first)
        def right(self) -> None:
            self.state["right"] = True

    for _ in range(2):
        flow = Counting(suppress_flow_events=True)
        flow.kickoff(inputs={"id": "f1"})
    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(persistence.load_state, ["f1"] * 8))
    assert loaded == [{"id": "f1", "n": 2, "left": True, "right": True}] * 8


def test_the_first_save_is_not_a_race(postgresql_url: str) -> None:
    """Connections that save the same new flow at once, into a missing table, all succeed."""
    persistences = [SQLFlowPersistence(postgresql_url) for _ in range(4)]

    def save(n: int) -> None:
        persistences[n].save_state("f1", "m", {"id": "f1", "n": n})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(save, range(4)))
    assert persistences[0].load_state("f1")["n"] in range(4)  # type: ignore[index]
    for persistence in persistences:
        persistence.close()


def test_a_human_answers_another_process(tmp_path: Path) -> None:
    """A flow paused in one process goes on in another that never saw it."""
    url = f"sqlite:///{tmp_path / 'flows.db'}"
    persistence = SQLFlowPersistence(url)
    review = runpy.run_path(str(REVIEW))["review"](persistence)
    paused = review(suppress_flow_events=True).kickoff(inputs={"id": "review-1"})
    assert isinstance(paused, HumanFeedbackPending)
    done = subprocess.run([sys.executable, str(REVIEW), url], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    state = {"id": "review-1", "draft": "first draft", "answer": "well done"}
    assert persistence.load_state("review-1") == state
    assert persistence.load_pending_feedback("review-1") is None
    persistence.close()


def test_the_package_names_its_class() -> None:
    """The names of the package are found, and no others."""
    assert {"SQLFlowPersistence", "register_reducer"} <= set(dir(crewai_persistence_sql))
    with pytest.raises(AttributeError, match="Nothing"):
        _ = crewai_persistence_sql.Nothing
