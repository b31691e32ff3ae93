"""What starts, what waits, and why."""

from __future__ import annotations

import pytest

from tiphys.scheduling import (
    Gang,
    NoSuchQueue,
    Preempt,
    Queue,
    QueueState,
    QueueTree,
    Resources,
    Rule,
    Scheduler,
    Unplaceable,
    Work,
    WorkId,
)
from tiphys.scheduling.admission import reservation
from tiphys.scheduling.reason import (
    BehindOthers,
    GangIncomplete,
    GangShort,
    GuaranteeOfOthers,
    NoCapacity,
    PoolFull,
    QueueLimit,
    QueueNotOpen,
    ReservedForHead,
    WaitingForVictims,
    WorkflowLimit,
    WorkflowNotAdmitted,
)

ONE = Resources(cpu=1000)


def work(name: str, cpu: int = 1, **fields: object) -> Work:
    return Work(id=WorkId(name), requests=Resources(cpu=cpu * 1000), **fields)  # type: ignore[arg-type]


def machine(cpu: int, *queues: Queue, **options: float) -> Scheduler:
    return Scheduler(Resources(cpu=cpu * 1000), QueueTree(queues) if queues else None, **options)


def submit(scheduler: Scheduler, *works: Work) -> None:
    for item in works:
        assert scheduler.submit(item) is None


def test_works_start_in_the_order_in_which_they_came() -> None:
    scheduler = machine(2)
    submit(scheduler, work("a"), work("b"), work("c"))

    assert scheduler.plan(0.0).starts == ("a", "b")

    scheduler.finished(WorkId("a"))
    assert scheduler.plan(1.0).starts == ("c",)


def test_a_higher_priority_goes_before_an_older_age() -> None:
    scheduler = machine(1)
    submit(scheduler, work("old", priority=1), work("important", priority=100, created_at=5.0))

    assert scheduler.plan(6.0).starts == ("important",)


def test_the_critical_path_goes_first_inside_a_workflow() -> None:
    scheduler = machine(1)
    submit(scheduler, work("short", rank=1.0), work("long", rank=9.0))

    assert scheduler.plan(0.0).starts == ("long",)


def test_an_older_workflow_goes_before_a_longer_path_of_a_younger_one() -> None:
    scheduler = machine(1)
    submit(
        scheduler,
        work("young", rank=9.0, workflow_created_at=5.0),
        work("old", rank=1.0, workflow_created_at=1.0),
    )

    assert scheduler.plan(6.0).starts == ("old",)


def test_a_request_larger_than_the_machine_is_refused_as_data() -> None:
    assert machine(2).submit(work("big", 3)) == Unplaceable("cpu", 3000, 2000)


def test_a_resource_the_machine_lacks_is_refused_as_data() -> None:
    wants_gpu = Work(id=WorkId("g"), requests=Resources(gpu=1))

    assert machine(2).submit(wants_gpu) == Unplaceable("gpu", 1, 0)


def test_work_for_an_unknown_queue_is_refused_as_data() -> None:
    assert machine(2).submit(work("a", queue="nowhere")) == NoSuchQueue("nowhere")


def test_a_queue_with_children_takes_no_work() -> None:
    scheduler = machine(2, Queue(name="top"), Queue(name="leaf", parent="top"))

    assert scheduler.submit(work("a", queue="top")) == NoSuchQueue("top")


def test_a_withdrawn_work_never_starts() -> None:
    scheduler = machine(1)
    submit(scheduler, work("a"), work("b"))

    scheduler.withdraw(WorkId("a"))

    assert scheduler.plan(0.0).starts == ("b",)


def test_withdrawing_running_work_releases_its_room() -> None:
    scheduler = machine(1)
    submit(scheduler, work("a"), work("b"))
    scheduler.plan(0.0)

    scheduler.withdraw(WorkId("a"))

    assert scheduler.plan(1.0).starts == ("b",)


