"""One attempt on a cluster: what is known of its Job and pods, and what follows from that.

``look`` is the whole decision, and pure: it is asked after every change and names what is to be
done next. The runtime does it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from tiphys.executor.protocol import Attempt, ContainerRun
from tiphys.ports import Task, TaskStarted
from tiphys.runtimes import kubernetes_helper as helper
from tiphys.runtimes.kubernetes_gang import Gang
from tiphys.runtimes.kubernetes_job import Json, job_name, members
from tiphys.runtimes.kubernetes_log import LogCopy
from tiphys.runtimes.kubernetes_pod import (
    all_ended,
    condition,
    exit_of,
    failure_of,
    first_start,
    is_disrupted,
    is_ready,
    pulling,
    start_problem,
    state_of,
)
from tiphys.runtimes.translate import Plan
from tiphys.runtimes.verdict import is_failure
from tiphys.scheduling.reason import Gated, ImagePulling, Reason
from tiphys.spec import model

DEADLINE = "DeadlineExceeded"


class Step(Enum):
    """What an attempt needs next."""

    DELIVER = "bring its inputs"
    START = "tell that it runs"
    READY = "tell that it is ready"
    CONCLUDE = "it is over"


@dataclass(slots=True)
class PodAttempt:
    """What is known of one attempt."""

    task: Task
    template: model.Template
    folder: Path
    namespace: str
    wanted: tuple[str, ...] = ()
    gang: Gang | None = None
    """What it is placed with, on Volcano."""
    created: bool = False
    stopping: bool = False
    awaits_inputs: bool = False
    delivered: bool = False
    started: bool = False
    beginning: TaskStarted | None = None
    """What is told with its end: it was over when it was first seen."""
    ready: bool = False
    concluding: bool = False
    awaits: Reason | None = None
    """What was last told of why it does not begin."""
    job: Json | None = None
    job_gone: bool = False
    pods: dict[str, Json] = field(default_factory=dict)
    logs: dict[tuple[str, str], tuple[LogCopy, asyncio.Task[None]]] = field(default_factory=dict)

    @property
    def job_name(self) -> str:
        """The Job's name."""
        return job_name(self.task)

    @property
    def mains(self) -> list[str]:
        """The containers that are the task."""
        return [name for _, name in members(self.template)]

    @property
    def pod(self) -> Json | None:
        """The latest pod."""
        pods = self.pods.values()
        return max(pods, key=lambda pod: pod["metadata"]["creationTimestamp"], default=None)

    @property
    def waits_suspended(self) -> bool:
        """Whether a suspended Job has yet to begin: somebody else (Kueue) holds it in a queue."""
        return bool(self.task.job_labels) and not self.started

    def plan(self) -> Plan:
        """Give the attempt in the words of the local runtime, whose verdicts are ours too."""
        runs = [ContainerRun(each.name, (), {}, "init") for each in self.template.init_containers]
        if self.template.resource is None:
            runs += [ContainerRun(name, (), {}) for name in self.mains]
        runs += [ContainerRun(each.name, (), {}, "sidecar") for each in self.template.sidecars]
        attempt = Attempt(self.task.id, str(self.folder), tuple(runs))
        return Plan(self.task, attempt)

    def look(self) -> list[Step]:
        """Say what is to be done, as things stand."""
        if self.concluding:
            return []
        pod = self.pod
        steps = self._steps_of(pod) if pod is not None else []
        if self._is_over(pod):
            steps.append(Step.CONCLUDE)
        return steps

    def _steps_of(self, pod: Json) -> list[Step]:
        steps = []
        waits = self.awaits_inputs and not self.delivered
        if waits and state_of(pod, helper.INIT, "running") is not None:
            steps.append(Step.DELIVER)
        if not self.started and first_start(pod, self.mains) is not None:
            steps.append(Step.START)
        if self.template.daemon and not self.ready and is_ready(pod):
            steps.append(Step.READY)
        return steps

    def _is_over(self, pod: Json | None) -> bool:
        if self.job_gone:
            return True
        job = self.job or {}
        if condition(job, "Failed") is not None:
            return pod is None or all_ended(pod, self.mains) or _is_never_to_start(pod)
        if pod is None:
            return self.stopping and condition(job, "Suspended") is not None
        if start_problem(pod) or self.is_blocked(pod):
            return True
        if not all_ended(pod, self.mains):
            return False
        if self.stopping:
            return True
        # A pod that others end is the Job's to judge: it knows of deadlines, and makes another.
        return not is_disrupted(pod) and "deletionTimestamp" not in pod["metadata"]

    def is_blocked(self, pod: Json) -> bool:
        """Whether a sidecar has failed before the task began: Kubernetes would wait for it."""
        ends = (exit_of(pod, each.name) for each in self.template.sidecars)
        return first_start(pod, self.mains) is None and any(is_failure(end) for end in ends)

    def reason(self) -> str:
        """Give the executor's word for what ended it."""
        why, _ = failure_of(self.job or {})
        if DEADLINE in (why, ((self.pod or {}).get("status") or {}).get("reason")):
            return "deadline"
        if self.stopping:
            return "stopped"
        pod = self.pod
        if pod is None or (is_disrupted(pod) and not self._has_succeeded(pod)):
            return "lost"
        return ""

    def _has_succeeded(self, pod: Json) -> bool:
        """Whether all was done before somebody took the pod away: never to be done twice."""
        ends = [state_of(pod, name, "terminated") for name in self.mains]
        return all(end is not None and end.get("exitCode") == 0 for end in ends)

    @property
    def is_taken_away(self) -> bool:
        """Whether its pod was evicted, preempted or lost with its node."""
        return self.pod is not None and is_disrupted(self.pod) and self.reason() == "lost"

    def waits_for(self) -> Reason | None:
        """Say why it does not begin, where the node that it is on or a gate says so."""
        if self._is_gated():
            return Gated()
        found = pulling(self.pod) if self.pod is not None and not self.started else None
        return None if found is None else ImagePulling(*found)

    def _is_gated(self) -> bool:
        held = self.waits_suspended and bool((self.job or {}).get("spec", {}).get("suspend"))
        gates = ((self.pod or {}).get("spec") or {}).get("schedulingGates")
        return held or bool(gates)

    def lost_message(self) -> str:
        """Say how an attempt was lost."""
        if self.job_gone:
            return f"the Job {self.job_name} was deleted"
        _, message = failure_of(self.job or {})
        pod = self.pod or {}
        told = condition(pod, "DisruptionTarget") or {}
        return str(told.get("message") or message or "pod deleted")


def _is_never_to_start(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") == "Pending"
