"""A workflow is submitted once more: what its copy carries, and what a memoized one takes over."""

from __future__ import annotations

import msgspec
import pytest

from tiphys.core.name import node_id
from tiphys.engine.again import reopen
from tiphys.engine.lifecycle import begin
from tiphys.engine.node import NodeType, Phase
from tiphys.engine.resubmit import ORIGIN_LABEL, Memoized, override_parameters, plan_resubmit
from tiphys.errors import ConflictError
from tiphys.spec import model
from tiphys.spec.merge import resolve_spec
from tiphys.testing.flow import ERROR, FAIL, READY, cast, finished
from tiphys.testing.harness import Harness, Outcome

replace = msgspec.structs.replace
PREFIX = "workflows.argoproj.io/"
LATER = 1000.0


def workflow(**meta: object) -> model.Workflow:
    return model.Workflow(
        metadata=model.ObjectMeta(name="old", **meta),  # type: ignore[arg-type]
        spec=model.WorkflowSpec(
            entrypoint="main",
            shutdown="Terminate",
            active_deadline_seconds=0,
            arguments=model.Arguments(
                parameters=(
                    model.Parameter(name="a", value="1"),
                    model.Parameter(name="b", value="2"),
                )
            ),
        ),
        status={"phase": "Failed"},
    )


def again(harness: Harness, outcomes: dict[str, Outcome] | None = None) -> Harness:
    """Run a memoized copy of an ended run to its end, with good outcomes."""
    old = harness.run
    memoized = Memoized(
        nodes=old.nodes.values(), phase=old.phase, suffix="x7k2p", now=harness.now + LATER
    )
    made, nodes = plan_resubmit(old.workflow, memoized=memoized)
    spec = resolve_spec(made, old.library)
    run = begin(made, spec, old.library, uid="other", created_at=harness.now + LATER)
    reopen(run, nodes, now=harness.now + LATER)
    copy = Harness(run, cast(outcomes or {}))
    copy.now = harness.now + LATER
    copy.finish()
    assert {node.name for node in run.nodes.values() if not node.ended} == set()
    assert {p for node in run.nodes.values() for p in node.ours.parents} <= set(run.nodes)
    return copy


# --- the workflow ----------------------------------------------------------------------------


def test_a_copy_gets_a_name_of_its_own_made_of_the_old_one() -> None:
    made, nodes = plan_resubmit(workflow())

    assert (made.metadata.name, made.metadata.generate_name, nodes) == ("", "old-", ())


def test_a_copy_of_a_generated_name_keeps_its_prefix() -> None:
    made, _ = plan_resubmit(workflow(generate_name="hello-"))

    assert made.metadata.generate_name == "hello-"


def test_a_copy_carries_the_users_labels_and_tells_where_it_comes_from() -> None:
    labels = {
        "team": "blue",
        f"{PREFIX}phase": "Failed",
        f"{PREFIX}completed": "true",
        f"{PREFIX}creator": "somebody",
        f"{PREFIX}workflow-template": "kept",
    }

    made, _ = plan_resubmit(workflow(labels=labels, annotations={"note": "x"}, uid="1"))

    assert made.metadata.labels == {
        "team": "blue",
        f"{PREFIX}workflow-template": "kept",
        ORIGIN_LABEL: "old",
    }
    assert made.metadata.annotations == {"note": "x"}
    assert made.metadata.uid == ""


def test_a_copy_knows_nothing_of_how_the_old_one_ended() -> None:
    made, _ = plan_resubmit(workflow())

    assert made.status is None
    assert made.spec.shutdown == ""
    assert made.spec.active_deadline_seconds is None
    assert made.spec.entrypoint == "main"


def test_parameters_are_overridden_and_added() -> None:
    made, _ = plan_resubmit(workflow(), parameters={"b": "two", "c": "3"})

    assert {p.name: p.value for p in made.spec.arguments.parameters} == {
        "a": "1",
        "b": "two",
        "c": "3",
    }


