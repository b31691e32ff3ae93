"""Who is in a queue: what runs or waits there, whatever queue its workflow has chosen."""

from __future__ import annotations

from tiphys.scheduling import Queue, QueueTree, Resources, Scheduler, Work, WorkId
from tiphys.scheduling.admission import reservation
from tiphys.scheduling.occupancy import Guest, Occupancy

DAY, NIGHT = Queue(name="day"), Queue(name="night")


def scheduler_of(*queues: Queue) -> Scheduler:
    return Scheduler(Resources(cpu=2), QueueTree(queues))


def work(name: str, workflow: str, queue: str) -> Work:
    return Work(id=WorkId(name), workflow=workflow, queue=queue, requests=Resources(cpu=2))


def test_a_workflow_is_counted_where_its_work_runs_and_where_it_waits() -> None:
    scheduler = scheduler_of(DAY, NIGHT)
    scheduler.submit(work("a", "one", "night"))
    scheduler.plan(0.0)
    scheduler.submit(work("b", "one", "night"))
    scheduler.submit(work("c", "two", "night"))

    found = Occupancy(scheduler, [Guest("one", "day"), Guest("two", "night")])

    assert (found.running("night"), found.waiting("night")) == (1, 2)
    assert (found.running("day"), found.waiting("day")) == (0, 0)
    assert found.present("night") == {"one", "two"}


def test_a_workflow_with_nothing_in_line_is_in_its_own_queue() -> None:
    guests = [Guest("paused", "day"), Guest("new", "day", begun=False)]

    found = Occupancy(scheduler_of(DAY, NIGHT), guests)

    assert (found.running("day"), found.waiting("day")) == (1, 1)
    assert found.present("night") == frozenset()


def test_a_workflow_that_is_held_as_a_whole_is_where_its_reservation_is() -> None:
    scheduler = scheduler_of(DAY, NIGHT)
    for name in ("one", "two"):
        scheduler.reserve(reservation(name, "night", Resources(cpu=2), created_at=0.0))
    scheduler.plan(0.0)

    found = Occupancy(scheduler, [Guest("one", "night"), Guest("two", "night")])

    assert (found.running("night"), found.waiting("night")) == (1, 1)


def test_where_nobody_has_set_up_queues_all_are_in_the_one_there_is() -> None:
    found = Occupancy(Scheduler(Resources(cpu=2)), [Guest("paused", "gpu")])

    assert found.running("default") == 1


def test_work_of_strangers_is_not_counted() -> None:
    scheduler = scheduler_of(DAY)
    scheduler.submit(work("a", "elsewhere", "day"))

    assert Occupancy(scheduler, []).waiting("day") == 0
