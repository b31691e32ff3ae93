"""Tasks with durations on the virtual clock.

Tasks become ready when their parents have ended, wait in the real ``Scheduler``, and end after
their duration. A stopped task loses its progress and queues again with its age kept; that is no
retry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tiphys.errors import InvalidInputError
from tiphys.scheduling import Gang, QueueTree, Resources, Work, WorkId
from tiphys.scheduling.plan import Preemption
from tiphys.scheduling.reason import text
from tiphys.scheduling.resource import clamp
from tiphys.simulate.machine import ARRIVES, ENDS, Machine, Outcome, Record
from tiphys.simulate.task import Task


def run(tasks: Sequence[Task], capacity: Resources, queues: QueueTree | None = None) -> Outcome:
    """Run ``tasks`` to their end on a virtual clock."""
    machine = Machine(capacity, queues)
    return machine.run(Tasks(tasks, machine))


class Tasks:
    """A source of recorded or imagined tasks."""

    def __init__(self, tasks: Sequence[Task], machine: Machine) -> None:
        self._machine = machine
        self._tasks = {task.id: task for task in tasks}
        self._starts: dict[str, int] = {}
        """How often each task was started or stopped: an end that was foreseen before is void."""
        self._waiting_for: dict[str, int] = {}
        self._children: dict[str, list[str]] = {task.id: [] for task in tasks}
        self._gangs = self._prepare(tasks)

    def _prepare(self, tasks: Iterable[Task]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for task in tasks:
            for parent in task.parents:
                if parent not in self._tasks:
                    raise InvalidInputError(f"{task.id}: no task {parent}")
                self._children[parent].append(task.id)
            self._waiting_for[task.id] = len(task.parents)
            if task.gang:
                sizes[task.gang] = sizes.get(task.gang, 0) + 1
        return sizes

    def begin(self) -> None:
        """Let the first tasks arrive."""
        for name, size in self._gangs.items():
            self._machine.scheduler.declare(Gang(name=name, min_member=size))
        for task in self._tasks.values():
            if not task.parents:
                self._arrive(task, task.arrives_at)

    def _arrive(self, task: Task, at: float) -> None:
        self._machine.at(at, ARRIVES, lambda: self._ready(task, at))

    def _ready(self, task: Task, at: float) -> None:
        self._machine.outcome.records.setdefault(task.id, Record(task, at))
        self._submit(task, at)

    def _submit(self, task: Task, created_at: float) -> None:
        requests, cut = clamp(task.requests, self._machine.scheduler.capacity)
        if cut:
            self._machine.outcome.warn(f"{task.id} {'; '.join(cut)}")
        refusal = self._machine.scheduler.submit(
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
            self._machine.outcome.stuck[task.id] = text(refusal)

    def started(self, work_id: str) -> bool:
        """Foresee the end."""
        task = self._tasks.get(work_id)
        if task is None:
            return False
        number = self._starts[work_id] = self._starts.get(work_id, 0) + 1
        now = self._machine.now
        self._machine.outcome.records[work_id].started_at = now
        self._machine.at(now + task.seconds, ENDS, lambda: self._ended(task, number))
        return True

    def _ended(self, task: Task, number: int) -> None:
        if self._starts[task.id] != number:
            return
        now = self._machine.now
        self._machine.scheduler.finished(WorkId(task.id))
        self._machine.outcome.records[task.id].ended_at = now
        for child in self._children[task.id]:
            self._waiting_for[child] -= 1
            if self._waiting_for[child] == 0:
                found = self._tasks[child]
                if found.arrives_at > now:
                    self._arrive(found, found.arrives_at)
                else:
                    self._ready(found, now)

    def stopped(self, preemption: Preemption) -> bool:
        """Queue the victim again."""
        task = self._tasks.get(preemption.victim)
        if task is None:
            return False
        record = self._machine.outcome.records[task.id]
        record.preempted += 1
        self._starts[task.id] += 1
        self._machine.scheduler.finished(preemption.victim)
        self._submit(task, record.ready_at)
        return True

    def finish(self) -> None:
        """Tasks behind one that never started are not reported: the first says it all."""


class Present(Tasks):
    """Tasks that are there when time begins, before everything else."""

    def begin(self) -> None:
        """Submit all of them, in their order."""
        for task in self._tasks.values():
            self._ready(task, 0.0)
