"""How long a table waits before it asks a busy database again."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ATTEMPTS = 10
FIRST_WAIT_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 5.0
GIVE_UP_SECONDS = 30.0


def waits() -> Iterator[float]:
    """Seconds to wait before each further attempt; after the last one it is time to give up.

    They grow twofold and are drawn at random below their bound ("full jitter"), so that
    clients which failed together do not come back together: about 8 s in all, 16 at most.
    Attempts that themselves take long end it earlier.
    """
    started = time.monotonic()
    for attempt in range(ATTEMPTS - 1):
        if time.monotonic() - started > GIVE_UP_SECONDS:
            return
        bound = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2**attempt)
        yield random.uniform(0, bound)  # noqa: S311 (nothing secret)
