"""A run that is over is tried again: what is kept, what runs once more, and how it then ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tiphys.engine.again import RetryPlan, plan_retry, reopen
from tiphys.engine.event import ContainerEnded, RunStopped, Shutdown
from tiphys.engine.lifecycle import begin
from tiphys.engine.node import NodeType, Phase
from tiphys.engine.run import Run
from tiphys.engine.selector import parse_selector
from tiphys.errors import ConflictError, InvalidInputError
from tiphys.spec.merge import resolve_spec
from tiphys.testing.flow import ERROR, FAIL, READY, cast, finished, flow
from tiphys.testing.harness import Harness, Outcome

LATER = 1000.0


def plan(harness: Harness, *, select: str = "") -> RetryPlan:
    return plan_retry(
        harness.run.nodes.values(),
        name="wf",
        phase=harness.run.phase,
        now=harness.now + LATER,
        restart_successful=bool(select),
        selector=parse_selector(select) if select else None,
    )


def fresh(run: Run) -> Run:
    made = begin(
        run.workflow,
        resolve_spec(run.workflow, run.library),
        run.library,
        uid=run.uid,
        created_at=run.created_at,
    )
    made.starts, made.outputs = run.starts, run.outputs
    return made


def retried(
    harness: Harness,
    outcomes: Mapping[str, Outcome | Sequence[Outcome]] | None = None,
    *,
    select: str = "",
) -> Harness:
    """Try a run again, this time with good outcomes; its whole story goes on to the end."""
    decided = plan(harness, select=select)
    run = fresh(harness.run)
    reopen(run, decided.kept, now=harness.now + LATER, reset=decided.reset, removed=decided.removed)
    again = Harness(run, cast(outcomes or {}))
    again.now = harness.now + LATER
    again.finish()
    assert_sound(again)
    return again


def assert_sound(harness: Harness) -> None:
    """Everything has ended, every edge leads somewhere, and nothing is counted twice."""
    run = harness.run
    assert run.ended
    assert {node.name for node in run.nodes.values() if not node.ended} == set()
    assert {p for node in run.nodes.values() for p in node.ours.parents} <= set(run.nodes)
    assert {c for children in run.children.values() for c in children} <= set(run.nodes)
    for node_id, children in run.children.items():
        assert len(children) == len(set(children)), run.nodes[node_id].name


def names(harness: Harness, ids: Sequence[str]) -> set[str]:
    return {harness.run.nodes[each].name for each in ids}


STEPS = """
- name: main
  steps:
  - - {name: a, template: leaf}
  - - {name: b, template: leaf}
    - {name: c, template: leaf}
  - - {name: d, template: leaf}
"""
DIAMOND = """
- name: main
  dag:
    tasks:
    - {name: a, template: leaf}
    - {name: b, template: leaf, dependencies: [a]}
    - {name: c, template: leaf, dependencies: [a]}
    - {name: d, template: leaf, dependencies: [b, c]}
