"""Numbers for Prometheus at ``/metrics``, in its text form.

Counted since the server started, from what the loop announces; so workflows that came through the
command line or the Argo Server's API count like all others.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from tiphys.api.exposition import Histogram, Labels, family, gauge
from tiphys.api.gang_metrics import GangMetrics, queue_id
from tiphys.api.own_metrics import OwnMetrics
from tiphys.control.task import scheduler_of
from tiphys.engine.command import EmitMetric
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.ports import GangChanged
from tiphys.scheduling.admission import queue_of
from tiphys.scheduling.plan import Plan
from tiphys.scheduling.work import Work, WorkId

DURATIONS = tuple(float(2**n) for n in range(10))
WAITS = (10.0, 30.0, 60.0, 300.0, 600.0, 1800.0)
COMMITS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
TICK = 0.5


def _queue(run: Run) -> str:
    return queue_of(run.labels, run.annotations)


class Metrics:
    """All numbers of one server."""

    def __init__(
        self,
        started_at: float,
        work: Callable[[WorkId], Work | None],
        emitted: deque[tuple[str, EmitMetric]],
    ) -> None:
        self._started_at, self._work, self._emitted = started_at, work, emitted
        self._submitted: dict[Labels, float] = {}
        self._durations = Histogram(DURATIONS)
        self._waits = Histogram(WAITS)
        self._gang_waits = Histogram(WAITS)
        self._commits, self._turns = Histogram(COMMITS), Histogram(COMMITS)
        self._preempted: Counter[str] = Counter()
        self._known: dict[str, set[int]] = {}
        """Live runs, and which of their starts have been counted."""
        self._own = OwnMetrics()
        self._gangs = GangMetrics()
        self.watch: Counter[str] = Counter()
        """Messages sent to watchers, and watchers that were cut off."""
        self.loop_lag = 0.0

    # --- what the loop tells ------------------------------------------------------------------

    def workflow(self, run: Run) -> None:
        """Take note of a run that changed."""
        self._take_own()
        if run.uid not in self._known:
            if run.ended:
                return
            self._known[run.uid] = set()
            if run.created_at >= self._started_at:
                key = (("scheduler", scheduler_of(run)), ("queue", _queue(run)))
                self._submitted[key] = self._submitted.get(key, 0) + 1
        if run.ended:
            del self._known[run.uid]
            took = max(0.0, (run.finished_at or 0.0) - (run.started_at or 0.0))
            scheduler = scheduler_of(run)
            self._durations.observe(took, scheduler=scheduler, status=run.phase.lower())

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """Take note of how long each start of a node has waited."""
        self._take_own()
        known = self._known.get(run.uid)
        for node in nodes:
            ours = node.ours
            if known is None or ours.began_at is None or ours.queued_at is None:
                continue
            if ours.attempt not in known:
                known.add(ours.attempt)
                self._waits.observe(max(0.0, ours.began_at - ours.queued_at), queue_id=_queue(run))

    def planned(self, plan: Plan, now: float) -> None:
        """Take note of what must make room, and of gangs that start."""
        for each in plan.preempts:
            victim = self._work(each.victim)
            self._preempted[victim.queue if victim else "default"] += 1
        gangs: dict[tuple[str, str], float] = {}
        for each_id in plan.starts:
            work = self._work(each_id)
            if work is not None and work.group:
                key = (work.queue, work.group)
                gangs[key] = min(gangs.get(key, now), work.created_at)
        for (queue, _), since in gangs.items():
            self._gang_waits.observe(max(0.0, now - since), queue_id=queue)

    def turned(self, commit: float, turn: float) -> None:
        """Take note of how long a turn of the loop took, and its commit."""
        self._commits.observe(commit)
        self._turns.observe(turn)

    def ganged(self, change: GangChanged, run: Run | None) -> None:
        """Take note of a PodGroup that changed."""
        del run
        waited = self._gangs.take(change)
        if waited is not None:
            self._gang_waits.observe(waited, queue_id=queue_id(change))

    def _take_own(self) -> None:
        while self._emitted:
            self._own.take(self._emitted.popleft()[1])

    async def measure(self) -> None:
        """Measure how late the event loop is, until cancelled."""
        loop = asyncio.get_running_loop()
        with suppress(asyncio.CancelledError):
            while True:
                due = loop.time() + TICK
                await asyncio.sleep(TICK)
                self.loop_lag = max(0.0, loop.time() - due)

    # --- the page -----------------------------------------------------------------------------

    def text(
        self, *, live: Mapping[str, int], watchers: int, executor: bool, queues: Iterable[str]
    ) -> str:
        """Write all of them; ``queues`` are lines of ``queue_lines``."""
        self._take_own()
        return (
            "\n".join([*self._ours(live, watchers, executor), *queues, *self._own.lines()]) + "\n"
        )

    def _ours(self, live: Mapping[str, int], watchers: int, executor: bool) -> Iterator[str]:
        yield from family("counter", "workflow_submitted_total", self._submitted.items())
        yield from self._durations.lines("workflow_duration_seconds")
        yield from self._waits.lines("queue_wait_seconds")
        yield from self._gang_waits.lines("queue_gang_wait_seconds")
        yield from self._gangs.lines()
        stopped = [((("queue_id", name),), n) for name, n in self._preempted.items()]
        yield from family("counter", "queue_preemptions_total", stopped)
        shown = [((("status", status),), count) for status, count in live.items()]
        yield from family("gauge", "tiphys_workflows_live", shown)
        yield from gauge("tiphys_loop_lag_seconds", round(self.loop_lag, 6))
        yield from self._turns.lines("tiphys_loop_turn_seconds")
        yield from self._commits.lines("tiphys_store_commit_seconds")
        yield from gauge("tiphys_executor_up", float(executor))
        yield from gauge("tiphys_watchers", watchers)
        for word in ("messages", "cut"):
            yield from family("counter", f"tiphys_watch_{word}_total", [((), self.watch[word])])
