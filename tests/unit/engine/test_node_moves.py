"""The table of moves of a node, and the tables of events: every row, and nothing beside them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from textwrap import dedent

import pytest

from tiphys.engine import event as ev
from tiphys.engine.lifecycle import NODE_EVENTS, RUN_EVENTS
from tiphys.engine.node import (
    ACTIVE,
    COMPLETED,
    FULFILLED,
    MOVES,
    Node,
    NodeType,
    Ours,
    Phase,
    check_move,
)
from tiphys.errors import IllegalMoveError
from tiphys.testing.flow import FAIL, cast, flow
from tiphys.testing.harness import Harness, Outcome

ALLOWED = [(a, b) for a, b in product(Phase, Phase) if b in MOVES[a]]
REFUSED = [(a, b) for a, b in product(Phase, Phase) if b not in MOVES[a]]


def node(phase: Phase) -> Node:
    return Node(id="n", name="n", type=NodeType.POD, phase=phase, ours=Ours())


@pytest.mark.parametrize(("start", "end"), ALLOWED)
def test_a_move_of_the_table_is_allowed(start: Phase, end: Phase) -> None:
    check_move(node(start), end)


@pytest.mark.parametrize(("start", "end"), REFUSED)
def test_a_move_outside_of_the_table_is_refused(start: Phase, end: Phase) -> None:
    with pytest.raises(IllegalMoveError):
        check_move(node(start), end)


def test_every_phase_has_a_row_and_a_fulfilled_one_leads_nowhere() -> None:
    assert set(MOVES) == set(Phase)
    assert {phase for phase, ends in MOVES.items() if not ends} == FULFILLED
    assert COMPLETED < FULFILLED
    assert ACTIVE.isdisjoint(FULFILLED)
    assert set(Phase) == ACTIVE | FULFILLED


def test_a_ready_daemon_is_fulfilled_though_it_runs() -> None:
    daemon = node(Phase.RUNNING)
    assert not daemon.fulfilled

    daemon.daemoned = True

    assert daemon.fulfilled
    assert not daemon.ended


# --- the tables of events ---------------------------------------------------------------------

LEAF = """
- name: main
  container: {image: x, command: [x]}
"""
LOCKED = """
- name: main
  synchronization: {mutexes: [{name: m}]}
  container: {image: x, command: [x]}
"""
SUSPENDED = """
- name: main
  steps:
  - [{name: a, template: leaf}]
  - [{name: b, template: leaf}]
