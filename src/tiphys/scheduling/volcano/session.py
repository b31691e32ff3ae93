"""One scheduling round: the cluster, the policies that vote, and moves that can be undone.

A ``Statement`` collects moves; discarding it undoes them in reverse, so a gang that does not come
together leaves no trace. Policies are ``Plugin`` records of optional functions in tiers. Votes:

- orders: the first policy with an opinion decides;
- victims: policies of one tier are intersected, the first tier with a result decides, and an
  empty answer voids its tier;
- permission to enqueue: a refusal ends the vote, a permit ends it after its tier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import TypeVar

from tiphys.scheduling.volcano.amounts import Amounts, add, subtract, total, within
from tiphys.scheduling.volcano.cluster import HOLDING, ClusterQueue, Job, Node, Status, Task

T = TypeVar("T")
Victims = Callable[[Task, Sequence[Task]], Sequence[Task]]
PERMIT, ABSTAIN, REJECT = 1, 0, -1


@dataclass(slots=True, kw_only=True)
class Plugin:
    """One policy: the questions it answers. None means it has no opinion."""

    name: str
    queue_order: Callable[[ClusterQueue, ClusterQueue], int] | None = None
    victim_queue_order: Callable[[ClusterQueue, ClusterQueue, ClusterQueue], int] | None = None
    job_order: Callable[[Job, Job], int] | None = None
    task_order: Callable[[Task, Task], int] | None = None
    reclaimable: Victims | None = None
    preemptable: Victims | None = None
    preemptive: Callable[[ClusterQueue, Task], bool] | None = None
    allocatable: Callable[[ClusterQueue, Task], bool] | None = None
    overused: Callable[[ClusterQueue], bool] | None = None
    enqueueable: Callable[[Job], int] | None = None
    enqueued: Callable[[Job], None] | None = None
    valid: Callable[[Job], bool] | None = None
    ready: Callable[[Job], bool] | None = None
    pipelined: Callable[[Job], bool] | None = None
    starving: Callable[[Job], bool] | None = None
    on_allocate: Callable[[Task], None] | None = None
    on_deallocate: Callable[[Task], None] | None = None


Tiers = Sequence[Sequence[Plugin]]


@dataclass(slots=True)
class Session:
    """The state of one round."""

    nodes: dict[str, Node]
    queues: dict[str, ClusterQueue]
    jobs: dict[str, Job]
    tiers: Tiers = ()
    evicted: list[Task] = field(default_factory=list)
    sequence: list[Task] = field(default_factory=list)
    """Tasks in the order in which they were bound."""

    def total(self) -> Amounts:
        """What all nodes have."""
        return total(node.capacity for node in self.nodes.values())

    def plugins(self) -> Iterable[Plugin]:
        """All policies, tier by tier."""
        return (plugin for tier in self.tiers for plugin in tier)

    def queue_of(self, task: Task) -> ClusterQueue:
        """The queue of a task's job."""
        return self.queues[self.jobs[task.job].queue]

    def tasks_on(self, node: Node) -> list[Task]:
        """Tasks that occupy ``node``, by name."""
        found = [
            task
            for job in self.jobs.values()
            for task in job.tasks
            if task.node == node.name and task.status in HOLDING
        ]
        return sorted(found, key=lambda task: task.name)

    # -- orders ------------------------------------------------------------------------------

    def queue_before(self, left: ClusterQueue, right: ClusterQueue) -> bool:
        """Whether ``left`` is served before ``right``."""
        for plugin in self.plugins():
            if plugin.queue_order and (verdict := plugin.queue_order(left, right)):
                return verdict < 0
        return left.name < right.name

    def job_before(self, left: Job, right: Job) -> bool:
        """Whether ``left`` is served before ``right``."""
        for plugin in self.plugins():
            if plugin.job_order and (verdict := plugin.job_order(left, right)):
                return verdict < 0
        return (left.created_at, left.name) < (right.created_at, right.name)

    def task_before(self, left: Task, right: Task) -> bool:
        """Whether ``left`` is served before ``right``."""
        for plugin in self.plugins():
            if plugin.task_order and (verdict := plugin.task_order(left, right)):
                return verdict < 0
        return (left.created_at, left.name) < (right.created_at, right.name)

    def victim_before(self, left: Task, right: Task, preemptor: Task) -> bool:
        """Whether ``left`` is stopped before ``right``: the least important first."""
        if left.job == right.job:
            return not self.task_before(left, right)
        left_job, right_job = self.jobs[left.job], self.jobs[right.job]
        if left_job.queue == right_job.queue:
            return not self.job_before(left_job, right_job)
        queues = self.queues[left_job.queue], self.queues[right_job.queue]
        for plugin in self.plugins():
            if plugin.victim_queue_order:
                verdict = plugin.victim_queue_order(*queues, self.queue_of(preemptor))
                if verdict:
                    return verdict < 0
        return not self.queue_before(*queues)

    def victim_order(self, victims: Iterable[Task], preemptor: Task) -> list[Task]:
        """Sort victims, the first to go first."""
        return by(lambda left, right: self.victim_before(left, right, preemptor), victims)

    # -- votes -------------------------------------------------------------------------------

    def reclaim_victims(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Running tasks of other queues that may be stopped for ``reclaimer``."""
        return vote_victims(
            [[plugin.reclaimable for plugin in tier if plugin.reclaimable] for tier in self.tiers],
            reclaimer,
            candidates,
        )

    def preempt_victims(self, preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        """Running tasks of the same queue that may be stopped for ``preemptor``."""
        return vote_victims(
            [[plugin.preemptable for plugin in tier if plugin.preemptable] for tier in self.tiers],
            preemptor,
            candidates,
        )

    def allocatable(self, queue: ClusterQueue, task: Task) -> bool:
        """Whether the queue has room for the task."""
        return all(p.allocatable(queue, task) for p in self.plugins() if p.allocatable)

    def preemptive(self, queue: ClusterQueue, task: Task) -> bool:
        """Whether the queue may take back from others for the task."""
        return all(p.preemptive(queue, task) for p in self.plugins() if p.preemptive)

    def overused(self, queue: ClusterQueue) -> bool:
        """Whether the queue has all that it deserves."""
        return any(p.overused(queue) for p in self.plugins() if p.overused)

    def valid(self, job: Job) -> bool:
        """Whether the job has enough pods at all."""
        return all(p.valid(job) for p in self.plugins() if p.valid)

    def ready(self, job: Job) -> bool:
        """Whether what is allocated to the job may be kept."""
        return all(p.ready(job) for p in self.plugins() if p.ready)

    def pipelined(self, job: Job) -> bool:
        """Whether the job will be ready once evicted tasks are gone."""
        return all(p.pipelined(job) for p in self.plugins() if p.pipelined)

    def starving(self, job: Job) -> bool:
        """Whether the job needs more; the first tier that can tell decides."""
        for tier in self.tiers:
            verdicts = [plugin.starving(job) for plugin in tier if plugin.starving]
            if verdicts:
                return all(verdicts)
        return False

    def enqueueable(self, job: Job) -> bool:
        """Whether the job may leave the waiting room."""
        tiers = [[p.enqueueable for p in tier if p.enqueueable] for tier in self.tiers]
        return vote_enqueue(tiers, job)


def vote_victims(
    tiers: Sequence[Sequence[Victims]], preemptor: Task, candidates: Sequence[Task]
) -> list[Task]:
    """Intersect the answers inside a tier; the first tier with an answer decides."""
    for tier in tiers:
        agreed: list[Task] | None = None
        for ask in tier:
            answer = list(ask(preemptor, candidates))
            if not answer:
                agreed = None
                break
            names = {task.name for task in answer}
            agreed = answer if agreed is None else [t for t in agreed if t.name in names]
        if agreed:
            return agreed
    return []


def vote_enqueue(tiers: Sequence[Sequence[Callable[[Job], int]]], job: Job) -> bool:
    """A refusal ends the vote; a permit ends it after its tier; silence permits."""
    for tier in tiers:
        permitted = False
        for ask in tier:
            verdict = ask(job)
            if verdict < 0:
                return False
            permitted = permitted or verdict > 0
        if permitted:
            return True
    return True


def by(before: Callable[[T, T], bool], items: Iterable[T]) -> list[T]:
    """Sort by a before-relation."""

    def compare(left: T, right: T) -> int:
        if before(left, right):
            return -1
        return 1 if before(right, left) else 0

    return sorted(items, key=cmp_to_key(compare))


def take_first(before: Callable[[T, T], bool], items: list[T]) -> T:
    """Remove and return the first by a before-relation that may change between calls."""
    best = 0
    for index in range(1, len(items)):
        if before(items[index], items[best]):
            best = index
    return items.pop(best)


class Statement:
    """Moves of one attempt, kept or undone together."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._undo: list[Callable[[], None]] = []

    def allocate(self, task: Task, node: Node) -> None:
        """Give ``task`` what is idle on ``node``."""
        node.idle = subtract(node.idle, task.request)
        self._session.sequence.append(task)
        self._move(task, Status.ALLOCATED, node.name)
        self._tell(task, allocated=True)

        def undo() -> None:
            node.idle = add(node.idle, task.request)
            self._session.sequence.remove(task)
            task.status, task.node = Status.PENDING, ""
            self._tell(task, allocated=False)

        self._undo.append(undo)

    def pipeline(self, task: Task, node: Node) -> None:
        """Promise ``task`` what will be idle on ``node``."""
        node.pipelined = add(node.pipelined, task.request)
        self._move(task, Status.PIPELINED, node.name)
        self._tell(task, allocated=True)

        def undo() -> None:
            node.pipelined = subtract(node.pipelined, task.request)
            task.status, task.node = Status.PENDING, ""
            self._tell(task, allocated=False)

        self._undo.append(undo)

    def evict(self, task: Task) -> None:
        """Stop a running task."""
        node, before = self._session.nodes[task.node], task.status
        node.releasing = add(node.releasing, task.request)
        task.status = Status.RELEASING
        self._session.evicted.append(task)
        self._tell(task, allocated=False)

        def undo() -> None:
            node.releasing = subtract(node.releasing, task.request)
            task.status = before
            self._session.evicted.remove(task)
            self._tell(task, allocated=True)

        self._undo.append(undo)

    def commit(self) -> None:
        """Keep the moves."""
        self._undo.clear()

    def discard(self) -> None:
        """Undo the moves, the last first."""
        while self._undo:
            self._undo.pop()()

    def _move(self, task: Task, status: Status, node: str) -> None:
        task.status, task.node = status, node

    def _tell(self, task: Task, *, allocated: bool) -> None:
        for plugin in self._session.plugins():
            tell = plugin.on_allocate if allocated else plugin.on_deallocate
            if tell:
                tell(task)


def fits(task: Task, idle: Amounts) -> bool:
    """Whether the task's request is within ``idle``."""
    return within(task.request, idle)
