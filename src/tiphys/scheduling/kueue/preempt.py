"""Kueue's classic preemption: who must go so that a workload fits.

Pure: the cohorts are changed while trying and restored before returning. Candidates are queues
that borrow, over which the newcomer has the nearer claim; then those it beats by priority; then
its own queue. They are removed in order until the newcomer fits; then, in reverse, each that need
not go is put back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tiphys.scheduling.kueue.quota import (
    Amounts,
    Cohorts,
    QuotaNode,
    Within,
    Workload,
    available,
    borrows_with,
    fits,
    potential,
    within_nominal,
)


class Reason(StrEnum):
    """By which rule a workload is preempted."""

    IN_QUEUE = "InClusterQueue"
    RECLAIM = "InCohortReclamation"
    FAIR_SHARING = "InCohortFairSharing"
    RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"


@dataclass(frozen=True, slots=True)
class Target:
    """A workload that must go, and why."""

    workload: Workload
    reason: Reason


@dataclass(frozen=True, slots=True)
class _Candidate:
    workload: Workload
    reason: Reason
    without_borrowing: bool
    """Only if the newcomer's queue would not borrow afterwards."""
    common: QuotaNode | None
    """The nearest cohort that both queues share; None for the newcomer's own queue."""


def needed(node: QuotaNode, requests: Amounts) -> set[str]:
    """Resources that do not fit as things are."""
    return {name for name, amount in requests.items() if amount > available(node, name)}


def may_preempt(incoming: Workload, victim: Workload, policy: Within) -> bool:
    """Whether ``policy`` lets ``incoming`` preempt ``victim``."""
    match policy:
        case Within.NEVER:
            return False
        case Within.ANY:
            return True
        case Within.LOWER_PRIORITY:
            return victim.priority < incoming.priority
        case Within.LOWER_OR_NEWER:
            newer = incoming.created_at < victim.created_at
            return victim.priority < incoming.priority or (
                victim.priority == incoming.priority and newer
            )


def order(candidates: Sequence[Workload], own_queue: str) -> list[Workload]:
    """The first to go first: evicted, of other queues, low priority, newest."""
    return sorted(
        candidates,
        key=lambda w: (not w.evicted, w.queue == own_queue, w.priority, -w.admitted_at, w.name),
    )


def preemptions(cohorts: Cohorts, incoming: Workload) -> list[Target]:
    """Choose whom to preempt for ``incoming``; none where it would not help."""
    node = cohorts.nodes[incoming.queue]
    names = needed(node, incoming.requests)
    if not names or any(a > potential(node, n) for n, a in incoming.requests.items()):
        return []
    nearer, by_priority = _from_cohort(node, incoming, names)
    own = _from_queue(node, node, incoming, names, common=None, nearer=False)
    candidates = [*_sorted(nearer, node), *_sorted(by_priority, node), *_sorted(own, node)]
    candidates.sort(key=lambda candidate: not candidate.workload.evicted)
    for borrowing in _attempts(node, names, nearer, by_priority):
        targets = _attempt(cohorts, node, incoming, candidates, names, borrowing=borrowing)
        if targets:
            return targets
    return []


def _attempts(
    node: QuotaNode,
    names: set[str],
    nearer: Sequence[_Candidate],
    by_priority: Sequence[_Candidate],
) -> tuple[bool, ...]:
    """Whether to try with borrowing, without, or both, and in which order."""
    forbidden = not node.policy.borrow_within_cohort
    under = all(node.usage.get(name, 0) < node.subtree.get(name, 0) for name in names)
    if not (nearer or by_priority) or (forbidden and not under):
        return (True,)
    if forbidden and not nearer:
        return (False, True)
    return (True, False)


def _attempt(
    cohorts: Cohorts,
    node: QuotaNode,
    incoming: Workload,
    candidates: Sequence[_Candidate],
    names: set[str],
    *,
    borrowing: bool,
) -> list[Target]:
    """Remove candidates until ``incoming`` fits; put back whom that does not need."""
    gone: list[Target] = []
    found: list[Target] = []
    for candidate in candidates:
        if not _still_valid(cohorts, node, candidate, names, borrowing=borrowing):
            continue
        cohorts.remove(candidate.workload)
        gone.append(Target(candidate.workload, candidate.reason))
        if _fits(node, incoming, borrowing=borrowing):
            gone = put_back(cohorts, gone, lambda: _fits(node, incoming, borrowing=borrowing))
            found = list(gone)
            break
    for target in gone:
        cohorts.admit(target.workload)
    return found


