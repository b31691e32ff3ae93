"""A cluster as Volcano's scheduler sees it for one round: nodes, queues, jobs and their tasks.

Plain mutable records; ``session`` moves tasks between states and keeps the sums in step. A task's
request counts itself as one of ``pods``, of which a node allows ten unless told otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tiphys.scheduling.queue import QueueState
from tiphys.scheduling.volcano.amounts import Amounts, add, is_empty, subtract


class Status(StrEnum):
    """Where a task stands in this round."""

    PENDING = "Pending"
    PIPELINED = "Pipelined"
    ALLOCATED = "Allocated"
    BINDING = "Binding"
    RUNNING = "Running"
    RELEASING = "Releasing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


HOLDING = frozenset({Status.ALLOCATED, Status.BINDING, Status.RUNNING})
"""States in which a task counts against its queue."""
READY = HOLDING | {Status.SUCCEEDED}


class PodGroupPhase(StrEnum):
    """The phase of a pod group."""

    PENDING = "Pending"
    INQUEUE = "Inqueue"
    RUNNING = "Running"
    UNKNOWN = "Unknown"
    COMPLETED = "Completed"


@dataclass(slots=True, kw_only=True)
class Task:
    """One pod."""

    name: str
    job: str
    request: Amounts
    role: str = ""
    priority: int = 0
    status: Status = Status.PENDING
    node: str = ""
    preemptable: bool = True
    may_preempt: bool = True
    critical: bool = False
    """A system pod that is never a victim."""
    selector: dict[str, str] = field(default_factory=dict)
    created_at: float = 0.0

    @property
    def best_effort(self) -> bool:
        """Whether it asks for nothing but its place."""
        return is_empty({name: amount for name, amount in self.request.items() if name != "pods"})


@dataclass(slots=True, kw_only=True)
class Job:
    """One pod group and its tasks."""

    name: str
    queue: str
    min_member: int = 1
    min_task_member: dict[str, int] = field(default_factory=dict)
    min_resources: Amounts | None = None
    priority: int = 0
    phase: PodGroupPhase = PodGroupPhase.INQUEUE
    created_at: float = 0.0
    waited_seconds: float = 0.0
    tasks: list[Task] = field(default_factory=list)

    def count(self, *statuses: Status) -> int:
        """How many tasks are in one of ``statuses``."""
        return sum(task.status in statuses for task in self.tasks)

    def ready_count(self) -> int:
        """Tasks that hold a place or have ended well."""
        return self.count(*READY)

    def allocated(self) -> Amounts:
        """What its tasks hold."""
        held: Amounts = {}
        for task in self.tasks:
            if task.status in HOLDING:
                held = add(held, task.request)
        return held


@dataclass(slots=True, kw_only=True)
class ClusterQueue:
    """A queue of the cluster. Absent limits do not limit."""

    name: str
    parent: str = ""
    weight: int = 1
    priority: int = 0
    capability: Amounts = field(default_factory=dict)
    deserved: Amounts = field(default_factory=dict)
    guarantee: Amounts = field(default_factory=dict)
    reclaimable: bool = True
    state: QueueState = QueueState.OPEN
    hierarchy: str = ""
    """Path for hierarchical DRF: ``root/eng/dev``."""
    weights: str = ""
    """Weights along that path: ``100/50/50``."""


@dataclass(slots=True, kw_only=True)
class Node:
    """One node: what is idle now, what is on its way out, what is promised of that."""

    name: str
    idle: Amounts
    labels: dict[str, str] = field(default_factory=dict)
    releasing: Amounts = field(default_factory=dict)
    pipelined: Amounts = field(default_factory=dict)
    capacity: Amounts = field(default_factory=dict)

    def future_idle(self) -> Amounts:
        """What will be idle once evicted tasks are gone and promised ones have come."""
        return subtract(add(self.idle, self.releasing), self.pipelined)

    def matches(self, task: Task) -> bool:
        """Whether the node carries the labels that the task selects."""
        return all(self.labels.get(key) == value for key, value in task.selector.items())