def test_no_parameters_change_nothing() -> None:
    given = workflow()

    assert override_parameters(given, {}) is given


@pytest.mark.parametrize("phase", ["", "Running", "Succeeded"])
def test_only_a_failed_run_can_be_taken_over(phase: str) -> None:
    with pytest.raises(ConflictError, match="Failed or Error"):
        plan_resubmit(workflow(), memoized=Memoized(nodes=(), phase=phase, suffix="a", now=0.0))


def test_a_long_name_is_cut_so_that_the_suffix_fits() -> None:
    given = replace(workflow(), metadata=model.ObjectMeta(name="n" * 63))

    made, _ = plan_resubmit(
        given, memoized=Memoized(nodes=(), phase="Failed", suffix="x7k2p", now=0.0)
    )

    assert made.metadata.name == "n" * 58 + "x7k2p"


# --- memoized --------------------------------------------------------------------------------

STEPS = """
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
  container: {image: x, command: [x]}
"""
MADE = Outcome(parameters={"p": "42"})


def test_pods_that_succeeded_are_taken_over_and_the_rest_runs() -> None:
    harness = finished(STEPS, {"a": MADE, "b": FAIL}, spec="onExit: leaf")

    copy = again(harness)

    taken = copy.node("wf-x7k2p[0].a")
    assert copy.started == ["wf-x7k2p[1].b", "wf-x7k2p.onExit"]
    assert copy.run.phase == "Succeeded"
    assert (taken.type, taken.phase) == (NodeType.SKIPPED, Phase.SKIPPED)
    assert taken.message == f"original pod: {harness.node('wf[0].a').id}"
    assert taken.started_at == taken.finished_at == harness.now + LATER


def test_the_outputs_of_a_pod_taken_over_are_still_there() -> None:
    copy = again(finished(STEPS, {"a": MADE, "b": FAIL}))

    inputs = copy.node("wf-x7k2p[1].b").inputs
    assert inputs is not None
    assert inputs.parameters[0].value == "42"


def test_ids_are_those_of_the_new_name() -> None:
    copy = again(finished(STEPS, {"a": MADE, "b": FAIL}))

    run = copy.run
    assert run.node_named("wf-x7k2p") is run.nodes["wf-x7k2p"]
    assert all(node.id == node_id("wf-x7k2p", node.name) for node in run.nodes.values())
    assert copy.node("wf-x7k2p").display_name == "wf-x7k2p"
    assert copy.node("wf-x7k2p[0].a").boundary_id == "wf-x7k2p"
    assert copy.node("wf-x7k2p[0].a").template_scope == "local/wf-x7k2p"


def test_attempts_are_numbered_from_one() -> None:
    copy = again(finished(STEPS, {"a": MADE, "b": FAIL}))

    assert copy.node("wf-x7k2p[1].b").ours.attempt == 1


def test_tasks_that_were_omitted_run_now() -> None:
    text = """
- name: main
  dag:
    tasks:
    - {name: a, template: leaf}
    - {name: b, template: leaf, dependencies: [a]}
    - {name: c, template: leaf, dependencies: [b]}
"""
    copy = again(finished(text, {"b": ERROR}))

    assert copy.started == ["wf-x7k2p.b", "wf-x7k2p.c"]
    assert copy.run.phase == "Succeeded"


def test_a_retried_leaf_that_failed_is_tried_from_its_first_attempt() -> None:
    text = """
- name: main
  steps:
  - - {name: good, template: try}
    - {name: bad, template: try}
- name: try
  retryStrategy: {limit: 1}
  container: {image: x, command: [x]}
"""
    harness = finished(text, {"good": [FAIL, Outcome()], "bad": FAIL})

    copy = again(harness)

    assert copy.started == ["wf-x7k2p[0].bad(0)"]
    assert copy.run.phase == "Succeeded"


