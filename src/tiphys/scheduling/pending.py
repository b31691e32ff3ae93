"""Waiting work, grouped so that a decision looks at kinds of work and not at each of them.

Works (or whole gangs) of one queue that ask for the same are one ``Batch``: if the first does not
fit, none does. Withdrawn entries stay in their heap as ghosts and are dropped when they come up.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush, nsmallest

from tiphys.scheduling.ledger import Account, Needs, Rank
from tiphys.scheduling.work import Work, WorkId

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
        self.seconds = works[0].expected_seconds if len(works) == 1 else longest(works)


def longest(works: tuple[Work, ...]) -> float | None:
    """How long works that start together hold their place, where past runs tell of all."""
    most = 0.0
    for work in works:
        if work.expected_seconds is None:
            return None
        most = max(most, work.expected_seconds)
    return most


def _order(pair: tuple[Order, Entry]) -> Order:
    return pair[0]


class Batch:
    """Entries of one queue with the same needs, best first."""

    __slots__ = ("account", "heap", "live", "needs", "parked", "workflow")

    def __init__(self, account: Account, needs: Needs, workflow: str) -> None:
        self.account = account
        self.needs = needs
        self.workflow = workflow
        """Set where the queue limits its workflows: then each has batches of its own."""
        self.heap: list[tuple[Order, Entry]] = []
        self.live = 0
        self.parked: Account | None = None
        """Where it waits for room; None: it is in line."""

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

    def first(self, most: int) -> list[Entry]:
        """Return the best living entries, at most so many."""
        return [entry for _, entry in nsmallest(most, self.heap, key=_order) if entry.alive]

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


def head_order(batch: Batch) -> Order:
    """The order of a batch's first entry; an empty one comes last."""
    head = batch.head()
    return head.order if head is not None else (2, 0, 0.0, 0.0, 0.0, 0)


def home_of(entry: Entry) -> Account:
    """The queue in which an entry waits, whatever its lane."""
    assert entry.batch is not None
    return entry.batch.account.home


def turn_of(entry: Entry) -> tuple[int, Rank, Order]:
    """Compares entries of one queue: urgent ones first, then by lane, then in order."""
    assert entry.batch is not None
    return entry.order[0], entry.batch.account.rank(), entry.order


def works_of(waiting: Iterable[Entry | Work]) -> list[Work]:
    """Each waiting work once, in the order in which it came."""
    found: dict[WorkId, Work] = {}
    for item in waiting:
        for work in (item,) if isinstance(item, Work) else item.works:
            found[work.id] = work
    return list(found.values())
