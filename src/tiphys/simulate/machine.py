"""The virtual clock: a real scheduler in front of an imagined machine.

Sources (recorded tasks, engines with their workflows) submit work and say what happens when; the
machine keeps the time, plans after each instant, and tells the sources what starts and stops.
Everything is deterministic: the same sources on the same machine give the same outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Protocol

from tiphys.scheduling import QueueTree, Resources, Scheduler
from tiphys.scheduling.gate import Gate
from tiphys.scheduling.plan import Preemption
from tiphys.simulate.task import Task

ENDS, ARRIVES, WAKES = 0, 1, 2
"""What happens first of things at the same instant: what ends makes room for what arrives."""


@dataclass(slots=True)
class Record:
    """How one task fared."""

    task: Task
    ready_at: float
    started_at: float = -1.0
    ended_at: float = -1.0
    preempted: int = 0
    cut: bool = False
    """Whether it was stopped before its time, and not started again as the same."""

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
    finished_at: float = 0.0
    """When the last workflow was over: it may end with a pause."""
    chain: float = 0.0
    """The longest chain of what had to wait for each other; tasks of traces name their parents."""
    plans: int = 0
    decisions: int = 0

    @property
    def makespan(self) -> float:
        """From the first arrival to the last end."""
        ended = [record.ended_at for record in self.records.values() if record.ended_at >= 0]
        first = min((r.task.arrives_at for r in self.records.values()), default=0.0)
        return max([*ended, self.finished_at, first]) - first

    def warn(self, text: str) -> None:
        """Keep a warning, once."""
        if text not in self.warnings:
            self.warnings.append(text)


class Source(Protocol):
    """Something that has work done."""

    def begin(self) -> None:
        """Submit what is ready, and say what comes later."""

    def started(self, work_id: str) -> bool:
        """Take note that a work starts now; False where it is another's."""

    def stopped(self, preemption: Preemption) -> bool:
        """Take note that a work must stop now; False where it is another's."""

    def finish(self) -> None:
        """Nothing will happen any more: say what is stuck."""


class Machine:
    """One scheduler, one clock."""

    def __init__(self, capacity: Resources, queues: QueueTree | None = None) -> None:
        tree = queues or QueueTree.default()
        self.scheduler = Scheduler(capacity, tree)
        self.gate = Gate(self.scheduler)
        self.outcome = Outcome(capacity, tree)
        self.now = 0.0
        self._later: list[tuple[float, int, int, Callable[[], None]]] = []
        self._order = count()
        self._sources: Sequence[Source] = ()

    def at(self, time: float, kind: int, action: Callable[[], None]) -> None:
        """Have ``action`` happen at ``time``."""
        heappush(self._later, (time, kind, next(self._order), action))

    def run(self, *sources: Source) -> Outcome:
        """Let time pass until nothing happens any more."""
        self._sources = sources
        for source in sources:
            source.begin()
        self._plan()
        while self._later:
            self.now = self._later[0][0]
            while self._later and self._later[0][0] <= self.now:
                heappop(self._later)[3]()
            self._plan()
        for work_id in self.scheduler.waiting():
            wait = self.scheduler.reason(work_id, self.now)
            self.outcome.stuck[work_id] = wait.text if wait is not None else ""
        for source in sources:
            source.finish()
        return self.outcome

    def _plan(self) -> None:
        self.gate.advance(self.now)
        while True:
            self.gate.flush()
            plan = self.scheduler.plan(self.now)
            self.outcome.plans += 1
            self.outcome.decisions += len(plan.starts) + len(plan.preempts)
            for work_id in plan.starts:
                any(source.started(work_id) for source in self._sources)
            for preemption in plan.preempts:
                self.outcome.preemptions.append((self.now, preemption))
                any(source.stopped(preemption) for source in self._sources)
            if not plan.preempts:
                break
        self._wake()

    def _wake(self) -> None:
        """Plan again when time alone changes something, as long as something is to come."""
        at = self.gate.wake_at()
        if at is not None and self._later and self.now < at < self._later[0][0]:
            self.at(at, WAKES, lambda: None)