def test_adopted_work_counts_as_running() -> None:
    scheduler = machine(1)
    scheduler.adopt(work("old"), started_at=0.0)
    submit(scheduler, work("new"))

    assert scheduler.plan(1.0).starts == ()
    assert scheduler.running() == ("old",)


def test_small_work_passes_large_work_that_does_not_fit() -> None:
    scheduler = machine(4)
    submit(scheduler, work("running", 3), work("large", 4), work("small"))

    assert scheduler.plan(0.0).starts == ("running", "small")


def test_the_reason_names_the_resource_that_is_short() -> None:
    scheduler = machine(2)
    submit(scheduler, work("a", 2), work("b", 2))
    scheduler.plan(0.0)

    wait = scheduler.reason(WorkId("b"))

    assert wait is not None
    assert wait.reason == NoCapacity("cpu", 2000, 0)
    assert wait.text == "needs 2 cpu, the machine has 0 cpu free"
    assert scheduler.reason(WorkId("a")) is None


def test_a_queue_never_exceeds_its_cap() -> None:
    scheduler = machine(8, Queue(name="small", capability=Resources(cpu=2000)))
    submit(scheduler, *(work(f"w{i}", queue="small") for i in range(3)))

    assert scheduler.plan(0.0).starts == ("w0", "w1")
    wait = scheduler.reason(WorkId("w2"))
    assert wait is not None
    assert wait.reason == QueueLimit("small", "cpu", 1000, 2000, 2000)


def test_a_cap_of_an_ancestor_holds_for_all_below() -> None:
    scheduler = machine(
        8,
        Queue(name="top", capability=Resources(cpu=2000)),
        Queue(name="a", parent="top"),
        Queue(name="b", parent="top"),
    )
    submit(scheduler, work("a1", queue="a"), work("b1", queue="b"), work("a2", queue="a"))

    assert len(scheduler.plan(0.0).starts) == 2


def test_a_borrowing_limit_caps_above_what_is_deserved() -> None:
    queue = Queue(name="q", deserved=Resources(cpu=1000), borrowing_limit=Resources(cpu=1000))
    scheduler = machine(8, queue)
    submit(scheduler, *(work(f"w{i}", queue="q") for i in range(4)))

    assert len(scheduler.plan(0.0).starts) == 2


def test_what_a_lending_limit_keeps_back_is_not_lent() -> None:
    lender = Queue(name="lender", deserved=Resources(cpu=4000), lending_limit=Resources(cpu=1000))
    scheduler = machine(8, lender, Queue(name="borrower", deserved=Resources(cpu=4000)))
    submit(scheduler, *(work(f"w{i}", queue="borrower") for i in range(8)))

    assert len(scheduler.plan(0.0).starts) == 5


def test_a_guarantee_is_kept_free_for_its_queue() -> None:
    scheduler = machine(4, Queue(name="vip", guarantee=Resources(cpu=2000)), Queue(name="rest"))
    submit(scheduler, *(work(f"r{i}", queue="rest") for i in range(4)))

    assert len(scheduler.plan(0.0).starts) == 2
    wait = scheduler.reason(WorkId("r2"))
    assert wait is not None
    assert wait.reason == GuaranteeOfOthers("cpu", 1000, 2000, 2000)

    submit(scheduler, work("v", 2, queue="vip"))
    assert scheduler.plan(1.0).starts == ("v",)


def test_queues_of_equal_weight_take_turns() -> None:
    scheduler = machine(4, Queue(name="a"), Queue(name="b"))
    submit(scheduler, *(work(f"a{i}", queue="a") for i in range(4)))
    submit(scheduler, *(work(f"b{i}", queue="b") for i in range(4)))

    assert scheduler.plan(0.0).starts == ("a0", "b0", "a1", "b1")


def test_weights_set_the_proportion() -> None:
    scheduler = machine(8, Queue(name="a", weight=3), Queue(name="b"))
    submit(scheduler, *(work(f"a{i}", queue="a") for i in range(8)))
    submit(scheduler, *(work(f"b{i}", queue="b") for i in range(8)))

    starts = scheduler.plan(0.0).starts

    assert sum(name.startswith("a") for name in starts) == 6