"""


# --- steps and DAGs --------------------------------------------------------------------------


def test_a_failed_step_runs_again_and_what_succeeded_does_not() -> None:
    again = retried(finished(STEPS, {"b": FAIL}))

    assert again.run.phase == "Succeeded"
    assert again.started == ["wf[1].b", "wf[2].d"]


def test_the_nodes_around_a_failed_step_are_opened_and_the_step_is_gone() -> None:
    harness = finished(STEPS, {"b": FAIL})

    decided = plan(harness)

    kept = {node.name: node for node in decided.kept}
    assert names(harness, decided.reset) == {"wf", "wf[1]"}
    assert names(harness, decided.removed) == {"wf[1].b"}
    assert kept["wf[1]"].phase is Phase.RUNNING
    assert kept["wf"].phase is Phase.PENDING
    for name in ("wf", "wf[1]"):
        node = kept[name]
        assert (node.message, node.finished_at, node.outputs) == ("", None, None)
        assert node.started_at == harness.now + LATER
    assert kept["wf[1].c"].phase is Phase.SUCCEEDED


def test_a_plan_leaves_the_old_run_as_it_was() -> None:
    harness = finished(STEPS, {"b": FAIL})
    before = harness.phases()

    for node in plan(harness).kept:
        node.message = "changed"
        node.ours.attempt = 77

    assert harness.phases() == before
    assert {node.message for node in harness.run.nodes.values()}.isdisjoint({"changed"})
    assert all(node.ours.attempt != 77 for node in harness.run.nodes.values())


def test_attempts_get_numbers_that_were_never_used() -> None:
    harness = finished(STEPS, {"b": FAIL})
    used = {node.ours.attempt for node in harness.run.nodes.values()}

    again = retried(harness)

    assert again.node("wf[1].b").ours.attempt not in used
    assert again.node("wf[1].c").ours.attempt in used


def test_a_retried_run_ends_with_the_same_nodes_and_edges_as_one_that_went_well() -> None:
    good = finished(DIAMOND)

    again = retried(finished(DIAMOND, {"b": FAIL}))

    assert again.phases() == good.phases()
    assert {key: set(value) for key, value in again.run.children.items()} == {
        key: set(value) for key, value in good.run.children.items()
    }


def test_a_failed_task_runs_again_with_the_tasks_that_were_omitted_for_it() -> None:
    harness = finished(DIAMOND, {"b": FAIL})
    assert harness.phases()["wf.d"] == "Omitted"

    again = retried(harness)

    assert again.run.phase == "Succeeded"
    assert again.started == ["wf.b", "wf.d"]


def test_a_run_can_be_tried_again_and_again() -> None:
    once = retried(finished(DIAMOND, {"b": FAIL, "c": FAIL}), {"b": FAIL})
    assert once.run.phase == "Failed"

    twice = retried(once)

    assert (once.started, twice.started) == (["wf.b", "wf.c"], ["wf.b", "wf.d"])
    assert twice.run.phase == "Succeeded"


def test_only_the_way_to_the_failure_is_opened_in_nested_templates() -> None:
    nested = """
- name: main
  dag:
    tasks:
    - {name: left, template: inner}
    - {name: right, template: other}
    - {name: last, template: leaf, dependencies: [left, right]}
- name: inner
  steps:
  - - {name: one, template: leaf}
  - - {name: two, template: deep}
- name: other
  steps:
  - - {name: one, template: leaf}
- name: deep
  dag:
    tasks:
    - {name: x, template: leaf}
    - {name: v, template: leaf, dependencies: [x]}
"""
    harness = finished(nested, {"v": FAIL})

    decided = plan(harness)
    again = retried(harness)

    assert names(harness, decided.reset) == {"wf", "wf.left", "wf.left[1]", "wf.left[1].two"}
    assert again.started == ["wf.left[1].two.v", "wf.last"]
    assert again.run.phase == "Succeeded"


def test_a_failure_that_was_followed_by_success_is_dealt_with() -> None:
    flow_text = """
- name: main
  dag:
    tasks:
    - {name: a, template: leaf}
    - {name: rescue, template: leaf, depends: a.Failed}
    - {name: b, template: leaf}
"""
    again = retried(finished(flow_text, {"a": FAIL, "b": FAIL}))

    assert again.started == ["wf.b"]
    assert again.run.phase == "Succeeded"
    assert again.phases()["wf.a"] == "Failed"


def test_outputs_of_kept_nodes_reach_the_nodes_that_run_again() -> None:
    text = """
- name: main
  steps:
  - - {name: a, template: make}
  - - name: b
      template: use
      arguments: {parameters: [{name: x, value: "{{steps.a.outputs.parameters.p}}"}]}
- name: make
  container: {image: x, command: [x]}
  outputs: {parameters: [{name: p, valueFrom: {path: /p}}]}
