"""The life of a Volcano job, as far as it is a decision: its phase and its policies.

Pure functions from counts to a phase. Nothing here knows how pods are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class JobPhase(StrEnum):
    """Phases of a Volcano job."""

    PENDING = "Pending"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    FAILED = "Failed"


FINAL = frozenset({JobPhase.COMPLETED, JobPhase.FAILED, JobPhase.TERMINATED})
"""Phases that nothing leaves; an aborted job can be resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCounts:
    """One task of a job: how many pods it has, needs, and how they fare."""

    replicas: int
    min_available: int | None = None
    succeeded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """All that decides a job's phase."""

    phase: JobPhase = JobPhase.RUNNING
    replicas: int = 0
    min_available: int | None = None
    min_success: int | None = None
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    retry_count: int = 0
    max_retry: int = 3
    tasks: Mapping[str, TaskCounts] = field(default_factory=dict)


def next_phase(job: JobCounts) -> JobPhase:
    """The phase that follows from the counts."""
    match job.phase:
        case JobPhase.PENDING:
            return _from_pending(job)
        case JobPhase.RUNNING:
            return _from_running(job)
        case JobPhase.RESTARTING:
            return _from_restarting(job)
        case JobPhase.ABORTING:
            return _when_gone(job, JobPhase.ABORTED)
        case JobPhase.TERMINATING:
            return _when_gone(job, JobPhase.TERMINATED)
        case JobPhase.COMPLETING:
            return _when_gone(job, JobPhase.COMPLETED)
        case _:
            return job.phase


def least_available(job: JobCounts) -> int:
    """The job's minimum: its own, else the sum of its tasks', else all replicas."""
    if job.min_available is not None:
        return job.min_available
    if job.tasks:
        return _task_minimum(job)
    return job.replicas


def _from_pending(job: JobCounts) -> JobPhase:
    started = job.running + job.succeeded + job.failed
    return JobPhase.RUNNING if started >= least_available(job) else JobPhase.PENDING


def _from_running(job: JobCounts) -> JobPhase:
    if job.replicas == 0:
        return JobPhase.RUNNING
    if job.min_success is not None and job.succeeded >= job.min_success:
        return JobPhase.COMPLETED
    if job.succeeded + job.failed == job.replicas:
        return _ended(job)
    if job.pending and job.replicas - job.pending < least_available(job):
        # Too few pods are left running: the gang has to be scheduled again.
        return JobPhase.PENDING
    return JobPhase.RUNNING


def _ended(job: JobCounts) -> JobPhase:
    if job.min_success is not None:
        return JobPhase.FAILED
    if least_available(job) >= _task_minimum(job):
        for task in job.tasks.values():
            if task.min_available is not None and task.succeeded < task.min_available:
                return JobPhase.FAILED
    return JobPhase.COMPLETED if job.succeeded >= least_available(job) else JobPhase.FAILED


def _from_restarting(job: JobCounts) -> JobPhase:
    if job.retry_count >= job.max_retry:
        return JobPhase.FAILED
    gone = job.replicas - job.terminating
    return JobPhase.PENDING if gone >= least_available(job) else JobPhase.RESTARTING


def _when_gone(job: JobCounts, then: JobPhase) -> JobPhase:
    alive = job.terminating or job.pending or job.running
    return job.phase if alive else then


def _task_minimum(job: JobCounts) -> int:
    return sum(
        task.replicas if task.min_available is None else task.min_available
        for task in job.tasks.values()
    )


class Action(StrEnum):
    """What a policy makes of an event."""

    ABORT_JOB = "AbortJob"
    RESTART_JOB = "RestartJob"
    RESTART_TASK = "RestartTask"
    RESTART_POD = "RestartPod"
    RESTART_PARTITION = "RestartPartition"
    TERMINATE_JOB = "TerminateJob"
    COMPLETE_JOB = "CompleteJob"
    RESUME_JOB = "ResumeJob"
    SYNC_JOB = "SyncJob"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One rule: an action for events or for an exit code."""

    action: Action
    events: tuple[str, ...] = ()
    exit_code: int | None = None
    timeout_seconds: float | None = None


def decide_action(
    event: str,
    *,
    exit_code: int | None = None,
    task_policies: Sequence[Policy] = (),
    job_policies: Sequence[Policy] = (),
) -> Policy:
    """Choose the policy for an event: those of the task first, the first match wins."""
    for policy in (*task_policies, *job_policies):
        if _answers(policy, event):
            return policy
        if exit_code and policy.exit_code == exit_code:
            return policy
    return Policy(action=Action.SYNC_JOB)


def _answers(policy: Policy, event: str) -> bool:
    """Whether a policy is about an event; that a pod waits is one only after some time."""
    if event == "PodPending" and policy.timeout_seconds is None:
        return False
    # That a pod runs is nothing unusual: only those who name it mean it.
    return event in policy.events or ("*" in policy.events and event != "PodRunning")


def may_start(needed: Mapping[str, tuple[int, int]], *, any_of: bool = False) -> bool:
    """Whether a task may start: for each upstream task (started, minimum); all, or any of them."""
    met = [started >= least for started, least in needed.values()]
    return any(met) if any_of and met else all(met)
