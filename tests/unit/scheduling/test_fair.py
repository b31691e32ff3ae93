"""Fair queues: workflows take turns by dominant share, and leave nothing behind."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from tiphys.errors import InvalidInputError
from tiphys.scheduling import Preempt, Queue, QueueTree, Resources, Scheduler, Work, WorkId
from tiphys.scheduling.ledger import FEW_LANES
from tiphys.scheduling.line import FEW_SHAPES

FAIR = Queue(name="default", fair=True)


def work(name: str, workflow: str, age: float = 0.0, priority: int = 10, cpu: int = 1) -> Work:
    return Work(
        id=WorkId(name),
        workflow=workflow,
        workflow_created_at=age,
        priority=priority,
        requests=Resources(cpu=cpu, pods=1),
    )


def scheduler_of(queue: Queue, cpu: int) -> Scheduler:
    return Scheduler(Resources(cpu=cpu, pods=1000), QueueTree([queue]))


def fill(scheduler: Scheduler) -> None:
    for index in range(4):
        scheduler.submit(work(f"old{index}", "old", age=1.0))
    for index in range(4):
        scheduler.submit(work(f"new{index}", "new", age=2.0))


def test_without_fairness_the_oldest_workflow_takes_all() -> None:
    scheduler = scheduler_of(Queue(name="default"), 4)
    fill(scheduler)

    assert scheduler.plan(3.0).starts == ("old0", "old1", "old2", "old3")


def test_workflows_of_a_fair_queue_take_turns() -> None:
    scheduler = scheduler_of(FAIR, 4)
    fill(scheduler)

    assert scheduler.plan(3.0).starts == ("old0", "new0", "old1", "new1")


def test_a_workflow_that_has_more_waits_until_others_have_caught_up() -> None:
    scheduler = scheduler_of(FAIR, 4)
    for index in range(4):
        scheduler.submit(work(f"old{index}", "old", age=1.0))
    scheduler.plan(1.0)
    fill_new = [work(f"new{index}", "new", age=2.0) for index in range(4)]
    for each in [*fill_new, work("old4", "old", age=1.0)]:
        scheduler.submit(each)

    started: list[WorkId] = []
    for index in range(2):
        scheduler.finished(WorkId(f"old{index}"))
        started += scheduler.plan(3.0).starts

    assert started == ["new0", "new1"]


def turns(queue: Queue, cpu: int, flows: dict[str, Work], rounds: int) -> list[str]:
    """Give the workflows in the order of starts, where the oldest of what runs always ends next."""
    scheduler = scheduler_of(queue, cpu)
    for name, like in flows.items():
        for index in range(rounds):
            scheduler.submit(replace(like, id=WorkId(f"{name}{index}"), workflow=name))
    started: list[str] = []
    for now in range(rounds):
        started += [work_id.rstrip("0123456789") for work_id in scheduler.plan(float(now)).starts]
        scheduler.finished(scheduler.running()[0])
    return started


def test_where_one_work_runs_at_a_time_workflows_take_turns_as_well() -> None:
    narrow = Queue(name="default", fair=True, capability=Resources(cpu=1))
    flows = {name: work("", "", age) for age, name in enumerate(("a", "b", "c"))}

    for queue, cpu in ((narrow, 4), (FAIR, 1)):
        assert turns(queue, cpu, flows, 6) == ["a", "b", "c", "a", "b", "c"]


@pytest.mark.parametrize("needs", [[(1, 1), (1, 1)], [(1, 1), (1, 2)], [(1, 1), (1, 2), (1, 3)]])
@pytest.mark.parametrize("cpu", [2, 3, 4, 7])
def test_on_a_full_machine_nobody_gets_more_turns_for_being_older(
    needs: list[tuple[int, int]], cpu: int
) -> None:
    flows = {
        name: replace(work("", "", age), requests=Resources(cpu=cores, pods=pods))
        for age, (name, (cores, pods)) in enumerate(zip("abc", needs, strict=False))
    }

    counts = Counter(turns(FAIR, cpu, flows, 60))

    assert max(counts.values()) - min(counts.values()) <= 2


def test_a_wide_work_of_a_fair_queue_is_not_starved_by_narrow_ones() -> None:
    flows = {"wide": work("", "", 2.0, cpu=4), "a": work("", "", 0.0), "b": work("", "", 1.0)}

    started = turns(FAIR, 4, flows, 400)

    assert Counter(started)["wide"] >= 3


def test_a_higher_priority_goes_before_fairness() -> None:
    scheduler = scheduler_of(FAIR, 2)
    scheduler.submit(work("a", "old", age=1.0))
    scheduler.submit(work("b", "vip", age=2.0, priority=100))
    scheduler.submit(work("c", "vip", age=2.0, priority=100))

    assert scheduler.plan(3.0).starts == ("b", "c")


def test_a_fair_queue_preempts_across_its_workflows() -> None:
    queue = Queue(name="default", fair=True, preempt=Preempt.LOWER_PRIORITY)
    scheduler = scheduler_of(queue, 1)
    scheduler.submit(work("low", "x"))
    scheduler.plan(0.0)

    scheduler.submit(work("high", "y", priority=100))

    (preemption,) = scheduler.plan(1.0).preempts
    assert (preemption.victim, preemption.beneficiary) == ("low", "high")
    scheduler.finished(WorkId("low"))
    assert scheduler.plan(2.0).starts == ("high",)


def test_a_wait_in_a_fair_queue_names_the_queue() -> None:
    queue = Queue(name="default", fair=True, capability=Resources(cpu=1))
    scheduler = scheduler_of(queue, 4)
    scheduler.submit(work("a", "x"))
    scheduler.submit(work("b", "y"))
    scheduler.plan(0.0)

    wait = scheduler.reason(WorkId("b"), 0.0)

    assert wait is not None
    assert "queue default may use" in wait.text


def test_workflows_that_are_over_leave_no_lane() -> None:
    scheduler = scheduler_of(FAIR, 1)

    for index in range(10 * FEW_LANES):
        scheduler.submit(work(f"w{index}", f"wf{index}", age=float(index)))
        assert scheduler.plan(float(index)).starts == (f"w{index}",)
        scheduler.finished(WorkId(f"w{index}"))

    lanes = scheduler._ledger.accounts["default"].lanes
    assert len(lanes) <= FEW_LANES + 1


def test_kinds_of_needs_that_are_over_are_not_kept() -> None:
    scheduler = scheduler_of(Queue(name="default"), 10_000)

    for index in range(20 * FEW_SHAPES):
        scheduler.submit(work(f"w{index}", "wf", cpu=index + 1))
        assert scheduler.plan(float(index)).starts == (f"w{index}",)
        scheduler.finished(WorkId(f"w{index}"))

    assert len(scheduler._lines._shapes) <= 3 * FEW_SHAPES


def test_many_kinds_of_needs_all_get_their_turn() -> None:
    scheduler = scheduler_of(Queue(name="default"), 100)
    total = 3 * FEW_SHAPES
    for index in range(total):
        scheduler.submit(work(f"w{index}", "wf", cpu=1 + index % 100))
    done: set[WorkId] = set()
    now = 0.0

    while len(done) < total:
        now += 1.0
        scheduler.plan(now)
        running = scheduler.running()
        assert running
        scheduler.finished(running[0])
        done.add(running[0])

    assert scheduler.used() == Resources()


def test_strict_and_fair_exclude_each_other() -> None:
    with pytest.raises(InvalidInputError, match="exclude each other"):
        QueueTree([Queue(name="q", strict=True, fair=True)])
