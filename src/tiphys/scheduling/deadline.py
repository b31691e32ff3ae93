"""When waiting work moves to the front of its queue: as its service level or patience runs out.

Most works start long before. They leave a ghost behind, which is dropped as it comes up, or with
many others once there are too many of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import count

from tiphys.scheduling.ledger import Account
from tiphys.scheduling.pending import Entry

SLA_MARGIN = 0.25
"""Work moves up when this part of its service level is left."""
_FEW = 1024
"""Ghosts that are not worth looking for."""


class Deadlines:
    """What waits, by the time at which it moves up."""

    __slots__ = ("_heap", "_patience", "_serial")

    def __init__(self, patience_seconds: float) -> None:
        self._patience = patience_seconds
        self._heap: list[tuple[float, int, Entry]] = []
        self._serial = count()

    def add(self, account: Account, entry: Entry, waiting: int) -> None:
        """Note when an entry moves up; ``waiting`` is how many works wait in all."""
        sla = account.queue.sla_seconds
        age = min(work.created_at for work in entry.works)
        at = age + (self._patience if sla is None else sla * (1 - SLA_MARGIN))
        heappush(self._heap, (at, next(self._serial), entry))
        if len(self._heap) > _FEW and len(self._heap) > 4 * waiting:
            self._heap = [item for item in self._heap if item[2].alive]
            heapify(self._heap)

    def next(self) -> float | None:
        """Tell when something moves up; None where nothing will."""
        while self._heap and not self._heap[0][2].alive:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> Iterator[Entry]:
        """Give what moves up now, once."""
        while self._heap and self._heap[0][0] <= now:
            entry = heappop(self._heap)[2]
            if entry.alive:
                yield entry
