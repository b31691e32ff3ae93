"""The live scheduler, on one pool of capacity, decides as the vectors say.

The vectors themselves are run on a cluster of nodes; those that do not hang on which node it is
are put to the scheduler that runs workflows, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tiphys.scheduling import Gang, Preempt, Queue, QueueTree, Resources, Scheduler, Work, WorkId
from tiphys.scheduling.queue import ROOT
from tiphys.scheduling.volcano.amounts import add
from tiphys.scheduling.volcano.cluster import ClusterQueue, Job, Status, Task
from tiphys.scheduling.volcano.session import Session
from tiphys.simulate.vectors.check import situations
from tiphys.simulate.vectors.situation import read

OWN = Path(__file__).with_name("more_vectors.yaml")
SHARED = Path(__file__).parents[4] / "shared" / "scheduling" / "vectors.yaml"
FAMILIES = (
    "volcano.gang",
    "volcano.fairshare",
    "volcano.queue-priority",
    "volcano.capacity.capability",
    "volcano.capacity.reclaim",
    "volcano.capacity.hierarchy",
    "volcano.reclaim",
    "volcano.preempt",
    "volcano.preempt.queue-cap",
    "volcano.drf.order",
)
OTHERWISE = {
    # A cluster stops one victim for a gang that still does not fit; here a gang is all or nothing.
    "RECL-second-task",
}
ASKED = frozenset({"bind", "bind_count", "evict", "evict_count", "pipeline", "allocations"})


def _cases() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for path in (SHARED, OWN):
        if not path.exists():
            continue
        for vector in yaml.safe_load(path.read_text(encoding="utf-8"))["vectors"]:
            if vector["family"] not in FAMILIES or vector["id"] in OTHERWISE:
                continue
            for index, (given, expected) in enumerate(situations(vector)):
                if _fits_one_pool(given, expected):
                    yield f"{vector['id']}-{index}", given, expected


def _fits_one_pool(given: dict[str, Any], expected: Any) -> bool:
    """Whether the decision does not hang on nodes, and is one of those asked for here."""
    if not isinstance(expected, dict) or not ASKED & set(expected) or given.get("rule"):
        return False
    text = str(given)
    return "nodeSelector" not in text and "nodeRole" not in text


CASES = list(_cases())


def whole(amounts: dict[str, float]) -> Resources:
    return Resources({name: round(amount) for name, amount in amounts.items()})


def live(given: dict[str, Any]) -> tuple[Scheduler, Session]:
    """Put a vector's situation to the scheduler that runs workflows."""
    session = read(given)
    actions = given.get("actions") or [given["family"].split(".")[1]]
    total: dict[str, float] = {}
    for node in session.nodes.values():
        total = add(total, node.capacity)
    scheduler = Scheduler(whole(total), tree(session, actions, drf="drf" in given["family"]))
    for job in session.jobs.values():
        if job.min_member > 1:
            scheduler.declare(
                Gang(
                    name=job.name,
                    min_member=job.min_member,
                    min_task_member=tuple(job.min_task_member.items()),
                )
            )
    for job in session.jobs.values():
        for task in job.tasks:
            if task.status is Status.RUNNING:
                scheduler.adopt(work(job, task), started_at=task.created_at)
    for job in session.jobs.values():
        for task in job.tasks:
            if task.status is Status.PENDING:
                scheduler.submit(work(job, task))
    return scheduler, session


def tree(session: Session, actions: list[str], *, drf: bool) -> QueueTree:
    return QueueTree(
        queue(each, actions, drf=drf) for each in session.queues.values() if each.name != ROOT
    )


def queue(given: ClusterQueue, actions: list[str], *, drf: bool) -> Queue:
    return Queue(
        name=given.name,
        parent=given.parent or ROOT,
        weight=given.weight,
        priority=given.priority,
        capability=whole(given.capability),
        deserved=whole(given.deserved),
        guarantee=whole(given.guarantee),
        reclaimable=given.reclaimable,
        state=given.state,
        reclaim="reclaim" in actions,
        preempt=Preempt.LOWER_PRIORITY if "preempt" in actions else Preempt.NEVER,
        fair=drf,
    )


def work(job: Job, task: Task) -> Work:
    return Work(
        id=WorkId(task.name),
        queue=job.queue,
        workflow=job.name,
        group=job.name if job.min_member > 1 else "",
        role=task.role,
        requests=whole(task.request),
        priority=max(job.priority, task.priority),
        workflow_created_at=job.created_at,
        created_at=task.created_at,
        preemptable=task.preemptable and not task.critical,
        may_preempt=task.may_preempt,
    )


@pytest.mark.parametrize(
    ("given", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_live_scheduler_decides_the_same(
    given: dict[str, Any], expected: dict[str, Any]
) -> None:
    scheduler, session = live(given)

    plan = scheduler.plan(100.0)

    evicted = sorted(str(preemption.victim) for preemption in plan.preempts)
    beneficiaries = {str(preemption.beneficiary) for preemption in plan.preempts}
    if "bind" in expected:
        assert set(plan.starts) == set(expected["bind"])
    if "bind_count" in expected:
        assert len(plan.starts) == expected["bind_count"]
    if "evict" in expected:
        assert evicted == sorted(expected["evict"])
    if "evict_count" in expected:
        assert len(evicted) == expected["evict_count"]
    if expected.get("pipeline"):
        assert beneficiaries <= set(expected["pipeline"])
    if "allocations" in expected:
        running = set(scheduler.running())
        held = {n: sum(t.name in running for t in j.tasks) for n, j in session.jobs.items()}
        assert held == expected["allocations"]
