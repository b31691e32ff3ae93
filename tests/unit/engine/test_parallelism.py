"""How many run at once, and failFast."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tiphys.engine.lifecycle import Effects
from tiphys.engine.node import ACTIVE, NodeType, Phase
from tiphys.testing.flow import FAIL, cast, flow
from tiphys.testing.harness import Harness, Outcome, Play, succeed


def most_pods(text: str, play: Play = succeed) -> tuple[int, Harness]:
    """Run to the end; give the largest number of pods that were let run at once."""
    most = 0

    def look(harness: Harness, _: Effects) -> None:
        nonlocal most
        nodes = (n for n in harness.run.nodes.values() if not n.ours.held)
        most = max(most, sum(n.type is NodeType.POD and n.phase in ACTIVE for n in nodes))

    harness = Harness(text, play)
    harness.observers.append(look)
    harness.finish()
    return most, harness


def steps(limit: str, leaf: str = "leaf") -> str:
    return f"""
- name: main
  {limit}
  steps:
  - [{{name: a, template: {leaf}, withItems: [1, 2, 3, 4, 5]}}]
- name: again
  retryStrategy: {{limit: 2}}
  container: {{image: x, command: [x]}}
- name: later
  retryStrategy: {{limit: 2, backoff: {{duration: 7s}}}}
  container: {{image: x, command: [x]}}
- name: sub
  steps:
  - [{{name: x, template: leaf}}]
  - [{{name: z, template: leaf}}]
"""


def dag(limit: str, leaf: str = "leaf") -> str:
    return (
        steps(limit, leaf)
        .replace("steps:\n  - [{name: a", "dag:\n    tasks:\n    - {name: a", 1)
        .replace("[1, 2, 3, 4, 5]}]", "[1, 2, 3, 4, 5]}", 1)
    )


@pytest.mark.parametrize("shape", [steps, dag])
@pytest.mark.parametrize("leaf", ["leaf", "again", "sub"])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_template_never_has_more_children_at_once(
    shape: Callable[..., str], leaf: str, limit: int
) -> None:
    most, harness = most_pods(flow(shape(f"parallelism: {limit}", leaf)))

    assert most == limit
    assert harness.run.phase == "Succeeded"


@pytest.mark.parametrize("shape", [steps, dag])
@pytest.mark.parametrize("leaf", ["leaf", "again", "sub"])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_a_run_never_has_more_pods_at_once(
    shape: Callable[..., str], leaf: str, limit: int
) -> None:
    text = flow(shape("", leaf), spec=f"parallelism: {limit}")
    most, harness = most_pods(text)

    assert most == limit
    assert harness.run.phase == "Succeeded"


@pytest.mark.parametrize("shape", [steps, dag])
def test_attempts_after_a_wait_need_room_in_the_run_as_well(shape: Callable[..., str]) -> None:
    text = flow(shape("", "later"), spec="parallelism: 2")
    most, harness = most_pods(
        text, lambda node, _: FAIL if node.name.endswith("(0)") else Outcome()
    )

    assert most == 2
    assert harness.run.phase == "Succeeded"
    assert len(harness.started) == 10


def test_the_limit_of_a_run_holds_across_templates() -> None:
    text = flow(
        """
    - name: main
      steps:
      - [{name: a, template: sub}, {name: b, template: sub}]
    - name: sub
      dag:
        tasks:
        - {name: x, template: leaf, withItems: [1, 2, 3]}
    """,
        spec="parallelism: 4",
    )
    most, harness = most_pods(text)

    assert most == 4
    assert len(harness.started) == 6


def test_without_a_limit_all_start_at_once() -> None:
    assert most_pods(flow(steps("")))[0] == 5


def test_leaves_that_wait_for_a_lock_take_no_room_of_the_run() -> None:
    harness = Harness(
        flow(
            """
    - name: main
      dag:
        tasks:
        - {name: a, template: locked}
        - {name: b, template: locked}
        - {name: c, template: leaf}
    - name: locked
      synchronization: {mutexes: [{name: m}]}
      container: {image: x, command: [x]}
    """,
            spec="parallelism: 2",
        )
    ).start()

    assert harness.started == ["wf.a", "wf.c"]
    harness.finish()
    assert harness.run.phase == "Succeeded"


FAST = """
- name: main
  parallelism: 2
  failFast: true
  SHAPE
