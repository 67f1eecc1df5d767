"""Real flows, without a model: they resume, wait, fork, repeat, and stay bounded."""

from __future__ import annotations


class RunContract:
    """Flows as CrewAI runs them."""
