"""Taking a run up again from what was stored, at every moment of its life."""

from __future__ import annotations

import pytest

from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import Effects
from tiphys.engine.node import Phase
from tiphys.testing.flow import FAIL, READY, cast, finished, flow
from tiphys.testing.harness import Harness, Outcome, Play, succeed

SLOW = Outcome(seconds=1000)
SHOW = """
- name: show
  inputs: {parameters: [{name: m}]}
  container: {image: x, command: [x]}
"""
CASES: dict[str, tuple[str, str, Play]] = {
    "steps": (
        """
- name: main
  steps:
  - [{name: a, template: leaf}, {name: b, template: leaf}]
  - [{name: c, template: leaf}]
""",
        "",
        cast({"a": Outcome(seconds=3)}),
    ),
    "a skipped step": (
        """
- name: main
  steps:
  - [{name: a, template: leaf}, {name: b, template: leaf, when: "false"}]
  - [{name: c, template: leaf}]
""",
        "",
        succeed,
    ),
    "a loop": (
        """
- name: main
  parallelism: 2
  steps:
  - [{name: a, template: leaf, withItems: [1, 2, 3], when: "{{item}} != 2"}]
  - [{name: c, template: leaf, withParam: "[]"}]
  - [{name: d, template: leaf}]
""",
        "",
        succeed,
    ),
    "a dag": (
        """
- name: main
  dag:
    tasks:
    - {name: a, template: leaf}
    - {name: b, template: leaf, depends: a.Failed}
    - {name: c, template: leaf, depends: a, withItems: [1, 2]}
    - {name: d, template: leaf, depends: b || c}
""",
        "",
        cast({"c(0:1)": Outcome(seconds=4)}),
    ),
    "outputs of a loop": (
        """
- name: main
  dag:
    tasks:
    - {name: a, template: leaf, withItems: [1, 2]}
    - name: b
      template: show
      depends: a
      arguments: {parameters: [{name: m, value: "{{tasks.a.outputs.result}}"}]}
"""
        + SHOW,
        "",
        cast({"leaf": Outcome(result="5"), "a(0:1)": Outcome(result="4", seconds=3)}),
    ),
    "retries": (
        """
- name: main
  dag:
    tasks:
    - {name: a, template: again}
    - {name: b, template: leaf, depends: a}
- name: again
  retryStrategy: {limit: 3, backoff: {duration: 5s}}
  container: {image: x, command: [x]}
""",
        "",
        cast({"a": [FAIL, FAIL, Outcome()]}),
    ),
    "hooks": (
        """
- name: main
  steps:
  - - name: a
      template: leaf
      hooks:
        run: {template: leaf, expression: 'steps.a.status == "Running"'}
        exit: {template: sub}
  - [{name: b, template: leaf}]
- name: sub
  steps: [[{name: x, template: leaf}]]
""",
        "",
        cast({"a": Outcome(seconds=3), "a.hooks.run": Outcome(seconds=7)}),
    ),
    "hooks of tasks": (
        """
- name: main
  dag:
    tasks:
    - name: a
      template: leaf
      withItems: [1, 2]
      hooks:
        run: {template: leaf, expression: 'tasks.a.status == "Running"'}
        exit: {template: leaf}
    - {name: b, template: leaf, depends: a}
""",
        "",
        cast({"a.hooks.run": Outcome(seconds=7)}),
    ),
    "an exit handler": (
        "- name: main\n  container: {image: x, command: [x]}",
        """
onExit: leaf
hooks: {run: {template: leaf, expression: 'workflow.status == "Running"'}}
""",
        cast({"wf.hooks.run": Outcome(seconds=5), "wf": FAIL}),
    ),
    "a pause": (
        """
- name: main
  steps:
  - [{name: a, template: pause}]
  - [{name: b, template: leaf}]
- {name: pause, suspend: {duration: 9s}}
""",
        "",
        succeed,
    ),
    "locks": (
        """
- name: main
  dag: {tasks: [{name: a, template: locked, withItems: [1, 2, 3]}]}
- name: locked
  synchronization: {mutexes: [{name: m}]}
  steps: [[{name: x, template: leaf}], [{name: z, template: leaf}]]
""",
        "",
        succeed,
    ),
    "memory": (
        """
- name: main
  steps:
  - [{name: a, template: known}]
  - [{name: b, template: known}]
- name: known
  memoize: {key: k, cache: {configMap: {name: c}}}
  container: {image: x, command: [x]}
""",
        "",
        succeed,
    ),
    "a daemon": (
        """
- name: main
  dag:
    tasks:
    - {name: a, template: server}
    - {name: b, template: leaf, depends: a}
    - {name: c, template: leaf, depends: b}
- {name: server, daemon: true, container: {image: x, command: [x]}}
""",
        "",
        cast({"a": READY}),
    ),
    "a retried daemon": (
        """
- name: main
  steps:
  - [{name: a, template: server}]
  - [{name: b, template: leaf}]
- name: server
  daemon: true
  retryStrategy: {limit: 1}
  container: {image: x, command: [x]}
""",
        "",
        cast({"a": [FAIL, READY]}),
    ),
    "a container set": (
        """
- name: main
  containerSet:
    containers: [{name: a, image: x}, {name: main, image: x, dependencies: [a]}]
""",
        "",
        succeed,
    ),
    "the deadline": (
        """
- name: main
  steps: [[{name: a, template: leaf}], [{name: b, template: leaf}]]
""",
        "activeDeadlineSeconds: 4",
        cast({"leaf": Outcome(seconds=3)}),
    ),
    "recursion and nesting": (
        """
- name: main
  steps:
  - [{name: a, template: leaf}]
  - [{name: m, template: main, when: "{{steps.a.outputs.result}} == more"}]
  - [{name: d, template: sub}]
- name: sub
  dag: {tasks: [{name: x, template: leaf}, {name: z, template: leaf, depends: x}]}
""",
        "parallelism: 1",
        lambda node, _: Outcome(result="more" if node.name.count(".m") < 2 else "enough"),
    ),
    "global outputs": (
        """
- name: main
  steps:
  - [{name: a, template: give}]
  - - name: b
      template: show
      arguments: {parameters: [{name: m, value: "{{workflow.outputs.parameters.all}}"}]}
- name: give
  outputs: {parameters: [{name: p, globalName: all, valueFrom: {path: /p}}]}
  container: {image: x, command: [x]}
"""
        + SHOW,
        "",
        cast({"a": Outcome(parameters={"p": "7"})}),
    ),
    "a step beside one that cannot be executed": (
        """
- name: main
  dag: {tasks: [{name: a, template: sub}, {name: b, template: leaf}]}
- name: sub
  steps:
  - [{name: w, template: leaf}]
  - [{name: x, template: locked}, {name: broken, template: takes}]
- name: takes
  inputs: {parameters: [{name: nothing}]}
  container: {image: x, command: [x]}
- name: locked
  synchronization: {mutexes: [{name: m}]}
  container: {image: x, command: [x]}
""",
        "onExit: locked",
        cast({"x": Outcome(seconds=7), "b": Outcome(seconds=3)}),
    ),
    "a failure": (
        """
- name: main
  failFast: true
  parallelism: 1
  dag: {tasks: [{name: a, template: leaf, withItems: [1, 2, 3]}]}
""",
        "",
        cast({"a(1:2)": FAIL}),
    ),
}


