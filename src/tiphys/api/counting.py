"""How many workflows a list has, without counting a million of them for every page.

Most lists are counted at once (`store.depth`). Where only rows can tell (parts of names, labels
together with other filters) no request waits for more than `BOUND` of them: it is told that there
are at least so many, and one thread counts the rest for the next who asks.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from tiphys.errors import TiphysError
from tiphys.store import Store, WorkflowFilter

BOUND = 10_000
_SHARE = 20
"""A count that took t is good for 20 t: no more than a twentieth of the time goes into counting."""
_OLD = 30.0
"""Seconds for which it may be shown beyond that, while it is counted anew."""
_MOST = 1000


class Counts:
    """Remembers counts that were dear."""

    def __init__(self, bound: int = BOUND) -> None:
        self._bound = bound
        self._known: dict[WorkflowFilter, tuple[int, float]] = {}
        self._counting: set[WorkflowFilter] = set()
        self._turn = threading.Lock()
        self._thread = ThreadPoolExecutor(1, "counting")

    def count(
        self, store: Store, wanted: WorkflowFilter, found: int, start: int, limit: int
    ) -> tuple[int, bool]:
        """Count what ``wanted`` matches; ``found`` rows were just read behind ``start``.

        Tells also whether that is all: if not, there are at least so many.
        """
        if found < limit and (found or not start):
            return start + found, True  # The page is the last one: it says it all.
        total, until = self._known.get(wanted, (0, 0.0))
        now = time.monotonic()
        if now < until + _OLD:
            if now >= until:
                self._count_behind(store, wanted)
            return _fitting(total, found, start), True
        total, exact = store.count_up_to(self._bound, wanted)
        if not exact:
            self._count_behind(store, wanted)
        return _fitting(total, found, start), exact

    def _count_behind(self, store: Store, wanted: WorkflowFilter) -> None:
        """Have the other thread count all of a list, unless it is about to."""
        with self._turn:
            if wanted in self._counting:
                return
            self._counting.add(wanted)
        self._thread.submit(self._count_all, store, wanted)

    def _count_all(self, store: Store, wanted: WorkflowFilter) -> None:
        begun = time.monotonic()
        try:
            total = store.count_workflows(wanted)
        except TiphysError:
            return  # The store is away or closed: whoever asks next is told so.
        finally:
            with self._turn:
                self._counting.discard(wanted)
        now = time.monotonic()
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[wanted] = (total, now + (now - begun) * _SHARE)


def _fitting(total: int, found: int, start: int) -> int:
    """Correct a count, which may be an older one, by a page that was just read behind ``start``."""
    return max(total, start + found) if found else min(total, start)
