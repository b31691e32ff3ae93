"""Stop and terminate."""

from __future__ import annotations

import pytest

from tiphys.engine import event as ev
from tiphys.engine.event import Shutdown
from tiphys.engine.node import Phase
from tiphys.testing.flow import cast, flow
from tiphys.testing.harness import Harness, Outcome

STEPS = """
- name: main
  steps:
  - [{name: a, template: leaf}, {name: b, template: leaf}]
  - [{name: c, template: leaf}]
"""
DAG = """
- name: main
  dag:
    tasks:
    - {name: a, template: leaf}
    - {name: b, template: leaf}
    - {name: c, template: leaf, depends: a && b}
"""
SLOW = {"leaf": Outcome(seconds=99), "a": Outcome(seconds=1)}
BOTH = [Shutdown.STOP, Shutdown.TERMINATE]


def stopped(text: str, strategy: Shutdown, **outcomes: Outcome) -> Harness:
    """Run until ``a`` is over, then tell the run to end."""
    harness = Harness(text, cast({**SLOW, **outcomes})).start()
    while not any(n.display_name == "a" and n.ended for n in harness.run.nodes.values()):
        harness.advance()
    harness.send(ev.RunStopped(at=harness.now, strategy=strategy))
    harness.finish()
    return harness


@pytest.mark.parametrize("strategy", BOTH)
@pytest.mark.parametrize("templates", [STEPS, DAG])
def test_what_runs_is_ended_and_nothing_more_starts(templates: str, strategy: Shutdown) -> None:
    harness = stopped(flow(templates), strategy)

    b = next(n for n in harness.run.nodes.values() if n.display_name == "b")
    assert (b.phase, b.message) == (Phase.FAILED, f"workflow shutdown with strategy:  {strategy}")
    assert (b.id, b.ours.attempt) in harness.stopped
    assert len(harness.started) == 2
    assert harness.run.phase == "Failed"
    assert harness.run.message == f"Stopped with strategy '{strategy}'"
    assert harness.run.finished_at == harness.run.created_at + 1


@pytest.mark.parametrize("strategy", BOTH)
def test_there_is_no_retry_after_a_stop(strategy: Shutdown) -> None:
    text = flow("""
    - name: main
      retryStrategy: {limit: 5}
      container: {image: x, command: [x]}
    """)
    harness = Harness(text, cast({"wf": Outcome(seconds=99)})).start()
    harness.advance()
    harness.send(ev.RunStopped(at=harness.now, strategy=strategy))
    harness.finish()

    assert harness.started == ["wf(0)"]
    assert harness.node("wf").message == f"Stopped with strategy '{strategy}'"
    assert harness.run.phase == "Failed"


@pytest.mark.parametrize("strategy", BOTH)
def test_a_stop_ends_a_wait_between_attempts(strategy: Shutdown) -> None:
    text = flow("""
    - name: main
      retryStrategy: {limit: 5, backoff: {duration: 1h}}
      container: {image: x, command: [x]}
    """)
    harness = Harness(text, cast({"wf": Outcome(phase="Failed")})).start()
    while not harness.node("wf").message.startswith("Backoff"):
        harness.advance()
    harness.send(ev.RunStopped(at=harness.now, strategy=strategy))
    harness.finish()

    assert harness.started == ["wf(0)"]
    assert harness.run.phase == "Failed"
    assert harness.run.finished_at == harness.run.created_at + 1


@pytest.mark.parametrize("strategy", BOTH)
def test_a_forgiven_failure_does_not_outlive_a_stop(strategy: Shutdown) -> None:
    text = flow(
        STEPS.replace(
            "{name: b, template: leaf}", "{name: b, template: leaf, continueOn: {failed: true}}"
        )
    )
    harness = stopped(text, strategy)

    assert "wf[1].c" not in harness.started
    assert harness.run.phase == "Failed"


@pytest.mark.parametrize("strategy", BOTH)
def test_tasks_that_waited_for_room_are_not_started(strategy: Shutdown) -> None:
    text = flow(
        """
    - name: main
      parallelism: 1
      dag:
        tasks:
        - {name: a, template: leaf, withItems: [1, 2, 3]}
    """
    )
    harness = Harness(text, cast(SLOW)).start()
    harness.advance()
    harness.send(ev.RunStopped(at=harness.now, strategy=strategy))
    harness.finish()

    assert harness.started == ["wf.a(0:1)"]
    assert harness.run.phase == "Failed"
    assert "Running" not in harness.phases().values()


def test_a_run_that_has_not_begun_is_stopped_at_once() -> None:
    harness = Harness(flow(STEPS))

    harness.send(ev.RunStopped(at=harness.now, strategy=Shutdown.TERMINATE))

    assert harness.run.phase == "Failed"
    assert not harness.run.nodes


def test_terminate_after_stop_ends_the_exit_handler_too() -> None:
    harness = Harness(flow(STEPS, spec="onExit: leaf"), cast({"leaf": Outcome(seconds=99)})).start()
    harness.advance()
    harness.send(ev.RunStopped(at=harness.now, strategy=Shutdown.STOP))
    harness.advance()
    assert "wf.onExit" in harness.started

    harness.send(ev.RunStopped(at=harness.now, strategy=Shutdown.TERMINATE))
    harness.finish()

    assert harness.node("wf.onExit").phase is Phase.FAILED
    assert harness.run.phase == "Failed"
    assert harness.run.finished_at == harness.run.created_at


def test_a_dag_as_exit_handler_runs_to_its_end_after_a_stop() -> None:
    text = flow(
        STEPS
        + """
- name: bye
  dag:
    tasks:
    - {name: x, template: leaf}
    - {name: z, template: leaf, depends: x}
""",
        spec="onExit: bye",
    )
    harness = stopped(text, Shutdown.STOP)

    assert harness.started[-2:] == ["wf.onExit.x", "wf.onExit.z"]
    assert harness.node("wf.onExit").phase is Phase.SUCCEEDED
    assert harness.run.phase == "Failed"


def test_late_news_of_what_was_ended_changes_nothing() -> None:
    harness = stopped(flow(STEPS), Shutdown.TERMINATE)
    b = harness.node("wf[0].b")

    harness.send(ev.NodeEnded(at=harness.now, node=b.id, attempt=b.ours.attempt, phase="Succeeded"))

    assert b.phase is Phase.FAILED


@pytest.mark.parametrize("strategy", BOTH)
def test_a_stop_is_remembered_when_the_run_is_taken_up_again(strategy: Shutdown) -> None:
    harness = Harness(flow(STEPS, spec="onExit: leaf"), cast(SLOW)).start()
    harness.advance()
    harness.send(ev.RunStopped(at=harness.now, strategy=strategy))

    if not harness.run.ended:
        harness.take_up()
    harness.finish()

    assert harness.run.phase == "Failed"
    assert ("wf.onExit" in harness.phases()) is (strategy is Shutdown.STOP)
    assert "wf[1].c" not in harness.started