def state(harness: Harness) -> dict[str, object]:
    """Give all that must not depend on restarts."""
    found: dict[str, object] = {
        node.name: (
            str(node.phase),
            node.message,
            node.started_at,
            node.finished_at,
            node.inputs,
            node.outputs,
            sorted(harness.run.children.get(node.id, [])),
        )
        for node in harness.run.nodes.values()
    }
    return found | {"": (harness.run.phase, harness.run.message, harness.run.finished_at)}


@pytest.mark.parametrize("case", CASES)
def test_a_run_goes_on_as_if_nothing_had_happened_whenever_it_is_taken_up(case: str) -> None:
    templates, spec, play = CASES[case]
    text = flow(templates, spec=spec)
    undisturbed = Harness(text, play)
    undisturbed.finish()

    moments = len(undisturbed.history)
    for moment in range(moments):
        harness = Harness(text, play).start()
        for _ in range(moment):
            harness.advance()
        if harness.run.ended:
            break
        harness.take_up()
        harness.finish()
        assert state(harness) == state(undisturbed), f"taken up at moment {moment}"
        assert sorted(harness.started) == sorted(undisturbed.started)


@pytest.mark.parametrize("case", CASES)
def test_a_run_may_be_taken_up_at_every_moment(case: str) -> None:
    templates, spec, play = CASES[case]
    text = flow(templates, spec=spec)
    undisturbed = Harness(text, play)
    undisturbed.finish()

    harness = Harness(text, play).start()
    while not harness.run.ended:
        harness.take_up()
        if not harness.advance():
            break

    assert state(harness) == state(undisturbed)
    assert sorted(harness.started) == sorted(undisturbed.started)