"""
STEPS = "steps: [[{name: a, template: leaf, withItems: [1, 2, 3, 4]}]]"
DAG = "dag: {tasks: [{name: a, template: leaf, withItems: [1, 2, 3, 4]}]}"


@pytest.mark.parametrize("shape", [STEPS, DAG])
def test_to_fail_fast_is_to_start_nothing_more_and_to_let_what_runs_end(shape: str) -> None:
    outcomes = {"a(0:1)": FAIL, "a(1:2)": Outcome(seconds=30)}
    harness = Harness(flow(FAST.replace("SHAPE", shape)), cast(outcomes))
    harness.finish()

    assert len(harness.started) == 2
    second = next(n for n in harness.run.nodes.values() if n.name.endswith("a(1:2)"))
    assert second.phase is Phase.SUCCEEDED
    assert harness.node("wf").phase is Phase.FAILED
    assert harness.node("wf").message == (
        "template has failed or errored children and failFast enabled"
    )
    assert harness.run.finished_at == harness.run.created_at + 30


def test_to_fail_fast_without_a_limit_lets_all_end() -> None:
    text = flow(FAST.replace("SHAPE", STEPS).replace("  parallelism: 2\n", ""))
    harness = Harness(text, cast({"a(0:1)": FAIL, "a(1:2)": Outcome(seconds=30)}))
    harness.finish()

    assert len(harness.started) == 4
    assert harness.run.phase == "Failed"


def test_to_fail_fast_leaves_no_node_running_behind() -> None:
    text = flow("""
    - name: main
      failFast: true
      steps:
      - - {name: a, template: leaf, hooks: {exit: {template: again}}}
        - {name: b, template: again}
    - name: again
      retryStrategy: {limit: 2}
      container: {image: x, command: [x]}
    """)
    harness = Harness(text, cast({"a": FAIL, "b": FAIL}))
    harness.finish()

    assert harness.run.phase == "Failed"
    assert "Running" not in harness.phases().values()
    assert "Pending" not in harness.phases().values()


def test_the_hook_of_a_step_needs_room_in_the_run() -> None:
    text = flow(
        """
    - name: main
      steps:
      - - {name: a, template: leaf, hooks: {exit: {template: leaf}}}
        - {name: b, template: leaf}
        - {name: c, template: leaf}
    """,
        spec="parallelism: 1",
    )

    most, harness = most_pods(text)

    assert most == 1
    assert harness.run.phase == "Succeeded"


def test_the_hook_of_a_step_that_runs_waits_for_room_in_the_run() -> None:
    text = flow(
        """
    - name: main
      steps:
      - - name: a
          template: leaf
          hooks: {run: {template: leaf, expression: 'steps.a.status == "Running"'}}
    """,
        spec="parallelism: 1",
    )

    most, harness = most_pods(text)

    assert most == 1
    assert harness.started == ["wf[0].a", "wf[0].a.hooks.run"]
    assert harness.run.phase == "Succeeded"


def test_a_leaf_that_is_granted_its_lock_needs_room_in_the_run() -> None:
    text = flow(
        """
    - name: main
      dag:
        tasks:
        - {name: a, template: locked}
        - {name: b, template: locked}
        - {name: c, template: leaf}
        - {name: d, template: leaf}
    - name: locked
      synchronization: {mutexes: [{name: m}]}
      container: {image: x, command: [x]}
    """,
        spec="parallelism: 2",
    )
    asked = 0

    def look(harness: Harness, _: Effects) -> None:
        nonlocal asked
        nodes = harness.run.nodes.values()
        asked = max(asked, sum(n.phase in ACTIVE and n.ours.attempt > 0 for n in nodes))

    harness = Harness(text, cast({"a": Outcome(seconds=5), "leaf": Outcome(seconds=9)}))
    harness.observers.append(look)
    harness.finish()

    assert asked == 2
    assert harness.run.phase == "Succeeded"
