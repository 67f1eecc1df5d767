"""How long a table waits before it asks a busy database again."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ATTEMPTS = 10
FIRST_WAIT_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 5.0


def waits() -> Iterator[float]:
    """Seconds to wait before each further attempt; after the last one it is time to give up.

    They grow twofold and are drawn at random below their bound ("full jitter"), so that
    clients which failed together do not come back together. About 8 s in all, 16 at most.
    """
    for attempt in range(ATTEMPTS - 1):
        bound = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2**attempt)
        yield random.uniform(0, bound)  # noqa: S311 (nothing secret)