def test_a_queue_of_higher_priority_is_served_first() -> None:
    scheduler = machine(2, Queue(name="low"), Queue(name="high", priority=1))
    submit(scheduler, work("l", queue="low"), work("h", 2, queue="high"))

    assert scheduler.plan(0.0).starts == ("h",)


def test_a_closed_queue_starts_nothing_and_says_so() -> None:
    scheduler = machine(2, Queue(name="q", state=QueueState.CLOSED))
    submit(scheduler, work("a", queue="q"))

    assert scheduler.plan(0.0).starts == ()
    wait = scheduler.reason(WorkId("a"), now=0.0)
    assert wait is not None
    assert wait.reason == QueueNotOpen("q", "Closed")
    assert wait.expected_start is None


def test_opening_a_queue_lets_its_work_start() -> None:
    scheduler = machine(2, Queue(name="q", state=QueueState.CLOSED))
    submit(scheduler, work("a", queue="q"))
    scheduler.plan(0.0)

    scheduler.queue_changed(Queue(name="q"))

    assert scheduler.plan(1.0).starts == ("a",)


def test_more_capacity_lets_waiting_work_start() -> None:
    scheduler = machine(1)
    submit(scheduler, work("a"), work("b"))
    scheduler.plan(0.0)

    scheduler.capacity_changed(Resources(cpu=2000))

    assert scheduler.plan(1.0).starts == ("b",)


def test_a_strict_queue_lets_nobody_pass_its_first_work() -> None:
    scheduler = machine(4, Queue(name="q", strict=True))
    submit(scheduler, work("a", 3, queue="q"), work("b", 2, queue="q"), work("c", queue="q"))

    assert scheduler.plan(0.0).starts == ("a",)
    wait = scheduler.reason(WorkId("c"))
    assert wait is not None
    assert wait.reason == BehindOthers(1)

    scheduler.finished(WorkId("a"))
    assert scheduler.plan(1.0).starts == ("b", "c")


def test_a_queue_runs_only_as_many_workflows_as_it_may() -> None:
    scheduler = machine(8, Queue(name="q", max_parallel=1))
    submit(scheduler, work("a1", queue="q", workflow="a"), work("b1", queue="q", workflow="b"))
    submit(scheduler, work("a2", queue="q", workflow="a"))

    assert scheduler.plan(0.0).starts == ("a1", "a2")
    wait = scheduler.reason(WorkId("b1"))
    assert wait is not None
    assert wait.reason == WorkflowLimit("q", 1)

    scheduler.finished(WorkId("a1"))
    assert scheduler.plan(1.0).starts == ()
    scheduler.finished(WorkId("a2"))
    assert scheduler.plan(2.0).starts == ("b1",)


# -- gangs ---------------------------------------------------------------------------------------


def test_a_gang_waits_for_all_its_members() -> None:
    scheduler = machine(4)
    scheduler.declare(Gang(name="g", min_member=2))
    submit(scheduler, work("g1", group="g"))

    assert scheduler.plan(0.0).starts == ()
    wait = scheduler.reason(WorkId("g1"))
    assert wait is not None
    assert wait.reason == GangIncomplete("g", 2, 1)

    submit(scheduler, work("g2", group="g"))
    assert scheduler.plan(1.0).starts == ("g1", "g2")


def test_a_gang_that_does_not_fit_whole_does_not_start_at_all() -> None:
    scheduler = machine(3)
    scheduler.declare(Gang(name="g", min_member=3))
    submit(scheduler, work("other"))
    submit(scheduler, *(work(f"g{i}", group="g") for i in range(3)))

    assert scheduler.plan(0.0).starts == ("other",)
    wait = scheduler.reason(WorkId("g1"))
    assert wait is not None
    assert wait.reason == GangShort("g", 3, 2)
    assert wait.text == "gang g is short by 1: 2 of 3 have room"

    scheduler.finished(WorkId("other"))
    assert scheduler.plan(1.0).starts == ("g0", "g1", "g2")