- name: use
  inputs: {parameters: [{name: x}]}
  container: {image: x, command: [x], args: ["{{inputs.parameters.x}}"]}
"""
    again = retried(finished(text, {"a": Outcome(parameters={"p": "42"}), "b": FAIL}))

    inputs = again.node("wf[1].b").inputs
    assert again.started == ["wf[1].b"]
    assert inputs is not None
    assert inputs.parameters[0].value == "42"


def test_global_outputs_of_kept_nodes_are_known_to_the_run_that_goes_on() -> None:
    text = """
- name: main
  steps:
  - - {name: a, template: make}
  - - {name: b, template: use}
- name: make
  container: {image: x, command: [x]}
  outputs: {parameters: [{name: p, globalName: g, valueFrom: {path: /p}}]}
- name: use
  container: {image: x, command: [x], args: ["{{workflow.outputs.parameters.g}}"]}
"""
    seen = []
    harness = finished(text, {"a": Outcome(parameters={"p": "42"}), "b": FAIL})
    decided = plan(harness)
    run = fresh(harness.run)
    reopen(run, decided.kept, now=LATER, reset=decided.reset, removed=decided.removed)

    def play(_node: object, template: object) -> Outcome:
        seen.append(template.container.args)  # type: ignore[attr-defined]
        return Outcome()

    Harness(run, play).finish()

    assert seen == [("42",)]


# --- leaves of every kind --------------------------------------------------------------------


def test_a_single_failed_pod_runs_again_as_the_whole_run() -> None:
    again = retried(finished("- {name: main, container: {image: x, command: [x]}}", {"wf": FAIL}))

    assert (again.started, again.run.phase) == (["wf"], "Succeeded")


def test_a_node_that_could_not_start_is_tried_again() -> None:
    text = """
- name: main
  dag:
    tasks:
    - {name: a, template: leaf}
    - {name: b, template: broken, dependencies: [a]}
- name: broken
  inputs: {parameters: [{name: nobody-gives-it}]}
  container: {image: x, command: [x]}
"""
    harness = finished(text)
    assert (harness.node("wf.b").type, harness.run.phase) == (NodeType.SKIPPED, "Error")

    decided = plan(harness)

    assert names(harness, decided.removed) == {"wf.b"}
    assert names(harness, decided.reset) == {"wf"}


def test_steps_that_failed_by_themselves_are_opened_again() -> None:
    text = """
- name: main
  steps:
  - - {name: a, template: leaf}
  - - {name: b, template: leaf, when: "{{steps.a.status}} =="}
"""
    harness = finished(text)
    assert harness.run.phase == "Failed"

    decided = plan(harness)

    assert decided.removed == ()
    assert names(harness, decided.reset) == {"wf", "wf[1]"}


def test_a_pause_that_failed_is_waited_for_again() -> None:
    text = """
- name: main
  steps:
  - - {name: a, template: leaf}
  - - {name: gate, template: pause}
- {name: pause, suspend: {}}
"""
    harness = Harness(flow(text))
    harness.finish()
    harness.send(RunStopped(at=harness.now, strategy=Shutdown.TERMINATE))
    assert harness.phases()["wf[1].gate"] == "Failed"

    decided = plan(harness)

    assert names(harness, decided.removed) == {"wf[1].gate"}
    assert names(harness, decided.reset) == {"wf", "wf[1]"}


def test_a_dag_that_was_stopped_between_two_tasks_goes_on_with_the_next() -> None:
    chain = """
- name: main
  dag:
    tasks:
    - {name: a, template: leaf}
    - {name: b, template: leaf, dependencies: [a]}
"""
    harness = Harness(flow(chain))
    harness.start()
    harness.send(RunStopped(at=harness.now, strategy=Shutdown.STOP))
    harness.finish()
    assert harness.run.phase == "Failed"

    again = retried(harness)

    assert again.run.phase == "Succeeded"
    assert again.started == ["wf.a", "wf.b"]


SET = """
- name: main
  steps:
  - - {name: one, template: set}
  - - {name: two, template: leaf}
