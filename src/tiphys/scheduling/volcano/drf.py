"""Dominant resource fairness between jobs, and its form over a tree of queues.

Pure. A job's share is the largest fraction it holds of any resource; the lowest share goes next.
In the tree, children of a node are scaled down to the least served among them before they are
summed, so that two queues of complementary needs do not pay for each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tiphys.scheduling.volcano.amounts import (
    Amounts,
    add,
    dominant_share,
    scale,
    subtract,
    total,
)
from tiphys.scheduling.volcano.cluster import ClusterQueue, Job, Task
from tiphys.scheduling.volcano.session import Plugin, Session

DELTA = 1e-6


def drf(session: Session, *, hierarchy: bool = False) -> Plugin:
    """Return the DRF policy of ``session``."""
    return _Drf(session, hierarchy=hierarchy).plugin()


def preempt_victims(
    whole: Mapping[str, float],
    mine: Amounts,
    candidates: Sequence[tuple[str, str, Amounts]],
    held: Mapping[str, Amounts],
) -> list[str]:
    """Names of candidates (name, job, request) whose job keeps at least the preemptor's share.

    ``mine`` is what the preemptor's job would hold; a candidate counts as gone for those after it.
    """
    own = dominant_share(mine, whole)[1]
    left = dict(held)
    chosen = []
    for name, job, request in candidates:
        left[job] = subtract(left[job], request)
        if own < dominant_share(left[job], whole)[1] + DELTA:
            chosen.append(name)
    return chosen


class _Drf:
    def __init__(self, session: Session, *, hierarchy: bool) -> None:
        self._session = session
        self._whole = {n: a for n, a in session.total().items() if n != "pods"}
        self._held = {name: job.allocated() for name, job in session.jobs.items()}
        self._hierarchy = hierarchy
        self._root = Share(name=ROOT_PATH)
        self._update()

    def plugin(self) -> Plugin:
        return Plugin(
            name="drf",
            job_order=self._job_order,
            queue_order=self._queue_order if self._hierarchy else None,
            preemptable=self._victims,
            on_allocate=lambda task: self._change(task, add),
            on_deallocate=lambda task: self._change(task, subtract),
        )

    def _change(self, task: Task, operation: object) -> None:
        change = add if operation is add else subtract
        self._held[task.job] = change(self._held[task.job], task.request)
        self._update()

    def _update(self) -> None:
        if self._hierarchy:
            jobs = [
                (session_queue, job, self._held[job.name])
                for job in self._session.jobs.values()
                for session_queue in [self._session.queues[job.queue]]
            ]
            self._root = share_tree(self._whole, jobs)

    def _share(self, job: Job) -> float:
        return dominant_share(self._held[job.name], self._whole)[1]

    def _job_order(self, left: Job, right: Job) -> int:
        shares = self._share(left), self._share(right)
        return (shares[0] > shares[1]) - (shares[0] < shares[1])

    def _queue_order(self, left: ClusterQueue, right: ClusterQueue) -> int:
        return compare_paths(self._root, left.hierarchy, right.hierarchy)

    def _victims(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        mine = add(self._held[preemptor.job], preemptor.request)
        names = preempt_victims(
            self._whole,
            mine,
            [(task.name, task.job, task.request) for task in candidates],
            self._held,
        )
        return [task for task in candidates if task.name in names]


ROOT_PATH = "root"


@dataclass(slots=True, kw_only=True)
class Share:
    """A node of the share tree: a queue on the way, or a job at the end."""

    name: str
    weight: float = 1.0
    allocated: Amounts = field(default_factory=dict)
    request: Amounts = field(default_factory=dict)
    share: float = 0.0
    saturated: bool = False
    job: bool = False
    children: dict[str, Share] = field(default_factory=dict)


def share_tree(
    whole: Mapping[str, float], jobs: Sequence[tuple[ClusterQueue, Job, Amounts]]
) -> Share:
    """Build the tree of shares from what each job holds."""
    root = Share(name=ROOT_PATH)
    used = total(held for _, _, held in jobs)
    wanted = {name for name, amount in whole.items() if used.get(name, 0.0) < amount}
    for queue, job, held in jobs:
        node = root
        path, weights = queue.hierarchy.split("/"), queue.weights.split("/")
        for step, weight in zip(path[1:], weights[1:], strict=True):
            fresh = Share(name=step, weight=max(1.0, float(weight)))
            node = node.children.setdefault(step, fresh)
        request = total(task.request for task in job.tasks)
        node.children[f"job {job.name}"] = Share(
            name=job.name, allocated=held, request=request, job=True
        )
    _settle(root, whole, wanted)
    return root


def _settle(node: Share, whole: Mapping[str, float], wanted: set[str]) -> None:
    if node.job:
        node.share = dominant_share(node.allocated, whole)[1]
        node.saturated = _is_saturated(node, wanted)
        return
    for child in node.children.values():
        _settle(child, whole, wanted)
    hungry = [c for c in node.children.values() if c.share and not c.saturated]
    least = min([1.0, *(dominant_share(c.allocated, whole)[1] for c in hungry)])
    node.allocated = {}
    for child in node.children.values():
        if child.share:
            factor = 1.0 if child.saturated else least / child.share
            node.allocated = add(node.allocated, scale(child.allocated, factor))
    node.share = dominant_share(node.allocated, whole)[1]
    node.saturated = all(child.saturated for child in node.children.values())


def _is_saturated(node: Share, wanted: set[str]) -> bool:
    """Nothing more can be given: all is met, or something it needs is used up."""
    for name, amount in node.request.items():
        if name == "pods" or not amount:
            continue
        if node.allocated.get(name, 0.0) >= amount or name not in wanted:
            return True
    return False


def compare_paths(root: Share, left: str, right: str) -> int:
    """Compare two queues from the root down: hungry before saturated, then the lower share."""
    mine, yours = root, root
    steps = list(zip(left.split("/"), right.split("/"), strict=False))
    for depth in range(len(steps)):
        if mine.saturated != yours.saturated:
            return 1 if mine.saturated else -1
        shares = mine.share / mine.weight, yours.share / yours.weight
        if shares[0] != shares[1]:
            return -1 if shares[0] < shares[1] else 1
        if depth + 1 < len(steps):
            mine = mine.children[steps[depth + 1][0]]
            yours = yours.children[steps[depth + 1][1]]
    return 0
