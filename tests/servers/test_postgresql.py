"""Each test has a PostgreSQL database of its own."""

from __future__ import annotations

import psycopg
import pytest


@pytest.mark.parametrize("repeated", range(2))
def test_a_database_is_empty(postgresql_url: str, repeated: int) -> None:
    """What one test creates the next one does not see."""
    with psycopg.connect(postgresql_url) as connection:
        connection.execute("CREATE TABLE only_once (n int)")