"""


def started(templates: str, *, spec: str = "", slots: int = 1) -> Harness:
    return Harness(flow(templates, spec=spec), slots=slots).start()


def run_started() -> None:
    assert started(LEAF).run.phase == "Running"


def run_stopped() -> None:
    harness = started(LEAF)

    harness.send(ev.RunStopped(at=harness.now, strategy=ev.Shutdown.STOP))

    assert harness.run.phase == "Failed"


def run_suspended() -> None:
    harness = started(SUSPENDED)

    harness.send(ev.RunSuspended(at=harness.now))
    harness.finish()

    assert harness.started == ["wf[0].a"]


def run_resumed() -> None:
    harness = started(SUSPENDED)
    harness.send(ev.RunSuspended(at=harness.now))
    harness.finish()

    harness.send(ev.RunResumed(at=harness.now))

    assert harness.finish().phase == "Succeeded"


def run_woken() -> None:
    harness = started(LEAF, spec="activeDeadlineSeconds: 5", slots=0)

    harness.send(ev.Woken(at=harness.now + 5))

    assert harness.node("wf").phase is Phase.FAILED
    assert harness.node("wf").message == "Step exceeded its deadline"


def run_locks_granted() -> None:
    run = started(LEAF, spec="synchronization: {mutexes: [{name: m}]}").run

    assert run.phase == "Running"


def run_locks_awaited() -> None:
    harness = Harness(flow(LEAF))

    harness.send(ev.LocksAwaited(at=harness.now, lock="l", message="Waiting for l lock."))

    assert (harness.run.phase, harness.run.message) == ("Pending", "Waiting for l lock.")
    assert not harness.run.nodes


def run_locks_refused() -> None:
    harness = Harness(flow(LEAF))

    harness.send(ev.LocksRefused(at=harness.now, message="no such lock"))

    assert harness.run.phase == "Failed"
    assert harness.run.message == "Failed to acquire the synchronization lock. no such lock"


ON_RUN: dict[type, Callable[[], None]] = {
    ev.RunStarted: run_started,
    ev.RunStopped: run_stopped,
    ev.RunSuspended: run_suspended,
    ev.RunResumed: run_resumed,
    ev.Woken: run_woken,
    ev.LocksGranted: run_locks_granted,
    ev.LocksAwaited: run_locks_awaited,
    ev.LocksRefused: run_locks_refused,
}


def begun(templates: str) -> tuple[Harness, dict[str, object]]:
    """Start a run of one leaf that waits in the queue; give what its events carry."""
    harness = started(templates, slots=0)
    return harness, {"at": harness.now + 1, "node": "wf", "attempt": 1}


def node_started() -> None:
    harness, facts = begun(LEAF)

    harness.send(ev.NodeStarted(**facts, host="here"))  # type: ignore[arg-type]

    assert harness.node("wf").phase is Phase.RUNNING
    assert harness.node("wf").host_node_name == "here"


def node_ready() -> None:
    harness, facts = begun(LEAF.replace("main", "main\n  daemon: true"))
    harness.send(ev.NodeStarted(**facts))  # type: ignore[arg-type]
    assert harness.node("wf").phase is Phase.PENDING

    harness.send(ev.NodeReady(**facts, ip="10.0.0.1"))  # type: ignore[arg-type]

    assert harness.run.phase == "Succeeded"


def node_progressed() -> None:
    harness, facts = begun(LEAF)

    harness.send(ev.NodeProgressed(**facts, progress="3/7"))  # type: ignore[arg-type]

    assert harness.node("wf").progress == "3/7"


def node_ended() -> None:
    harness, facts = begun(LEAF)

    harness.send(ev.NodeEnded(**facts, phase="Error", message="lost"))  # type: ignore[arg-type]

    assert (harness.run.phase, harness.run.message) == ("Error", "lost")


def node_preempted() -> None:
    harness, facts = begun(LEAF)
    harness.send(ev.NodeStarted(**facts))  # type: ignore[arg-type]

    harness.send(ev.NodePreempted(**facts, message="made room"))  # type: ignore[arg-type]

    node = harness.node("wf")
    assert (node.phase, node.message, node.ours.attempt) == (Phase.PENDING, "made room", 2)


def node_woken() -> None:
    harness = started(LEAF.replace("main", "main\n  timeout: 9s"), slots=0)

    harness.finish()

    assert harness.node("wf").phase is Phase.FAILED
    assert harness.now == harness.run.created_at + 9


def node_locks_granted() -> None:
    assert started(LOCKED).finish().phase == "Succeeded"


def two_want_one_lock() -> Harness:
    templates = """
    - name: main
      dag:
        tasks:
        - {name: a, template: locked}
        - {name: b, template: locked}
    - name: locked
      synchronization: {mutexes: [{name: m}]}
      container: {image: x, command: [x]}
    """
    return Harness(flow(templates)).start()


def node_locks_awaited() -> None:
    node = two_want_one_lock().node("wf.b")

    assert node.phase is Phase.PENDING
    assert node.synchronization_status is not None
    assert node.synchronization_status.waiting == "default/Mutex/m"
    assert node.message == "Waiting for default/Mutex/m lock. Lock status: 0/1"


def node_locks_refused() -> None:
    harness = two_want_one_lock()
    node = harness.node("wf.b")

    harness.send(ev.LocksRefused(at=harness.now, holder=node.id, message="gone"))

    assert (node.phase, node.message) == (Phase.ERROR, "gone")
    assert harness.finish().phase == "Error"


def memo_read() -> None:
    harness = started("""
    - name: main
      memoize: {key: k, cache: {configMap: {name: c}}}
      container: {image: x, command: [x]}
    """)

    status = harness.node("wf").memoization_status

    assert status is not None
    assert (status.hit, status.key, status.cache_name) == (False, "k", "c")


def job_seen() -> None:
    text = """
    apiVersion: batch.volcano.sh/v1alpha1
    kind: Job
    metadata: {name: wf, labels: {tiphys.dev/scheduler: volcano}}
    spec:
      tasks:
      - {name: t, template: {spec: {containers: [{name: c, image: x, command: [x]}]}}}
    """
    harness = Harness(dedent(text), slots=0).start()
    pod = ev.PodSeen(task="t", index=0, number=1, name="wf-t-0", phase="Running")
    facts = {"at": harness.now, "node": "wf", "attempt": 1}

    harness.send(ev.JobSeen(**facts, phase="Running", pods=(pod,)))  # type: ignore[arg-type]

    assert harness.phases() == {"wf": "Running", "wf.t-0": "Running"}


ON_NODE: dict[type, Callable[[], None]] = {
    ev.NodeStarted: node_started,
    ev.NodeReady: node_ready,
    ev.NodeProgressed: node_progressed,
    ev.NodeEnded: node_ended,
    ev.NodePreempted: node_preempted,
    ev.JobSeen: job_seen,
    ev.Woken: node_woken,
    ev.LocksGranted: node_locks_granted,
    ev.LocksAwaited: node_locks_awaited,
    ev.LocksRefused: node_locks_refused,
    ev.MemoRead: memo_read,
}


@pytest.mark.parametrize("event", RUN_EVENTS, ids=lambda e: e.__name__)
def test_each_event_of_a_run_does_what_it_says(event: type) -> None:
    ON_RUN[event]()


@pytest.mark.parametrize("event", NODE_EVENTS, ids=lambda e: e.__name__)
def test_each_event_of_a_node_does_what_it_says(event: type) -> None:
    ON_NODE[event]()


def test_news_of_an_ended_node_an_unknown_node_or_an_old_attempt_is_no_news() -> None:
    harness = Harness(flow(SUSPENDED), slots=0).start()
    first = harness.node("wf[0].a")
    facts = {"at": harness.now, "node": first.id}

    harness.send(ev.NodeEnded(**facts, attempt=7, phase="Failed"))  # type: ignore[arg-type]
    harness.send(ev.NodeEnded(at=harness.now, node="nobody", attempt=1, phase="Failed"))
    assert harness.phases()[first.name] == "Pending"
    harness.send(ev.NodeEnded(**facts, attempt=1, phase="Succeeded"))  # type: ignore[arg-type]
    harness.send(ev.NodeEnded(**facts, attempt=1, phase="Failed"))  # type: ignore[arg-type]

    assert first.phase is Phase.SUCCEEDED
    assert harness.run.phase == "Running"


def test_nothing_happens_to_a_run_that_is_over() -> None:
    harness = Harness(flow(LEAF), cast({"wf": FAIL}))
    harness.finish()

    harness.send(ev.RunStopped(at=harness.now, strategy=ev.Shutdown.TERMINATE))
    harness.send(ev.RunStarted(at=harness.now))

    assert (harness.run.phase, harness.run.message) == ("Failed", FAIL.message)
    assert harness.run.shutdown is ev.Shutdown.NONE


def test_starting_twice_starts_nothing_twice() -> None:
    harness = Harness(flow(LEAF), cast({"wf": Outcome(seconds=5)})).start()

    harness.send(ev.RunStarted(at=harness.now))

    assert harness.finish().phase == "Succeeded"
    assert harness.started == ["wf"]
