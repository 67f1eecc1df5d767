"""Ready hooks for long-term memory, duck-typed, and the namespaces they write to."""

from __future__ import annotations

import enum
import functools
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

from ._delivery import Pruned
from ._drivers import RefusedError, is_async
from ._messages import ROLES, calls_in, field, role_of, text
from ._parts import name_and_arguments
from ._words import fingerprint, text_of

if TYPE_CHECKING:
    from ._config import RememberFn

CREWAI_IMPORTANCE = 0.5
"""The middle of CrewAI's scale from 0 to 1, and its own default."""

_PAGE_RECORDS = 500


def store_namespace(namespace: Any) -> tuple[str, ...]:
    """The namespace as labels that a LangGraph store accepts.

    A tuple or list gives its elements, numbers as text; a string one label, but a CrewAI path
    (`/flow/42`) its parts. What a store refuses (`.`, NUL, a first label `langgraph`) is
    percent-escaped, and `%` with it: `urllib.parse.unquote` brings a label back, and no two
    tuples and no two strings end up as one. (So a path of one part keeps its slash.)

    Raises `ValueError` for None, for nothing at all, for an empty label and for other types.

        >>> store_namespace(["memories", "ada@example.com"])
        ('memories', 'ada@example%2Ecom')
        >>> store_namespace("/flow/42")
        ('flow', '42')
    """
    if isinstance(namespace, str) and namespace.count("/") > 1 and namespace.startswith("/"):
        namespace = namespace[1:].split("/")
    labels = [_escaped(label, "%.\0") for label in _labels(namespace)]
    if labels[0] == "langgraph":
        labels[0] = "%6Canggraph"
    return tuple(labels)


def scope_from_namespace(namespace: Any) -> str:
    """The namespace as the path of a CrewAI memory scope.

    The labels of a tuple or list are joined, `%` and `/` in them percent-escaped, numbers as
    text. A string is a path already; it gets its leading slash and loses a trailing one.

    Raises `ValueError` for None, for nothing at all (CrewAI would take it for the root, which
    everybody shares), for an empty label and for other types.

        >>> scope_from_namespace(("memories", "a/b"))
        '/memories/a%2Fb'
        >>> scope_from_namespace("user/ada/")
        '/user/ada'
    """
    if isinstance(namespace, str):
        path = namespace.removeprefix("/").removesuffix("/")
        return "/" + "/".join(_labels(path.split("/")))
    return "/" + "/".join(_escaped(label, "%/") for label in _labels(namespace))


def _labels(namespace: Any) -> list[str]:
    if namespace is None:
        raise RefusedError(
            "the namespace is None: a memory needs to know whose it is; pass "
            "reduce(..., namespace=...), or set the namespace_key in the config or state"
        )
    parts = list(namespace) if isinstance(namespace, (list, tuple)) else [namespace]
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, (str, int, float)):
            raise RefusedError(
                f"a namespace is made of text and numbers, got {type(part).__name__}"
            )
    if not parts or "" in parts:
        raise RefusedError(f"an empty label in the namespace {namespace!r}")
    return [str(part.value if isinstance(part, enum.Enum) else part) for part in parts]


def _escaped(label: str, characters: str) -> str:
    for character in characters:  # "%" comes first, or it would escape the escapes
        label = label.replace(character, f"%{ord(character):02X}")
    return label


def store_hook(
    store: Any, *, render: Callable[[Any], dict[str, Any] | None] | None = None
) -> RememberFn:
    """A hook that puts each message into a LangGraph store, under `store_namespace(namespace)`.

    The key is the message's own (its id, or what an adapter knows it by), so a message that
    comes twice overwrites itself; one without either gets a hash of its role and content. The
    value is `{"role", "content"}` with the role normalised and the content as plain text, and
    where there are any `"name"` and `"tool_calls"` (`{"id", "name", "args"}`). The namespace None
    is refused with a `ValueError`.

    A store without a sync `put` is awaited, which takes `areduce()` or `Background`.

        >>> class Store:
        ...     def put(self, namespace, key, value):
        ...         print(namespace, key, value)
        >>> hook = store_hook(Store())
        >>> hook([{"id": "m1", "role": "user", "content": "Hi"}], ("memories", "ada"))
        ('memories', 'ada') m1 {'role': 'human', 'content': 'Hi'}

    Args:
        store: a `BaseStore`, or anything with its `put` or `aput`.
        render: makes the value from the message instead; None skips the message.
    """
    put = getattr(store, "put", None)
    aput = getattr(store, "aput", None)
    if not callable(put) and not callable(aput):
        raise TypeError(f"store must have put or aput, got {type(store).__name__}")
    if render is not None and not callable(render):
        raise TypeError(f"render must be callable, got {render!r}")
    if callable(put) and not is_async(put):
        return functools.partial(_put_all, store, render or stored_value)
    return functools.partial(_aput_all, aput or put, render or stored_value)


