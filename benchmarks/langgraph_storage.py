"""Stored bytes of one conversation on PostgreSQL, with and without the reducer.

Needs a PostgreSQL that may create databases:

    python benchmarks/langgraph_storage.py postgresql://postgres@127.0.0.1:5432

Prints one line per saver and exits with 1 when the reduced message lists take more than an
eighth of the plain ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Annotated, Any, NamedTuple, TypedDict

import psycopg
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from agentstate_reducer import MessageReducer
from langgraph_reducing_saver import ReducingSaver

TURNS = 150
QUESTION, ANSWER = "x" * 400, "y" * 800  # characters; about what people and models write


class State(TypedDict):
    """The messages of the conversation."""

    messages: Annotated[list[Any], add_messages]


class Stored(NamedTuple):
    """Bytes of the message lists, of everything LangGraph stores, and the largest value."""

    messages: int
    everything: int
    largest: int
    seconds: float


def measure(server: str, name: str, reducer: MessageReducer | None) -> Stored:
    """Play the conversation into a new database, and drop that."""
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
        try:
            return _play(f"{server}/{name}", reducer)
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _play(url: str, reducer: MessageReducer | None) -> Stored:
    with PostgresSaver.from_conn_string(url) as inner:
        inner.setup()
        builder = StateGraph(State)
        builder.add_node("answer", lambda _: {"messages": [AIMessage(ANSWER)]})
        builder.add_edge(START, "answer")
        saver = ReducingSaver(inner, reducer) if reducer else inner
        graph = builder.compile(checkpointer=saver)
        began = time.perf_counter()
        for _ in range(TURNS):
            graph.invoke(
                {"messages": [HumanMessage(QUESTION)]}, {"configurable": {"thread_id": "t"}}
            )
        seconds = time.perf_counter() - began
    with psycopg.connect(url) as connection:
        messages, largest = _one(
            connection,
            "SELECT sum(octet_length(blob)), max(octet_length(blob)) FROM checkpoint_blobs"
            " WHERE channel = 'messages'",
        )
        blobs, writes, checkpoints = _one(
            connection,
            "SELECT (SELECT sum(octet_length(blob)) FROM checkpoint_blobs),"
            " (SELECT sum(octet_length(blob)) FROM checkpoint_writes),"
            " (SELECT sum(octet_length(checkpoint::text) + octet_length(metadata::text))"
            " FROM checkpoints)",
        )
    return Stored(messages, blobs + writes + checkpoints, largest, seconds)


def _one(connection: psycopg.Connection[Any], query: str) -> tuple[int, ...]:
    row = connection.execute(query.encode()).fetchone()
    return tuple(int(value or 0) for value in row or ())


def main() -> int:
    """Measure both, print both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("server", help="URL of a PostgreSQL server, without a database name")
    server = parser.parse_args().server.rstrip("/")
    plain = measure(server, "growth_plain", None)
    reduced = measure(server, "growth_reduced", MessageReducer(10, 20))
    for name, stored in (("plain", plain), ("reduced", reduced)):
        print(
            f"{name:8} messages {stored.messages / 1e6:6.2f} MB"
            f"  everything {stored.everything / 1e6:6.2f} MB"
            f"  largest list {stored.largest / 1e3:6.1f} kB  {stored.seconds:4.1f} s"
        )
    shares = plain.messages / reduced.messages, plain.everything / reduced.everything
    print(f"message lists 1/{shares[0]:.1f}, everything 1/{shares[1]:.1f}")
    return 0 if min(shares) >= 8 else 1


if __name__ == "__main__":
    sys.exit(main())