- name: set
  containerSet:
    containers:
    - {name: x, image: x, command: [x]}
    - {name: v, image: x, command: [x], dependencies: [x]}
"""


def test_a_container_set_runs_again_as_a_whole() -> None:
    ends = (ContainerEnded(name="x", phase="Succeeded"), ContainerEnded(name="v", phase="Failed"))
    harness = finished(SET, {"one": Outcome(phase="Failed", containers=ends)})

    decided = plan(harness)
    again = retried(harness)

    assert names(harness, decided.removed) == {"wf[0].one", "wf[0].one.x", "wf[0].one.v"}
    assert again.started == ["wf[0].one", "wf[1].two"]
    assert again.run.phase == "Succeeded"


def test_choosing_a_container_chooses_its_pod() -> None:
    harness = finished(SET)

    decided = plan(harness, select="displayName=v")

    assert "wf[0].one" in names(harness, decided.removed)
    assert "wf[1].two" in names(harness, decided.removed)


def test_a_daemon_is_started_again_for_what_it_serves() -> None:
    text = """
- name: main
  steps:
  - - {name: server, template: serve}
  - - {name: first, template: leaf}
  - - {name: second, template: leaf}
- name: serve
  daemon: true
  container: {image: x, command: [x]}
"""
    again = retried(finished(text, {"server": READY, "second": FAIL}), {"server": READY})

    assert again.started == ["wf[0].server", "wf[2].second"]
    assert again.run.phase == "Succeeded"


# --- loops -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "member"),
    [
        (
            """
- name: main
  steps:
  - - {name: each, template: leaf, withItems: [a, b, c]}
  - - {name: after, template: leaf}
""",
            "wf[0].each(1:b)",
        ),
        (
            """
- name: main
  dag:
    tasks:
    - {name: each, template: leaf, withItems: [a, b, c]}
    - {name: after, template: leaf, dependencies: [each]}
""",
            "wf.each(1:b)",
        ),
    ],
)
def test_only_the_failed_member_of_a_loop_runs_again(text: str, member: str) -> None:
    again = retried(finished(text, {"each(1:b)": FAIL}))

    assert again.started[0] == member
    assert [name.rpartition(".")[2] for name in again.started[1:]] == ["after"]
    assert again.run.phase == "Succeeded"


def test_choosing_one_member_of_a_loop_runs_it_and_what_followed_the_loop() -> None:
    text = """
- name: main
  dag:
    tasks:
    - {name: each, template: leaf, withItems: [a, b]}
    - {name: after, template: leaf, dependencies: [each]}
"""
    again = retried(finished(text), select="displayName=each(0:a)")

    assert again.started == ["wf.each(0:a)", "wf.after"]


# --- retries ---------------------------------------------------------------------------------

RETRIED = """
- name: main
  steps:
  - - {name: a, template: try}
  - - {name: b, template: leaf}
- name: try
  retryStrategy: {limit: 1}
  container: {image: x, command: [x]}
"""


def test_the_attempts_of_a_failed_leaf_are_counted_from_nothing() -> None:
    harness = finished(RETRIED, {"a": FAIL})
    assert harness.started == ["wf[0].a(0)", "wf[0].a(1)"]

    again = retried(harness, {"a": [FAIL, Outcome()]})

    assert again.started == ["wf[0].a(0)", "wf[0].a(1)", "wf[1].b"]
    assert again.run.phase == "Succeeded"


def test_an_attempt_that_failed_before_one_that_succeeded_stays() -> None:
    again = retried(finished(RETRIED, {"a": [FAIL, Outcome()], "b": FAIL}))

    assert again.started == ["wf[1].b"]
    assert again.phases()["wf[0].a(0)"] == "Failed"


def test_choosing_one_attempt_chooses_all_of_them() -> None:
    again = retried(finished(RETRIED, {"a": [FAIL, Outcome()]}), select="displayName=a(1)")

    assert again.started == ["wf[0].a(0)", "wf[1].b"]


RETRIED_STEPS = """
- name: main
  retryStrategy: {limit: 1}
  steps:
  - - {name: a, template: leaf}
  - - {name: b, template: leaf}
