"""A JobFlow or a Volcano Job as upstream shows it: the document as it was given, and its status.

The shape of the status is upstream's, to the spelling of ``unKnowJobs``; what it says is the truth:
a Job that was aborted is listed as terminated and its flow has failed, and an end is when it ended.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from tiphys.core.jobname import job_name
from tiphys.engine.node import ACTIVE, JobRecord, Node, NodeType, Phase
from tiphys.wire.argo import Header, timestamp, workflow_object

MANIFEST = "tiphys.dev/manifest"
_LISTS: Mapping[str, str] = {
    "Pending": "pendingJobs",
    "Running": "runningJobs",
    "Restarting": "runningJobs",
    "Completing": "runningJobs",
    "Aborting": "runningJobs",
    "Terminating": "runningJobs",
    "Completed": "completedJobs",
    "Failed": "failedJobs",
    "Aborted": "terminatedJobs",
    "Terminated": "terminatedJobs",
}
_NUMBER = re.compile(r"\(\d+\)$")
"""Behind the name of an attempt."""
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
    jobs = jobs_of(row.name, every)
    if found.get("kind") == "JobFlow":
        found["status"] = _flow_status(row, jobs)
    elif jobs:
        found["status"] = _job_status(jobs[0])
    return found


@dataclass(slots=True)
class Job:
    """One Job of a run: all attempts at it, and the pods of the latest."""

    name: str
    attempts: list[Node]
    pods: list[Node]
    again: bool = False
    """Whether it failed and will be tried once more."""

    @property
    def node(self) -> Node:
        """The latest attempt."""
        return self.attempts[-1]

    @property
    def phase(self) -> str:
        """Volcano's word for how it stands."""
        return "Restarting" if self.again else _record(self.node).phase

    @property
    def restarts(self) -> int:
        """How often it was started again, by its policies or by the flow's control."""
        return sum(_record(node).retries for node in self.attempts) + len(self.attempts) - 1

    @property
    def started_at(self) -> float:
        """When its first attempt appeared."""
        return self.attempts[0].started_at or 0

    @property
    def finished_at(self) -> float | None:
        """When it ended for good."""
        return None if self.again else self.node.finished_at


def jobs_of(run: str, nodes: Sequence[Node]) -> list[Job]:
    """Give the Jobs of a run, in the order in which they appeared."""
    pods = _by_job(nodes)
    trying = {node.name for node in nodes if node.type is NodeType.RETRY and node.phase in ACTIVE}
    found: dict[str, Job] = {}
    for node in nodes:
        if node.type is NodeType.JOB:
            name = job_name(run, node.name)
            job = found.setdefault(name, Job(name, [], []))
            job.attempts.append(node)
            job.pods = pods.get(node.id, [])
            job.again = node.ended and _NUMBER.sub("", node.name) in trying
    return list(found.values())


def _by_job(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """The pods of each Job; of one that was started again the latest."""
    latest: dict[str, dict[str, Node]] = {}
    for node in nodes:
        if node.type is NodeType.POD:
            latest.setdefault(node.boundary_id, {})[_NUMBER.sub("", node.name)] = node
    return {job: list(pods.values()) for job, pods in latest.items()}


def _flow_status(row: Header, jobs: Sequence[Job]) -> dict[str, Any]:
    begun = any(job.phase != "Pending" for job in jobs)
    phase = _FLOW_PHASES.get(row.phase, "Running" if begun else "Pending")
    status: dict[str, Any] = {name: [] for name in (*dict.fromkeys(_LISTS.values()), "unKnowJobs")}
    for job in jobs:
        status[_LISTS.get(job.phase, "unKnowJobs")].append(job.name)
    return {
        **{key: names for key, names in status.items() if names},
        "jobStatusList": [_listed(job) for job in jobs],
        "conditions": {job.name: _condition(job) for job in jobs},
        "state": {"phase": phase},
    }


def _record(job: Node) -> JobRecord:
    return job.ours.job or JobRecord()


def _listed(job: Job) -> dict[str, Any]:
    listed: dict[str, Any] = {
        "name": job.name,
        "state": job.phase,
        "startTimestamp": timestamp(job.started_at),
        "restartCount": job.restarts,
        "runningHistories": [each for node in job.attempts for each in _histories(node)],
    }
    if job.finished_at is not None:
        listed["endTimestamp"] = timestamp(job.finished_at)
    return listed


def _histories(job: Node) -> list[dict[str, Any]]:
    record = _record(job)
    found: list[dict[str, Any]] = []
    ends = [at for _, at in record.history[1:]]
    for index, (state, at) in enumerate(record.history):
        entry: dict[str, Any] = {"startTimestamp": timestamp(at), "state": state}
        end = ends[index] if index < len(ends) else job.finished_at
        if end is not None:
            entry["endTimestamp"] = timestamp(end)
        found.append(entry)
    return found


def _condition(job: Job) -> dict[str, Any]:
    found: dict[str, Any] = {
        "phase": job.phase,
        "createTime": timestamp(job.started_at),
        "taskStatusCount": _task_counts(job),
    }
    if job.finished_at is not None:
        found["runningDuration"] = f"{job.finished_at - job.started_at:.0f}s"
    return found


def _task_counts(job: Job) -> dict[str, Any]:
    counts: dict[str, Counter[str]] = {}
    for pod in job.pods:
        task = pod.name.removeprefix(f"{job.node.name}.").partition("(")[0].rpartition("-")[0]
        counts.setdefault(task, Counter())[_POD_PHASES.get(pod.phase, "Failed")] += 1
    return {task: {"phase": dict(found)} for task, found in counts.items()}


def _job_status(job: Job) -> dict[str, Any]:
    record = _record(job.node)
    counts = Counter(_POD_PHASES.get(pod.phase, "Failed") for pod in job.pods)
    state: dict[str, Any] = {"phase": record.phase}
    if record.history:
        state["lastTransitionTime"] = timestamp(record.history[-1][1])
    if job.node.message:
        state["message"] = job.node.message
    return {
        "state": state,
        **{word.lower(): number for word, number in counts.items()},
        "retryCount": record.retries,
        "taskStatusCount": _task_counts(job),
        "conditions": [
            {"status": phase, "lastTransitionTime": timestamp(at)} for phase, at in record.history
        ],
    }
