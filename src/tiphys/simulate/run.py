"""The virtual clock: real scheduler, imagined machine.

Tasks become ready when their parents have ended, wait in the real ``Scheduler``, and end after
their duration. Everything is deterministic: the same tasks, capacity and queues give the same
result. A stopped task loses its progress and queues again with its age kept; that is no retry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

from tiphys.errors import InvalidInputError
from tiphys.scheduling import Gang, QueueTree, Resources, Scheduler, Work, WorkId
from tiphys.scheduling.plan import Preemption
from tiphys.scheduling.reason import text
from tiphys.scheduling.resource import clamp
from tiphys.simulate.task import Task


@dataclass(slots=True)
class Record:
    """How one task fared."""

    task: Task
    ready_at: float
    started_at: float = -1.0
    ended_at: float = -1.0
    preempted: int = 0

    @property
    def waited(self) -> float:
        """Seconds from ready to the start that led to the end."""
        return self.started_at - self.ready_at


@dataclass(slots=True)
class Outcome:
    """All that happened."""

    capacity: Resources
    queues: QueueTree
    records: dict[str, Record] = field(default_factory=dict)
    preemptions: list[tuple[float, Preemption]] = field(default_factory=list)
    stuck: dict[str, str] = field(default_factory=dict)
    """Tasks that never started, and why."""
    warnings: list[str] = field(default_factory=list)
    plans: int = 0
    decisions: int = 0

    @property
    def makespan(self) -> float:
        """From the first arrival to the last end."""
        ended = [record.ended_at for record in self.records.values() if record.ended_at >= 0]
        first = min((r.task.arrives_at for r in self.records.values()), default=0.0)
        return max(ended, default=first) - first


def run(tasks: Sequence[Task], capacity: Resources, queues: QueueTree | None = None) -> Outcome:
    """Run ``tasks`` to their end on a virtual clock."""
    return _Simulation(tasks, capacity, queues or QueueTree.default()).run()


class _Simulation:
    def __init__(self, tasks: Sequence[Task], capacity: Resources, queues: QueueTree) -> None:
        self.scheduler = Scheduler(capacity, queues)
        self.outcome = Outcome(capacity, queues)
        self.tasks = {task.id: task for task in tasks}
        self.events: list[tuple[float, int, int, str, int]] = []
        """Time, kind (0 ends before 1 arrives), order of making, task, start number."""
        self.order = count()
        self.starts: dict[str, int] = {}
        self.waiting_for: dict[str, int] = {}
        self.children: dict[str, list[str]] = {task.id: [] for task in tasks}
        self._prepare(tasks)

    def _prepare(self, tasks: Iterable[Task]) -> None:
        sizes: dict[str, int] = {}
        for task in tasks:
            for parent in task.parents:
                if parent not in self.tasks:
                    raise InvalidInputError(f"{task.id}: no task {parent}")
                self.children[parent].append(task.id)
            self.waiting_for[task.id] = len(task.parents)
            if not task.parents:
                self._push(task.arrives_at, 1, task.id)
            if task.gang:
                sizes[task.gang] = sizes.get(task.gang, 0) + 1
        for name, size in sizes.items():
            self.scheduler.declare(Gang(name=name, min_member=size))

    def run(self) -> Outcome:
        now = 0.0
        while self.events:
            now = self.events[0][0]
            while self.events and self.events[0][0] <= now:
                self._happen(*heappop(self.events))
            self._plan(now)
            self._wake(now)
        for work_id in self.scheduler.waiting():
            wait = self.scheduler.reason(work_id, now)
            self.outcome.stuck[work_id] = wait.text if wait is not None else ""
        return self.outcome

    def _wake(self, now: float) -> None:
        """Plan again when time alone changes something, as long as something waits."""
        at = self.scheduler.wake_at()
        if at is not None and self.events and now < at < self.events[0][0]:
            self._push(at, 2, "")

    def _push(self, at: float, kind: int, task_id: str, number: int = 0) -> None:
        heappush(self.events, (at, kind, next(self.order), task_id, number))

    def _happen(self, now: float, kind: int, _order: int, task_id: str, number: int) -> None:
        if kind == 1:
            self._ready(task_id, now)
        elif kind == 0 and self.starts.get(task_id) == number:
            self.scheduler.finished(WorkId(task_id))
            self.outcome.records[task_id].ended_at = now
            for child in self.children[task_id]:
                self.waiting_for[child] -= 1
                if self.waiting_for[child] == 0:
                    self._ready(child, max(now, self.tasks[child].arrives_at))

    def _ready(self, task_id: str, now: float) -> None:
        task = self.tasks[task_id]
        self.outcome.records.setdefault(task_id, Record(task, now))
        self._submit(task, self.outcome.records[task_id].ready_at)

    def _submit(self, task: Task, created_at: float) -> None:
        requests, cut = clamp(task.requests, self.scheduler.capacity)
        if cut:
            self.outcome.warnings.append(f"{task.id} {'; '.join(cut)}")
        refusal = self.scheduler.submit(
            Work(
                id=WorkId(task.id),
                requests=requests,
                queue=task.queue,
                priority=task.priority,
                workflow=task.workflow,
                group=task.gang,
                created_at=created_at,
                workflow_created_at=task.arrives_at,
                rank=task.rank,
                expected_seconds=task.expected_seconds,
            )
        )
        if refusal is not None:
            self.outcome.stuck[task.id] = text(refusal)

    def _plan(self, now: float) -> None:
        plan = self.scheduler.plan(now)
        self.outcome.plans += 1
        self.outcome.decisions += len(plan.starts) + len(plan.preempts)
        for work_id in plan.starts:
            self._start(work_id, now)
        for preemption in plan.preempts:
            self._stop(preemption, now)
        if plan.preempts:
            self._plan(now)

    def _start(self, work_id: str, now: float) -> None:
        number = self.starts[work_id] = self.starts.get(work_id, 0) + 1
        self.outcome.records[work_id].started_at = now
        self._push(now + self.tasks[work_id].seconds, 0, work_id, number)

    def _stop(self, preemption: Preemption, now: float) -> None:
        victim = preemption.victim
        record = self.outcome.records[victim]
        self.outcome.preemptions.append((now, preemption))
        record.preempted += 1
        self.starts[victim] += 1
        self.scheduler.finished(victim)
        self._submit(self.tasks[victim], record.ready_at)
