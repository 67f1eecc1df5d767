"""The reducer: plan, summarise, deliver, written once for the blocking and the awaiting face."""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ._config import ReducerConfig
from ._delivery import Ledger, Pruned, deliver
from ._drivers import (
    AsyncCallableError,
    Awaits,
    Call,
    Steps,
    arun,
    describe,
    is_async,
    name_of,
    run,
)
from ._merge import merge_messages
from ._messages import field, id_of, role_of, text
from ._plan import Plan, make_plan, without_block
from ._result import Clock, ReduceEvent, ReducerResult
from ._summary import Summaries, digests_of, is_synthetic, summaries_in
from ._tokens import resolve_token_counter

log = logging.getLogger("agentstate_reducer")

FORCED_PRUNE_PRESSURE = 2
"""How many times over its limit a list may grow while `summarize_fn` fails."""


class MessageReducer:
    """Keeps a list of messages bounded, and hands what leaves it to the hooks, once.

    One reducer serves any number of conversations and threads. Copies and pickles carry the
    configuration; what hooks have had and the remembered summaries stay behind.

        >>> reducer = MessageReducer(min_messages=2, max_messages=3)
        >>> chat = [{"role": "user", "content": str(n)} for n in range(4)]
        >>> [m["content"] for m in reducer.reduce(chat).surviving]
        ['0', '2', '3']

    Args:
        min_messages: what stays after pruning.
        max_messages: pruning starts above it; None never prunes.
        config: everything else; with it the two numbers are ignored.
    """

    def __init__(
        self,
        min_messages: int = 0,
        max_messages: int | None = None,
        *,
        config: ReducerConfig | None = None,
    ) -> None:
        if config is None:
            config = ReducerConfig(min_messages=min_messages, max_messages=max_messages)
        if not isinstance(config, ReducerConfig):
            raise TypeError(f"config must be a ReducerConfig, got {type(config).__name__}")
        self.config = config
        by_tokens = config.token_limit is not None
        self._counter = resolve_token_counter(config.token_counter) if by_tokens else None
        self._summaries = Summaries(config)
        self._ledgers = [
            Ledger(hook, config.dedupe_window, dedupe=config.dedupe_on_prune)
            for hook in config.on_prune
        ]
        self._async = _first_async(config)

    def __getstate__(self) -> dict[str, Any]:
        return {"config": self.config}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(config=state["config"])  # type: ignore[misc]

    def reduce(
        self,
        existing: Iterable[Any] | None = None,
        new: Iterable[Any] | None = None,
        namespace: Any = None,
    ) -> ReducerResult:
        """Bound `existing` followed by `new`; the hooks have had what left when this returns.

        The messages are never changed and `surviving` holds the same objects in the same order.
        A hook or summariser that raises is logged and never breaks the reduction; `keep`,
        `token_counter`, a namespace that can be neither hashed nor shown, and a `BaseException`
        that is no `Exception` do.

        Raises `TypeError` when a callable of the configuration is async, pruning or not, and for
        anything but an iterable of messages.

        Args:
            existing: the messages so far.
            new: those that came.
            namespace: handed to every hook as it is: whose memory the messages belong to.
        """
        return run(self._steps(_listed(existing, new), namespace))

    async def areduce(
        self,
        existing: Iterable[Any] | None = None,
        new: Iterable[Any] | None = None,
        namespace: Any = None,
    ) -> ReducerResult:
        """`reduce`, with async `summarize_fn`, hooks and `on_reduce` awaited.

        Sync ones run in a worker thread with the caller's context variables. When the task is
        cancelled nothing is lost: what a hook had not taken comes again.
        """
        return await arun(self._steps(_listed(existing, new), namespace))

    def plan(self, messages: Iterable[Any]) -> Plan:
        """What `reduce` would do with these messages, and why.

        Asks `keep` and `token_counter`, and calls nothing else.
        """
        return make_plan(_listed(messages, None), self.config, self._counter, summaries_in)

    def as_langgraph_reducer(self) -> Callable[[Any, Any], list[Any]]:
        """For `Annotated[list, ...]`: `add_messages`, then `reduce` with the namespace None."""
        return self._merge_and_reduce

    def _merge_and_reduce(self, existing: Any = None, new: Any = None) -> list[Any]:
        return self.reduce(merge_messages(existing, new)).surviving

    def _steps(
        self,
        messages: list[Any],
        namespace: Any = None,
        *,
        keys: Callable[[int], str | None] | None = None,
        is_summary: Callable[[Any], bool] | None = None,
    ) -> Steps[ReducerResult]:
        """The operation behind `reduce` and `areduce`, for `run` and `arun`; for adapters too.

        `run` raises `AsyncCallableError` out of it before anything else when a callable is async.

        Args:
            messages: never changed.
            namespace: handed to the hooks.
            keys: called with an index of `messages`, only for one that leaves and has no id: the
                stable text that names this message for good, or None.
            is_summary: tells messages of a summary block beside those their id tells.
        """
        if self._async is not None:
            yield Awaits(self._async)
        synthetic, find_summaries = _recognizers(is_summary)
        clock = Clock()
        plan = yield from self._plan(messages, find_summaries)
        plan_seconds = clock.lap()
        result, plan = yield from self._split(plan, messages, synthetic)
        summary_seconds = clock.lap()
        pruned = _pruned(messages, plan, keys) if self._ledgers else Pruned([], [])
        delivered = 0
        for ledger in self._ledgers:
            if pruned or ledger.waits(namespace):
                delivered += yield from deliver(ledger, namespace, pruned)
        if self.config.on_reduce is not None:
            event = ReduceEvent(
                namespace=namespace,
                messages_before=len(messages),
                messages_after=len(result.surviving),
                pruned=len(result.pruned),
                delivered=delivered,
                summarized=result.summary is not None,
                tokens_before=plan.tokens_before,
                tokens_after=plan.tokens_after,
                plan_seconds=plan_seconds,
                summary_seconds=summary_seconds,
                hooks_seconds=clock.lap(),
            )
            yield from _tell(self.config.on_reduce, event)
        return result

    def _plan(
        self, messages: list[Any], find_summaries: Callable[[list[Any]], list[int]]
    ) -> Steps[Plan]:
        args = (messages, self.config, self._counter, find_summaries)
        counts = self._counter is not None and self._counter.may_block()
        if not counts and self.config.keep is None:
            return make_plan(*args)
        # Code of the user's runs, or a vocabulary is loaded: not on an event loop.
        plan: Plan = yield Call(make_plan, args)
        return plan

    def _split(
        self, plan: Plan, messages: list[Any], synthetic: Callable[[Any], bool]
    ) -> Steps[tuple[ReducerResult, Plan]]:
        """What stays and what leaves, with the summary; and the plan that came of it."""
        surviving, pruned = plan.split(messages)
        if not plan.over_limit or self.config.summarize_fn is None:
            return ReducerResult(surviving, pruned), plan
        try:
            digests = digests_of(pruned)
            summary = yield from self._summaries.summarize(pruned, digests, synthetic)
            if self.config.inject_summary:
                at = bisect_left(plan.surviving, plan.gap)
                surviving[at:at] = self._summaries.block(
                    summary, pruned, digests[-1], messages, plan.gap, synthetic
                )
        except AsyncCallableError:
            raise
        except Exception as error:
            log.warning(
                "no summary, %s failed: %s", name_of(self.config.summarize_fn), describe(error)
            )
            # The old summary is all that is left of what it sums up: it stays for the next one.
            forced = plan.pressure > FORCED_PRUNE_PRESSURE
            plan = without_block(plan) if forced else plan.only_repairs()
            return ReducerResult(*plan.split(messages)), plan
        return ReducerResult(surviving, pruned, summary), plan


