"""How nodes come in: what a workflow chooses, layers together, workflows as a whole, pauses."""

from __future__ import annotations

import re

import msgspec
import pytest

from tiphys.errors import InvalidInputError
from tiphys.scheduling import (
    NoSuchQueue,
    Preempt,
    Queue,
    QueueState,
    QueueTree,
    Resources,
    Scheduler,
    WorkId,
)
from tiphys.scheduling.admission import Unit, hold_seconds, max_resources
from tiphys.scheduling.gate import Gate
from tiphys.scheduling.placement import Choice, Facts, choose, held_whole, work_of

GIB = 1 << 30
MAX = "kueue.k8s.io/max-resources"
LAYER = Choice(unit=Unit.LAYER)
TWO = QueueTree([Queue(name="default"), Queue(name="night")])


def facts(name: str, cpu: int = 1, layer: str = "", workflow: str = "wf") -> Facts:
    return Facts(
        id=name,
        workflow=workflow,
        requests=Resources(cpu=cpu * 1000),
        queued_at=5.0,
        workflow_created_at=1.0,
        layer=layer,
    )


def gate_of(cpu: int = 4, queues: QueueTree | None = None) -> tuple[Gate, Scheduler]:
    scheduler = Scheduler(Resources(cpu=cpu * 1000), queues)
    return Gate(scheduler), scheduler


def send(gate: Gate, *nodes: Facts) -> None:
    for node in nodes:
        assert gate.submit(node) == (None, ())
    assert gate.flush() == []


# --- what a workflow chooses ----------------------------------------------------------------


def test_a_workflow_chooses_queue_priority_and_unit_by_its_metadata() -> None:
    found = choose(
        {"kueue.x-k8s.io/queue-name": "night", "kueue.x-k8s.io/priority-class": "high"},
        {"tiphys.dev/admission": "layer", "volcano.sh/preemptable": "false"},
    )

    assert found == Choice(queue="night", priority=100, unit=Unit.LAYER, preemptable=False)


def test_a_number_wins_over_a_priority_class_and_an_option_over_metadata() -> None:
    labels = {"kueue.x-k8s.io/queue-name": "night", "tiphys.dev/priority-class": "critical"}

    found = choose(labels, {}, queue="day", priority=7)

    assert (found.queue, found.priority) == ("day", 7)


def test_declared_priority_classes_count() -> None:
    labels = {"kueue.x-k8s.io/priority-class": "mine"}

    assert choose(labels, {}, classes={"mine": 55}).priority == 55
    with pytest.raises(InvalidInputError, match="priority class 'mine' is none of critical"):
        choose(labels, {})


@pytest.mark.parametrize(
    "text",
    [
        "cpu=4,memory=8Gi",
        "cpu: 4\nmemory: 8Gi",
        '{"cpu": "4", "memory": "8Gi"}',
        "requests: {cpu: 4000m, memory: 8Gi}",
        "resources:\n  requests:\n    cpu: 4\n    memory: 8Gi\n",
    ],
)
def test_the_declared_maximum_is_read_in_every_form(text: str) -> None:
    assert max_resources({MAX: text}) == Resources(cpu=4000, memory=8 * GIB)


@pytest.mark.parametrize("text", ["four cores", "cpu=lots", "cpu: [", "[1, 2]", "cpu: 0"])
def test_a_maximum_that_cannot_be_read_is_an_error_that_names_the_annotation(text: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(f"annotation {MAX}")):
        max_resources({MAX: text})


def test_a_whole_workflow_needs_its_maximum() -> None:
    with pytest.raises(InvalidInputError, match="needs its maximum"):
        choose({}, {"tiphys.dev/admission": "workflow"})


@pytest.mark.parametrize(
    ("text", "seconds"), [("", 0.0), ("false", 0.0), ("true", 3600.0), ("30m", 1800.0)]
)
def test_how_long_a_pause_keeps_its_hold(text: str, seconds: float) -> None:
    assert hold_seconds({"tiphys.dev/hold-while-suspended": text}) == seconds


def test_a_work_carries_what_is_known_of_its_node() -> None:
    choice = Choice(queue="q", priority=3, preemptable=False)

    work, cut = work_of(facts("a", cpu=8), choice, Resources(cpu=2000))

    assert (work.id, work.queue, work.priority, work.preemptable) == ("a", "q", 3, False)
    assert (work.created_at, work.workflow_created_at) == (5.0, 1.0)
    assert work.requests == Resources(cpu=2000)
    assert cut == ("asks for 8 cpu, has 2 cpu",)


def test_what_is_not_declared_is_held_in_proportion() -> None:
    held, cut = held_whole(Resources(cpu=2000), Resources(cpu=8000, memory=16 * GIB, pods=32))

    assert held == Resources(cpu=2000, memory=4 * GIB, pods=8)
    assert cut == ()


# --- runs and nodes -------------------------------------------------------------------------


