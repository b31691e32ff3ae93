"""Policies that only guard the way from waiting to admitted: overcommit and service level.

Pure. Overcommit lets in somewhat more than the cluster has, so that pods exist when room appears.
A job that has waited longer than its service level is let in whatever a lower tier says.
"""

from __future__ import annotations

from collections.abc import Mapping

from tiphys.scheduling.volcano.amounts import Amounts, add, scale, subtract, total, within_on
from tiphys.scheduling.volcano.cluster import HOLDING, Job, PodGroupPhase
from tiphys.scheduling.volcano.quota import inqueue_of
from tiphys.scheduling.volcano.session import ABSTAIN, PERMIT, REJECT, Plugin, Session

DEFAULT_FACTOR = 1.2


def overcommit_idle(
    whole: Mapping[str, float], used: Mapping[str, float], factor: float = DEFAULT_FACTOR
) -> Amounts:
    """What may still be admitted; a factor below one falls back to the default."""
    if factor < 1.0:
        factor = DEFAULT_FACTOR
    return subtract(scale(whole, factor), used)


def overcommit(session: Session, *, factor: float = DEFAULT_FACTOR) -> Plugin:
    """Return the overcommit policy of ``session``."""
    jobs = session.jobs.values()
    used = total(task.request for job in jobs for task in job.tasks if task.status in HOLDING)
    idle = overcommit_idle(session.total(), used, factor)
    inqueue = total(
        job.min_resources or {} if job.phase is PodGroupPhase.INQUEUE else inqueue_of(job)
        for job in jobs
    )

    def enqueueable(job: Job) -> int:
        if job.min_resources is None:
            return PERMIT
        wanted = add(inqueue, job.min_resources)
        return PERMIT if within_on(wanted, idle, job.min_resources) else REJECT

    def enqueued(job: Job) -> None:
        nonlocal inqueue
        inqueue = add(inqueue, job.min_resources or {})

    return Plugin(name="overcommit", enqueueable=enqueueable, enqueued=enqueued)


def sla(_: Session, *, waiting_seconds: float) -> Plugin:
    """Return the service-level policy: after ``waiting_seconds`` a job is let in."""

    def permit(job: Job) -> int:
        return PERMIT if job.waited_seconds >= waiting_seconds else ABSTAIN

    def order(left: Job, right: Job) -> int:
        ages = left.waited_seconds, right.waited_seconds
        return (ages[0] < ages[1]) - (ages[0] > ages[1])

    return Plugin(name="sla", enqueueable=permit, job_order=order)
