"""What a queue has, may have and waits for: the books that proportion and capacity share.

``real_capability = min(capability, total − Σ guarantee + own guarantee)``: what other queues are
guaranteed is out of reach. Under a hierarchy the total is the parent's real capability, and
dimensions that a queue leaves unset are its parent's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tiphys.scheduling.volcano.amounts import (
    BASIC,
    Amounts,
    add,
    capped,
    excess,
    subtract,
    total,
    within_on,
)
from tiphys.scheduling.volcano.cluster import HOLDING, ClusterQueue, Job, PodGroupPhase, Status
from tiphys.scheduling.volcano.session import Session


@dataclass(slots=True, kw_only=True)
class Book:
    """The numbers of one queue."""

    queue: ClusterQueue
    deserved: Amounts = field(default_factory=dict)
    allocated: Amounts = field(default_factory=dict)
    request: Amounts = field(default_factory=dict)
    inqueue: Amounts = field(default_factory=dict)
    elastic: Amounts = field(default_factory=dict)
    real_capability: Amounts = field(default_factory=dict)
    ancestors: tuple[str, ...] = ()
    """From the root down to the parent; empty without a hierarchy."""
    leaf: bool = True


def real_capability(
    whole: Mapping[str, float],
    guarantees: Mapping[str, float],
    guarantee: Mapping[str, float],
    capability: Mapping[str, float],
) -> Amounts:
    """What a queue can have at most."""
    limit = {name: amount for name, amount in capability.items() if amount > 0 or name not in BASIC}
    return capped(add(excess(whole, guarantees), guarantee), limit)


def inqueue_of(job: Job) -> Amounts:
    """What an admitted job still waits for: its least resources beyond what it holds."""
    if job.min_resources is None:
        return {}
    held = job.allocated()
    if job.phase is PodGroupPhase.INQUEUE:
        return excess(job.min_resources, held)
    holding = job.count(*HOLDING)
    if job.phase is PodGroupPhase.RUNNING and holding >= job.min_member:
        return excess(job.min_resources, held)
    return {}


def enter(book: Book, job: Job) -> None:
    """Count ``job`` in ``book``."""
    held = job.allocated()
    waiting = total(task.request for task in job.tasks if task.status is Status.PENDING)
    book.allocated = add(book.allocated, held)
    book.request = add(book.request, add(held, waiting))
    book.inqueue = add(book.inqueue, inqueue_of(job))
    book.elastic = add(book.elastic, excess(held, job.min_resources or {}))


def may_enqueue(book: Book, least: Mapping[str, float]) -> bool:
    """Whether ``least`` more stays within the queue, on the dimensions that are asked for."""
    wanted = subtract(add(add(least, book.allocated), book.inqueue), book.elastic)
    return within_on(wanted, book.real_capability, least)


def flat_books(session: Session) -> dict[str, Book]:
    """Open a book for each queue, without a hierarchy."""
    guarantees = total(queue.guarantee for queue in session.queues.values())
    whole = session.total()
    books = {
        name: Book(
            queue=queue,
            real_capability=real_capability(whole, guarantees, queue.guarantee, queue.capability),
        )
        for name, queue in session.queues.items()
    }
    for job in session.jobs.values():
        enter(books[job.queue], job)
    return books