"""


def test_of_retried_steps_only_the_last_attempt_is_opened_again() -> None:
    harness = finished(RETRIED_STEPS, {"b": FAIL})
    assert harness.run.phase == "Failed"

    again = retried(harness)

    assert again.started == ["wf(1)[1].b"]
    assert again.run.phase == "Succeeded"
    assert again.phases()["wf(0)"] == "Failed"
    assert again.phases()["wf(1)"] == "Succeeded"


# --- hooks and exit handlers -----------------------------------------------------------------


def test_the_exit_handler_runs_again() -> None:
    harness = finished(STEPS, {"b": FAIL}, spec="onExit: leaf")

    again = retried(harness)

    assert again.started == ["wf[1].b", "wf[2].d", "wf.onExit"]
    assert again.run.phase == "Succeeded"


def test_an_exit_handler_that_failed_is_all_that_runs_again() -> None:
    harness = finished(STEPS, {"wf.onExit": FAIL}, spec="onExit: leaf")
    assert harness.run.phase == "Failed"

    again = retried(harness)

    assert again.started == ["wf.onExit"]
    assert again.run.phase == "Succeeded"


def test_an_exit_handler_alone_runs_again_once_the_runs_lock_is_granted() -> None:
    spec = """
onExit: leaf
synchronization: {mutexes: [{name: m}]}
"""
    harness = finished(
        "- {name: main, container: {image: x, command: [x]}}", {"wf.onExit": FAIL}, spec=spec
    )

    again = retried(harness)

    assert again.started == ["wf.onExit"]
    assert again.run.phase == "Succeeded"


HOOKED = """
- name: main
  steps:
  - - {name: a, template: leaf, onExit: bye}
  - - {name: b, template: leaf}
- name: bye
  container: {image: x, command: [x]}
"""


def test_a_hook_that_succeeded_does_not_hide_the_failure_of_its_node() -> None:
    again = retried(finished(HOOKED, {"a": FAIL}))

    assert again.started == ["wf[0].a", "wf[0].a.onExit", "wf[1].b"]
    assert again.run.phase == "Succeeded"


def test_a_hook_that_failed_runs_again_but_nothing_that_followed_its_node() -> None:
    harness = finished(HOOKED, {"a.onExit": FAIL, "b": FAIL})

    again = retried(harness)

    assert sorted(again.started) == ["wf[0].a.onExit", "wf[1].b"]
    assert again.run.phase == "Succeeded"


def test_the_hooks_of_steps_that_are_opened_again_run_again() -> None:
    text = """
- name: main
  dag:
    tasks:
    - {name: inner, template: two, onExit: bye}
- name: two
  steps:
  - - {name: a, template: leaf}
  - - {name: b, template: leaf}
- name: bye
  container: {image: x, command: [x]}
"""
    again = retried(finished(text, {"b": FAIL}))

    assert again.started == ["wf.inner[1].b", "wf.inner.onExit"]


# --- room --------------------------------------------------------------------------------------


def test_nodes_that_are_open_again_go_on_before_new_ones_want_their_room() -> None:
    text = """
- name: main
  parallelism: 1
  {kind}
- name: two
  steps:
  - - {{name: one, template: leaf}}
