"""Kueue's fair sharing: shares of what is borrowed, and preemption that evens them out.

Pure: the cohorts are changed while trying and restored before returning. The share of a node is
what it borrows of the resource it borrows most, against what its parent could lend, by weight. A
newcomer within its nominal quota always wins it back; one that borrows wins only while the
victim's share stays at least as large as its own (S2-a), or was larger before (S2-b).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tiphys.scheduling.kueue.preempt import (
    Reason,
    Target,
    may_preempt,
    needed,
    order,
    put_back,
)
from tiphys.scheduling.kueue.quota import (
    Amounts,
    Cohorts,
    QuotaNode,
    Within,
    Workload,
    fits,
    free,
    potential,
    use,
    within_nominal,
)

Share = tuple[int, float]
"""Orders shares: a borrower of weight zero is above all others."""


class Strategy(StrEnum):
    """When a borrower may preempt another borrower."""

    FINAL = "LessThanOrEqualToFinalShare"
    INITIAL = "LessThanInitialShare"


def dominant_share(node: QuotaNode, extra: Amounts | None = None) -> tuple[float, str]:
    """Return 1000 × the largest borrowed fraction, before weight, and its resource."""
    if node.parent is None:
        return 0.0, ""
    best, dominant = 0.0, ""
    for name in sorted(node.subtree):
        used = node.usage.get(name, 0) + (extra or {}).get(name, 0)
        borrowed = used - node.subtree[name]
        lendable = potential(node.parent, name)
        if borrowed > 0 and lendable > 0 and borrowed * 1000 / lendable > best:
            best, dominant = borrowed * 1000 / lendable, name
    return best, dominant


def weighted_share(node: QuotaNode, extra: Amounts | None = None) -> float:
    """Return the share divided by weight; infinite for a borrower of weight zero."""
    ratio = dominant_share(node, extra)[0]
    if not ratio:
        return 0.0
    return ratio / node.weight if node.weight else math.inf


def _comparable(node: QuotaNode, extra: Amounts | None = None) -> Share:
    ratio = dominant_share(node, extra)[0]
    if not node.weight and ratio:
        return 1, ratio
    return 0, weighted_share(node, extra)


def tournament(cohort: QuotaNode, heads: dict[str, Workload]) -> Workload | None:
    """Choose the head to admit next: at each level the lowest share after its admission wins."""
    best: tuple[tuple[object, ...], Workload] | None = None
    for child in cohort.children:
        head = heads.get(child.name) if child.is_queue else tournament(child, heads)
        if head is None:
            continue
        key = (_comparable(child, head.requests), -head.priority, head.created_at, head.name)
        if best is None or key < best[0]:
            best = (key, head)
    return best[1] if best else None


def preemptions(
    cohorts: Cohorts,
    incoming: Workload,
    strategies: Sequence[Strategy] = (Strategy.FINAL, Strategy.INITIAL),
) -> list[Target]:
    """Choose whom to preempt for ``incoming``; none where it would not be fair."""
    node = cohorts.nodes[incoming.queue]
    names = needed(node, incoming.requests)
    if not names:
        return []
    found = _candidates(node, incoming, names)
    if not found:
        return []
    _use(node, incoming, use)
    attempt = _Attempt(cohorts, node, incoming)
    done = attempt.first(order(found, node.name), strategies[0])
    if not done and Strategy.INITIAL in strategies[1:]:
        done = attempt.second()
    _use(node, incoming, free)
    gone = attempt.gone
    if done:
        gone = put_back(cohorts, gone, lambda: fits(node, incoming.requests))
    for target in gone:
        cohorts.admit(target.workload)
    return gone if done else []


def _use(
    node: QuotaNode, workload: Workload, change: Callable[[QuotaNode, str, float], None]
) -> None:
    for name, amount in workload.requests.items():
        change(node, name, amount)


def _candidates(node: QuotaNode, incoming: Workload, names: set[str]) -> list[Workload]:
    found = _of_queue(node, incoming, node.policy.within_queue, names)
    if node.parent is not None and node.policy.reclaim_within_cohort is not Within.NEVER:
        for queue in node.root().queues():
            if queue is not node and not within_nominal(queue, names):
                found += _of_queue(queue, incoming, node.policy.reclaim_within_cohort, names)
    return found


def _of_queue(
    queue: QuotaNode, incoming: Workload, policy: Within, names: set[str]
) -> list[Workload]:
    return [
        workload
        for workload in queue.workloads
        if may_preempt(incoming, workload, policy)
        and any(workload.requests.get(name, 0) > 0 for name in names)
    ]


@dataclass(slots=True)
class _Attempt:
    """One search; the newcomer's usage is already counted in."""

    cohorts: Cohorts
    node: QuotaNode
    incoming: Workload
    gone: list[Target] = field(default_factory=list)
    retry: list[Workload] = field(default_factory=list)
    by_queue: dict[str, list[Workload]] = field(default_factory=dict)
    pruned: set[str] = field(default_factory=set)

    def first(self, candidates: Sequence[Workload], strategy: Strategy) -> bool:
        """Take from the largest share, as long as the strategy allows; tell whether it fits."""
        self._line_up(candidates)
        while (queue := self._next(self.node.root())) is not None:
            if queue is self.node:
                if self._take(self.by_queue[queue.name].pop(0), Reason.IN_QUEUE):
                    return True
                continue
            if self._from(queue, strategy):
                return True
        return False

    def second(self) -> bool:
        """Rule S2-b, once for each queue."""
        self._line_up(self.retry)
        while (queue := self._next(self.node.root())) is not None:
            if queue is not self.node:
                mine, before = self._shares(queue)
                if mine < before and self._take(self.by_queue[queue.name].pop(0), self._reason()):
                    return True
            self.pruned.add(queue.name)
        return False

    def _from(self, queue: QuotaNode, strategy: Strategy) -> bool:
        mine, before = self._shares(queue)
        while self.by_queue[queue.name]:
            workload = self.by_queue[queue.name].pop(0)
            after = self._share_without(queue, workload)
            allowed = mine <= after if strategy is Strategy.FINAL else mine < before
            if allowed:
                return self._take(workload, self._reason())
            self.retry.append(workload)
        return False

    def _take(self, workload: Workload, reason: Reason) -> bool:
        self.cohorts.remove(workload)
        self.gone.append(Target(workload, reason))
        _use(self.node, self.incoming, free)
        enough = fits(self.node, self.incoming.requests)
        _use(self.node, self.incoming, use)
        return enough

    def _reason(self) -> Reason:
        """Within its nominal quota the newcomer takes back its own."""
        borrows = dominant_share(self.node)[0] > 0
        return Reason.FAIR_SHARING if borrows else Reason.RECLAIM

    def _line_up(self, candidates: Sequence[Workload]) -> None:
        self.by_queue, self.pruned = {}, set()
        for workload in candidates:
            self.by_queue.setdefault(workload.queue, []).append(workload)

    def _shares(self, queue: QuotaNode) -> tuple[Share, Share]:
        """Shares of the newcomer's and the victim's branch, just below where they meet."""
        mine, yours = self._branches(queue)
        return _comparable(mine), _comparable(yours)

    def _share_without(self, queue: QuotaNode, workload: Workload) -> Share:
        _use(queue, workload, free)
        share = _comparable(self._branches(queue)[1])
        _use(queue, workload, use)
        return share

    def _branches(self, queue: QuotaNode) -> tuple[QuotaNode, QuotaNode]:
        mine = [self.node, *self.node.path()]
        yours: QuotaNode = queue
        for above in queue.path():
            if above in mine:
                return mine[mine.index(above) - 1], yours
            yours = above
        return self.node, yours

    def _next(self, cohort: QuotaNode) -> QuotaNode | None:
        """The queue with the largest share that still has candidates, level by level."""
        if cohort.is_queue:
            return cohort if self.by_queue.get(cohort.name) else None
        while True:
            choice = self._largest(cohort)
            if choice is None or choice.is_queue:
                return choice
            found = self._next(choice)
            if found is not None:
                return found
            self.pruned.add(choice.name)

    def _largest(self, cohort: QuotaNode) -> QuotaNode | None:
        on_path = {self.node.name, *(above.name for above in self.node.path())}
        best: tuple[Share, int, int] | None = None
        choice = None
        for child in cohort.children:
            if child.name in self.pruned:
                continue
            share = _comparable(child)
            if child.is_queue and not self.by_queue.get(child.name):
                continue
            if share == (0, 0.0) and child.name not in on_path:
                continue
            # Among equals a cohort goes before a queue, then whose first candidate goes first.
            key = (share, int(not child.is_queue), -self._place(child))
            if best is None or key > best:
                best, choice = key, child
        return choice

    def _place(self, child: QuotaNode) -> int:
        if not child.is_queue:
            return 0
        heads = [line[0] for line in self.by_queue.values() if line]
        mine = self.by_queue[child.name][0]
        return order(heads, self.node.name).index(mine)