def test_what_may_have_been_started_is_asked_for_again_as_such() -> None:
    templates, spec, play = CASES["steps"]
    harness = Harness(flow(templates, spec=spec), play).start()
    asked: list[cm.StartNode] = []

    def note(_: Harness, effects: Effects) -> None:
        asked.extend(c for c in effects.commands if isinstance(c, cm.StartNode))

    harness.observers.append(note)
    harness.take_up()

    assert [(each.node, each.attempt, each.again) for each in asked] == [
        (harness.node("wf[0].a").id, 1, True),
        (harness.node("wf[0].b").id, 2, True),
    ]


def test_a_run_that_is_over_stays_over() -> None:
    harness = finished("- name: main\n  container: {image: x, command: [x]}")

    run = harness.take_up()

    assert run.phase == "Succeeded"
    assert harness.started == ["wf"]
    assert not harness.advance()


def test_a_run_that_has_not_begun_begins_afterwards() -> None:
    harness = Harness(flow("- name: main\n  container: {image: x, command: [x]}"))

    harness.take_up()
    harness.finish()

    assert harness.run.phase == "Succeeded"


def test_a_suspended_run_stays_suspended() -> None:
    templates, spec, play = CASES["steps"]
    harness = Harness(flow(templates, spec=spec), play).start()
    harness.send(ev.RunSuspended(at=harness.now))

    harness.take_up()
    harness.finish()
    assert harness.started == ["wf[0].a", "wf[0].b"]
    harness.send(ev.RunResumed(at=harness.now))
    harness.finish()

    assert harness.run.phase == "Succeeded"


def test_a_run_that_waits_for_its_lock_asks_for_it_again() -> None:
    text = flow(
        "- name: main\n  container: {image: x, command: [x]}",
        spec="synchronization: {mutexes: [{name: m}]}",
    )
    harness = Harness(text)
    harness.send(ev.LocksAwaited(at=harness.now, lock="default/Mutex/m", message="Waiting"))

    harness.take_up()
    harness.finish()

    assert harness.run.phase == "Succeeded"


def test_a_task_that_was_let_in_is_heard_before_the_deadline_ends_it() -> None:
    leaf = "- name: main\n  container: {image: x, command: [x]}"
    harness = Harness(flow(leaf, spec="activeDeadlineSeconds: 60"), cast({"wf": SLOW})).start()
    harness.now += 100

    harness.take_up()
    node = harness.node("wf")
    harness.send(ev.NodeEnded(at=harness.now, node=node.id, attempt=1, phase="Succeeded"))

    assert harness.node("wf").phase is Phase.SUCCEEDED
    assert harness.run.phase == "Succeeded"


def test_a_task_that_was_not_let_in_before_the_deadline_does_not_begin_after_it() -> None:
    leaf = "- name: main\n  container: {image: x, command: [x]}"
    harness = Harness(flow(leaf, spec="activeDeadlineSeconds: 60"), slots=0).start()
    harness.now += 100

    harness.take_up()

    assert harness.node("wf").message == "Step exceeded its deadline"
    assert harness.started == []


def test_two_tasks_whose_names_share_a_hash_are_two_nodes_also_when_taken_up() -> None:
    templates = """
    - name: main
      dag:
        tasks:
        - {name: fkmswz, template: leaf}
        - {name: cazztr, template: leaf}
        - {name: after, template: leaf, depends: fkmswz && cazztr}
    """
    harness = Harness(flow(templates)).start()

    harness.take_up()
    harness.finish()

    first, second = harness.node("wf.fkmswz"), harness.node("wf.cazztr")
    assert first.id == "wf-1118406624"
    assert second.id != first.id
    assert first.phase is second.phase is Phase.SUCCEEDED
    assert len(harness.started) == 3
    assert harness.run.phase == "Succeeded"