def test_a_run_for_a_queue_that_does_not_exist_is_refused() -> None:
    gate, _ = gate_of(queues=TWO)

    assert gate.open("wf", Choice(queue="nowhere"), 0.0) == (NoSuchQueue("nowhere"), ())
    assert gate.submit(facts("a")) == (NoSuchQueue("nowhere"), ())


@pytest.mark.parametrize("unit", [Unit.POD, Unit.LAYER])
def test_where_nobody_has_set_up_queues_the_one_there_is_takes_all_work(unit: Unit) -> None:
    gate, scheduler = gate_of()

    assert gate.open("wf", Choice(queue="nowhere", unit=unit), 0.0) == (None, ())
    send(gate, facts("a", layer="x"), msgspec.structs.replace(facts("b"), queue="noplace"))

    assert set(scheduler.plan(5.0).starts) == {"a", "b"}
    assert scheduler.used("default") == Resources(cpu=2000)


def test_what_runs_of_a_queue_that_is_gone_is_adopted_after_a_restart() -> None:
    gate, scheduler = gate_of(4, TWO)
    gate.open("wf", Choice(queue="nowhere"), 0.0)

    gate.adopt(facts("a", 3), 0.0)

    assert scheduler.used() == Resources(cpu=3000)


def test_a_run_that_ends_in_the_turn_in_which_its_layer_arrived_leaves_nothing() -> None:
    gate, scheduler = gate_of(4)
    gate.open("wf", LAYER, 0.0)
    gate.open("other", LAYER, 0.0)
    gate.submit(facts("a", layer="L"))
    gate.submit(facts("x", layer="L", workflow="other"))
    gate.withdraw(WorkId("x"))

    gate.ended("wf")

    assert gate.flush() == []
    assert scheduler.waiting() == ()


def test_a_request_above_the_queues_cap_is_cut_to_it() -> None:
    queues = QueueTree([Queue(name="small", capability=Resources(cpu=2000))])
    gate, scheduler = gate_of(8, queues)
    gate.open("wf", Choice(queue="small"), 0.0)

    refusal, cut = gate.submit(facts("a", cpu=4))

    assert (refusal, cut) == (None, ("asks for 4 cpu, has 2 cpu",))
    assert scheduler.plan(0.0).starts == ("a",)


def test_pods_start_each_alone() -> None:
    gate, scheduler = gate_of(2)
    gate.open("wf", Choice(), 0.0)

    send(gate, facts("a", layer="L"), facts("b", layer="L"), facts("c", layer="L"))

    assert scheduler.plan(0.0).starts == ("a", "b")


def test_a_layer_starts_whole() -> None:
    gate, scheduler = gate_of(3)
    gate.open("other", Choice(), 0.0)
    gate.open("wf", LAYER, 0.0)
    send(gate, facts("x", workflow="other"))
    assert scheduler.plan(0.0).starts == ("x",)

    send(gate, *(facts(name, layer="L") for name in "abc"))

    assert scheduler.plan(1.0).starts == ()
    wait = scheduler.reason(WorkId("a"), 1.0)
    assert wait is not None
    assert wait.text == "gang L is short by 1: 2 of 3 have room"
    scheduler.finished(WorkId("x"))
    assert scheduler.plan(2.0).starts == ("a", "b", "c")


def test_layers_of_one_turn_do_not_wait_for_each_other() -> None:
    gate, scheduler = gate_of(3)
    gate.open("wf", LAYER, 0.0)

    send(gate, facts("a", 2, "L"), facts("b", 1, "L"), facts("c", 2, "M"), facts("d", 1, "M"))

    assert scheduler.plan(0.0).starts == ("a", "b")


def test_a_layer_larger_than_the_machine_starts_with_as_much_as_fits() -> None:
    gate, scheduler = gate_of(2)
    gate.open("wf", LAYER, 0.0)

    send(gate, *(facts(name, layer="L") for name in "abcde"))

    assert scheduler.plan(0.0).starts == ("a", "b")
    scheduler.finished(WorkId("a"))
    assert scheduler.plan(1.0).starts == ("c",)


def test_a_member_that_leaves_a_waiting_layer_is_not_missed() -> None:
    gate, scheduler = gate_of(3)
    gate.open("busy", Choice(), 0.0)
    gate.open("wf", LAYER, 0.0)
    send(gate, facts("x", 1, workflow="busy"))
    scheduler.plan(0.0)
    send(gate, *(facts(name, layer="L") for name in "abc"))
    scheduler.plan(1.0)

    gate.withdraw(WorkId("b"))

    assert scheduler.plan(2.0).starts == ("a", "c")


def test_a_member_that_leaves_before_the_turn_ends_is_forgotten() -> None:
    gate, scheduler = gate_of(3)
    gate.open("wf", LAYER, 0.0)
    for name in "abc":
        gate.submit(facts(name, layer="L"))

    gate.withdraw(WorkId("a"))
    gate.flush()

    assert scheduler.plan(0.0).starts == ("b", "c")


