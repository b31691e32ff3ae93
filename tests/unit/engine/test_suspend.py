"""Pauses: suspend templates, suspended runs, supplied values, resuming."""

from __future__ import annotations

import pytest

from tiphys.engine import event as ev
from tiphys.engine.node import NodeType, Phase
from tiphys.testing.flow import flow
from tiphys.testing.harness import Harness, Outcome

PAUSE = """
- name: main
  steps:
  - [{name: wait, template: pause}]
  - [{name: b, template: leaf}]
- name: pause
  suspend: {}
"""


def paused(templates: str = PAUSE) -> Harness:
    harness = Harness(flow(templates)).start()
    while harness.advance():
        pass
    return harness


def resume(harness: Harness, *names: str, **more: object) -> Harness:
    nodes = tuple(harness.node(name).id for name in names)
    harness.send(ev.RunResumed(at=harness.now, nodes=nodes, **more))  # type: ignore[arg-type]
    harness.finish()
    return harness


def test_a_pause_lasts_until_somebody_ends_it() -> None:
    harness = paused()
    node = harness.node("wf[0].wait")
    assert (node.type, node.phase) == (NodeType.SUSPEND, Phase.RUNNING)
    assert harness.started == []

    resume(harness)

    assert node.phase is Phase.SUCCEEDED
    assert harness.run.phase == "Succeeded"


@pytest.mark.parametrize(("duration", "seconds"), [("30", 30), ("90s", 90), ("1h", 3600)])
def test_a_pause_with_a_duration_ends_by_itself(duration: str, seconds: int) -> None:
    harness = paused(PAUSE.replace("suspend: {}", f"suspend: {{duration: '{duration}'}}"))

    assert harness.run.phase == "Succeeded"
    assert harness.node("wf[0].wait").finished_at == harness.run.created_at + seconds


def test_a_duration_that_is_none_is_an_error() -> None:
    harness = paused(PAUSE.replace("suspend: {}", "suspend: {duration: soon}"))

    assert harness.node("wf[0].wait").phase is Phase.ERROR
    assert harness.run.phase == "Failed"


SUPPLIED = """
- name: main
  steps:
  - [{name: ask, template: ask}]
  - - name: b
      template: show
      arguments: {parameters: [{name: m, value: "{{steps.ask.outputs.parameters.answer}}"}]}
- name: ask
  suspend: {}
  outputs: {parameters: [{name: answer, valueFrom: {supplied: {}}}]}
- name: show
  inputs: {parameters: [{name: m}]}
  container: {image: x, command: [x]}
"""


def shown(harness: Harness) -> str | None:
    inputs = harness.node("wf[1].b").inputs
    assert inputs is not None
    return inputs.parameters[0].value


def test_a_value_that_is_supplied_reaches_the_steps_after() -> None:
    harness = resume(paused(SUPPLIED), outputs={"answer": "42"})

    assert shown(harness) == "42"


def test_a_pause_cannot_end_well_without_its_values() -> None:
    harness = resume(paused(SUPPLIED))
    assert harness.node("wf[0].ask").phase is Phase.RUNNING
    assert "answer" in harness.node("wf[0].ask").message

    resume(harness, outputs={"answer": "late"})

    assert shown(harness) == "late"


def test_a_value_has_a_default() -> None:
    text = SUPPLIED.replace("supplied: {}", "supplied: {}, default: none")

    assert shown(resume(paused(text))) == "none"


def test_the_default_of_an_input_of_the_same_name_serves_too() -> None:
    text = SUPPLIED.replace(
        "  suspend: {}",
        "  inputs: {parameters: [{name: answer, default: from-input}]}\n  suspend: {duration: 5s}",
    )

    assert shown(paused(text)) == "from-input"


def test_a_pause_that_expires_without_its_values_is_an_error() -> None:
    harness = paused(SUPPLIED.replace("suspend: {}", "suspend: {duration: 5s}"))

    assert harness.node("wf[0].ask").phase is Phase.ERROR
    assert harness.run.phase == "Failed"


def test_a_pause_may_be_ended_as_failed() -> None:
    harness = resume(paused(), "wf[0].wait", phase="Failed", message="refused")

    assert (harness.node("wf[0].wait").phase, harness.node("wf[0].wait").message) == (
        Phase.FAILED,
        "refused",
    )
    assert harness.run.phase == "Failed"


