"""Keeps LangGraph threads bounded where they are stored: a wrapper over any checkpointer."""

from ._saver import ReducingSaver

__all__ = ["ReducingSaver"]
