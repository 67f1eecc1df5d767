"""Requests of the size a database takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")


def slices(entries: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The entries in their order, at most `size` at a time."""
    return (entries[start : start + size] for start in range(0, len(entries), size))