"""
    dag = """dag:
    failFast: false
    tasks:
    - {name: a, template: leaf}
    - {name: b, template: two}"""
    steps = """steps:
  - - {name: a, template: leaf}
    - {name: b, template: two}"""
    for kind in (dag, steps):
        again = retried(finished(text.format(kind=kind), {"a": FAIL, "one": FAIL}))

        assert again.run.phase == "Succeeded"
        assert sorted(name.rpartition(".")[2] for name in again.started) == ["a", "one"]


# --- locks -----------------------------------------------------------------------------------


def test_steps_with_a_lock_ask_for_it_again() -> None:
    text = """
- name: main
  synchronization: {mutexes: [{name: m}]}
  steps:
  - - {name: a, template: leaf}
"""
    harness = finished(text, {"a": FAIL})
    decided = plan(harness)
    run = fresh(harness.run)
    reopen(run, decided.kept, now=harness.now + LATER, reset=decided.reset)
    again = Harness(run)
    asked: list[str] = []
    again.observers.append(
        lambda _harness, effects: asked.extend(type(c).__name__ for c in effects.commands)
    )

    again.finish()

    assert asked.index("AcquireLocks") < asked.index("StartNode")
    assert run.phase == "Succeeded"


# --- what a person chooses -------------------------------------------------------------------


def test_a_chosen_task_runs_again_with_all_that_depends_on_it() -> None:
    again = retried(finished(DIAMOND), select="displayName=b")

    assert again.started == ["wf.b", "wf.d"]
    assert again.run.phase == "Succeeded"


def test_choosing_the_root_runs_everything_again() -> None:
    harness = finished(DIAMOND)

    assert plan(harness, select="name=wf").kept == ()
    assert retried(harness, select="name=wf").started == ["wf.a", "wf.b", "wf.c", "wf.d"]


def test_choosing_a_nested_template_runs_all_of_it_again() -> None:
    text = """
- name: main
  steps:
  - - {name: x, template: inner}
    - {name: v, template: leaf}
  - - {name: z, template: leaf}
- name: inner
  steps:
  - - {name: a, template: leaf}
"""
    again = retried(finished(text), select="templateName=inner,name=wf[0].x")

    assert again.started == ["wf[0].x[0].a", "wf[1].z"]


def test_what_failed_runs_again_along_with_what_is_chosen() -> None:
    text = """
- name: main
  dag:
    tasks:
    - {name: a, template: leaf}
    - {name: b, template: leaf}
    - {name: c, template: leaf}
"""
    again = retried(finished(text, {"c": ERROR}), select="displayName=a")

    assert again.started == ["wf.a", "wf.c"]


def test_a_selector_alone_chooses_nothing() -> None:
    harness = finished(DIAMOND, {"d": FAIL})

    decided = plan_retry(
        harness.run.nodes.values(),
        name="wf",
        phase="Failed",
        now=0.0,
        selector=parse_selector("displayName=a"),
    )

    assert names(harness, decided.removed) == {"wf.d"}


def test_a_run_that_succeeded_needs_a_selector() -> None:
    with pytest.raises(InvalidInputError, match="node field selector"):
        plan(finished(DIAMOND))


def test_a_selector_that_matches_nothing_of_a_run_that_succeeded_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="matches no node"):
        plan(finished(DIAMOND), select="displayName=nobody")


@pytest.mark.parametrize("phase", ["", "Pending", "Running"])
def test_a_run_that_is_not_over_cannot_be_tried_again(phase: str) -> None:
    with pytest.raises(ConflictError, match="cannot retry a workflow in phase"):
        plan_retry([], name="wf", phase=phase, now=0.0)


def test_reopening_says_what_must_be_stored() -> None:
    harness = finished(STEPS, {"b": FAIL})
    decided = plan(harness)
    run = fresh(harness.run)

    reopen(run, decided.kept, now=LATER, reset=decided.reset, removed=decided.removed)

    assert set(run.changed) == set(decided.reset)
    assert tuple(run.removed) == decided.removed
    assert run.header_changed
    assert run.nodes[run.node_id("wf[1]")].type is NodeType.STEP_GROUP
