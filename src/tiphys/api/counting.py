"""How many workflows a list has, without counting a million of them for every page."""

from __future__ import annotations

import time

from tiphys.store import Store, WorkflowFilter

_SHARE = 20
"""A count that took t is good for 20 t: no more than a twentieth of the time goes into counting."""
_MOST = 1000


class Counts:
    """Remembers counts that were dear."""

    def __init__(self) -> None:
        self._known: dict[WorkflowFilter, tuple[int, float]] = {}

    def count(
        self, store: Store, wanted: WorkflowFilter, found: int, start: int, limit: int
    ) -> int:
        """Count what ``wanted`` matches; ``found`` rows were just read behind ``start``."""
        if found < limit and (found or not start):
            return start + found  # The page is the last one: it says it all.
        now = time.monotonic()
        total, until = self._known.get(wanted, (0, 0.0))
        if now < until:
            return max(total, start + found)
        total = store.count_workflows(wanted)
        took = time.monotonic() - now
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[wanted] = (total, now + took * (_SHARE + 1))
        return total