_Render = Callable[[Any], "dict[str, Any] | None"]


def _put_all(
    store: Any, render: _Render, pruned: list[Any], namespace: Any
) -> Awaitable[None] | None:
    rows = _rows(render, pruned, namespace)
    try:
        for row in rows:
            store.put(*row)
    except NotImplementedError:  # a BaseStore that has only its async half
        if not callable(getattr(store, "aput", None)):
            raise
        return _aput_all(store.aput, render, pruned, namespace)
    return None


async def _aput_all(put: Any, render: _Render, pruned: list[Any], namespace: Any) -> None:
    for row in _rows(render, pruned, namespace):
        await put(*row)


def _rows(
    render: _Render, pruned: list[Any], namespace: Any
) -> Iterator[tuple[tuple[str, ...], str, dict[str, Any]]]:
    labels = store_namespace(namespace)
    for message, key in _keyed(pruned):
        value = render(message)
        if value is not None:
            yield labels, key, value


def _keyed(pruned: list[Any]) -> list[tuple[Any, str]]:
    batch = Pruned.of(pruned)
    return [(m, key or fingerprint(m)) for m, key in zip(batch, batch.keys, strict=True)]


def stored_value(message: Any) -> dict[str, Any]:
    """What is kept of a message: role, plain text, and where there are any name and calls."""
    value: dict[str, Any] = {"role": ROLES[role_of(message)], "content": text_of(message)}
    calls = [_call(key, body) for key, body in calls_in(message)]
    if calls:
        value["tool_calls"] = calls
    name = text(field(message, "name"))
    if name:
        value["name"] = name
    return value


def _call(key: Any, body: Any) -> dict[str, Any]:
    name, args = name_and_arguments(body)
    linked_by_name = isinstance(key, tuple)
    return {"id": None if linked_by_name else key, "name": name, "args": args}


def crewai_memory_hook(memory: Any) -> RememberFn:
    """A hook that remembers messages in a CrewAI memory, under `scope_from_namespace(namespace)`.

    Content, categories (`"conversation"` and the role) and importance (0.5) are given, so CrewAI
    asks no model to infer them. The message's key goes into the metadata as `agentstate_key`;
    the scope is listed once per batch, and what is there is not remembered again. Messages
    without words are skipped.

    One question CrewAI asks all the same: whether to merge a record with those in its scope that
    are alike, from the memory's `consolidation_threshold` on (0.85 by default). At 1.0, its
    highest, only equal texts are; no public way leads around it.

    Args:
        memory: a `crewai.Memory`, or anything with its `remember` and `list_records`.
    """
    for name in ("remember", "list_records"):
        if not callable(getattr(memory, name, None)):
            raise TypeError(f"memory must have {name}, got {type(memory).__name__}")
    return functools.partial(_remember_all, memory)


def _remember_all(memory: Any, pruned: list[Any], namespace: Any) -> None:
    scope = scope_from_namespace(namespace)
    known = _known_keys(memory, scope)
    for message, key in _keyed(pruned):
        content = text_of(message)
        if key in known or not content.strip():
            continue
        memory.remember(
            content,
            scope=scope,
            categories=["conversation", ROLES[role_of(message)]],
            metadata={"agentstate_key": key},
            importance=CREWAI_IMPORTANCE,
        )


def _known_keys(memory: Any, scope: str) -> set[str]:
    known: set[str] = set()
    offset = 0
    while True:
        page = list(memory.list_records(scope=scope, limit=_PAGE_RECORDS, offset=offset))
        # The listing holds the scopes below as well; a memory's root stands in front of ours.
        known.update(
            record.metadata.get("agentstate_key") for record in page if record.scope.endswith(scope)
        )
        offset += len(page)
        if len(page) < _PAGE_RECORDS:
            return known
