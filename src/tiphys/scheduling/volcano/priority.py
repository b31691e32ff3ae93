"""The priority policy: higher first, and only strictly lower ones may be stopped.

Pure. Across jobs the jobs' priorities count, inside a job those of its tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiphys.scheduling.volcano.cluster import Job, Status, Task
from tiphys.scheduling.volcano.session import Plugin, Session


def priority(session: Session) -> Plugin:
    """Return the priority policy of ``session``."""

    def victims(preemptor: Task, candidates: Sequence[Task]) -> list[Task]:
        job = session.jobs[preemptor.job]
        return [
            task for task in candidates if is_victim(preemptor, job, task, session.jobs[task.job])
        ]

    return Plugin(
        name="priority",
        task_order=lambda left, right: right.priority - left.priority,
        job_order=lambda left, right: right.priority - left.priority,
        preemptable=victims,
        starving=lambda job: job.ready_count() + job.count(Status.PIPELINED) < len(job.tasks),
    )


def is_victim(preemptor: Task, preemptor_job: Job, victim: Task, victim_job: Job) -> bool:
    """Whether ``victim`` may be stopped for ``preemptor``."""
    if preemptor_job.name == victim_job.name:
        return victim.priority < preemptor.priority
    return victim_job.priority < preemptor_job.priority


def conformance(_: Session) -> Plugin:
    """Return the policy that protects system pods."""

    def victims(_: Task, candidates: Sequence[Task]) -> list[Task]:
        return [task for task in candidates if not task.critical]

    return Plugin(name="conformance", reclaimable=victims, preemptable=victims)