def test_members_beyond_the_minimum_follow_one_by_one() -> None:
    scheduler = machine(2)
    scheduler.declare(Gang(name="g", min_member=2))
    submit(scheduler, *(work(f"g{i}", group="g") for i in range(3)))

    assert scheduler.plan(0.0).starts == ("g0", "g1")

    scheduler.finished(WorkId("g0"))
    assert scheduler.plan(1.0).starts == ("g2",)


def test_task_minimums_choose_the_members_that_start_together() -> None:
    scheduler = machine(2)
    scheduler.declare(Gang(name="g", min_member=2, min_task_member=(("master", 1), ("worker", 1))))
    submit(scheduler, work("w1", group="g", role="worker"), work("w2", group="g", role="worker"))
    assert scheduler.plan(0.0).starts == ()

    submit(scheduler, work("m", group="g", role="master"))

    assert scheduler.plan(1.0).starts == ("w1", "m")


def test_a_gang_goes_on_without_a_member_it_can_spare() -> None:
    scheduler = machine(4)
    scheduler.declare(Gang(name="g", min_member=2))
    submit(scheduler, *(work(f"g{i}", group="g") for i in range(3)))

    scheduler.withdraw(WorkId("g0"))

    assert scheduler.plan(0.0).starts == ("g1", "g2")


# -- workflows as a whole ------------------------------------------------------------------------


def test_a_workflow_admitted_as_a_whole_runs_inside_what_it_holds() -> None:
    scheduler = machine(4)
    scheduler.reserve(reservation("wf", "default", Resources(cpu=3000), created_at=0.0))
    submit(scheduler, work("other", 2), work("w1", 2, workflow="wf"), work("w2", 2, workflow="wf"))

    plan = scheduler.plan(0.0)

    assert plan.admitted == ("wf",)
    assert plan.starts == ("w1",)
    assert scheduler.used() == Resources(cpu=3000)
    wait = scheduler.reason(WorkId("w2"))
    assert wait is not None
    assert wait.reason == PoolFull("wf", "cpu", 2000, 1000)

    scheduler.finished(WorkId("w1"))
    assert scheduler.plan(1.0).starts == ("w2",)
    assert scheduler.running() == ("w2",)


def test_works_wait_until_their_workflow_is_admitted() -> None:
    scheduler = machine(4)
    submit(scheduler, work("running", 2))
    scheduler.plan(0.0)
    scheduler.reserve(reservation("wf", "default", Resources(cpu=3000), created_at=0.0))
    submit(scheduler, work("w1", workflow="wf"))

    assert scheduler.plan(1.0).starts == ()
    wait = scheduler.reason(WorkId("w1"))
    assert wait is not None
    assert isinstance(wait.reason, WorkflowNotAdmitted)
    assert "admitted as a whole: needs 3 cpu, the machine has 2 cpu free" in wait.text

    scheduler.finished(WorkId("running"))
    assert scheduler.plan(2.0).starts == ("w1",)


def test_a_paused_workflow_holds_nothing() -> None:
    scheduler = machine(4)
    scheduler.reserve(reservation("wf", "default", Resources(cpu=4000), created_at=0.0))
    scheduler.plan(0.0)
    submit(scheduler, work("other", 4))
    assert scheduler.plan(1.0).starts == ()

    scheduler.release("wf")

    assert scheduler.plan(2.0).starts == ("other",)


def test_a_work_larger_than_its_workflows_maximum_is_refused() -> None:
    scheduler = machine(4)
    scheduler.reserve(reservation("wf", "default", Resources(cpu=1000), created_at=0.0))

    assert scheduler.submit(work("w", 2, workflow="wf")) == Unplaceable("cpu", 2000, 1000)


# -- backfill ------------------------------------------------------------------------------------


