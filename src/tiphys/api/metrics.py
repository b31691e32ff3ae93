"""Numbers for Prometheus at ``/metrics``, in its text form.

Counted since the server started, from what the loop announces; so workflows that came through the
command line or the Argo Server's API count like all others.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.scheduling import Resources, Scheduler
from tiphys.scheduling.admission import queue_of

DURATIONS = tuple(float(2**n) for n in range(10))
WAITS = (10.0, 30.0, 60.0, 300.0, 600.0, 1800.0)
TICK = 0.5
Labels = tuple[tuple[str, str], ...]


class Histogram:
    """How often values fell below each bound."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def observe(self, value: float, **labels: str) -> None:
        """Count a value."""
        key = tuple(labels.items())
        counts = self._counts.setdefault(key, [0] * (len(self._bounds) + 1))
        counts[bisect_left(self._bounds, value)] += 1
        self._sums[key] = self._sums.get(key, 0.0) + value

    def lines(self, name: str) -> Iterator[str]:
        """Write it."""
        yield f"# TYPE {name} histogram"
        for key, counts in self._counts.items():
            total = 0
            for bound, count in zip((*self._bounds, None), counts, strict=True):
                total += count
                edge = "+Inf" if bound is None else f"{bound:g}"
                yield f"{name}_bucket{_labels((*key, ('le', edge)))} {total}"
            yield f"{name}_sum{_labels(key)} {self._sums[key]:.6f}"
            yield f"{name}_count{_labels(key)} {total}"


def _labels(pairs: Labels) -> str:
    if not pairs:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _queue(run: Run) -> str:
    return queue_of(run.labels, run.annotations)


class Metrics:
    """All numbers of one server."""

    def __init__(self, started_at: float) -> None:
        self._started_at = started_at
        self._submitted: dict[Labels, int] = {}
        self._durations = Histogram(DURATIONS)
        self._waits = Histogram(WAITS)
        self._known: dict[str, set[int]] = {}
        """Live runs, and which of their starts have been counted."""
        self.loop_lag = 0.0

    def workflow(self, run: Run) -> None:
        """Take note of a run that changed."""
        if run.uid not in self._known:
            if run.ended:
                return
            self._known[run.uid] = set()
            if run.created_at >= self._started_at:
                key = (("scheduler", "local"), ("queue", _queue(run)))
                self._submitted[key] = self._submitted.get(key, 0) + 1
        if run.ended:
            del self._known[run.uid]
            took = max(0.0, (run.finished_at or 0.0) - (run.started_at or 0.0))
            self._durations.observe(took, scheduler="local", status=run.phase.lower())

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """Take note of how long each start of a node has waited."""
        known = self._known.get(run.uid)
        for node in nodes:
            ours = node.ours
            if known is None or ours.began_at is None or ours.queued_at is None:
                continue
            if ours.attempt not in known:
                known.add(ours.attempt)
                self._waits.observe(max(0.0, ours.began_at - ours.queued_at), queue_id=_queue(run))

    async def measure(self) -> None:
        """Measure how late the event loop is, until cancelled."""
        loop = asyncio.get_running_loop()
        with suppress(asyncio.CancelledError):
            while True:
                due = loop.time() + TICK
                await asyncio.sleep(TICK)
                self.loop_lag = max(0.0, loop.time() - due)

    def text(self, *, live: dict[str, int], watchers: int, queues: Iterable[str]) -> str:
        """Write all of them; ``queues`` are lines of ``queue_lines``."""
        lines = ["# TYPE workflow_submitted_total counter"]
        lines += [
            f"workflow_submitted_total{_labels(key)} {count}"
            for key, count in self._submitted.items()
        ]
        lines += self._durations.lines("workflow_duration_seconds")
        lines += self._waits.lines("queue_wait_seconds")
        lines.append("# TYPE tiphys_workflows_live gauge")
        lines += [
            f"tiphys_workflows_live{_labels((('status', status),))} {count}"
            for status, count in live.items()
        ]
        gauges = {
            "tiphys_loop_lag_seconds": f"{self.loop_lag:.6f}",
            "tiphys_watchers": str(watchers),
        }
        for name, value in gauges.items():
            lines += [f"# TYPE {name} gauge", f"{name} {value}"]
        return "\n".join([*lines, *queues]) + "\n"


def queue_lines(runs: Mapping[str, Run], scheduler: Scheduler) -> list[str]:
    """Write how many nodes wait in each queue, and what each uses and is due."""
    depth: Counter[str] = Counter()
    for work in scheduler.waiting():
        run = runs.get(work.rpartition(".")[0])
        depth[_queue(run) if run is not None else "default"] += 1
    lines = ["# TYPE queue_depth gauge"]
    lines += [
        f"queue_depth{_labels((('queue_id', name),))} {depth[name]}"
        for name in scheduler.queues.leaves()
    ]
    tree = scheduler.queues.queues
    lines += _amounts("queue_used", {name: scheduler.used(name) for name in tree})
    lines += _amounts("queue_quota", {name: queue.deserved for name, queue in tree.items()})
    return lines


def _amounts(metric: str, queues: Mapping[str, Resources]) -> Iterator[str]:
    """CPU comes in thousandths, memory in bytes, as the scheduler counts."""
    yield f"# TYPE {metric} gauge"
    for name, amounts in queues.items():
        for resource, amount in amounts.items:
            yield f"{metric}{_labels((('queue_id', name), ('resource', resource)))} {amount}"
