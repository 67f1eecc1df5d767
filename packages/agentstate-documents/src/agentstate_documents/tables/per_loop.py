"""Clients that live in one event loop each."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

C = TypeVar("C")


class PerLoop(Generic[C]):
    """One client for each event loop, opened by whoever asks first.

    `opened` makes a generator that yields a client, once, and closes it when it is closed
    itself: by `close`, or by the end of the loop. Where it raises, the next who asks tries anew.
    """

    def __init__(self, opened: Callable[[], AsyncGenerator[C, None]]) -> None:
        self._opened = opened
        self._held: dict[asyncio.AbstractEventLoop, _Held[C]] = {}

    async def get(self) -> C:
        """The client of the running loop."""
        held = self._of(asyncio.get_running_loop())
        async with held.lock:
            if held.client is None:
                held.holder = self._opened()
                held.client = await anext(held.holder)
            return held.client

    async def close(self) -> None:
        """Nothing is open for the running loop; who asks next opens again.

        Also a closing that is cancelled goes on to its end.
        """
        held = self._of(asyncio.get_running_loop())
        async with held.lock:
            if held.client is not None:
                held.client = None
                await asyncio.shield(held.holder.aclose())

    def _of(self, loop: asyncio.AbstractEventLoop) -> _Held[C]:
        if loop not in self._held:
            for other in list(self._held):
                if other.is_closed():
                    self._held.pop(other, None)
            self._held[loop] = _Held()
        return self._held[loop]


class _Held(Generic[C]):
    """What is open in one event loop: `holder` keeps `client` open."""

    holder: AsyncGenerator[C, None]

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.client: C | None = None
