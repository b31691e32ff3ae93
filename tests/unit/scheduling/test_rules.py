"""Volcano's and Kueue's rules by themselves, beyond the vectors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.engine.jobrule import Action, Policy, decide_action, may_start
from tiphys.scheduling.kueue import fair, preempt
from tiphys.scheduling.kueue.quota import (
    Cohorts,
    PreemptionPolicy,
    Quota,
    QuotaNode,
    Within,
    Workload,
    available,
    fits,
)
from tiphys.scheduling.volcano import flow
from tiphys.scheduling.volcano.proportion import Claim, pour

claims = st.lists(
    st.tuples(st.integers(1, 5), st.integers(0, 20), st.one_of(st.none(), st.integers(1, 20))),
    min_size=1,
    max_size=5,
)


@given(claims, st.integers(1, 30))
@settings(max_examples=80, deadline=None)
def test_water_is_shared_out_once_and_no_queue_gets_more_than_it_asked(
    asked: list[tuple[int, int, int | None]], whole: int
) -> None:
    total = {"cpu": float(whole)}
    found, _ = pour(
        total,
        {
            str(i): Claim(
                weight=weight,
                request={"cpu": float(request)},
                real_capability={"cpu": float(min(limit or whole, whole))},
                guarantee={},
            )
            for i, (weight, request, limit) in enumerate(asked)
        },
    )

    given_out = [found[str(i)].get("cpu", 0.0) for i in range(len(asked))]
    wants = [min(request, limit or whole, whole) for _, request, limit in asked]
    assert sum(given_out) <= whole + 1e-6
    assert all(got <= want + 1e-6 for got, want in zip(given_out, wants, strict=True))
    # Nothing is left over while somebody still wants more.
    assert sum(given_out) >= min(whole, sum(wants)) - 0.2


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(-1, 1), st.integers(1, 4)), max_size=9),
    st.tuples(st.sampled_from("abc"), st.integers(-1, 2), st.integers(1, 6)),
    st.sampled_from([Within.NEVER, Within.LOWER_PRIORITY, Within.LOWER_OR_NEWER]),
    st.sampled_from([Within.NEVER, Within.LOWER_PRIORITY, Within.ANY]),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_preemption_makes_enough_room_by_its_rules_and_leaves_no_trace(
    running: list[tuple[str, int, int]],
    incoming: tuple[str, int, int],
    within: Within,
    reclaim: Within,
    sharing: bool,
) -> None:
    root = QuotaNode(name="root")
    policy = PreemptionPolicy(within_queue=within, reclaim_within_cohort=reclaim)
    nodes = [
        QuotaNode(
            name=name, parent=root, is_queue=True, policy=policy, quotas={"cpu": Quota(nominal=4)}
        )
        for name in "abc"
    ]
    cohorts = Cohorts([root, *nodes])
    for index, (queue, priority, cpu) in enumerate(running):
        workload = Workload(
            name=f"w{index}", queue=queue, priority=priority, requests={"cpu": float(cpu)}
        )
        if fits(cohorts.nodes[queue], workload.requests):
            cohorts.admit(workload)
    before = {node.name: dict(node.usage) for node in cohorts.nodes.values()}
    queue, priority, cpu = incoming
    newcomer = Workload(
        name="new", queue=queue, priority=priority, requests={"cpu": float(cpu)}, created_at=-1.0
    )

    targets = (fair if sharing else preempt).preemptions(cohorts, newcomer)

    after = {node.name: dict(node.usage) for node in cohorts.nodes.values()}
    assert {k: v for k, v in after.items() if any(v.values())} == {
        k: v for k, v in before.items() if any(v.values())
    }
    for target in targets:
        own = target.workload.queue == queue
        rule = within if own else reclaim
        assert preempt.may_preempt(newcomer, target.workload, rule)
        assert (target.reason is preempt.Reason.IN_QUEUE) == own
        cohorts.remove(target.workload)
    if targets:
        assert available(cohorts.nodes[queue], "cpu") >= cpu


def test_a_tasks_policy_beats_the_jobs_and_the_first_match_wins() -> None:
    task = [Policy(action=Action.RESTART_TASK, events=("PodFailed",))]
    job = [
        Policy(action=Action.ABORT_JOB, events=("PodFailed", "PodEvicted")),
        Policy(action=Action.RESTART_JOB, events=("*",)),
    ]

    def action(event: str) -> Action:
        return decide_action(event, task_policies=task, job_policies=job).action

    assert action("PodFailed") is Action.RESTART_TASK
    assert action("PodEvicted") is Action.ABORT_JOB
    assert action("TaskCompleted") is Action.RESTART_JOB


def test_an_exit_code_chooses_a_policy() -> None:
    policies = [Policy(action=Action.TERMINATE_JOB, exit_code=3)]

    assert decide_action("PodFailed", exit_code=3, job_policies=policies).action is (
        Action.TERMINATE_JOB
    )
    assert decide_action("PodFailed", exit_code=4, job_policies=policies).action is Action.SYNC_JOB


@pytest.mark.parametrize(
    ("needed", "any_of", "expected"),
    [
        ({"a": (2, 2)}, False, True),
        ({"a": (1, 2)}, False, False),
        ({"a": (1, 2), "b": (1, 1)}, True, True),
        ({}, True, True),
    ],
)
def test_a_task_starts_once_its_upstream_tasks_are_up(
    needed: dict[str, tuple[int, int]], any_of: bool, expected: bool
) -> None:
    assert may_start(needed, any_of=any_of) is expected


def test_a_flow_creates_jobs_whose_targets_are_completed() -> None:
    edges = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}

    assert flow.due_jobs(edges, {}) == ("a",)
    assert flow.due_jobs(edges, {"a": "Completed"}) == ("b", "c")
    assert flow.due_jobs(edges, {"a": "Completed", "b": "Completed", "c": "Running"}) == ()
