"""The scheduler as the loop sees it: from runs and commands to plans, and what is learnt."""

from __future__ import annotations

from tiphys.control.planning import Planning
from tiphys.control.task import attempt_id
from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import step, take_effects
from tiphys.engine.run import Run
from tiphys.scheduling import Queue, QueueTree, Resources
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


def begun(annotations: str = "", labels: str = "") -> tuple[Run, list[cm.StartNode]]:
    head = f"metadata: {{name: wf, labels: {{{labels}}}, annotations: {{{annotations}}}}}"
    run = load(flow(FLOW).replace("metadata: {name: wf}", head))
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


def test_a_queue_that_does_not_exist_is_told_by_each_node() -> None:
    run, starts = begun(labels="tiphys.dev/queue: nowhere")

    refusal, _ = Planning(ONE).submit(run, starts[0], NOON)

    assert refusal == "there is no queue nowhere that takes work"


def test_a_layer_of_an_unknown_queue_is_refused_as_well() -> None:
    run, starts = begun("tiphys.dev/admission: layer", "tiphys.dev/queue: nowhere")

    refusal, _ = Planning(ONE).submit(run, starts[0], NOON)

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

    again = Planning(ONE, stored=planning.learnt(NOON))

    assert planning.learnt(NOON, last=True) == []
    assert again.memory.seconds("wf/big") == 4.0
    assert again.expected_seconds(begun()[0]) == 4.0