def put_back(cohorts: Cohorts, gone: list[Target], still_fits: object) -> list[Target]:
    """Re-admit, the last but one first, each target without which the newcomer still fits."""
    assert callable(still_fits)
    kept = list(gone)
    for target in reversed(gone[:-1]):
        cohorts.admit(target.workload)
        if still_fits():
            kept.remove(target)
        else:
            cohorts.remove(target.workload)
    return kept


def _fits(node: QuotaNode, incoming: Workload, *, borrowing: bool) -> bool:
    if not borrowing and borrows_with(node, incoming.requests):
        return False
    return fits(node, incoming.requests)


def _still_valid(
    cohorts: Cohorts, node: QuotaNode, candidate: _Candidate, names: set[str], *, borrowing: bool
) -> bool:
    victim = cohorts.nodes[candidate.workload.queue]
    if victim is node:
        return True
    if borrowing and candidate.without_borrowing:
        return False
    steps: list[QuotaNode] = [victim]
    for above in victim.path():
        if above is candidate.common:
            break
        steps.append(above)
    return not any(within_nominal(step, names) for step in steps)


def _sorted(candidates: Sequence[_Candidate], node: QuotaNode) -> list[_Candidate]:
    by_name = {id(candidate.workload): candidate for candidate in candidates}
    ordered = order([candidate.workload for candidate in candidates], node.name)
    return [by_name[id(workload)] for workload in ordered]


def _from_cohort(
    node: QuotaNode, incoming: Workload, names: set[str]
) -> tuple[list[_Candidate], list[_Candidate]]:
    """Candidates of other queues: those with a farther claim, and those beaten by priority."""
    nearer_list: list[_Candidate] = []
    by_priority: list[_Candidate] = []
    if node.policy.reclaim_within_cohort is Within.NEVER:
        return nearer_list, by_priority
    nearer, rest = _fits_quota(node, dict(incoming.requests))
    below: QuotaNode | None = None
    for cohort in node.path():
        found = [
            candidate
            for queue in _borrowing_queues(cohort, below, node, names)
            for candidate in _from_queue(queue, node, incoming, names, common=cohort, nearer=nearer)
        ]
        (nearer_list if nearer else by_priority).extend(found)
        enough, rest = _fits_quota(cohort, rest)
        nearer = nearer or enough
        below = cohort
    return nearer_list, by_priority


def _fits_quota(node: QuotaNode, requests: dict[str, float]) -> tuple[bool, dict[str, float]]:
    """Whether the node's own quota covers ``requests``, and what is left to ask above."""
    rest = {n: max(0, amount - node.local_available(n)) for n, amount in requests.items()}
    return not borrows_with(node, requests), rest


def _borrowing_queues(
    cohort: QuotaNode, skip: QuotaNode | None, own: QuotaNode, names: set[str]
) -> Iterator[QuotaNode]:
    for child in cohort.children:
        if child is skip or child is own or within_nominal(child, names):
            continue
        if child.is_queue:
            yield child
        else:
            yield from _borrowing_queues(child, skip, own, names)


def _from_queue(
    queue: QuotaNode,
    own: QuotaNode,
    incoming: Workload,
    names: set[str],
    *,
    common: QuotaNode | None,
    nearer: bool,
) -> list[_Candidate]:
    policy = own.policy.within_queue if queue is own else own.policy.reclaim_within_cohort
    found = []
    for workload in queue.workloads:
        uses = any(workload.requests.get(name, 0) > 0 for name in names)
        if uses and may_preempt(incoming, workload, policy):
            reason, without = _variant(own, queue, incoming, workload, nearer=nearer)
            found.append(_Candidate(workload, reason, without, common))
    return found


def _variant(
    own: QuotaNode, queue: QuotaNode, incoming: Workload, victim: Workload, *, nearer: bool
) -> tuple[Reason, bool]:
    """The rule, and whether it forbids that the newcomer's queue borrows."""
    if queue is own:
        return Reason.IN_QUEUE, False
    if nearer:
        return Reason.RECLAIM, False
    threshold = own.policy.max_priority_threshold
    if (
        not own.policy.borrow_within_cohort
        or victim.priority >= incoming.priority
        or (threshold is not None and victim.priority > threshold)
    ):
        return Reason.RECLAIM, True
    return Reason.RECLAIM_WHILE_BORROWING, False
