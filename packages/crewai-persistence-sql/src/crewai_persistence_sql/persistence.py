"""The names, the credentials and the table of `SQLFlowPersistence`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from agentstate_documents.persistence import DocumentFlowPersistence
from agentstate_documents.tables.sql import SQLTable, parsed_url

if TYPE_CHECKING:
    import sqlalchemy
    from typing_extensions import Unpack

    from agentstate_documents.persistence import Options

URL_VARIABLE = "CREWAI_PERSISTENCE_SQL_URL"

HIDDEN = "***"
"""What SQLAlchemy shows in place of a password, and we in place of any secret."""

_SECRET = re.compile(r"pass|pwd|secret|token", re.IGNORECASE)


class SQLFlowPersistence(DocumentFlowPersistence):
    """CrewAI flows in SQLite, PostgreSQL, MySQL or MariaDB.

        >>> from crewai_persistence_sql import SQLFlowPersistence
        >>> persistence = SQLFlowPersistence("sqlite://")
        >>> persistence.save_state("f1", "greet", {"id": "f1", "greeted": {"Ann", "Bob"}})
        >>> persistence.load_state("f1")["greeted"] == {"Ann", "Bob"}
        True

    The field `url` shows no secret. A persistence made from a dump that hides one takes the
    URL from the environment variable CREWAI_PERSISTENCE_SQL_URL again.

    Args:
        url: of SQLAlchemy, with or without a driver; without it, what the variable says.
        table_name: 1 to 63 letters, digits and underscores.
        engine: one of the caller's instead of a URL; never disposed of here.
        **options: `reducer`, `messages_key`, `namespace`, `ttl_seconds` and `create`, as
            `DocumentFlowPersistence` has them.
    """

    url: str | None = None
    table_name: str = "crewai_flow_states"

    def __init__(
        self,
        url: str | sqlalchemy.URL | None = None,
        *,
        table_name: str = "crewai_flow_states",
        engine: sqlalchemy.Engine | None = None,
        **options: Unpack[Options],
    ) -> None:
        given = None if url is None else parsed_url(url)
        known = given if engine is None else getattr(engine, "url", None)
        hidden = engine is None and (known is None or _hides(known))
        super().__init__(
            lambda: table or _open_from_environment(known, place),
            url=None if known is None else _shown(known),
            table_name=table_name,
            **options,
        )
        place: dict[str, Any] = {"table_name": self.table_name, "create": self.create}
        # Made at once where it can be, since it says what is wrong with its arguments.
        table = None if hidden else SQLTable(given, engine=engine, **place)


def _shown(url: sqlalchemy.URL) -> str:
    """The URL as text, without its secrets."""
    hidden = {name: HIDDEN for name in url.query if _SECRET.search(name)}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def _hides(url: sqlalchemy.URL) -> bool:
    return HIDDEN in (url.password, *url.query.values())


def _open_from_environment(shown: sqlalchemy.URL | None, place: dict[str, Any]) -> SQLTable:
    """The table at the URL in the environment, which must be the database that was shown."""
    found = os.environ.get(URL_VARIABLE)
    if found is None:
        what = "no url was given" if shown is None else "the secrets of the url were not dumped"
        raise ValueError(f"{what}: set the environment variable {URL_VARIABLE}")
    url = parsed_url(found)
    if shown is not None and _database(url) != _database(shown):
        raise ValueError(
            f"{URL_VARIABLE} names {_database(url)}, but the flows are in {_database(shown)}"
        )
    return SQLTable(url, **place)


def _database(url: sqlalchemy.URL) -> str:
    return f"{url.get_backend_name()} {url.host or ''}:{url.port or ''}/{url.database or ''}"
