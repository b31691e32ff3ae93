"""The gang policy: all or nothing, and the phase of a pod group.

Pure. A job is kept only when ``min_member`` tasks and each task's minimum are placed. Task
minimums are ignored where the job's own minimum is below their sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tiphys.scheduling.volcano.cluster import READY, Job, PodGroupPhase, Status, Task
from tiphys.scheduling.volcano.session import Plugin, Session

_PRESENT = READY | {Status.PIPELINED, Status.PENDING}


def gang(session: Session) -> Plugin:
    """Return the gang policy of ``session``."""

    def victims(_: Task, candidates: Sequence[Task]) -> list[Task]:
        """Only what a job has beyond its minimum may be taken."""
        left: dict[str, int] = {}
        chosen = []
        for task in candidates:
            job = session.jobs[task.job]
            have = left.setdefault(job.name, job.ready_count())
            if have > job.min_member:
                left[job.name] = have - 1
                chosen.append(task)
        return chosen

    return Plugin(
        name="gang",
        valid=is_valid,
        ready=is_ready,
        pipelined=is_pipelined,
        starving=is_starving,
        job_order=lambda left, right: is_complete(left) - is_complete(right),
        reclaimable=victims,
        preemptable=victims,
    )


def minimums(job: Job) -> dict[str, int]:
    """Per-task minimums that hold for the job."""
    wanted = {role: least for role, least in job.min_task_member.items() if least > 0}
    return wanted if job.min_member >= sum(wanted.values()) else {}


def is_complete(job: Job) -> bool:
    """Whether enough tasks are placed, whatever their roles."""
    return job.ready_count() + _waiting_best_effort(job) >= job.min_member


def is_ready(job: Job) -> bool:
    """Whether enough tasks are placed, of each role too."""
    return is_complete(job) and _roles_met(job, READY)


def is_pipelined(job: Job) -> bool:
    """Whether enough tasks are placed or promised a place."""
    placed = job.ready_count() + job.count(Status.PIPELINED) + _waiting_best_effort(job)
    return placed >= job.min_member and _roles_met(job, READY | {Status.PIPELINED})


def is_starving(job: Job) -> bool:
    """Whether fewer tasks than the minimum are placed or promised a place."""
    return job.ready_count() + job.count(Status.PIPELINED) < job.min_member


def is_valid(job: Job) -> bool:
    """Whether enough pods exist."""
    return job.count(*_PRESENT) >= job.min_member and _roles_met(job, _PRESENT)


def may_go_on(job: Job, failed_roles: set[str]) -> bool:
    """After a task found no node: whether other tasks can still complete the gang."""
    if job.min_member == len(job.tasks):
        return False
    if job.min_member < sum(job.min_task_member.values()):
        hopeful = [
            task
            for task in job.tasks
            if task.status is Status.PENDING and task.role not in failed_roles
        ]
        return job.ready_count() + len(hopeful) >= job.min_member
    placed = Counter(task.role for task in job.tasks if task.status in READY)
    return all(placed[role] >= job.min_task_member.get(role, 0) for role in failed_roles)


def phase(job: Job, *, unschedulable: bool) -> PodGroupPhase:
    """The phase of the job's pod group after a round.

    Completed looks only at what was scheduled; a pending member is ignored, as upstream does
    (volcano#5871).
    """
    running = job.count(Status.RUNNING)
    scheduled = job.count(*READY) + job.count(Status.FAILED)
    if running and unschedulable:
        return PodGroupPhase.UNKNOWN
    if scheduled >= job.min_member:
        ended = job.count(Status.SUCCEEDED, Status.FAILED)
        return PodGroupPhase.COMPLETED if ended == scheduled else PodGroupPhase.RUNNING
    if job.phase is PodGroupPhase.INQUEUE:
        return PodGroupPhase.INQUEUE
    return PodGroupPhase.PENDING


def _waiting_best_effort(job: Job) -> int:
    return sum(task.status is Status.PENDING and task.best_effort for task in job.tasks)


def _roles_met(job: Job, statuses: frozenset[Status]) -> bool:
    have = Counter(task.role for task in job.tasks if task.status in statuses)
    return all(have[role] >= least for role, least in minimums(job).items())
