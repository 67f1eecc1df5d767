"""What a client would be billed for, counted as https://firebase.google.com/docs/firestore/pricing.

A query that finds nothing and a document that is not there cost one read each; what an offset
skips is read.
"""

from __future__ import annotations

from collections import Counter


class Usage:
    """Documents read, written and deleted, requests by method, and their bytes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, **counts: int) -> None:
        """Add to the counts of these names."""
        self.counts.update(counts)

    def query(self, returned: int, skipped: int = 0) -> None:
        """Count a query."""
        self.add(document_reads=max(1, returned + skipped))
