"""The proportion policy: what each queue deserves follows from weights and requests.

Pure. Water is poured by weight; a queue is full at its request or its real capability, and never
below its guarantee; what overflows is poured again over the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiphys.scheduling.queue import QueueState
from tiphys.scheduling.volcano.amounts import (
    Amounts,
    add,
    capped,
    cut_to,
    excess,
    is_empty,
    largest,
    scale,
    share,
    subtract,
    total,
    within,
    within_on,
)
from tiphys.scheduling.volcano.cluster import ClusterQueue, Job, Task
from tiphys.scheduling.volcano.quota import Book, flat_books, may_enqueue
from tiphys.scheduling.volcano.session import PERMIT, REJECT, Plugin, Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one queue brings to the sharing."""

    weight: float
    request: Amounts
    real_capability: Amounts
    guarantee: Amounts


def pour(whole: Mapping[str, float], claims: Mapping[str, Claim]) -> tuple[dict[str, Amounts], int]:
    """Share ``whole`` among ``claims``; give what each deserves and the number of rounds."""
    deserved: dict[str, Amounts] = {name: {} for name in claims}
    thirsty = dict(claims)
    left = dict(whole)
    rounds = 0
    while thirsty:
        rounds += 1
        weights = sum(claim.weight for claim in thirsty.values())
        before, poured = left, total(deserved.values())
        for name, claim in list(thirsty.items()):
            old = deserved[name]
            deserved[name] = _filled(old, scale(before, claim.weight / weights), claim)
            if within(claim.request, deserved[name]) or _same(deserved[name], old):
                del thirsty[name]
        left = excess(add(before, poured), total(deserved.values()))
        if is_empty(left) or _same(left, before):
            break
    return deserved, rounds


def _filled(old: Amounts, more: Amounts, claim: Claim) -> Amounts:
    level = capped(add(old, more), claim.real_capability)
    return largest(cut_to(level, claim.request), claim.guarantee)


def _same(left: Amounts, right: Amounts) -> bool:
    names = left.keys() | right.keys()
    return all(abs(left.get(name, 0.0) - right.get(name, 0.0)) < 1e-9 for name in names)


def proportion(session: Session) -> Plugin:
    """Return the proportion policy of ``session``."""
    return _Proportion(session).plugin()


class _Proportion:
    def __init__(self, session: Session) -> None:
        self._session = session
        self.books = flat_books(session)
        busy = {job.queue for job in session.jobs.values()}
        claims = {
            name: Claim(
                weight=book.queue.weight,
                request=book.request,
                real_capability=book.real_capability,
                guarantee=book.queue.guarantee,
            )
            for name, book in self.books.items()
            if name in busy
        }
        for name, amounts in pour(session.total(), claims)[0].items():
            self.books[name].deserved = amounts

    def plugin(self) -> Plugin:
        return Plugin(
            name="proportion",
            queue_order=self._order,
            reclaimable=self._victims,
            overused=lambda queue: within(self._book(queue).deserved, self._book(queue).allocated),
            allocatable=self._allocatable,
            preemptive=self._allocatable,
            enqueueable=self._enqueueable,
            on_allocate=self._allocate,
            on_deallocate=self._deallocate,
        )

    def _book(self, queue: ClusterQueue) -> Book:
        return self.books[queue.name]

    def _share(self, queue: ClusterQueue) -> float:
        book = self._book(queue)
        parts = [share(book.allocated.get(n, 0.0), due) for n, due in book.deserved.items()]
        return max(parts, default=0.0)

    def _order(self, left: ClusterQueue, right: ClusterQueue) -> int:
        if left.priority != right.priority:
            return right.priority - left.priority
        shares = self._share(left), self._share(right)
        return (shares[0] > shares[1]) - (shares[0] < shares[1])

    def _victims(self, _: Task, candidates: Sequence[Task]) -> list[Task]:
        """Running tasks of queues that use more than they deserve, as long as they do."""
        left: dict[str, Amounts] = {}
        chosen = []
        for task in candidates:
            book = self._book(self._session.queue_of(task))
            allocated = left.setdefault(book.queue.name, book.allocated)
            if not within(allocated, book.deserved):
                left[book.queue.name] = subtract(allocated, task.request)
                chosen.append(task)
        return chosen

    def _allocatable(self, queue: ClusterQueue, task: Task) -> bool:
        if queue.state is not QueueState.OPEN:
            return False
        book = self._book(queue)
        return within_on(add(book.allocated, task.request), book.deserved, task.request)

    def _enqueueable(self, job: Job) -> int:
        book = self.books[job.queue]
        if book.queue.state is not QueueState.OPEN:
            return REJECT
        if job.min_resources is None:
            return PERMIT
        if not may_enqueue(book, job.min_resources):
            return REJECT
        book.inqueue = add(book.inqueue, job.min_resources)
        return PERMIT

    def _allocate(self, task: Task) -> None:
        book = self._book(self._session.queue_of(task))
        book.allocated = add(book.allocated, task.request)

    def _deallocate(self, task: Task) -> None:
        book = self._book(self._session.queue_of(task))
        book.allocated = subtract(book.allocated, task.request)
