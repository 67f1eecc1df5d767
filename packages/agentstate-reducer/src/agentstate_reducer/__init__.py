"""Keeps the message history of AI agents bounded, and never breaks a conversation."""

from ._background import Background
from ._config import DEFAULT_NAMESPACE_KEY, ReducerConfig, RememberFn
from ._hooks import crewai_memory_hook, scope_from_namespace, store_hook, store_namespace
from ._plan import Plan
from ._reducer import MessageReducer
from ._result import ReduceEvent, ReducerResult
from ._summary import default_summary_messages_factory
from ._tokens import resolve_token_counter

__all__ = [
    "DEFAULT_NAMESPACE_KEY",
    "Background",
    "MessageReducer",
    "Plan",
    "ReduceEvent",
    "ReducerConfig",
    "ReducerResult",
    "RememberFn",
    "crewai_memory_hook",
    "default_summary_messages_factory",
    "resolve_token_counter",
    "scope_from_namespace",
    "store_hook",
    "store_namespace",
]