def test_backfill_never_delays_the_head() -> None:
    scheduler = machine(4)
    submit(scheduler, work("running", 3, expected_seconds=100.0))
    scheduler.plan(0.0)
    submit(scheduler, work("head", 4, expected_seconds=10.0))
    submit(scheduler, work("slow", expected_seconds=500.0))
    submit(scheduler, work("quick", expected_seconds=50.0, created_at=1.0))

    first = scheduler.plan(1.0).starts

    assert first == ()
    wait = scheduler.reason(WorkId("slow"), now=1.0)
    assert wait is not None
    assert wait.reason == ReservedForHead("head", "cpu")


def test_backfill_starts_what_ends_before_the_head_would_start() -> None:
    scheduler = machine(4)
    submit(scheduler, work("running", 3, expected_seconds=100.0))
    scheduler.plan(0.0)
    submit(scheduler, work("head", 4, expected_seconds=10.0), work("quick", expected_seconds=50.0))

    assert scheduler.plan(1.0).starts == ("quick",)
    wait = scheduler.reason(WorkId("head"), now=1.0)
    assert wait is not None
    assert wait.expected_start == pytest.approx(100.0)


def test_behind_the_limit_of_its_queue_work_is_expected_when_the_queue_has_room() -> None:
    small = Queue(name="small", capability=Resources(cpu=1000))
    scheduler = machine(8, small, Queue(name="other"))
    submit(
        scheduler,
        work("elsewhere", queue="other", expected_seconds=5.0),
        work("running", queue="small", expected_seconds=100.0),
    )
    scheduler.plan(0.0)
    submit(
        scheduler,
        work("next", queue="small", expected_seconds=30.0),
        work("last", queue="small", expected_seconds=30.0),
    )
    scheduler.plan(1.0)

    waits = [scheduler.reason(WorkId(name), now=1.0) for name in ("next", "last")]
    starts = [wait.expected_start for wait in waits if wait is not None]
    assert starts == [pytest.approx(100.0), pytest.approx(130.0)]


def test_a_head_of_which_nobody_can_tell_is_passed_only_for_a_while() -> None:
    scheduler = machine(4, head_patience_seconds=60.0)
    submit(scheduler, work("running", 3), work("head", 4), work("first"))
    assert scheduler.plan(0.0).starts == ("running", "first")

    scheduler.finished(WorkId("first"))
    submit(scheduler, work("second"))
    assert scheduler.plan(30.0).starts == ("second",)

    scheduler.finished(WorkId("second"))
    submit(scheduler, work("third"))
    assert scheduler.plan(90.0).starts == ()

    scheduler.finished(WorkId("running"))
    assert scheduler.plan(91.0).starts == ("head",)


# -- preemption ----------------------------------------------------------------------------------


def test_important_work_stops_less_important_work_of_its_queue() -> None:
    scheduler = machine(2, Queue(name="q", preempt=Preempt.LOWER_PRIORITY))
    submit(scheduler, work("low", 2, queue="q", priority=1))
    scheduler.plan(0.0)
    submit(scheduler, work("high", queue="q", priority=100))

    plan = scheduler.plan(1.0)

    assert plan.starts == ()
    assert [(p.victim, p.beneficiary, p.rule) for p in plan.preempts] == [
        ("low", "high", Rule.PRIORITY)
    ]
    wait = scheduler.reason(WorkId("high"))
    assert wait is not None
    assert wait.reason == WaitingForVictims(("low",))

    scheduler.finished(WorkId("low"))
    submit(scheduler, work("low", 2, queue="q", priority=1))
    assert scheduler.plan(2.0).starts == ("high",)


def test_equal_priority_stops_nobody() -> None:
    scheduler = machine(1, Queue(name="q", preempt=Preempt.LOWER_PRIORITY))
    submit(scheduler, work("first", queue="q"))
    scheduler.plan(0.0)
    submit(scheduler, work("second", queue="q"))

    assert scheduler.plan(1.0).preempts == ()