def test_a_started_layer_is_stopped_member_by_member() -> None:
    queues = QueueTree([Queue(name="default", preempt=Preempt.LOWER_PRIORITY)])
    gate, scheduler = gate_of(2, queues)
    gate.open("wf", LAYER, 0.0)
    gate.open("vip", Choice(priority=100), 0.0)
    send(gate, facts("a", layer="L"), facts("b", layer="L"))
    scheduler.plan(0.0)

    send(gate, facts("v", workflow="vip"))

    assert len(scheduler.plan(1.0).preempts) == 1


# --- workflows as a whole -------------------------------------------------------------------


def whole(cpu: int, hold: float = 0.0) -> Choice:
    return Choice(unit=Unit.WORKFLOW, most=Resources(cpu=cpu * 1000), hold_seconds=hold)


def test_a_workflow_as_a_whole_runs_inside_its_maximum() -> None:
    gate, scheduler = gate_of(4)
    gate.open("wf", whole(2), 0.0)

    send(gate, facts("a"), facts("b"), facts("c"))

    plan = scheduler.plan(0.0)
    assert (plan.admitted, plan.starts) == (("wf",), ("a", "b"))
    gate.ended("wf")
    assert scheduler.used() == Resources(cpu=2000)


def test_a_paused_workflow_gives_its_maximum_back_and_asks_again_with_its_age() -> None:
    gate, scheduler = gate_of(4)
    gate.open("wf", whole(4), 0.0)
    gate.open("other", Choice(), 1.0)
    scheduler.plan(0.0)

    gate.paused("wf", 10.0)

    assert scheduler.used() == Resources()
    send(gate, facts("x", 4, workflow="other"))
    assert scheduler.plan(11.0).starts == ("x",)
    gate.resumed("wf")
    scheduler.finished(WorkId("x"))
    assert scheduler.plan(12.0).admitted == ("wf",)


def test_a_workflow_that_holds_while_suspended_keeps_its_maximum_up_to_its_time() -> None:
    gate, scheduler = gate_of(4)
    gate.open("wf", whole(4, hold=60.0), 0.0)
    scheduler.plan(0.0)

    gate.paused("wf", 10.0)
    gate.advance(69.0)
    assert scheduler.used() == Resources(cpu=4000)
    assert gate.wake_at() == 70.0

    gate.advance(70.0)
    assert scheduler.used() == Resources()


def test_resuming_in_time_keeps_what_is_held() -> None:
    gate, scheduler = gate_of(4)
    gate.open("wf", whole(4, hold=60.0), 0.0)
    scheduler.plan(0.0)
    gate.paused("wf", 10.0)

    gate.resumed("wf")
    gate.advance(1000.0)

    assert scheduler.used() == Resources(cpu=4000)


def test_a_node_found_running_after_a_restart_means_that_its_workflow_was_admitted() -> None:
    gate, scheduler = gate_of(4)
    gate.open("wf", whole(3), 0.0)

    gate.adopt(facts("a"), 0.0)
    send(gate, facts("b"), facts("c"), facts("d"))

    assert scheduler.used() == Resources(cpu=3000)
    assert scheduler.plan(1.0).starts == ("b", "c")


def test_work_of_a_queue_that_is_gone_still_counts_against_the_machine() -> None:
    queues = QueueTree([Queue(name="default"), Queue(name="q")])
    gate, scheduler = gate_of(2, queues)
    gate.open("wf", Choice(queue="q"), 0.0)
    gate.open("other", Choice(), 0.0)
    send(gate, facts("a", 2))
    scheduler.plan(0.0)

    scheduler.queues_changed(queues.without("q"))
    gate.queues_changed()
    send(gate, facts("b", workflow="other"))

    assert scheduler.plan(1.0).starts == ()
    scheduler.finished(WorkId("a"))
    assert scheduler.plan(2.0).starts == ("b",)


def test_a_closed_queue_takes_runs_in_and_starts_nothing() -> None:
    queues = QueueTree([Queue(name="q", state=QueueState.CLOSED)])
    gate, scheduler = gate_of(2, queues)

    assert gate.open("wf", Choice(queue="q"), 0.0) == (None, ())
    send(gate, facts("a"))

    assert scheduler.plan(0.0).starts == ()


def test_a_template_may_name_a_queue_and_a_priority_of_its_own() -> None:
    queues = QueueTree([Queue(name="default"), Queue(name="gpu", capability=Resources(cpu=1000))])
    gate, scheduler = gate_of(4, queues)
    gate.open("wf", Choice(), 0.0)

    _, cut = gate.submit(msgspec.structs.replace(facts("a", 2), queue="gpu", priority=99))

    assert cut == ("asks for 2 cpu, has 1 cpu",)
    scheduler.plan(0.0)
    assert scheduler.used("gpu") == Resources(cpu=1000)
    refusal, _ = gate.submit(msgspec.structs.replace(facts("b"), queue="nowhere"))
    assert refusal == NoSuchQueue("nowhere")
