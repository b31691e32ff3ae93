"""What has happened lately, in numbers small enough to keep in memory: for the dashboard.

Ended workflows by minute, project and status; waits by queue; and, every half minute, what is in
use. Kept for a day. Workflows that ended before this server began are read from the store once,
when somebody first asks; what was in use then is not known to anybody any more.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tiphys.core.clock import Clock
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.scheduling import Scheduler
from tiphys.scheduling.admission import queue_of
from tiphys.store import Store, WorkflowFilter

MINUTE = 60
DAY = 24 * 60 * MINUTE
EVERY = 30.0
"""Seconds between two samples."""
MOST_WAITS = 1000
MOST_READ = 20_000
"""So many workflows of the last day are read from the store at first."""
_ENDED = ("Succeeded", "Failed", "Error")
_MEMORY = Path("/proc/meminfo")
_LOAD = Path("/proc/loadavg")


@dataclass(slots=True)
class Ended:
    """Workflows of one project that ended in one minute with one status."""

    count: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What was in use at one instant."""

    at: float
    cpu: int
    """Held by running work, in thousandths of a core."""
    memory: int
    waiting: int
    running: int
    load: float | None
    """Of the machine, whatever runs on it."""
    machine_memory: int | None
    queues: Mapping[str, tuple[int, int, int]]
    """CPU, memory and nodes in line of each queue that has any of them."""


@dataclass(slots=True)
class Chronicle:
    """A watcher (``control.loop.Watcher``) that counts."""

    clock: Clock
    scheduler: Scheduler
    live: Callable[[], int]
    """How many workflows are under way."""
    ended: dict[tuple[int, str, str], Ended] = field(default_factory=dict)
    waits: dict[str, deque[tuple[float, float]]] = field(default_factory=dict)
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=int(DAY / EVERY)))
    _counted: dict[str, set[int]] = field(default_factory=dict)
    """Which starts of which live run are in ``waits`` already."""
    _noted: set[str] = field(default_factory=set)
    _begun_at: float | None = None
    _is_read: bool = False

    def workflow(self, run: Run) -> None:
        """Count a run that has ended."""
        if self._begun_at is None:
            self._begun_at = self.clock.now()
        if not run.ended or run.finished_at is None:
            self._noted.discard(run.uid)  # It is under way, perhaps again.
            return
        if run.uid in self._noted:
            return
        self._noted.add(run.uid)
        self._counted.pop(run.uid, None)
        self._note(run.namespace, run.phase, run.started_at, run.finished_at)

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """Count how long each start has waited."""
        counted = self._counted.setdefault(run.uid, set())
        for node in nodes:
            ours = node.ours
            if ours.began_at is None or ours.queued_at is None or ours.attempt in counted:
                continue
            counted.add(ours.attempt)
            queue = queue_of(run.labels, run.annotations)
            known = self.waits.setdefault(queue, deque(maxlen=MOST_WAITS))
            known.append((ours.began_at, max(0.0, ours.began_at - ours.queued_at)))

    def note(self, text: str) -> None:
        """Nothing of a person's notes is counted."""

    def _note(self, project: str, phase: str, start: float | None, end: float) -> None:
        entry = self.ended.setdefault((int(end // MINUTE), project, phase.lower()), Ended())
        entry.count += 1
        entry.seconds += max(0.0, end - (start or end))

    def read(self, store: Store) -> None:
        """Count what ended before this server began, once; may take a while."""
        if self._is_read:
            return
        self._is_read = True
        before = self.clock.now() if self._begun_at is None else self._begun_at
        wanted = WorkflowFilter(phases=_ENDED, since=self.clock.now() - DAY)
        for row in store.workflows(wanted, limit=MOST_READ):
            if row.finished_at is not None and row.finished_at < before:
                self._note(row.namespace, row.phase, row.started_at, row.finished_at)

    async def keep(self) -> None:
        """Take samples, until cancelled."""
        with suppress(asyncio.CancelledError):
            while True:
                self.samples.append(self.sample())
                self._forget()
                await asyncio.sleep(EVERY)

    def sample(self) -> Sample:
        """See what is in use now."""
        used = self.scheduler.used()
        return Sample(
            at=self.clock.now(),
            cpu=used.get("cpu"),
            memory=used.get("memory"),
            waiting=len(self.scheduler.waiting()),
            running=self.live(),
            load=_load(),
            machine_memory=_machine_memory(),
            queues=_by_queue(self.scheduler),
        )

    def _forget(self) -> None:
        oldest = (self.clock.now() - DAY) // MINUTE
        for key in [key for key in self.ended if key[0] < oldest]:
            del self.ended[key]
        if len(self._noted) > MOST_READ:
            self._noted.clear()

    def since(self, at: float, project: str) -> Iterator[tuple[int, str, Ended]]:
        """Give minute, status and count of what ended after an instant; "" for all projects."""
        first = int(at // MINUTE)
        for (minute, owner, status), entry in list(self.ended.items()):
            if minute >= first and project in ("", owner):
                yield minute, status, entry


def _by_queue(scheduler: Scheduler) -> dict[str, tuple[int, int, int]]:
    depth = Counter(work.queue for work in scheduler.waiting_works())
    found = {}
    for name in scheduler.queues.queues:
        used = scheduler.used(name)
        numbers = (used.get("cpu"), used.get("memory"), depth[name])
        if any(numbers):
            found[name] = numbers
    return found


def _load() -> float | None:
    try:
        return float(_LOAD.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _machine_memory() -> int | None:
    """Give the bytes that are in use on this machine."""
    try:
        lines = dict(line.split(":", 1) for line in _MEMORY.read_text().splitlines())
        total, free = (int(lines[name].split()[0]) for name in ("MemTotal", "MemAvailable"))
    except (OSError, ValueError, KeyError, IndexError):
        return None
    return (total - free) * 1024
