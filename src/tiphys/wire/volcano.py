"""A JobFlow or a Volcano Job as upstream shows it: the document as it was given, and its status.

The shape of the status is upstream's, to the spelling of ``unKnowJobs``; what it says is the truth:
a Job that was aborted is listed as terminated and its flow has failed, and an end is when it ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tiphys.engine.node import JobRecord, Node, NodeType, Phase
from tiphys.wire.argo import Header, timestamp, workflow_object

MANIFEST = "tiphys.dev/manifest"
_LISTS: Mapping[str, str] = {
    "Pending": "pendingJobs",
    "Running": "runningJobs",
    "Restarting": "runningJobs",
    "Completed": "completedJobs",
    "Failed": "failedJobs",
    "Aborted": "terminatedJobs",
    "Terminated": "terminatedJobs",
}
_FLOW_PHASES: Mapping[str, str] = {"Succeeded": "Succeed", "Failed": "Failed", "Error": "Failed"}
_POD_PHASES: Mapping[Phase, str] = {
    Phase.PENDING: "Pending",
    Phase.RUNNING: "Running",
    Phase.SUCCEEDED: "Succeeded",
}


def shown_object(row: Header, nodes: Iterable[Node]) -> dict[str, Any]:
    """Give the object in the shape in which it was given: Workflow, JobFlow or Job."""
    if MANIFEST not in row.annotations:
        return workflow_object(row, nodes)
    return volcano_object(row, nodes)


def volcano_object(row: Header, nodes: Iterable[Node]) -> dict[str, Any]:
    """Give the JobFlow or Job with its status."""
    found: dict[str, Any] = msgspec.json.decode(row.annotations[MANIFEST])
    meta = found.setdefault("metadata", {})
    meta |= {"name": row.name, "namespace": row.namespace, "uid": row.uid}
    meta["creationTimestamp"] = timestamp(row.created_at)
    every = list(nodes)
    jobs = [node for node in every if node.type is NodeType.JOB]
    pods = _by_job(every)
    if found.get("kind") == "JobFlow":
        found["status"] = _flow_status(row, jobs, pods)
    elif jobs:
        found["status"] = _job_status(jobs[0], pods.get(jobs[0].id, []))
    return found


def _by_job(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """The pods of each Job; of one that was started again the latest."""
    latest: dict[str, dict[str, Node]] = {}
    for node in nodes:
        if node.type is NodeType.POD:
            slot = node.name.partition("(")[0] if node.name.endswith(")") else node.name
            latest.setdefault(node.boundary_id, {})[slot] = node
    return {job: list(pods.values()) for job, pods in latest.items()}


def _flow_status(
    row: Header, jobs: Sequence[Node], pods: Mapping[str, list[Node]]
) -> dict[str, Any]:
    begun = any(_record(job).phase != "Pending" for job in jobs)
    phase = _FLOW_PHASES.get(row.phase, "Running" if begun else "Pending")
    status: dict[str, Any] = {name: [] for name in (*dict.fromkeys(_LISTS.values()), "unKnowJobs")}
    for job in jobs:
        listed = _LISTS.get(_record(job).phase, "unKnowJobs")
        status[listed].append(_name(row.name, job))
    return {
        **{key: names for key, names in status.items() if names},
        "jobStatusList": [_listed(row.name, job) for job in jobs],
        "conditions": {
            _name(row.name, job): _condition(job, pods.get(job.id, [])) for job in jobs
        },
        "state": {"phase": phase},
    }


def _name(flow: str, job: Node) -> str:
    """The Job's name, as upstream builds it: flow and template."""
    short = job.name.removeprefix(f"{flow}.")
    return flow if short == flow else f"{flow}-{short}"


def _record(job: Node) -> JobRecord:
    return job.ours.job or JobRecord()


def _listed(flow: str, job: Node) -> dict[str, Any]:
    record = _record(job)
    listed: dict[str, Any] = {
        "name": _name(flow, job),
        "state": record.phase,
        "startTimestamp": timestamp(job.started_at or 0),
        "restartCount": record.retries,
        "runningHistories": _histories(record, job),
    }
    if job.finished_at is not None:
        listed["endTimestamp"] = timestamp(job.finished_at)
    return listed


def _histories(record: JobRecord, job: Node) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    ends = [at for _, at in record.history[1:]]
    for index, (state, at) in enumerate(record.history):
        entry: dict[str, Any] = {"startTimestamp": timestamp(at), "state": state}
        end = ends[index] if index < len(ends) else job.finished_at
        if end is not None:
            entry["endTimestamp"] = timestamp(end)
        found.append(entry)
    return found


def _condition(job: Node, pods: Sequence[Node]) -> dict[str, Any]:
    record = _record(job)
    found: dict[str, Any] = {
        "phase": record.phase,
        "createTime": timestamp(job.started_at or 0),
        "taskStatusCount": _task_counts(job, pods),
    }
    if job.started_at is not None and job.finished_at is not None:
        found["runningDuration"] = f"{job.finished_at - job.started_at:.0f}s"
    return found


def _task_counts(job: Node, pods: Iterable[Node]) -> dict[str, Any]:
    counts: dict[str, Counter[str]] = {}
    for pod in pods:
        task = pod.name.removeprefix(f"{job.name}.").partition("(")[0].rpartition("-")[0]
        counts.setdefault(task, Counter())[_POD_PHASES.get(pod.phase, "Failed")] += 1
    return {task: {"phase": dict(found)} for task, found in counts.items()}


def _job_status(job: Node, pods: Sequence[Node]) -> dict[str, Any]:
    record = _record(job)
    counts = Counter(_POD_PHASES.get(pod.phase, "Failed") for pod in pods)
    state: dict[str, Any] = {"phase": record.phase}
    if record.history:
        state["lastTransitionTime"] = timestamp(record.history[-1][1])
    if job.message:
        state["message"] = job.message
    return {
        "state": state,
        **{word.lower(): number for word, number in counts.items()},
        "retryCount": record.retries,
        "taskStatusCount": _task_counts(job, pods),
        "conditions": [
            {"status": phase, "lastTransitionTime": timestamp(at)} for phase, at in record.history
        ],
    }
