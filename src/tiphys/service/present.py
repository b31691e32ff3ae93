"""What waits and runs on this server now, as plain data for a simulation beside it."""

from __future__ import annotations

from typing import Any

from tiphys.control.host import Host
from tiphys.scheduling import Work
from tiphys.scheduling.queue import ROOT
from tiphys.scheduling.queue_file import queue_dict

MOST = 2000
"""Works beyond this are left out: those that wait farthest from their turn."""
FIRST = 2**31 - 1
"""The priority of what runs already: it has its place."""


def present_of(host: Host, seconds: float) -> dict[str, Any]:
    """Describe queues and works; ``seconds`` is what a work takes of which nothing is known."""
    scheduler, now = host.control.scheduler, host.control.now()
    tasks = []
    for work_id in scheduler.running():
        work = scheduler.work(work_id)
        if work is not None:
            spent = max(0.0, now - scheduler.started_at(work_id))
            expected = work.expected_seconds or seconds
            # Of one that takes longer than expected the best guess is: as long again.
            left = expected - spent if spent < expected else spent
            tasks.append(_task(work, left, FIRST))
    for work in scheduler.waiting_works():
        tasks.append(_task(work, work.expected_seconds or seconds, work.priority))
    queues = scheduler.queues.queues
    return {
        "tasks": tasks[:MOST],
        "queues": {name: queue_dict(queue) for name, queue in queues.items() if name != ROOT},
    }


def _task(work: Work, seconds: float, priority: int) -> dict[str, Any]:
    return {
        "id": work.id,
        "workflow": work.workflow,
        "seconds": seconds,
        "requests": dict(work.requests.items),
        "queue": work.queue,
        "priority": priority,
        "rank": work.rank,
    }
