"""The scheduler as the loop sees it: from runs and commands to plans, and what is learnt."""

from __future__ import annotations

import msgspec

from tiphys.control.planning import Planning
from tiphys.control.task import attempt_id
from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import step, take_effects
from tiphys.engine.run import Run
from tiphys.scheduling import Queue, QueueTree, Resources
from tiphys.scheduling.estimate import MOST
from tiphys.testing.flow import flow
from tiphys.testing.harness import NOON, load

FLOW = """
- name: main
  steps:
  - - {name: work, template: big, withSequence: {count: "2"}}
- name: big
  container: {image: x, command: [x], resources: {requests: {cpu: 1}}}
"""
ONE = Resources(cpu=1000, pods=8)
TWO = QueueTree([Queue(name="default"), Queue(name="night")])


def begun(
    annotations: str = "", labels: str = "", text: str = FLOW
) -> tuple[Run, list[cm.StartNode]]:
    head = f"metadata: {{name: wf, labels: {{{labels}}}, annotations: {{{annotations}}}}}"
    run = load(flow(text).replace("metadata: {name: wf}", head))
    step(run, ev.RunStarted(at=NOON))
    return run, [c for c in take_effects(run).commands if isinstance(c, cm.StartNode)]


def submitted(planning: Planning, run: Run, starts: list[cm.StartNode]) -> list[str]:
    for command in starts:
        assert planning.submit(run, command, NOON) == ("", ())
    return [attempt_id(run, command.attempt) for command in starts]


def test_nodes_start_as_there_is_room() -> None:
    planning = Planning(ONE)
    run, starts = begun()
    first, second = submitted(planning, run, starts)

    assert planning.plan(NOON).starts == (first,)
    told = [row["text"] for row in planning.explain(run, NOON)]
    assert told == ["was let in and is starting", "needs 1 cpu, the machine has 0 cpu free"]
    planning.finished(first)
    assert planning.plan(NOON).starts == (second,)


def test_where_nobody_has_set_up_queues_all_work_waits_in_the_one_there_is() -> None:
    planning = Planning(ONE)
    run, starts = begun(labels="kueue.x-k8s.io/queue-name: nowhere")
    key = attempt_id(run, starts[0].attempt)

    told = planning.submit(run, starts[0], NOON)

    assert told == ("", ("no queues are set up here: wf waits in default, not nowhere",))
    assert planning.plan(NOON).starts == (key,)


def test_a_queue_that_does_not_exist_besides_others_is_told_by_each_node() -> None:
    run, starts = begun(labels="tiphys.dev/queue: nowhere")

    refusal, _ = Planning(ONE, TWO).submit(run, starts[0], NOON)

    assert refusal == "there is no queue nowhere that takes work"


def test_a_layer_of_an_unknown_queue_is_refused_as_well() -> None:
    run, starts = begun("tiphys.dev/admission: layer", "tiphys.dev/queue: nowhere")

    refusal, _ = Planning(ONE, TWO).submit(run, starts[0], NOON)

    assert refusal


def test_what_is_cut_down_is_said() -> None:
    queues = QueueTree([Queue(name="default", capability=Resources(cpu=500))])
    run, starts = begun()

    _, warnings = Planning(ONE, queues).submit(run, starts[0], NOON)

    assert warnings == ("big asks for 1 cpu, has 0.5 cpu: cut down to fit",)


def test_an_idle_workflow_gives_back_what_it_holds_and_takes_it_again() -> None:
    planning = Planning(ONE)
    run, starts = begun("kueue.k8s.io/max-resources: cpu=1")
    first, _ = submitted(planning, run, starts)
    planning.plan(NOON)
    assert planning.scheduler.used() == Resources(cpu=1000, pods=8)
    for command in starts:
        planning.withdraw(attempt_id(run, command.attempt))

    planning.idle(run, NOON)
    assert planning.scheduler.used() == Resources()

    submitted(planning, run, starts)
    assert planning.plan(NOON).starts == (first,)


def test_an_ended_run_leaves_nothing() -> None:
    planning = Planning(ONE)
    run, starts = begun("kueue.k8s.io/max-resources: cpu=1")
    submitted(planning, run, starts)
    planning.plan(NOON)
    for command in starts:
        planning.finished(attempt_id(run, command.attempt))
    run.phase = "Succeeded"

    planning.idle(run, NOON)

    assert planning.scheduler.used() == Resources()
    assert planning.scheduler.waiting() == ()


def test_what_was_learnt_is_known_to_the_next_process() -> None:
    planning = Planning(ONE)
    run, starts = begun()
    for command in starts:
        at, node = NOON, run.nodes[command.node]
        step(run, ev.NodeStarted(at=at, node=command.node, attempt=command.attempt))
        ended = ev.NodeEnded(
            at=at + 4.0, node=command.node, attempt=command.attempt, phase="Succeeded"
        )
        step(run, ended)
        planning.observe(run, node)

    rows = planning.learnt(NOON)
    again = Planning(ONE, stored=rows)

    assert planning.learnt(NOON, last=True) == []
    assert ("default", "wf/big") in {(row.namespace, row.name) for row in rows}
    assert again.memory.seconds("default:wf/big") == 4.0
    assert again.expected_seconds(begun()[0]) == 4.0


def test_a_run_is_foreseen_as_soon_as_all_of_its_templates_ran_once() -> None:
    planning = Planning(ONE)
    run, starts = begun()
    submitted(planning, run, starts)
    assert planning.expected_seconds(run) is None

    planning.memory.observe("default:wf/big", 4.0)

    assert planning.expected_seconds(run) == 4.0


def test_templates_that_ran_long_ago_are_to_be_forgotten() -> None:
    planning = Planning(ONE)
    for number in range(MOST):
        planning.memory.observe(f"default:wf/{number}", 1.0)
    rows = planning.learnt(NOON)
    assert len(rows) == MOST

    again = Planning(ONE, stored=[msgspec.structs.replace(row, at=NOON) for row in rows])
    again.memory.observe("default:wf/0", 1.0)
    again.memory.observe("default:new", 1.0)

    found = again.learnt(NOON + 60)
    assert {(row.name, bool(row.body)) for row in found} == {
        ("wf/0", True),
        ("new", True),
        ("wf/1", False),
    }
    assert again.memory.seconds("default:wf/1") is None


def test_a_template_with_a_queue_of_its_own_waits_in_the_one_there_is_as_well() -> None:
    marked = "- name: big\n  metadata: {labels: {tiphys.dev/queue: gpu}}"
    run, starts = begun(text=FLOW.replace("- name: big", marked))

    told = Planning(ONE).submit(run, starts[0], NOON)

    assert told == ("", ("no queues are set up here: wf waits in default, not gpu",))
