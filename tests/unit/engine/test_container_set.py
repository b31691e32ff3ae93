"""Container sets: one pod, a node for each container."""

from __future__ import annotations

from tiphys.engine import event as ev
from tiphys.engine.event import ContainerEnded
from tiphys.engine.node import NodeType, Phase
from tiphys.testing.flow import FAIL, cast, finished, flow
from tiphys.testing.harness import NOON, Harness, Outcome

SET = """
- name: main
  steps:
  - [{name: set, template: set}]
  - [{name: after, template: leaf}]
- name: set
  RETRY
  containerSet:
    containers:
    - {name: a, image: x}
    - {name: b, image: x, dependencies: [a]}
    - {name: main, image: x, dependencies: [a]}
""".replace("  RETRY\n", "")


def test_containers_hang_below_what_they_depend_on_and_below_the_pod() -> None:
    harness = finished(SET)
    pod = harness.node("wf[0].set")
    a, b, main = (harness.node(f"wf[0].set.{name}") for name in ("a", "b", "main"))

    assert pod.type is NodeType.POD
    assert a.type is NodeType.CONTAINER
    assert (a.display_name, a.boundary_id) == ("a", pod.id)
    assert harness.run.children[pod.id] == [a.id]
    assert harness.run.children[a.id] == [b.id, main.id]
    assert harness.started == ["wf[0].set", "wf[1].after"]


def test_the_next_group_hangs_below_the_last_containers() -> None:
    harness = finished(SET)
    group = harness.node("wf[1]").id

    for name in ("b", "main"):
        assert harness.run.children[harness.node(f"wf[0].set.{name}").id] == [group]


def test_each_container_has_the_end_that_it_is_told() -> None:
    ends = (
        ContainerEnded(name="a", phase="Succeeded"),
        ContainerEnded(name="b", phase="Failed", message="b: Error (exit code 2)"),
    )
    outcome = Outcome(phase="Failed", message="b: Error (exit code 2)", containers=ends)
    harness = finished(SET, {"set": outcome})

    assert harness.node("wf[0].set.a").phase is Phase.SUCCEEDED
    assert harness.node("wf[0].set.b").message == "b: Error (exit code 2)"
    assert harness.node("wf[0].set.main").phase is Phase.FAILED
    assert harness.run.phase == "Failed"


def test_each_container_has_the_times_of_its_own_run() -> None:
    ends = (
        ContainerEnded(name="a", phase="Succeeded", started_at=NOON + 1, finished_at=NOON + 3),
        ContainerEnded(name="b", phase="Failed", started_at=NOON + 3.5, finished_at=NOON + 4),
    )
    harness = finished(SET, {"set": Outcome(phase="Failed", seconds=9, containers=ends)})

    assert times(harness, "a") == (1, 3)
    assert times(harness, "b") == (3.5, 4)
    assert times(harness, "set") == (0, 9)


def test_a_container_that_never_ran_took_no_time() -> None:
    ends = (
        ContainerEnded(name="a", phase="Failed", started_at=NOON + 1, finished_at=NOON + 2),
        ContainerEnded(name="b", phase="Omitted"),
    )
    harness = finished(SET, {"set": Outcome(phase="Failed", seconds=4, containers=ends)})

    assert times(harness, "b") == (4, 4)


def test_times_of_another_clock_stay_within_those_of_the_pod() -> None:
    ends = (
        ContainerEnded(name="a", phase="Succeeded", started_at=NOON - 5, finished_at=NOON - 4),
        ContainerEnded(name="b", phase="Succeeded", started_at=NOON + 1, finished_at=NOON + 99),
    )
    harness = finished(SET, {"set": Outcome(seconds=4, containers=ends)})

    assert times(harness, "a") == (0, 0)
    assert times(harness, "b") == (1, 4)


def times(harness: Harness, name: str) -> tuple[float, float]:
    """Give when a node began and ended, in seconds after the run did."""
    node = harness.node("wf[0].set" if name == "set" else f"wf[0].set.{name}")
    assert node.started_at is not None
    assert node.finished_at is not None
    return node.started_at - NOON, node.finished_at - NOON


def test_containers_run_with_their_pod_and_end_with_it() -> None:
    harness = Harness(flow(SET)).start()
    assert harness.node("wf[0].set.b").phase is Phase.PENDING

    harness.advance()
    assert harness.node("wf[0].set.a").phase is Phase.RUNNING
    harness.send(ev.RunStopped(at=harness.now, strategy=ev.Shutdown.TERMINATE))

    assert {harness.node(f"wf[0].set.{c}").phase for c in ("a", "b", "main")} == {Phase.FAILED}


def test_each_attempt_of_a_retried_set_has_its_containers() -> None:
    text = SET.replace("  containerSet:", "  retryStrategy: {limit: 1}\n  containerSet:")
    harness = finished(text, {"set": [FAIL, Outcome()]})

    assert harness.node("wf[0].set(0).a").phase is Phase.FAILED
    assert harness.node("wf[0].set(1).a").phase is Phase.SUCCEEDED
    assert harness.node("wf[0].set").type is NodeType.RETRY
    assert harness.run.phase == "Succeeded"


def test_a_set_is_taken_up_again_without_new_containers() -> None:
    harness = Harness(flow(SET), cast({"set": Outcome(seconds=5)})).start()
    harness.advance()
    before = set(harness.phases())

    harness.take_up()
    assert set(harness.phases()) == before
    harness.finish()

    assert harness.node("wf[0].set.main").phase is Phase.SUCCEEDED
    assert harness.run.phase == "Succeeded"
