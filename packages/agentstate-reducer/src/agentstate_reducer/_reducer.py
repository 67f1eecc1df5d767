"""The reducer: plan, summarise, deliver, written once for both faces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._drivers import Steps


class MessageReducer:
    """Signatures; the body follows.

    For adapters (`agentstate_reducer.integration`):

    - `run(reducer._steps(...))` and `await arun(reducer._steps(...))`, with `run`, `arun` and `AsyncCallableError` from
      `_drivers`. `run` raises `AsyncCallableError` (a `TypeError`) before anything else when any callable is async;
      adapters let exactly that class out. `arun` leaves the loop's thread only for a call that is sync and there.
    - `_may_act(messages, namespace)` is False when `_steps` is certain to change nothing and to call nothing.
    - `_summary.is_synthetic(message)` tells the messages of a summary block in `result.surviving` by their ids.
    """

    def _may_act(self, messages: list[Any], namespace: Any) -> bool:
        raise NotImplementedError

    def _steps(
        self,
        messages: list[Any],
        namespace: Any = None,
        *,
        keys: Callable[[int], str | None] | None = None,
        is_summary: Callable[[Any], bool] | None = None,
    ) -> Steps[Any]:
        """The operation behind `reduce` and `areduce`; its value is a `ReducerResult`.

        Args:
            messages: taken as it is, never changed; `surviving` may be this very list when nothing leaves.
            keys: called with an index of `messages`, only for messages that leave and have no id; the stable text that
                names this message for good, or None (a list serves as `keys=texts.__getitem__`).
            is_summary: what belongs to a summary block beside what its id says (an adapter's fingerprints).
        """
        raise NotImplementedError
