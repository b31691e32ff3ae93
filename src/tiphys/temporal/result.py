"""Gathers how a run went, small enough for Temporal's history.

Temporal refuses payloads above 2 MB and warns above 256 KB: so those that failed come first, and
the ends of logs share a budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from tiphys.client import calls
from tiphys.client.model import Bar, Event, LogLine, Node, Workflow
from tiphys.errors import TiphysError
from tiphys.temporal.follow import is_task
from tiphys.temporal.payload import RunResult, TaskResult
from tiphys.temporal.reach import Reach

MOST_TASKS = 500
LOG_BUDGET = 128 * 1024
LOG_BYTES = 8 * 1024
"""Of the end of one task's log."""
_JOB = "job"
_PREEMPTED = "Preempted"
_UNSUCCESSFUL = frozenset({"Failed", "Error"})
_NEVER = frozenset({"pending", "skipped", "omitted"})
_line = msgspec.json.Decoder(LogLine).decode


async def result_of(reach: Reach, workflow: str, phase: str, *, lines: int) -> RunResult:
    """Gather how a run went."""
    found, bars, events = await asyncio.gather(
        reach.do(calls.get_workflow(workflow)),
        reach.do(calls.get_timeline(workflow)),
        reach.do(calls.get_events(workflow)),
    )
    ran = in_order(found.nodes)
    return RunResult(
        phase=phase,
        workflow_id=workflow,
        name=found.workflow_name or found.name,
        message=_message(found),
        outputs=_outputs(found),
        tasks=await _tasks(reach, workflow, ran[:MOST_TASKS], lines),
        tasks_total=len(ran),
        link=f"{reach.url.rstrip('/')}/workflows/{workflow}",
        waited_seconds=waited(found, bars),
        ran_seconds=ran_for(found, bars),
        preemptions=preemptions(events),
    )


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """Give the tasks that ran: those that failed first, else as they came.

    Pods of one Job are in the order of their names: a cluster makes them in any order.
    """
    jobs = {node.name for node in nodes if node.type == _JOB}
    first: dict[str, int] = {}
    keys: dict[str, tuple[bool, int, str, int]] = {}
    for number, node in enumerate(nodes):
        job = node.name.rpartition(".")[0]
        place = first.setdefault(job, number) if job in jobs else number
        task, index = _replica(node.display_name) if job in jobs else ("", 0)
        keys[node.id] = node.phase not in _UNSUCCESSFUL, place, task, index
    ran = (node for node in nodes if is_task(node.type) and node.attempts > 0)
    return sorted(ran, key=lambda node: keys[node.id])


def _replica(display_name: str) -> tuple[str, int]:
    """Read task and index from what a pod is called: ``worker-0``, or ``worker-0(1)`` later."""
    task, _, index = display_name.partition("(")[0].rpartition("-")
    return task, int(index) if index.isdecimal() else 0


def _message(found: Workflow) -> str:
    """Give the run's message; where it has none, that of the first task that failed."""
    if found.message:
        return found.message
    failed = (node for node in found.nodes if node.phase in _UNSUCCESSFUL)
    return next((node.message for node in failed if is_task(node.type) and node.message), "")


async def _tasks(
    reach: Reach, workflow: str, nodes: Sequence[Node], lines: int
) -> list[TaskResult]:
    """One after another: a gang of hundreds must not open hundreds of connections."""
    left, tasks = LOG_BUDGET, []
    for node in nodes:
        tail = await _tail(reach, workflow, node.id, lines) if lines and left > 0 else ""
        left -= len(tail)
        tasks.append(
            TaskResult(
                name=node.display_name,
                phase=node.phase,
                exit_code=_exit_code(node),
                log_tail=tail,
                message=node.message,
            )
        )
    return tasks


async def _tail(reach: Reach, workflow: str, node: str, lines: int) -> str:
    try:
        raw = await reach.do(calls.get_log(workflow, node, last_bytes=LOG_BYTES))
    except TiphysError:
        return ""  # The log is gone, or out of reach; how the task ended is known all the same.
    kept = [_line(each).text for each in raw.splitlines()[-lines:]]
    return "\n".join(kept)[-LOG_BYTES:]


def _exit_code(node: Node) -> int | None:
    text = str((node.outputs or {}).get("exitCode", ""))
    return int(text) if text.lstrip("-").isdecimal() else None


def _outputs(found: Workflow) -> dict[str, str]:
    """The output parameters of the root node."""
    root = next((node for node in found.nodes if node.name == found.workflow_name), None)
    parameters = (root.outputs or {}).get("parameters", []) if root is not None else []
    return {str(each["name"]): str(each.get("value", "")) for each in parameters}


def waited(found: Workflow, bars: Sequence[Bar]) -> float:
    """Tell how long it took until the first task started."""
    starts = [bar.start_time for bar in bars if bar.start_time is not None and _began(bar)]
    if not starts:
        return 0.0
    return round(max(0.0, (min(starts) - found.created_at).total_seconds()), 3)


def ran_for(found: Workflow, bars: Sequence[Bar]) -> float:
    """Tell how long it took from then on."""
    total = (found.end_time - found.created_at).total_seconds() if found.end_time else 0.0
    return round(max(0.0, total - waited(found, bars)), 3)


def _began(bar: Bar) -> bool:
    if not is_task(bar.type) or bar.start_time is None or bar.status in _NEVER:
        return False
    # What is taken from the queue has a start of its own all the same: when the node was made.
    return bar.queued_at is None or bar.start_time > bar.queued_at


def preemptions(events: Sequence[Event]) -> int:
    """Count how often tasks had to make room."""
    return sum(event.kind == _PREEMPTED for event in events)