def test_of_retried_steps_the_last_attempt_is_taken_over_as_the_first() -> None:
    text = """
- name: main
  retryStrategy: {limit: 1}
  steps:
  - - {name: a, template: leaf}
  - - {name: b, template: leaf}
"""
    copy = again(finished(text, {"b": FAIL}))

    assert copy.started == ["wf-x7k2p(0)[1].b"]
    assert copy.phases()["wf-x7k2p(0)[0].a"] == "Skipped"
    assert copy.run.node_named("wf-x7k2p(1)") is None
    assert copy.run.phase == "Succeeded"


def test_an_attempt_that_succeeded_is_taken_over_as_the_first() -> None:
    text = """
- name: main
  steps:
  - - {name: a, template: try}
  - - {name: b, template: leaf}
- name: try
  retryStrategy: {limit: 2}
  container: {image: x, command: [x]}
"""
    copy = again(finished(text, {"a": [FAIL, Outcome()], "b": FAIL}))

    taken = copy.node("wf-x7k2p[0].a(0)")
    assert (taken.phase, taken.display_name) == (Phase.SKIPPED, "a(0)")
    assert copy.run.node_named("wf-x7k2p[0].a(1)") is None
    assert copy.started == ["wf-x7k2p[1].b"]


def test_the_hook_of_a_pod_that_runs_again_runs_again() -> None:
    text = """
- name: main
  dag:
    tasks:
    - {name: good, template: leaf, onExit: bye}
    - {name: bad, template: leaf, onExit: bye}
- name: bye
  container: {image: x, command: [x]}
"""
    copy = again(finished(text, {"bad": FAIL}))

    assert copy.started == ["wf-x7k2p.bad", "wf-x7k2p.bad.onExit"]


def test_what_is_not_reached_yet_takes_up_no_room() -> None:
    text = """
- name: main
  parallelism: 1
  dag:
    tasks:
    - {name: a, template: leaf}
    - {name: b, template: two, depends: a.Failed}
    - {name: c, template: leaf, depends: b}
- name: two
  steps:
  - - {name: x, template: leaf}
"""
    copy = again(finished(text, {"a": FAIL, "c": FAIL}), {"a": FAIL})

    assert copy.started == ["wf-x7k2p.a", "wf-x7k2p.c"]
    assert copy.run.phase == "Succeeded"


def test_a_container_set_that_succeeded_keeps_its_containers() -> None:
    text = """
- name: main
  steps:
  - - {name: one, template: set}
  - - {name: two, template: leaf}
- name: set
  containerSet:
    containers:
    - {name: x, image: x, command: [x]}
"""
    copy = again(finished(text, {"two": FAIL}))

    assert copy.started == ["wf-x7k2p[1].two"]
    assert copy.phases()["wf-x7k2p[0].one.x"] == "Succeeded"


def test_daemons_and_pauses_begin_anew() -> None:
    text = """
- name: main
  steps:
  - - {name: server, template: serve}
    - {name: pause, template: wait}
  - - {name: work, template: leaf}
- name: serve
  daemon: true
  container: {image: x, command: [x]}
- {name: wait, suspend: {duration: 1s}}
"""
    copy = again(finished(text, {"server": READY, "work": FAIL}), {"server": READY})

    assert copy.started == ["wf-x7k2p[0].server", "wf-x7k2p[1].work"]
    assert copy.phases()["wf-x7k2p[0].pause"] == "Succeeded"


def test_what_was_taken_over_once_is_taken_over_again() -> None:
    first = again(finished(STEPS, {"a": MADE, "b": FAIL}), {"b": FAIL})
    assert first.run.phase == "Failed"

    second = again(first)

    name = second.run.name
    assert second.started == [f"{name}[1].b"]
    assert second.node(f"{name}[0].a").message == first.node("wf-x7k2p[0].a").message


def test_a_plan_leaves_the_old_run_as_it_was() -> None:
    harness = finished(STEPS, {"a": MADE, "b": FAIL})
    before = harness.phases()

    again(harness)

    assert harness.phases() == before