def _listed(existing: Iterable[Any] | None, new: Iterable[Any] | None) -> list[Any]:
    return [*_checked("existing", existing), *_checked("new", new)]


def _checked(name: str, messages: Iterable[Any] | None) -> Iterable[Any]:
    if messages is None:
        return ()
    if isinstance(messages, Sequence) and not isinstance(messages, (str, bytes)):
        return messages
    # A dict, a string and a pydantic message are iterable too, and would come apart.
    alone = isinstance(messages, (Mapping, str, bytes)) or _says_role(messages)
    if alone or not isinstance(messages, Iterable):
        raise TypeError(
            f"{name} must be an iterable of messages, got one {type(messages).__name__}: "
            "put it in a list"
        )
    return messages


def _says_role(message: Any) -> bool:
    said = text(field(message, "role")) or text(field(message, "type"))
    return bool(said) or role_of(message) != "u"


def _first_async(config: ReducerConfig) -> Callable[..., Any] | None:
    """A callable that needs `areduce`, if any. Those that nothing ever awaits must be plain."""
    for name in ("keep", "token_counter", "summary_message_factory"):
        if is_async(getattr(config, name)):
            raise TypeError(
                f"{name} must be a plain function, got async {name_of(getattr(config, name))}"
            )
    asked = (config.summarize_fn, *config.on_prune, config.on_reduce)
    return next((fn for fn in asked if fn is not None and is_async(fn)), None)


def _recognizers(
    is_summary: Callable[[Any], bool] | None,
) -> tuple[Callable[[Any], bool], Callable[[list[Any]], list[int]]]:
    """What tells a message of a summary block, and what finds those of a list."""
    if is_summary is None:
        return is_synthetic, summaries_in

    def is_either(message: Any) -> bool:
        return is_synthetic(message) or is_summary(message)

    return is_either, lambda messages: [i for i, m in enumerate(messages) if is_either(m)]


def _pruned(
    messages: list[Any],
    plan: Plan,
    keys: Callable[[int], str | None] | None,
) -> Pruned:
    """What the plan takes out, without summaries, with the keys."""
    at = [i for i in plan.pruned if i not in plan.block]
    ids = [id_of(messages[i]) for i in at]
    if keys is not None:
        ids = [keys(i) if key is None else key for i, key in zip(at, ids, strict=True)]
    return Pruned([messages[i] for i in at], ids)


def _tell(on_reduce: Callable[[Any], Any], event: ReduceEvent) -> Steps[None]:
    try:
        yield Call(on_reduce, (event,))
    except AsyncCallableError:
        raise
    except Exception as error:
        log.warning("on_reduce %s failed: %s", name_of(on_reduce), describe(error))
