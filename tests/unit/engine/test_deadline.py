"""Timeouts and deadlines of leaves and of the whole run."""

from __future__ import annotations

import pytest

from tiphys.engine.node import Phase
from tiphys.testing.flow import cast, finished, flow
from tiphys.testing.harness import Harness, Outcome

SLOW = Outcome(seconds=1000)


def leaf(fields: str) -> str:
    return f"- name: main\n  {fields}\n  container: {{image: x, command: [x]}}"


@pytest.mark.parametrize("fields", ["timeout: 30s", "activeDeadlineSeconds: 30"])
def test_a_leaf_that_takes_too_long_fails(fields: str) -> None:
    harness = finished(leaf(fields), {"wf": SLOW})

    assert harness.node("wf").phase is Phase.FAILED
    assert harness.run.finished_at == harness.run.created_at + 30


def test_a_timeout_covers_the_wait_in_the_queue() -> None:
    harness = Harness(flow(leaf("timeout: 30s")), slots=0)
    harness.finish()

    assert harness.node("wf").phase is Phase.FAILED
    assert harness.started == []
    assert harness.run.finished_at == harness.run.created_at + 30


def test_a_timeout_in_a_step_fails_the_step() -> None:
    harness = finished(
        """
    - name: main
      steps:
      - [{name: a, template: short}]
    - name: short
      timeout: 5s
      container: {image: x, command: [x]}
    """,
        {"a": SLOW},
    )

    assert harness.node("wf[0].a").phase is Phase.FAILED
    assert harness.run.phase == "Failed"


def test_a_timeout_that_is_none_is_an_error_that_says_so() -> None:
    harness = finished(leaf("timeout: '30'"))

    assert harness.run.phase == "Error"
    assert "invalid timeout format" in harness.run.message


def test_a_timeout_holds_for_each_attempt() -> None:
    harness = finished(leaf("timeout: 10s\n  retryStrategy: {limit: 1}"), {"wf": SLOW})

    assert harness.started == ["wf(0)", "wf(1)"]
    assert harness.run.finished_at == harness.run.created_at + 20


TWO = """
- name: main
  steps:
  - [{name: a, template: leaf MORE}]
  - [{name: b, template: leaf}]
"""


def test_the_deadline_of_a_run_ends_all_that_runs_and_the_run() -> None:
    harness = finished(TWO.replace(" MORE", ""), {"a": SLOW}, spec="activeDeadlineSeconds: 60")

    a = harness.node("wf[0].a")
    assert (a.phase, a.message) == (Phase.FAILED, "Step exceeded its deadline")
    assert (a.id, a.ours.attempt) in harness.stopped
    assert harness.run.phase == "Failed"
    assert harness.run.finished_at == harness.run.created_at + 60


def test_the_deadline_of_a_run_counts_from_the_instant_of_its_start() -> None:
    text = flow(TWO.replace(" MORE", ""), spec="activeDeadlineSeconds: 60")
    harness = Harness(text, cast({"a": SLOW}))
    harness.now += 0.75
    begun = harness.now
    harness.finish()

    assert harness.run.started_at == begun
    assert harness.run.finished_at == begun + 60


def test_the_deadline_of_a_run_that_is_done_in_time_does_nothing() -> None:
    harness = finished(TWO.replace(" MORE", ""), spec="activeDeadlineSeconds: 60")

    assert harness.run.phase == "Succeeded"


def test_nothing_starts_after_the_deadline_even_where_a_failure_is_forgiven() -> None:
    harness = finished(
        TWO.replace(" MORE", ", continueOn: {failed: true}"),
        {"a": SLOW, "b": SLOW},
        spec="activeDeadlineSeconds: 60",
    )

    assert harness.started == ["wf[0].a"]
    assert harness.node("wf[1].b").phase is Phase.FAILED
    assert harness.node("wf[1].b").message == "Step exceeded its deadline"
    assert harness.run.phase == "Failed"
    assert harness.run.finished_at == harness.run.created_at + 60


def test_nothing_starts_after_the_deadline_in_a_dag() -> None:
    harness = finished(
        """
    - name: main
      dag:
        tasks:
        - {name: a, template: leaf}
        - {name: b, template: leaf, depends: a.Failed}
    """,
        {"a": SLOW, "b": SLOW},
        spec="activeDeadlineSeconds: 60",
    )

    assert harness.started == ["wf.a"]
    assert harness.run.phase == "Failed"
    assert harness.run.finished_at == harness.run.created_at + 60


def test_there_is_no_retry_after_the_deadline() -> None:
    harness = finished(
        leaf("retryStrategy: {limit: 5}"), {"wf": SLOW}, spec="activeDeadlineSeconds: 60"
    )

    assert harness.started == ["wf(0)"]
    assert harness.node("wf").message.startswith("retry exceeded workflow deadline")
    assert harness.run.phase == "Failed"


def test_the_deadline_ends_a_wait_between_attempts() -> None:
    harness = finished(
        leaf("retryStrategy: {limit: 5, backoff: {duration: 1h}}"),
        {"wf": Outcome(phase="Failed")},
        spec="activeDeadlineSeconds: 60",
    )

    assert harness.run.finished_at == harness.run.created_at + 60
    assert harness.run.phase == "Failed"


def test_the_deadline_ends_those_who_wait_for_a_lock() -> None:
    harness = finished(
        """
    - name: main
      dag:
        tasks:
        - {name: a, template: locked, withItems: [1, 2]}
    - name: locked
      synchronization: {mutexes: [{name: m}]}
      container: {image: x, command: [x]}
    """,
        {"locked": SLOW},
        spec="activeDeadlineSeconds: 60",
    )

    assert harness.node("wf.a(1:2)").message == "Step exceeded its deadline"
    assert harness.run.phase == "Failed"
    assert harness.run.finished_at == harness.run.created_at + 60


def test_the_deadline_reaches_nested_templates() -> None:
    harness = finished(
        """
    - name: main
      dag: {tasks: [{name: a, template: sub}]}
    - name: sub
      steps: [[{name: x, template: leaf}], [{name: z, template: leaf}]]
    """,
        {"leaf": SLOW},
        spec="activeDeadlineSeconds: 60",
    )

    assert harness.node("wf.a").phase is Phase.FAILED
    assert harness.started == ["wf.a[0].x"]
    assert harness.run.phase == "Failed"


def test_the_deadline_counts_from_the_start_of_the_run_also_after_a_restart() -> None:
    harness = Harness(
        flow(TWO.replace(" MORE", ""), spec="activeDeadlineSeconds: 60"), cast({"a": SLOW})
    ).start()
    harness.advance()

    harness.take_up()
    harness.finish()

    assert harness.run.finished_at == harness.run.created_at + 60
