"""Quotas in a cohort tree: what a queue may use of its own and of its relatives'.

Pure arithmetic on small mutable nodes. A node lends to its parent all of its quota that its
lending limit allows; what it keeps back is local. Usage beyond the local quota counts at the
parent too. ``available`` may be negative where quota was taken away after admission.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

Amounts = Mapping[str, float]


class Within(StrEnum):
    """Whom waiting work may preempt in its own queue, or reclaim from in the cohort."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER = "LowerOrNewerEqualPriority"
    ANY = "Any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """One resource of one node."""

    nominal: float = 0
    borrowing_limit: float | None = None
    lending_limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionPolicy:
    """What a cluster queue allows itself; everything is off by default."""

    within_queue: Within = Within.NEVER
    reclaim_within_cohort: Within = Within.NEVER
    borrow_within_cohort: bool = False
    max_priority_threshold: int | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Workload:
    """One unit of admission."""

    name: str
    queue: str
    requests: dict[str, float]
    priority: int = 0
    created_at: float = 0.0
    admitted_at: float = 0.0
    evicted: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class QuotaNode:
    """A cluster queue or a cohort."""

    name: str
    parent: QuotaNode | None = None
    quotas: dict[str, Quota] = field(default_factory=dict)
    weight: float = 1.0
    policy: PreemptionPolicy = PreemptionPolicy()
    strict: bool = False
    """StrictFIFO: a head that does not fit blocks what stands behind it."""
    is_queue: bool = False
    children: list[QuotaNode] = field(default_factory=list)
    subtree: dict[str, float] = field(default_factory=dict)
    usage: dict[str, float] = field(default_factory=dict)
    workloads: list[Workload] = field(default_factory=list)

    def local(self, name: str) -> float:
        """Quota that is never lent."""
        limit = self.quotas.get(name, Quota()).lending_limit
        return 0 if limit is None else max(0, self.subtree.get(name, 0) - limit)

    def local_available(self, name: str) -> float:
        """What is left of the local quota."""
        return max(0, self.local(name) - self.usage.get(name, 0))

    def path(self) -> Iterator[QuotaNode]:
        """The parents, up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def root(self) -> QuotaNode:
        """The top of the tree."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def queues(self) -> Iterator[QuotaNode]:
        """All cluster queues below."""
        if self.is_queue:
            yield self
        for child in self.children:
            yield from child.queues()


def available(node: QuotaNode, name: str) -> float:
    """How much more the node may use now."""
    used = node.usage.get(name, 0)
    if node.parent is None:
        return node.subtree.get(name, 0) - used
    above = available(node.parent, name)
    limit = node.quotas.get(name, Quota()).borrowing_limit
    if limit is not None:
        stored = node.subtree.get(name, 0) - node.local(name)
        used_above = max(0, used - node.local(name))
        above = min(above, stored - used_above + limit)
    return node.local_available(name) + above


def potential(node: QuotaNode, name: str) -> float:
    """How much the node could use if nobody used anything."""
    if node.parent is None:
        return node.subtree.get(name, 0)
    most = node.local(name) + potential(node.parent, name)
    limit = node.quotas.get(name, Quota()).borrowing_limit
    return most if limit is None else min(most, node.subtree.get(name, 0) + limit)


def fits(node: QuotaNode, requests: Amounts) -> bool:
    """Whether ``requests`` may be admitted now."""
    return all(amount <= available(node, name) for name, amount in requests.items())


def borrows_with(node: QuotaNode, requests: Amounts) -> bool:
    """Whether the node would exceed its own quota with ``requests``."""
    return any(
        node.usage.get(name, 0) + amount > node.subtree.get(name, 0)
        for name, amount in requests.items()
    )


def within_nominal(node: QuotaNode, names: Iterable[str]) -> bool:
    """Whether the node uses no more than its own quota of ``names``."""
    return all(node.usage.get(name, 0) <= node.subtree.get(name, 0) for name in names)


def use(node: QuotaNode, name: str, amount: float) -> None:
    """Count usage, bubbling up what the local quota does not cover."""
    local = node.local_available(name)
    node.usage[name] = node.usage.get(name, 0) + amount
    if node.parent is not None and amount > local:
        use(node.parent, name, amount - local)


def free(node: QuotaNode, name: str, amount: float) -> None:
    """Take usage off again."""
    above = node.usage.get(name, 0) - node.local(name)
    node.usage[name] = node.usage.get(name, 0) - amount
    if above > 0 and node.parent is not None:
        free(node.parent, name, min(amount, above))


class Cohorts:
    """All nodes of a snapshot, with what is admitted."""

    def __init__(self, nodes: Iterable[QuotaNode]) -> None:
        self.nodes = {node.name: node for node in nodes}
        for node in self.nodes.values():
            if node.parent is not None and node not in node.parent.children:
                node.parent.children.append(node)
        for node in self.nodes.values():
            if node.parent is None:
                _sum_up(node)

    def admit(self, workload: Workload) -> None:
        """Count ``workload`` as admitted."""
        node = self.nodes[workload.queue]
        node.workloads.append(workload)
        for name, amount in workload.requests.items():
            use(node, name, amount)

    def remove(self, workload: Workload) -> None:
        """Take ``workload`` off again."""
        node = self.nodes[workload.queue]
        node.workloads.remove(workload)
        for name, amount in workload.requests.items():
            free(node, name, amount)


def _sum_up(node: QuotaNode) -> None:
    node.subtree = {name: quota.nominal for name, quota in node.quotas.items()}
    for child in node.children:
        _sum_up(child)
        for name, amount in child.subtree.items():
            node.subtree[name] = node.subtree.get(name, 0) + amount - child.local(name)
