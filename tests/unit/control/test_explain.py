"""Why nodes wait, told from a run, from its scheduler, and from the store alone."""

from __future__ import annotations

from typing import Any

from tiphys.control.explain import explain_run, lock_holders
from tiphys.control.locks import LockTable
from tiphys.control.placing import choice_of, facts_of
from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.command import LockName
from tiphys.engine.lifecycle import step, take_effects
from tiphys.engine.run import Run
from tiphys.scheduling import Resources, Scheduler, Work, WorkId
from tiphys.scheduling.gate import Gate
from tiphys.testing.flow import flow
from tiphys.testing.harness import NOON, load

PAUSE = """
- name: pause
  suspend: {}
"""


def begun(templates: str, *, spec: str = "") -> tuple[Run, list[cm.Command]]:
    run = load(flow(templates, spec=spec))
    step(run, ev.RunStarted(at=NOON))
    return run, list(take_effects(run).commands)


def queued(run: Run, commands: list[cm.Command], *, on: Scheduler | None = None) -> Scheduler:
    """Let the run's leaves wait in a scheduler, of one core unless it is given."""
    scheduler = on or Scheduler(Resources(cpu=1000, pods=100))
    gate = Gate(scheduler)
    gate.open(run.uid, choice_of(run), run.created_at)
    for command in commands:
        if isinstance(command, cm.StartNode):
            assert gate.submit(facts_of(run, command, NOON))[0] is None
    gate.flush()
    scheduler.plan(NOON)
    return scheduler


def texts(rows: list[dict[str, Any]]) -> dict[str, str]:
    return {row["name"]: row["text"] for row in rows}


BIG = """
- name: main
  dag:
    tasks:
    - {name: a, template: big}
    - {name: b, template: big}
    - {name: c, template: leaf, depends: "a && b"}
    - {name: d, template: leaf, depends: c}
- name: big
  container: {image: x, command: [x], resources: {requests: {cpu: 1}}}
"""


def test_a_node_in_line_waits_for_what_the_scheduler_says() -> None:
    run, commands = begun(BIG)

    rows = explain_run(run, queued(run, commands), NOON)

    assert texts(rows)["wf.b"] == "needs 1 cpu, the machine has 0 cpu free"
    (row,) = [row for row in rows if row["name"] == "wf.b"]
    assert row["node"] == run.node_id("wf.b")
    assert row["phase"] == "Pending"
    assert row["data"] == {"type": "NoCapacity", "resource": "cpu", "asked": 1000, "free": 0}


def test_a_workflow_that_waits_as_a_whole_is_called_by_its_name() -> None:
    text = flow(BIG).replace(
        "metadata: {name: wf}",
        "metadata: {name: wf, annotations: {kueue.k8s.io/max-resources: cpu=2}}",
    )
    run = load(text)
    step(run, ev.RunStarted(at=NOON))
    scheduler = Scheduler(Resources(cpu=2000, pods=10))
    scheduler.adopt(Work(id=WorkId("x"), requests=Resources(cpu=1000)), NOON)

    rows = explain_run(run, queued(run, list(take_effects(run).commands), on=scheduler), NOON)

    assert texts(rows)["wf.a"] == (
        "workflow wf waits to be admitted as a whole: needs 2 cpu, the machine has 1 cpu free"
    )


def test_a_task_without_a_node_waits_for_what_it_depends_on() -> None:
    run, commands = begun(BIG)

    found = texts(explain_run(run, queued(run, commands), NOON))

    assert found["wf.c"] == "depends on a, b"
    assert found["wf.d"] == "depends on c"


def test_without_a_server_nodes_in_line_wait_for_one() -> None:
    run, _ = begun(BIG)

    assert "no server is running" in texts(explain_run(run, None, NOON))["wf.a"]


def test_a_workflow_that_never_began_waits_for_a_server() -> None:
    run = load(flow(BIG))

    assert "no server is running" in texts(explain_run(run, None, NOON))["wf"]


def test_a_pause_and_the_steps_behind_it_are_told_apart() -> None:
    steps = """
- name: main
  steps:
  - - {name: wait, template: pause}
  - - {name: after, template: leaf}
"""
    run, _ = begun(steps + PAUSE)

    found = texts(explain_run(run, None, NOON))

    assert found == {
        "wf[0].wait": "waits to be resumed: `tiphys resume wf` lets it go on",
        "wf[1].after": "depends on [0]",
    }


def test_a_lock_is_named_with_its_holder() -> None:
    main = """
- name: main
  synchronization: {mutexes: [{name: helm}]}
  container: {image: x, command: [x]}
"""
    run, commands = begun(main)
    (ask,) = [each for each in commands if isinstance(each, cm.AcquireLocks)]
    key = ask.locks[0].key
    locks = LockTable()
    locks.acquire(("other", ""), (LockName(key=key),), priority=0, created_at=0.0)
    step(run, ev.LocksAwaited(at=NOON, holder=ask.holder, lock=key, message=f"Waiting for {key}"))

    rows = explain_run(run, None, NOON, holders=lock_holders(locks, {}))

    assert texts(rows)["wf"] == f"lock {key} is held by other"


def test_steps_that_only_the_suspension_holds_back_say_so() -> None:
    steps = """
- name: main
  steps:
  - - {name: a, template: leaf}
  - - {name: b, template: leaf}
  - - {name: c, template: leaf}
"""
    run, commands = begun(steps)
    (start,) = (each for each in commands if isinstance(each, cm.StartNode))
    suspended = "workflow wf is suspended: `tiphys resume wf` lets it go on"

    step(run, ev.RunSuspended(at=NOON))
    ended = ev.NodeEnded(at=NOON, node=start.node, attempt=start.attempt, phase="Succeeded")
    step(run, ended)

    assert texts(explain_run(run, None, NOON)) == {
        "wf": suspended,
        "wf[1].b": suspended,
        "wf[2].c": "depends on [1]",
    }


def test_a_suspended_workflow_that_waits_for_a_lock_says_both() -> None:
    run, _ = begun(BIG, spec="synchronization: {mutexes: [{name: helm}]}")
    step(run, ev.LocksAwaited(at=NOON, lock="default/Mutex/helm", message=_AWAITED))
    step(run, ev.RunSuspended(at=NOON))

    rows = [row["text"] for row in explain_run(run, None, NOON)]

    assert [text.partition(" ")[0] for text in rows] == ["lock", "workflow"], rows


_AWAITED = "Waiting for default/Mutex/helm lock. Lock status: 0/1"


def test_a_suspended_workflow_says_how_to_go_on() -> None:
    run, _ = begun(BIG, spec="suspend: true")

    assert "`tiphys resume wf`" in texts(explain_run(run, None, NOON))["wf"]


def test_tasks_that_parallelism_holds_back_say_so() -> None:
    run, commands = begun(BIG, spec="parallelism: 1")

    found = texts(explain_run(run, queued(run, commands), NOON))

    assert found["wf.b"] == "as many nodes run as parallelism allows (1)"


def test_a_large_fan_out_is_cut_short_with_a_count() -> None:
    main = """
- name: main
  steps:
  - - {name: many, template: leaf, withSequence: {count: "30"}}
"""
    run, _ = begun(main)

    rows = explain_run(run, None, NOON, most=10)

    assert len(rows) == 11
    assert rows[-1]["more"] == 20


def test_nothing_of_a_workflow_that_has_ended_waits() -> None:
    run, _ = begun(BIG)
    run.phase = "Failed"

    assert explain_run(run, None, NOON) == []
