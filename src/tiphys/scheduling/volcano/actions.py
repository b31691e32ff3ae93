"""What a round does: admit, place, fill up, and make room.

Pure moves on a ``Session``: each action reads the votes of the policies and commits a statement
only when it leaves a job that may be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import is_, is_not

from tiphys.scheduling.volcano.amounts import add, share, within
from tiphys.scheduling.volcano.cluster import (
    ClusterQueue,
    Job,
    Node,
    PodGroupPhase,
    Status,
    Task,
)
from tiphys.scheduling.volcano.gang import may_go_on
from tiphys.scheduling.volcano.session import Session, Statement, by, fits, take_first


def enqueue(session: Session) -> None:
    """Admit waiting jobs, queue by queue and job by job, as long as the policies permit."""
    waiting = _jobs_by_queue(session, [j for j in session.jobs.values() if _waits(j)])
    queues = [session.queues[name] for name in waiting]
    while queues:
        queue = take_first(session.queue_before, queues)
        job = take_first(session.job_before, waiting[queue.name])
        if job.min_resources is None or session.enqueueable(job):
            job.phase = PodGroupPhase.INQUEUE
            for plugin in session.plugins():
                if plugin.enqueued:
                    plugin.enqueued(job)
        if waiting[queue.name]:
            queues.append(queue)


def allocate(session: Session) -> None:
    """Place tasks on idle nodes; queues and jobs are ranked again after each step."""
    ready = [j for j in session.jobs.values() if not _waits(j) and session.valid(j)]
    jobs = _jobs_by_queue(session, [job for job in ready if _placeable(job)])
    left = {job.name: _placeable(job) for names in jobs.values() for job in names}
    queues = [session.queues[name] for name in jobs]
    while queues:
        queue = take_first(session.queue_before, queues)
        if session.overused(queue) or not jobs[queue.name]:
            continue
        job = take_first(session.job_before, jobs[queue.name])
        if _allocate_job(session, queue, job, left[job.name]) and left[job.name]:
            jobs[queue.name].append(job)
        queues.append(queue)


def _allocate_job(session: Session, queue: ClusterQueue, job: Job, tasks: list[Task]) -> bool:
    """Place tasks until the job may be kept; tell whether it was."""
    statement = Statement(session)
    failed_roles: set[str] = set()
    while tasks:
        task = take_first(session.task_before, tasks)
        if not session.allocatable(queue, task) or (task.role and task.role in failed_roles):
            continue
        node = _best_node(session, task)
        if node is None:
            failed_roles.add(task.role)
            if may_go_on(job, failed_roles):
                continue
            break
        if fits(task, node.idle):
            statement.allocate(task, node)
        else:
            statement.pipeline(task, node)
        if session.ready(job):
            break
    if session.ready(job):
        statement.commit()
        return True
    if session.pipelined(job) and job.count(Status.PIPELINED):
        statement.commit()
        return False
    statement.discard()
    return False


def backfill(session: Session) -> None:
    """Place tasks that ask for nothing wherever there is a place."""
    for job in by(session.job_before, [j for j in session.jobs.values() if not _waits(j)]):
        for task in by(session.task_before, _in_status(job, Status.PENDING)):
            if not task.best_effort:
                continue
            node = _best_node(session, task)
            if node is not None and fits(task, node.idle):
                statement = Statement(session)
                statement.allocate(task, node)
                statement.commit()


def reclaim(session: Session) -> None:
    """Take back from other queues for jobs that starve."""
    starving = [j for j in session.jobs.values() if not _waits(j) and session.valid(j)]
    jobs = _jobs_by_queue(session, [job for job in starving if session.starving(job)])
    queues = [session.queues[name] for name in jobs]
    while queues:
        queue = take_first(session.queue_before, queues)
        if session.overused(queue):
            continue
        while jobs[queue.name]:
            job = take_first(session.job_before, jobs[queue.name])
            statement = Statement(session)
            for task in by(session.task_before, _in_status(job, Status.PENDING)):
                if not session.starving(job):
                    break
                if task.may_preempt and session.preemptive(queue, task):
                    _reclaim_for(session, statement, task, job)
            _keep_if(statement, kept=session.pipelined(job))


def _reclaim_for(session: Session, statement: Statement, task: Task, job: Job) -> None:
    for node in _matching(session, task):
        if fits(task, node.future_idle()):
            # There is room already: evicting anyone would be for nothing.
            statement.pipeline(task, node)
            return
    for node in _matching(session, task):
        candidates = [
            other
            for other in session.tasks_on(node)
            if other.status is Status.RUNNING
            and other.preemptable
            and session.jobs[other.job].queue != job.queue
            and session.queue_of(other).reclaimable
        ]
        if not candidates:
            continue
        victims = session.reclaim_victims(task, candidates)
        if not _would_fit(task, node, victims):
            continue
        for victim in session.victim_order(victims, task):
            statement.evict(victim)
            if fits(task, node.future_idle()):
                break
        statement.pipeline(task, node)
        return


def preempt(session: Session) -> None:
    """Make room inside a queue: between jobs first, then between tasks of a job."""
    starving = [j for j in session.jobs.values() if not _waits(j) and session.valid(j)]
    starving = [job for job in starving if session.starving(job)]
    for jobs in _jobs_by_queue(session, starving).values():
        while jobs:
            job = take_first(session.job_before, jobs)
            _preempt_for_job(session, job)
    for job in by(session.job_before, starving):
        for task in by(session.task_before, _in_status(job, Status.PENDING)):
            statement = Statement(session)
            done = _preempt_for(session, statement, task, partial(is_, job))
            _keep_if(statement, kept=done)
            if not done:
                break


def _preempt_for_job(session: Session, job: Job) -> None:
    """Stop tasks of other jobs, kept only if the job becomes pipelined; go on while it helps."""
    helped = True
    while helped and session.starving(job):
        statement, helped = Statement(session), False
        for task in by(session.task_before, _in_status(job, Status.PENDING)):
            if not session.starving(job):
                break
            if _preempt_for(session, statement, task, partial(is_not, job)):
                helped = True
        _keep_if(statement, kept=session.pipelined(job))
        helped = helped and session.pipelined(job)


def _preempt_for(
    session: Session, statement: Statement, task: Task, concerns: Callable[[Job], bool]
) -> bool:
    """Make room for ``task`` on one node; tell whether it was promised a place."""
    if not task.may_preempt:
        return False
    queue = session.queue_of(task)
    for node in _matching(session, task):
        candidates = [
            other
            for other in session.tasks_on(node)
            if other.status is Status.RUNNING
            and other.preemptable
            and (other.best_effort or not task.best_effort)
            and session.queue_of(other) is queue
            and concerns(session.jobs[other.job])
        ]
        victims = session.preempt_victims(task, candidates)
        if not _would_fit(task, node, victims):
            continue
        for victim in session.victim_order(victims, task):
            if _has_room(session, queue, task, node):
                break
            statement.evict(victim)
        if _has_room(session, queue, task, node):
            statement.pipeline(task, node)
            return True
    return False


def _has_room(session: Session, queue: ClusterQueue, task: Task, node: Node) -> bool:
    return session.allocatable(queue, task) and fits(task, node.future_idle())


def _would_fit(task: Task, node: Node, victims: list[Task]) -> bool:
    idle = node.future_idle()
    for victim in victims:
        idle = add(idle, victim.request)
    return within(task.request, idle)


def _keep_if(statement: Statement, *, kept: bool) -> None:
    if kept:
        statement.commit()
    else:
        statement.discard()


def _waits(job: Job) -> bool:
    return job.phase is PodGroupPhase.PENDING


def _in_status(job: Job, status: Status) -> list[Task]:
    return [task for task in job.tasks if task.status is status]


def _placeable(job: Job) -> list[Task]:
    return [task for task in _in_status(job, Status.PENDING) if not task.best_effort]


def _jobs_by_queue(session: Session, jobs: list[Job]) -> dict[str, list[Job]]:
    found: dict[str, list[Job]] = {}
    for job in sorted(jobs, key=lambda job: job.name):
        if job.queue in session.queues:
            found.setdefault(job.queue, []).append(job)
    return found


def _matching(session: Session, task: Task) -> list[Node]:
    nodes = [node for node in session.nodes.values() if node.matches(task)]
    return sorted(nodes, key=lambda node: node.name)


def _best_node(session: Session, task: Task) -> Node | None:
    """The emptiest node with room now, else one that will have room."""
    nodes = _matching(session, task)
    now = [node for node in nodes if fits(task, node.idle)]
    if now:
        return min(now, key=_fullness)
    later = [node for node in nodes if fits(task, node.future_idle())]
    return later[0] if later else None


def _fullness(node: Node) -> float:
    parts = [
        1.0 - share(node.idle.get(name, 0.0), whole)
        for name, whole in node.capacity.items()
        if whole and name != "pods"
    ]
    return sum(parts) / len(parts) if parts else 0.0


ACTIONS: Mapping[str, Callable[[Session], None]] = {
    "enqueue": enqueue,
    "allocate": allocate,
    "backfill": backfill,
    "reclaim": reclaim,
    "preempt": preempt,
}
