"""``suspendBySteps``: each layer waits until somebody releases it."""

from __future__ import annotations

from tiphys.engine import event as ev
from tiphys.engine.layer import layer_of
from tiphys.engine.leaf import UNRELEASED
from tiphys.testing.flow import flow
from tiphys.testing.harness import Harness, Outcome, Play, succeed

SPEC = "suspendBySteps: true\n"
STEPS = """
- name: main
  steps:
  - [{name: a, template: leaf, withItems: [1, 2]}, {name: in, template: inner}]
  - [{name: z, template: leaf}]
- name: inner
  steps:
  - [{name: deep, template: leaf}]
"""
DAG = """
- name: main
  dag:
    tasks:
    - {name: a, template: leaf}
    - {name: b, template: leaf, depends: a}
    - {name: c, template: leaf, depends: a, withItems: [1, 2]}
    - {name: d, template: leaf, depends: b}
"""


def begun(templates: str, play: Play = succeed, spec: str = "") -> Harness:
    harness = Harness(flow(templates, spec=SPEC + spec), play).start()
    settle(harness)
    return harness


def settle(harness: Harness) -> None:
    while harness.advance():
        pass


def resume(harness: Harness, *names: str) -> None:
    nodes = tuple(harness.node(name).id for name in names)
    harness.send(ev.RunResumed(at=harness.now, nodes=nodes))
    settle(harness)


def test_nothing_starts_before_its_layer_is_released() -> None:
    harness = begun(STEPS)

    assert harness.started == []
    assert harness.node("wf[0].a(0:1)").message == UNRELEASED
    assert harness.run.phase == "Running"


def test_resuming_releases_the_layer_that_has_waited_longest() -> None:
    harness = begun(STEPS)

    resume(harness)
    assert set(harness.started) == {"wf[0].a(0:1)", "wf[0].a(1:2)"}
    resume(harness)
    assert harness.started[2:] == ["wf[0].in[0].deep"]
    resume(harness)

    assert harness.run.phase == "Succeeded"
    assert len(harness.started) == 4


def test_a_layer_is_released_by_any_of_its_nodes() -> None:
    harness = begun(STEPS)

    resume(harness, "wf[0].in[0].deep")

    assert harness.started == ["wf[0].in[0].deep"]


def test_tasks_that_hang_on_the_same_are_one_layer_with_their_loops() -> None:
    harness = begun(DAG)
    resume(harness)
    names = ("wf.b", "wf.c(0:1)", "wf.c(1:2)")

    assert {layer_of(harness.run, harness.node(name)) for name in names} == {"wf after .a"}

    resume(harness)
    assert set(harness.started[1:]) == set(names)


def test_retries_and_later_items_of_a_released_layer_start_by_themselves() -> None:
    text = """
- name: main
  parallelism: 1
  steps:
  - [{name: a, template: flaky, withItems: [1, 2]}]
- name: flaky
  retryStrategy: {limit: 1}
  container: {image: x, command: [x]}
"""
    outcomes = {"wf[0].a(0:1)(0)": Outcome(phase="Failed")}
    harness = begun(text, lambda node, _: outcomes.get(node.name, Outcome()))

    resume(harness)

    assert harness.run.phase == "Succeeded"
    assert len(harness.started) == 3


def test_what_was_released_stays_so_when_the_run_is_taken_up_again() -> None:
    harness = begun(STEPS)
    resume(harness)

    harness.take_up()
    settle(harness)

    assert len(harness.started) == 2
    assert harness.run.released == {"wf[0]"}
    resume(harness)
    resume(harness)
    assert harness.run.phase == "Succeeded"


def test_exit_handlers_wait_for_nobody() -> None:
    harness = begun(STEPS, spec="onExit: leaf\n")

    harness.send(ev.RunStopped(at=harness.now, strategy=ev.Shutdown.STOP))
    settle(harness)

    assert harness.started == ["wf.onExit"]
    assert harness.run.phase == "Failed"


def test_a_run_that_goes_on_without_its_pauses_releases_nothing() -> None:
    harness = begun(STEPS)
    harness.send(ev.RunSuspended(at=harness.now))

    harness.send(ev.RunResumed(at=harness.now, pauses=False))
    harness.send(ev.RunResumed(at=harness.now, pauses=False))
    settle(harness)

    assert harness.started == []
    assert not harness.run.suspended
