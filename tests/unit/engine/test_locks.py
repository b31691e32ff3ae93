"""Locks of runs and of templates."""

from __future__ import annotations

import pytest

from tiphys.engine import event as ev
from tiphys.engine.node import Phase
from tiphys.testing.flow import FAIL, cast, finished, flow
from tiphys.testing.harness import Harness, Outcome

SEMAPHORE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: limits}
data: {two: "2", none: many}
"""


def fan(lock: str, *, template: str = "") -> str:
    return f"""
- name: main
  dag:
    tasks:
    - {{name: a, template: locked, withItems: [1, 2, 3]}}
- name: locked
  synchronization: {{{lock}}}
  {template or "container: {image: x, command: [x]}"}
"""


def times(harness: Harness) -> list[float]:
    found = [harness.node(name).finished_at for name in harness.started]
    return [(at or 0) - harness.run.created_at for at in found]


def test_one_at_a_time_holds_a_mutex() -> None:
    harness = finished(fan("mutexes: [{name: m}]"))

    assert times(harness) == [1, 2, 3]
    assert harness.run.phase == "Succeeded"


def test_as_many_hold_a_semaphore_as_its_limit_says() -> None:
    lock = "semaphores: [{configMapKeyRef: {name: limits, key: two}}]"

    assert times(finished(fan(lock), docs=SEMAPHORE)) == [1, 1, 2]


@pytest.mark.parametrize(
    ("key", "problem"),
    [("absent", "has no key 'absent'"), ("none", "must be a number, got 'many'")],
)
def test_a_semaphore_without_a_limit_is_an_error(key: str, problem: str) -> None:
    lock = f"semaphores: [{{configMapKeyRef: {{name: limits, key: {key}}}}}]"
    harness = finished(fan(lock), docs=SEMAPHORE)

    assert harness.run.phase == "Error"
    assert problem in harness.node("wf.a(0:1)").message


def test_a_semaphore_of_no_config_map_says_so() -> None:
    harness = finished(fan("semaphores: [{configMapKeyRef: {name: nobody, key: two}}]"))

    assert "there is no ConfigMap 'nobody' in namespace" in harness.node("wf.a(0:1)").message


def test_who_waits_is_pending_and_says_for_what() -> None:
    harness = Harness(flow(fan("mutexes: [{name: m}]"))).start()

    node = harness.node("wf.a(1:2)")
    assert node.phase is Phase.PENDING
    assert node.message == "Waiting for default/Mutex/m lock. Lock status: 0/1"
    harness.finish()
    assert node.message == ""
    assert node.synchronization_status is None


@pytest.mark.parametrize(
    "template",
    [
        "steps: [[{name: x, template: leaf}], [{name: z, template: leaf}]]",
        "dag: {tasks: [{name: x, template: leaf}, {name: z, template: leaf, depends: x}]}",
    ],
)
def test_a_whole_template_can_hold_a_lock(template: str) -> None:
    harness = finished(fan("mutexes: [{name: m}]", template=template))

    assert times(harness) == [1, 2, 3, 4, 5, 6]


def test_a_retried_leaf_holds_its_lock_over_all_attempts() -> None:
    template = "retryStrategy: {limit: 1}\n  container: {image: x, command: [x]}"
    harness = Harness(
        flow(fan("mutexes: [{name: m}]", template=template)),
        lambda node, _: FAIL if node.name.endswith("(0)") else Outcome(),
    )
    harness.finish()

    assert harness.started == [f"wf.a({i}:{i + 1})({n})" for i in range(3) for n in range(2)]
    assert harness.run.phase == "Succeeded"


def test_a_failed_holder_gives_its_lock_back() -> None:
    harness = finished(fan("mutexes: [{name: m}]"), {"a(0:1)": FAIL})

    assert len(harness.started) == 3
    assert harness.run.phase == "Failed"


def test_several_locks_are_taken_together() -> None:
    harness = finished("""
    - name: main
      dag:
        tasks:
        - {name: a, template: one}
        - {name: b, template: both}
        - {name: c, template: two}
    - name: one
      synchronization: {mutexes: [{name: m}]}
      container: {image: x, command: [x]}
    - name: both
      synchronization: {mutexes: [{name: m}, {name: k}]}
      container: {image: x, command: [x]}
    - name: two
      synchronization: {mutexes: [{name: k}]}
      container: {image: x, command: [x]}
    """)

    assert harness.run.phase == "Succeeded"
    b, c = harness.node("wf.b"), harness.node("wf.c")
    assert b.ours.began_at is not None
    assert c.ours.began_at is not None
    assert b.ours.began_at != c.ours.began_at


def test_the_name_of_a_lock_may_come_from_a_parameter() -> None:
    harness = finished("""
    - name: main
      steps:
      - - name: a
          template: locked
          withItems: [x, z, x]
          arguments: {parameters: [{name: key, value: "{{item}}"}]}
    - name: locked
      inputs: {parameters: [{name: key}]}
      synchronization: {mutexes: [{name: "lock-{{inputs.parameters.key}}"}]}
      container: {image: x, command: [x]}
    """)

    assert times(harness) == [1, 1, 2]


def test_a_run_that_waits_for_its_lock_is_pending_and_has_no_nodes() -> None:
    text = flow(
        "- name: main\n  container: {image: x, command: [x]}",
        spec="synchronization: {mutexes: [{name: m}]}",
    )
    harness = Harness(text)
    harness.send(ev.LocksAwaited(at=harness.now, lock="default/Mutex/m", message="Waiting"))
    assert harness.run.phase == "Pending"
    assert harness.run.started_at is None

    harness.send(ev.LocksGranted(at=harness.now + 60))
    harness.finish()

    assert harness.run.phase == "Succeeded"
    assert harness.run.message == ""
    assert harness.run.started_at == harness.run.created_at + 60


def test_stopping_frees_those_who_wait_for_a_lock() -> None:
    harness = Harness(flow(fan("mutexes: [{name: m}]"))).start()

    harness.send(ev.RunStopped(at=harness.now, strategy=ev.Shutdown.STOP))
    harness.finish()

    assert harness.run.phase == "Failed"
    assert set(harness.phases().values()) == {"Failed"}
    assert harness.started == ["wf.a(0:1)"]


def test_the_timeout_of_a_template_covers_the_wait_for_its_lock() -> None:
    harness = finished(
        fan("mutexes: [{name: m}]").replace("- name: locked", "- name: locked\n  timeout: 5s"),
        {"a(0:1)": Outcome(seconds=4), "a(1:2)": Outcome(seconds=4)},
    )

    assert harness.node("wf.a(0:1)").phase is Phase.SUCCEEDED
    assert harness.node("wf.a(1:2)").phase is Phase.FAILED
    assert harness.node("wf.a(2:3)").phase is Phase.FAILED
    assert harness.run.finished_at == harness.run.created_at + 5


def test_a_lock_that_is_kept_in_a_database_is_refused_with_a_reason() -> None:
    harness = finished(fan("mutexes: [{name: m, database: true}]"))

    assert harness.run.phase == "Error"
    assert "no database is configured for locks" in harness.node("wf.a(0:1)").message


def test_locks_survive_being_taken_up_again() -> None:
    harness = Harness(flow(fan("mutexes: [{name: m}]")), cast({"locked": Outcome(seconds=5)}))
    harness.start()
    harness.advance()

    harness.take_up()
    harness.finish()

    assert times(harness) == [5, 10, 15]
    assert harness.run.phase == "Succeeded"
