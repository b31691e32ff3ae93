"""A workflow admitted as a whole: its declared maximum is held, and its works run inside it.

The maximum waits in line like any work, as a reservation. Once it is admitted the workflow's works
start as soon as they fit into what is held, whatever else waits; until then they wait together.
Stages reuse what earlier stages held. A paused workflow gives its reservation back and asks for it
again with its age kept.
"""

from __future__ import annotations

from heapq import heappop, heappush

from tiphys.scheduling.ledger import Needs
from tiphys.scheduling.pending import Order
from tiphys.scheduling.work import Work, WorkId


class Pool:
    """What one workflow holds, and who waits inside."""

    __slots__ = ("_waiting", "admitted", "reservation", "room", "running", "started", "waiting")

    def __init__(self, reservation: Work) -> None:
        self.reservation = reservation
        self.admitted = False
        self.room = dict(reservation.requests.items)
        self._waiting: list[tuple[Order, Work]] = []
        self.waiting: dict[WorkId, Work] = {}
        self.running: dict[WorkId, Work] = {}
        self.started: dict[WorkId, float] = {}

    def too_large(self, needs: Needs) -> tuple[str, int, int] | None:
        """What of ``needs`` exceeds the declared maximum: name, asked, maximum."""
        for name, amount in needs:
            most = self.reservation.requests.get(name)
            if amount > most:
                return name, amount, most
        return None

    def add(self, work: Work, order: Order) -> None:
        """Let ``work`` wait inside."""
        self.waiting[work.id] = work
        heappush(self._waiting, (order, work))

    def drop(self, work_id: WorkId) -> bool:
        """Forget a work, waiting or running; tell whether it was one of these."""
        if self.waiting.pop(work_id, None) is not None:
            return True
        work = self.running.pop(work_id, None)
        if work is None:
            return False
        del self.started[work_id]
        for name, amount in work.requests.items:
            self.room[name] += amount
        return True

    def run(self, work: Work, at: float) -> None:
        """Account ``work`` as running inside."""
        for name, amount in work.requests.items:
            self.room[name] = self.room.get(name, 0) - amount
        self.running[work.id] = work
        self.started[work.id] = at

    def start(self, now: float) -> list[WorkId]:
        """Start what fits inside, in order; small works pass large ones."""
        if not self.admitted:
            return []
        started, left = [], []
        while self._waiting:
            order, work = heappop(self._waiting)
            if work.id not in self.waiting:
                continue
            if all(amount <= self.room.get(name, 0) for name, amount in work.requests.items):
                del self.waiting[work.id]
                self.run(work, now)
                started.append(work.id)
            else:
                left.append((order, work))
        self._waiting = left  # popped in order, so it is a heap again
        return started


class Pools:
    """All workflows that are admitted as a whole."""

    __slots__ = ("_dirty", "_of_work", "by_workflow")

    def __init__(self) -> None:
        self.by_workflow: dict[str, Pool] = {}
        self._of_work: dict[WorkId, Pool] = {}
        self._dirty: dict[str, None] = {}

    def open(self, reservation: Work) -> None:
        """Make the pool of a workflow that asks for its maximum."""
        self.by_workflow[reservation.workflow] = Pool(reservation)

    def close(self, workflow: str) -> tuple[Pool, list[Work]] | None:
        """Take a pool away; give it and the works that still wait inside."""
        pool = self.by_workflow.pop(workflow, None)
        self._dirty.pop(workflow, None)
        if pool is None:
            return None
        for work_id in (*pool.waiting, *pool.running):
            self._of_work.pop(work_id, None)
        return pool, list(pool.waiting.values())

    def add(self, pool: Pool, work: Work, order: Order) -> None:
        """Let ``work`` wait in ``pool``."""
        pool.add(work, order)
        self._of_work[work.id] = pool
        self._dirty[work.workflow] = None

    def drop(self, work_id: WorkId) -> bool:
        """Forget a work that waits or runs in some pool; tell whether it did."""
        pool = self._of_work.pop(work_id, None)
        if pool is None:
            return False
        self._dirty[pool.reservation.workflow] = None
        return pool.drop(work_id)

    def admit(self, workflow: str) -> None:
        """The workflow's maximum is held from now on."""
        self.by_workflow[workflow].admitted = True
        self._dirty[workflow] = None

    def adopt(self, pool: Pool, work: Work, at: float) -> None:
        """Account ``work`` as running in ``pool`` already."""
        pool.run(work, at)
        self._of_work[work.id] = pool

    def start(self, now: float) -> list[WorkId]:
        """Start what fits in the pools that changed."""
        dirty, self._dirty = self._dirty, {}
        return [work_id for name in dirty for work_id in self.by_workflow[name].start(now)]

    def pool_of(self, work_id: WorkId) -> Pool | None:
        """The pool in which a work waits or runs."""
        return self._of_work.get(work_id)

    def works(self) -> list[WorkId]:
        """Works that run inside pools."""
        return [work_id for pool in self.by_workflow.values() for work_id in pool.running]