def test_no_more_is_stopped_than_is_needed() -> None:
    scheduler = machine(4, Queue(name="q", preempt=Preempt.LOWER_PRIORITY))
    submit(scheduler, work("small", queue="q", priority=1), work("mid", 3, queue="q", priority=2))
    scheduler.plan(0.0)
    submit(scheduler, work("high", 3, queue="q", priority=9))

    assert [p.victim for p in scheduler.plan(1.0).preempts] == ["mid"]


def test_work_that_may_not_be_stopped_is_left_alone() -> None:
    scheduler = machine(1, Queue(name="q", preempt=Preempt.LOWER_PRIORITY))
    submit(scheduler, work("low", queue="q", priority=1, preemptable=False))
    scheduler.plan(0.0)
    submit(scheduler, work("high", queue="q", priority=9))

    assert scheduler.plan(1.0).preempts == ()


def test_a_queue_takes_back_what_it_is_due() -> None:
    scheduler = machine(
        4,
        Queue(name="owner", deserved=Resources(cpu=2000), reclaim=True),
        Queue(name="borrower", deserved=Resources(cpu=2000)),
    )
    submit(scheduler, *(work(f"b{i}", queue="borrower") for i in range(4)))
    scheduler.plan(0.0)
    submit(scheduler, work("o", 2, queue="owner"))

    plan = scheduler.plan(1.0)

    assert len(plan.preempts) == 2
    assert {p.rule for p in plan.preempts} == {Rule.RECLAIM}


def test_a_queue_takes_back_no_more_than_it_is_due() -> None:
    scheduler = machine(
        4,
        Queue(name="owner", deserved=Resources(cpu=2000), reclaim=True),
        Queue(name="borrower", deserved=Resources(cpu=2000)),
    )
    submit(scheduler, *(work(f"b{i}", queue="borrower") for i in range(4)))
    scheduler.plan(0.0)
    submit(scheduler, work("o", 3, queue="owner"))

    assert scheduler.plan(1.0).preempts == ()


def test_a_queue_that_is_not_reclaimable_keeps_what_it_has() -> None:
    scheduler = machine(
        2,
        Queue(name="owner", deserved=Resources(cpu=1000), reclaim=True),
        Queue(name="firm", deserved=Resources(cpu=1000), reclaimable=False),
    )
    submit(scheduler, work("f1", queue="firm"), work("f2", queue="firm"))
    scheduler.plan(0.0)
    submit(scheduler, work("o", queue="owner"))

    assert scheduler.plan(1.0).preempts == ()


def test_weights_say_what_is_due_where_nothing_is_configured() -> None:
    scheduler = machine(4, Queue(name="a", reclaim=True), Queue(name="b"))
    submit(scheduler, *(work(f"b{i}", queue="b") for i in range(4)))
    scheduler.plan(0.0)
    submit(scheduler, work("a0", 2, queue="a"))

    assert len(scheduler.plan(1.0).preempts) == 2


def test_a_gang_is_stopped_whole_or_not_at_all() -> None:
    scheduler = machine(2, Queue(name="q", preempt=Preempt.LOWER_PRIORITY))
    scheduler.declare(Gang(name="g", min_member=2))
    submit(scheduler, *(work(f"g{i}", queue="q", group="g", priority=1) for i in range(2)))
    scheduler.plan(0.0)
    submit(scheduler, work("high", queue="q", priority=9))

    assert sorted(p.victim for p in scheduler.plan(1.0).preempts) == ["g0", "g1"]


def test_room_that_is_being_made_is_not_taken_by_others() -> None:
    scheduler = machine(3, Queue(name="q", preempt=Preempt.LOWER_PRIORITY), Queue(name="other"))
    submit(scheduler, work("l1", queue="q", priority=1), work("l2", queue="q", priority=1))
    submit(scheduler, work("l3", queue="q", priority=1))
    scheduler.plan(0.0)
    submit(scheduler, work("high", 2, queue="q", priority=9))
    stopped = [p.victim for p in scheduler.plan(1.0).preempts]
    assert len(stopped) == 2

    scheduler.finished(stopped[0])
    submit(scheduler, work("thief", queue="other"))

    assert scheduler.plan(2.0).starts == ()
    scheduler.finished(stopped[1])
    assert scheduler.plan(3.0).starts[0] == "high"


