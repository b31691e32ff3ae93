"""One round of admission: the head of each queue, in order, as long as quota lasts.

Pure. Order of heads: those that need not borrow, then priority, then age; with fair sharing the
lowest share after admission. A head that no longer fits after another was admitted waits for the
next round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tiphys.scheduling.kueue.fair import tournament
from tiphys.scheduling.kueue.quota import Cohorts, Workload, available, borrows_with, fits


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A head and what decides its place."""

    name: str
    borrows: bool = False
    priority: int = 0
    created_at: float = 0.0
    second_pass: bool = False
    """Its quota is reserved already; it only waits for its nodes."""


def order_heads(heads: Sequence[Head]) -> list[Head]:
    """Sort heads, the first to admit first."""
    return sorted(heads, key=lambda h: (not h.second_pass, h.borrows, -h.priority, h.created_at))


@dataclass(slots=True)
class Round:
    """What one round decided."""

    admitted: list[Workload] = field(default_factory=list)
    requeued: list[Workload] = field(default_factory=list)
    """Fitted at first, but not after another was admitted."""
    parked: list[Workload] = field(default_factory=list)
    """Do not fit as things are."""


def run_round(cohorts: Cohorts, heads: Sequence[Workload], *, fair_sharing: bool = False) -> Round:
    """Admit what fits of ``heads``."""
    result = Round()
    fitting: list[Workload] = []
    for head in heads:
        node = cohorts.nodes[head.queue]
        (fitting if fits(node, head.requests) else result.parked).append(head)
    for head in _in_order(cohorts, fitting, fair_sharing=fair_sharing):
        if fits(cohorts.nodes[head.queue], head.requests):
            cohorts.admit(head)
            result.admitted.append(head)
        else:
            result.requeued.append(head)
    return result


def _in_order(
    cohorts: Cohorts, heads: Sequence[Workload], *, fair_sharing: bool
) -> Sequence[Workload]:
    if fair_sharing:
        return _by_tournament(cohorts, heads)
    places = {
        id(head): Head(
            name=head.name,
            borrows=borrows_with(cohorts.nodes[head.queue], head.requests),
            priority=head.priority,
            created_at=head.created_at,
        )
        for head in heads
    }
    ranked = {id(place): rank for rank, place in enumerate(order_heads(list(places.values())))}
    return sorted(heads, key=lambda head: ranked[id(places[id(head)])])


def _by_tournament(cohorts: Cohorts, heads: Sequence[Workload]) -> list[Workload]:
    """Heads by repeated tournaments, as if each winner were admitted."""
    left = {head.queue: head for head in heads}
    won: list[Workload] = []
    while left:
        queue = next(iter(left))
        root = cohorts.nodes[queue].root()
        winner = left[queue] if root.is_queue else tournament(root, left)
        assert winner is not None
        del left[winner.queue]
        won.append(winner)
        cohorts.admit(winner)
    for head in won:
        cohorts.remove(head)
    return won


def run_queue(cohorts: Cohorts, waiting: Sequence[Workload]) -> list[Workload]:
    """Admit from ``waiting`` round after round until nothing more is admitted."""
    line = sorted(waiting, key=lambda w: (-w.priority, w.created_at))
    admitted: list[Workload] = []
    while line:
        heads = _heads(line)
        done = run_round(cohorts, heads)
        admitted += done.admitted
        # A strict queue keeps its stuck head in front; the others step aside.
        stuck = [w for w in done.parked if cohorts.nodes[w.queue].strict]
        blocked = {w.queue for w in stuck}
        gone = {id(w) for w in (*done.admitted, *done.parked)}
        line = [w for w in line if id(w) not in gone and w.queue not in blocked]
    return admitted


def _heads(line: Sequence[Workload]) -> list[Workload]:
    heads: dict[str, Workload] = {}
    for workload in line:
        heads.setdefault(workload.queue, workload)
    return list(heads.values())


def shortfall(cohorts: Cohorts, workload: Workload) -> dict[str, float]:
    """How much is missing of each resource; empty where it fits."""
    node = cohorts.nodes[workload.queue]
    missing = {n: amount - available(node, n) for n, amount in workload.requests.items()}
    return {name: amount for name, amount in missing.items() if amount > 0}
