"""Where the message lists of a flow state are.

A message key is a path with dots; a part may be a pattern (`*`, `?`, `[seq]`), which then
stands for every key or list position it matches: `messages`, `chat.history`,
`agent_threads.*`, `rooms.*.messages`. A key that contains the dots or the pattern
literally is found under its own name first. Left alone are a list that is itself a member of a
tuple, which cannot be replaced there, and of keys of the same text, such as 1 and "1", all but one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True)
class Slot:
    """A place in a plain state that holds a list or tuple; `path` names it in every process."""

    path: tuple[str, ...]
    container: Any
    key: Any

    @property
    def messages(self) -> list[Any]:
        """A new list of what stands there."""
        return list(self.container[self.key])

    def replace(self, messages: list[Any]) -> None:
        """The state holds these messages instead; a tuple stays a tuple."""
        kind = tuple if isinstance(self.container[self.key], tuple) else list
        self.container[self.key] = kind(messages)


def check_keys(messages_key: str | Sequence[str]) -> tuple[str, ...]:
    """The message keys as a tuple.

    Raises:
        TypeError: It is not text, or a sequence of texts.
        ValueError: A key is empty or has an empty part, or there is none.
    """
    keys = (messages_key,) if isinstance(messages_key, str) else tuple(messages_key)
    if not all(isinstance(key, str) for key in keys):
        raise TypeError(f"messages_key must be text or several texts, not {messages_key!r}")
    if not keys or not all(part for key in keys for part in key.split(".")):
        raise ValueError(f"messages_key must name a key of the state, not {messages_key!r}")
    return keys


def find_lists(state: dict[str, Any], keys: Sequence[str]) -> list[Slot]:
    """The lists `keys` name, each once; what is missing or no list is left out."""
    found = {slot.path: slot for key in keys for slot in _find(state, key, ())}
    return list(found.values())


def _find(container: Any, key: str, above: tuple[str, ...]) -> Iterator[Slot]:
    if isinstance(container, dict):
        children = {str(child): child for child in container}
    elif isinstance(container, (list, tuple)):
        children = {str(index): index for index in range(len(container))}
    else:
        return
    part, dot, rest = (key, "", "") if key in children else key.partition(".")
    for name in [part] if part in children else [n for n in children if fnmatchcase(n, part)]:
        child, path = children[name], (*above, name)
        if dot:
            yield from _find(container[child], rest, path)
        elif isinstance(container[child], (list, tuple)) and not isinstance(container, tuple):
            yield Slot(path, container, child)