def test_room_is_made_for_several_works_at_once() -> None:
    scheduler = machine(4, Queue(name="q", preempt=Preempt.LOWER_PRIORITY))
    submit(scheduler, *(work(f"l{i}", queue="q", priority=1) for i in range(4)))
    scheduler.plan(0.0)
    submit(scheduler, *(work(f"h{i}", queue="q", priority=9) for i in range(3)))

    plan = scheduler.plan(1.0)

    assert [p.beneficiary for p in plan.preempts] == ["h0", "h1", "h2"]
    for preemption in plan.preempts:
        scheduler.finished(preemption.victim)
    assert scheduler.plan(2.0).starts == ("h0", "h1", "h2")


def test_a_promise_to_withdrawn_work_is_void() -> None:
    scheduler = machine(1, Queue(name="q", preempt=Preempt.LOWER_PRIORITY), Queue(name="other"))
    submit(scheduler, work("low", queue="q", priority=1))
    scheduler.plan(0.0)
    submit(scheduler, work("high", queue="q", priority=9), work("patient", queue="other"))
    assert scheduler.plan(1.0).preempts

    scheduler.withdraw(WorkId("high"))
    scheduler.finished(WorkId("low"))

    assert scheduler.plan(2.0).starts == ("patient",)


def test_work_about_to_miss_its_service_level_moves_up() -> None:
    scheduler = machine(1, Queue(name="q", sla_seconds=100.0))
    submit(scheduler, work("running", queue="q"))
    scheduler.plan(0.0)
    submit(scheduler, work("waiting", queue="q", priority=1))
    submit(scheduler, work("important", queue="q", priority=50, created_at=79.0))

    scheduler.finished(WorkId("running"))

    assert scheduler.plan(80.0).starts == ("waiting",)


def test_work_about_to_miss_its_service_level_may_stop_others() -> None:
    scheduler = machine(1, Queue(name="fast", priority=5, sla_seconds=100.0), Queue(name="slow"))
    submit(scheduler, work("s", queue="slow"))
    scheduler.plan(0.0)
    submit(scheduler, work("f", queue="fast"))
    assert scheduler.plan(1.0).preempts == ()
    assert scheduler.wake_at() == pytest.approx(75.0)

    plan = scheduler.plan(75.0)

    assert [(p.victim, p.rule) for p in plan.preempts] == [("s", Rule.SLA)]


def test_nobody_starves_behind_more_important_work() -> None:
    scheduler = machine(1, patience_seconds=100.0)
    submit(scheduler, work("humble", priority=1), work("h0", priority=100))

    for step in range(1, 12):
        starts = scheduler.plan(step * 10.0).starts
        if "humble" in starts:
            break
        scheduler.finished(starts[0])
        submit(scheduler, work(f"h{step}", priority=100, created_at=step * 10.0))

    assert "humble" in scheduler.running()


def test_work_that_left_is_passed_over_where_one_kind_alone_waits() -> None:
    scheduler = machine(1)
    submit(scheduler, work("a"), work("b"), work("c"), work("d"))
    scheduler.withdraw(WorkId("a"))
    scheduler.withdraw(WorkId("c"))

    assert scheduler.plan(0.0).starts == ("b",)

    scheduler.finished(WorkId("b"))
    assert scheduler.plan(1.0).starts == ("d",)


def test_a_kind_that_was_alone_in_line_lets_a_better_one_that_joins_it_go_first() -> None:
    scheduler = machine(2)
    submit(scheduler, work("a"), work("b"), work("c"))
    assert scheduler.plan(0.0).starts == ("a", "b")

    submit(scheduler, Work(id=WorkId("first"), requests=Resources(cpu=500), priority=20))
    scheduler.finished(WorkId("a"))
    assert scheduler.plan(1.0).starts == ("first",)

    scheduler.finished(WorkId("b"))
    assert scheduler.plan(2.0).starts == ("c",)
