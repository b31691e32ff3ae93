"""How a JobFlow stands, for people: its Jobs and what they used, what comes next and why not yet.

Pure: the flow's spec and nodes in, plain data out. What earlier runs of the templates came to is
handed in (``control.insight`` counts it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tiphys.engine.node import Node, NodeType, Phase
from tiphys.spec import model
from tiphys.wire.volcano import Job, jobs_of

Past = Mapping[str, tuple[int, int]]
"""Of each template: how often its Jobs ended, and how often badly."""


def flow_state(
    run: str, spec: model.WorkflowSpec, nodes: Sequence[Node], past: Past
) -> dict[str, Any]:
    """Describe the Jobs of a run, and the steps that have none yet."""
    return {
        "jobs": [_job(run, job, past) for job in jobs_of(run, nodes)],
        "next": _next_steps(run, spec, {node.name: node for node in nodes}),
    }


def step_of(run: str, node: str) -> str:
    """Give the step of the flow that a node belongs to; a Job alone is its own."""
    if node == run:
        return run
    short = node.removeprefix(f"{run}.")
    ends = [place for place in map(short.find, "([.") if place >= 0]
    return short[: min(ends, default=len(short))]


def _job(run: str, job: Job, past: Past) -> dict[str, Any]:
    step = step_of(run, job.node.name)
    ended, failed = past.get(step, (0, 0))
    ours = [pod.ours for pod in job.pods]
    return {
        "name": job.name,
        "step": step,
        "state": job.phase,
        "message": job.node.message or None,
        "started_at": job.started_at or None,
        "finished_at": job.finished_at,
        "restarts": job.restarts,
        "pods": dict(Counter(str(pod.phase) for pod in job.pods)),
        "cpu_seconds": round(sum(each.cpu_seconds for each in ours), 3),
        "memory_bytes": max((each.memory_bytes for each in ours), default=0),
        "runs_before": ended,
        "failed_before": failed,
    }


def _next_steps(
    run: str, spec: model.WorkflowSpec, nodes: Mapping[str, Node]
) -> list[dict[str, Any]]:
    entry = next((each for each in spec.templates if each.name == spec.entrypoint), None)
    tasks = entry.dag.tasks if entry is not None and entry.dag is not None else ()
    dead = {task.name for task in tasks if _is_dead(task, nodes.get(f"{run}.{task.name}"))}
    found = []
    for task in tasks:
        if f"{run}.{task.name}" in nodes or dead & {*task.dependencies}:
            continue
        waits = [_wait(run, task, name, nodes) for name in task.dependencies]
        found.append({"step": task.name, "waits_for": [each for each in waits if each["missing"]]})
    return found


def _is_dead(task: model.DAGTask, node: Node | None) -> bool:
    """Whether nothing that depends on a step will ever start."""
    if node is None or not node.ended:
        return False
    return node.phase is Phase.OMITTED or (node.unsuccessful and task.continue_on is None)


def _wait(run: str, task: model.DAGTask, name: str, nodes: Mapping[str, Node]) -> dict[str, Any]:
    """Say how one dependency of a step stands, and what is still missing of it."""
    node = nodes.get(f"{run}.{name}")
    probe = nodes.get(f"{run}.{task.name}.ready-{name}")
    missing = "the end"
    if node is not None and node.fulfilled:
        missing = ""
    elif task.ready is not None:
        asks = probe is not None and probe.type is NodeType.PROBE and not probe.ended
        missing = "answers" if asks else "the probes"
    state = str(node.phase) if node else "Waiting"
    return {"step": name, "state": state, "missing": missing}
