"""Volcano's objects as we write them: Jobs, and commands to Jobs. Pure.

The defaults are those that Volcano's own webhook fills in. They are written out, because a cluster
without the webhook would take a missing ``maxRetry`` for 0 and leave pods to another scheduler.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tiphys.core.jobname import job_name
from tiphys.core.name import MAX_LABEL, fnv1a32
from tiphys.ports import Task
from tiphys.runtimes.kubernetes_config import KubernetesPolicy
from tiphys.runtimes.kubernetes_job import ATTEMPT, ATTEMPT_ID, NODE_ID, NODE_NAME, OWNER
from tiphys.runtimes.kubernetes_policy import check_pod
from tiphys.spec.model.volcano import BATCH_VERSION

Json = dict[str, Any]
WORKFLOW_ID = "workflow-id"
JOB_NAME, TASK_SPEC, TASK_INDEX = (
    "volcano.sh/job-name",
    "volcano.sh/task-spec",
    "volcano.sh/task-index",
)
"""Labels that Volcano puts on pods."""
MAX_RETRY = 3
_UID_LENGTH = 36
_BUS = "bus.volcano.sh/v1alpha1"
_ATTEMPT = re.compile(r"\((\d+)\)$")


def vcjobs_path(namespace: str) -> str:
    """Give the collection of a namespace's Volcano Jobs."""
    return f"/apis/{BATCH_VERSION}/namespaces/{namespace}/jobs"


def commands_path(namespace: str) -> str:
    """Give the collection of a namespace's commands."""
    return f"/apis/{_BUS}/namespaces/{namespace}/commands"


def job_of_group(group: str) -> str:
    """Give the name of the Job that a PodGroup is for: Volcano adds the Job's uid to it."""
    return group[: -_UID_LENGTH - 1]


def vcjob_name(task: Task) -> str:
    """Name the Job of a task: flow and step; later attempts at a step say so."""
    name = job_name(task.workflow, task.node_name)
    found = _ATTEMPT.search(task.node_name)
    if found is not None and int(found[1]):
        name = f"{name}-retry-{found[1]}"
    if len(name) > MAX_LABEL:
        name = f"{name[: MAX_LABEL - 9].rstrip('-')}-{fnv1a32(name):08x}"
    return name


def write_job(task: Task, namespace: str, owner: str) -> Json:
    """Give the Job of a task."""
    given = task.template.metadata
    labels = {
        **given.labels,
        WORKFLOW_ID: task.workflow_uid,
        "scheduler": task.scheduler,
        OWNER: owner,
        ATTEMPT: task.id.rpartition(".")[2],
    }
    own = {NODE_NAME: task.node_name, NODE_ID: task.node_id, ATTEMPT_ID: task.id}
    return {
        "apiVersion": BATCH_VERSION,
        "kind": "Job",
        "metadata": {
            "name": vcjob_name(task),
            "namespace": namespace,
            "labels": labels,
            "annotations": {**given.annotations, **own},
        },
        "spec": filled(
            task.template.volcano_job or {}, task.queue, task.pod.get("priorityClassName", "")
        ),
    }


def filled(spec: Mapping[str, Any], queue: str = "", priority_class: str = "") -> Json:
    """Give a Job's spec with the defaults written out; queue and class are its workflow's.

    Its time to live is left out: what Volcano removes before it is read would be lost, so whoever
    keeps the record removes it with the record.
    """
    tasks = [_task(index, task) for index, task in enumerate(spec.get("tasks") or ())]
    least = sum(task["minAvailable"] for task in tasks)
    given = {key: value for key, value in spec.items() if value is not None}
    given.pop("ttlSecondsAfterFinished", None)
    return {
        "schedulerName": "volcano",
        "minAvailable": least,
        "maxRetry": MAX_RETRY,
        **({"priorityClassName": priority_class} if priority_class else {}),
        **given,
        "queue": spec.get("queue") or queue or "default",
        "tasks": tasks,
    }


def _task(index: int, task: Mapping[str, Any]) -> Json:
    replicas = task.get("replicas", 1)
    given = {key: value for key, value in task.items() if value is not None}
    return {
        "minAvailable": replicas,
        "maxRetry": MAX_RETRY,
        **given,
        "name": task.get("name") or f"default{index}",
        "replicas": replicas,
    }


def check_job(spec: Mapping[str, Any], namespace: str, policy: KubernetesPolicy) -> None:
    """Raise RuntimeFailure where pods of a Job would not be allowed."""
    for task in spec.get("tasks") or ():
        check_pod((task.get("template") or {}).get("spec") or {}, namespace, policy)


def write_command(job: Mapping[str, Any], action: str) -> Json:
    """Give the order to do something with a Job."""
    meta = job["metadata"]
    target = {
        "apiVersion": BATCH_VERSION,
        "kind": "Job",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
    }
    return {
        "apiVersion": _BUS,
        "kind": "Command",
        "metadata": {
            # The same order given twice is one.
            "name": f"{action.lower()}-{meta['uid']}",
            "namespace": meta["namespace"],
            "ownerReferences": [target],
        },
        "target": target,
        "action": action,
    }
