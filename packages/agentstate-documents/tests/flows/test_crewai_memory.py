"""What leaves the messages of a flow reaches CrewAI's own memory: once, under the right scope."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from crewai import Memory
from crewai.llms.base_llm import BaseLLM

from agentstate_documents import MemoryTable
from agentstate_documents.flow_reduction import FlowReduction
from agentstate_documents.flows import Flows
from agentstate_documents.testing.flow_contract.messages import reducing, talk
from agentstate_reducer import crewai_memory_hook


class NoModel(BaseLLM):
    """A model nobody may ask."""

    def call(self, *args: Any, **options: Any) -> str:
        pytest.fail("the model was called")


def embed(texts: list[str]) -> list[list[float]]:
    """A vector for each text, from its digest."""
    return [[byte / 255 for byte in hashlib.sha256(text.encode()).digest()] for text in texts]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """A memory on disk, which asks its model about equal texts alone."""
    return Memory(
        llm=NoModel(model="none"),
        storage=str(tmp_path),
        embedder=embed,
        consolidation_threshold=1.0,
    )


def converse(memory: Memory, table: MemoryTable, flow: str, namespace: Any, last: int) -> None:
    """A process that knows nothing of earlier ones, and says everything again."""
    reduction = FlowReduction(reducing(crewai_memory_hook(memory)))
    flows = Flows(lambda: table, reduction=reduction)
    flows.save(flow, "m", {"messages": talk(0, last), "memory_namespace": namespace})


def texts(memory: Memory, scope: str) -> list[str]:
    """What the memory holds in a scope, oldest first."""
    records = [record for record in memory.list_records(scope=scope) if record.scope == scope]
    return [record.content for record in sorted(records, key=lambda r: r.created_at)]


def test_each_user_remembers_what_they_said_once(memory: Memory) -> None:
    """Similar scopes do not mix, a repeat changes nothing, and no model is asked."""
    table = MemoryTable()
    users = {"/user/ann": "/user/ann", "/user/anna": "/user/anna/", "/user/a%2Fb": ("user", "a/b")}
    for last in (6, 6, 8):
        for scope, namespace in users.items():
            converse(memory, table, scope, namespace, last)
    for scope in users:
        assert texts(memory, scope) == ["t0", "t1", "t2", "t3", "t4", "t5"]
    assert {record.scope for record in memory.list_records()} == set(users)
    assert {record.importance for record in memory.list_records()} == {0.5}


def test_a_flow_without_a_user_has_a_scope_of_its_own(memory: Memory) -> None:
    """An empty namespace is never the root, which everybody shares."""
    for flow, namespace in (("f1", ""), ("f2", None), ("f3", ())):
        converse(memory, MemoryTable(), flow, namespace, 5)
    assert {r.scope for r in memory.list_records()} == {"/flow/f1", "/flow/f2", "/flow/f3"}
    assert texts(memory, "/flow/f1") == ["t0", "t1", "t2"]


class Unreachable(BaseLLM):
    """A model that answers nobody, and says how often it was asked."""

    def call(self, *args: Any, **options: Any) -> str:
        asked.append(args)
        raise ConnectionError("no model here")


asked: list[Any] = []


def test_equal_texts_are_asked_about_and_kept_when_nobody_answers(tmp_path: Path) -> None:
    """CrewAI asks its model whether to merge equal texts; without an answer both stay."""
    asked.clear()
    memory = Memory(llm=Unreachable(model="none"), storage=str(tmp_path), embedder=embed)
    said = [{"id": name, "role": "user", "content": "the same"} for name in ("a", "b")]
    hook = crewai_memory_hook(memory)
    hook(said, "/user/ann")
    hook(said, "/user/ann")
    assert texts(memory, "/user/ann") == ["the same"] * 2
    assert len(asked) == 1