def test_one_of_two_pauses_can_be_ended_alone() -> None:
    harness = paused("""
    - name: main
      steps:
      - [{name: one, template: pause}, {name: two, template: pause}]
    - name: pause
      suspend: {}
    """)

    resume(harness, "wf[0].two")

    assert harness.node("wf[0].one").phase is Phase.RUNNING
    assert harness.node("wf[0].two").phase is Phase.SUCCEEDED


def test_a_pause_in_a_dag_holds_its_dependants_only() -> None:
    harness = paused("""
    - name: main
      dag:
        tasks:
        - {name: wait, template: pause}
        - {name: after, template: leaf, depends: wait}
        - {name: other, template: leaf}
    - name: pause
      suspend: {}
    """)
    assert harness.started == ["wf.other"]

    resume(harness)

    assert harness.started == ["wf.other", "wf.after"]


TWO = """
- name: main
  steps:
  - [{name: a, template: leaf}]
  - [{name: b, template: leaf}]
"""


def test_a_suspended_run_lets_running_leaves_end_and_starts_nothing() -> None:
    harness = Harness(flow(TWO)).start()
    harness.send(ev.RunSuspended(at=harness.now))
    harness.finish()
    assert harness.node("wf[0].a").phase is Phase.SUCCEEDED
    assert harness.started == ["wf[0].a"]

    resume(harness)

    assert harness.run.phase == "Succeeded"


@pytest.mark.parametrize(
    "main", ["container: {image: x, command: [x]}", "steps: [[{name: a, template: leaf}]]"]
)
def test_a_run_that_begins_suspended_starts_nothing(main: str) -> None:
    harness = Harness(flow(f"- name: main\n  {main}", spec="suspend: true"))
    harness.finish()
    assert harness.started == []
    assert harness.run.phase == "Running"

    resume(harness)

    assert harness.run.phase == "Succeeded"


def test_a_suspended_run_can_be_stopped() -> None:
    harness = Harness(flow(TWO)).start()
    harness.send(ev.RunSuspended(at=harness.now))
    harness.finish()

    harness.send(ev.RunStopped(at=harness.now, strategy=ev.Shutdown.STOP))
    harness.finish()

    assert harness.run.phase == "Failed"
    assert harness.started == ["wf[0].a"]


def test_to_stop_a_suspended_run_lets_its_exit_handler_go_on() -> None:
    """One that was taken up while it was suspended, its work being over."""
    main = "- {name: main, container: {image: x, command: [x]}}"
    harness = Harness(flow(main, spec="onExit: leaf")).start()
    harness.send(ev.RunSuspended(at=harness.now))
    harness.finish()
    harness.take_up()
    harness.finish()
    assert harness.started == ["wf"]
    assert harness.node("wf.onExit").phase is Phase.PENDING

    harness.send(ev.RunStopped(at=harness.now, strategy=ev.Shutdown.STOP))
    harness.finish()

    assert harness.started == ["wf", "wf.onExit"]
    assert harness.run.ended


def test_a_pause_ends_with_its_run() -> None:
    harness = paused()

    harness.send(ev.RunStopped(at=harness.now, strategy=ev.Shutdown.TERMINATE))

    node = harness.node("wf[0].wait")
    assert (node.phase, node.message) == (Phase.FAILED, "Stopped with strategy 'Terminate'")
    assert harness.run.phase == "Failed"


def test_a_deadline_ends_a_pause() -> None:
    harness = Harness(flow(PAUSE, spec="activeDeadlineSeconds: 20"))
    harness.finish()

    assert harness.node("wf[0].wait").message == "Step exceeded its deadline"
    assert harness.run.finished_at == harness.run.created_at + 20


def test_a_pause_does_not_count_as_a_child_for_parallelism() -> None:
    harness = Harness(
        flow("""
    - name: main
      parallelism: 1
      steps:
      - [{name: wait, template: pause}, {name: a, template: leaf}]
    - name: pause
      suspend: {}
    """),
        lambda _node, _template: Outcome(),
    ).start()

    assert harness.started == ["wf[0].a"]
