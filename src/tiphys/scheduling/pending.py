"""Waiting work, grouped so that a decision looks at kinds of work and not at each of them.

Works (or whole gangs) of one queue that ask for the same are one ``Batch``: if the first does not
fit, none does. A leaf holds a heap of its batches by their first entry. Withdrawn entries stay in
their heap as ghosts and are dropped when they come up.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import count

from tiphys.scheduling.ledger import Account, Needs
from tiphys.scheduling.work import Work

Order = tuple[int, int, float, float, float, int]
"""Urgent first, then priority, age of workflow, critical path, own age, arrival."""


class Entry:
    """One thing to start: a work alone, or the members of a gang that start together."""

    __slots__ = ("alive", "batch", "gang", "needs", "order", "seconds", "works")

    def __init__(self, works: tuple[Work, ...], needs: Needs, order: Order, gang: str = "") -> None:
        self.works = works
        self.needs = needs
        self.order = order
        self.gang = gang
        self.alive = True
        self.batch: Batch | None = None
        self.seconds = expected_seconds(works)


def expected_seconds(works: tuple[Work, ...]) -> float | None:
    """How long the entry will hold its place, where past runs tell of all its works."""
    longest = 0.0
    for work in works:
        if work.expected_seconds is None:
            return None
        longest = max(longest, work.expected_seconds)
    return longest


class Batch:
    """Entries of one queue with the same needs, best first."""

    __slots__ = ("heap", "in_line", "leaf", "live", "needs", "parked", "queued", "workflow")

    def __init__(self, leaf: Leaf, needs: Needs, workflow: str) -> None:
        self.leaf = leaf
        self.needs = needs
        self.workflow = workflow
        self.heap: list[tuple[Order, Entry]] = []
        self.live = 0
        self.in_line = False
        """Whether it is counted among the batches that may start."""
        self.queued: Order | None = None
        """The order under which it stands in its leaf's heap; None: it does not."""
        self.parked: Account | None = None
        """Where it waits for room."""

    def push(self, entry: Entry) -> None:
        """Add an entry."""
        heappush(self.heap, (entry.order, entry))
        entry.batch = self
        self.live += 1

    def head(self) -> Entry | None:
        """Return the best living entry."""
        heap = self.heap
        while heap:
            entry = heap[0][1]
            if entry.alive:
                return entry
            heappop(heap)
        return None

    def pop(self) -> Entry:
        """Take the best entry, which ``head`` has just shown to be alive."""
        self.live -= 1
        return heappop(self.heap)[1]

    def discard(self, entry: Entry) -> None:
        """Drop ``entry``; its ghost leaves the heap later."""
        entry.alive = False
        self.live -= 1
        if len(self.heap) > 64 and self.live * 4 < len(self.heap):
            self.heap = [pair for pair in self.heap if pair[1].alive]
            heapify(self.heap)


class Leaf:
    """The waiting side of a queue that takes work."""

    __slots__ = ("_arrivals", "account", "batches", "held_by", "ready")

    def __init__(self, account: Account) -> None:
        self.account = account
        self.batches: dict[tuple[Needs, str], Batch] = {}
        self.ready: list[tuple[Order, int, Batch]] = []
        self.held_by: Batch | None = None
        """In a strict queue: the batch whose head does not fit and blocks the others."""
        self._arrivals = count()

    def batch(self, needs: Needs, workflow: str) -> Batch:
        """Return the batch for ``needs``, made on first use."""
        key = (needs, workflow)
        batch = self.batches.get(key)
        if batch is None:
            batch = self.batches[key] = Batch(self, needs, workflow)
        return batch

    def wake(self, batch: Batch) -> None:
        """Put ``batch`` in line by its head, unless it stands there already."""
        head = batch.head()
        if head is None:
            return
        if batch.queued is None or head.order < batch.queued:
            batch.queued = head.order
            heappush(self.ready, (head.order, next(self._arrivals), batch))

    def first(self) -> Batch | None:
        """Return the batch that is next in line, None where nothing is ready."""
        ready = self.ready
        if self.held_by is not None:
            return None
        while ready:
            order, _, batch = ready[0]
            if batch.queued != order:
                heappop(ready)  # it moved up since; its better place is elsewhere in the heap
                continue
            head = batch.head()
            if head is not None and head.order == order:
                return batch
            heappop(ready)
            batch.queued = None
            self.wake(batch)
        return None

    def take_out(self, batch: Batch) -> None:
        """Remove the first batch from the line."""
        heappop(self.ready)
        batch.queued = None
