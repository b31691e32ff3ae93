"""Hooks and the exit handler of the whole workflow."""

from __future__ import annotations

import json

import pytest

from tiphys.engine import event as ev
from tiphys.engine.node import Phase
from tiphys.testing.flow import ERROR, FAIL, cast, finished, flow
from tiphys.testing.harness import Harness, Outcome

LEAF = """
- name: main
  container: {image: x, command: [x]}
- name: bye
  inputs: {parameters: [{name: m, value: "{{workflow.status}}"}]}
  container: {image: x, command: [x]}
"""


def said(harness: Harness) -> str | None:
    inputs = harness.node("wf.onExit").inputs
    assert inputs is not None
    return inputs.parameters[0].value


@pytest.mark.parametrize("outcome", [Outcome(), FAIL, ERROR])
@pytest.mark.parametrize("spec", ["onExit: bye", "hooks: {exit: {template: bye}}"])
def test_the_exit_handler_runs_however_the_workflow_went_and_knows_it(
    outcome: Outcome, spec: str
) -> None:
    harness = finished(LEAF, {"wf": outcome}, spec=spec)

    handler = harness.node("wf.onExit")
    assert handler.phase is Phase.SUCCEEDED
    assert handler.node_flag is not None
    assert handler.node_flag.hooked
    assert handler.boundary_id == ""
    assert said(harness) == outcome.phase
    assert harness.run.phase == outcome.phase
    assert harness.run.message == outcome.message


def test_the_exit_handler_is_nobodys_child() -> None:
    harness = finished(LEAF, spec="onExit: bye")

    assert harness.run.children.get("wf", []) == []


@pytest.mark.parametrize("outcome", [FAIL, ERROR])
def test_an_exit_handler_that_goes_wrong_spoils_a_success(outcome: Outcome) -> None:
    harness = finished(LEAF, {"bye": outcome}, spec="onExit: bye")

    assert harness.node("wf").phase is Phase.SUCCEEDED
    assert (harness.run.phase, harness.run.message) == (outcome.phase, outcome.message)


def test_an_exit_handler_that_goes_wrong_does_not_hide_a_failure() -> None:
    harness = finished(LEAF, {"wf": FAIL, "bye": ERROR}, spec="onExit: bye")

    assert (harness.run.phase, harness.run.message) == ("Failed", FAIL.message)


def test_an_exit_handler_that_does_not_exist_is_an_error() -> None:
    harness = finished(LEAF, spec="onExit: nobody")

    assert harness.run.phase == "Error"
    assert harness.run.message.startswith("error in exit template execution : ")


def test_the_exit_handler_sees_what_failed() -> None:
    templates = """
    - name: main
      steps:
      - [{name: a, template: leaf}]
    - name: bye
      inputs: {parameters: [{name: m, value: "{{workflow.failures}}"}]}
      container: {image: x, command: [x]}
    """
    harness = finished(templates, {"leaf": FAIL}, spec="onExit: bye")

    failures = json.loads(json.loads(said(harness) or ""))
    names = {each["displayName"] for each in failures}
    assert names == {"wf", "[0]", "a"}
    leaf = next(each for each in failures if each["displayName"] == "a")
    assert (leaf["phase"], leaf["message"], leaf["templateName"]) == (
        "Failed",
        FAIL.message,
        "leaf",
    )


def test_the_exit_handler_gets_the_arguments_of_the_workflow_in_the_older_form() -> None:
    harness = finished(LEAF, spec="onExit: bye\narguments: {parameters: [{name: m, value: mine}]}")

    assert said(harness) == "mine"


def test_the_exit_handler_of_a_hook_has_arguments_of_its_own() -> None:
    harness = finished(
        LEAF,
        spec="""
        hooks:
          exit:
            template: bye
            arguments: {parameters: [{name: m, value: "it {{workflow.status}}"}]}
        """,
    )

    assert said(harness) == "it Succeeded"


def test_the_exit_handler_may_be_a_whole_template_and_its_steps_be_retried() -> None:
    harness = finished(
        """
    - name: main
      container: {image: x, command: [x]}
    - name: bye
      steps:
      - [{name: one, template: again}]
      - [{name: two, template: leaf}]
    - name: again
      retryStrategy: {limit: 1}
      container: {image: x, command: [x]}
    """,
        {"one": [FAIL, Outcome()]},
        spec="onExit: bye",
    )

    assert harness.started == [
        "wf",
        "wf.onExit[0].one(0)",
        "wf.onExit[0].one(1)",
        "wf.onExit[1].two",
    ]
    assert harness.run.phase == "Succeeded"


def test_a_hook_of_the_workflow_runs_with_its_status() -> None:
    spec = """
    hooks:
      run: {template: leaf, expression: 'workflow.status == "Running"'}
      ok: {template: leaf, expression: 'workflow.status == "Succeeded"'}
      bad: {template: leaf, expression: 'workflow.status == "Failed"'}
    """
    harness = finished(LEAF, spec=spec)

    assert harness.started == ["wf", "wf.hooks.run", "wf.hooks.ok"]
    assert harness.run.children["wf"] == [
        harness.node("wf.hooks.run").id,
        harness.node("wf.hooks.ok").id,
    ]
    assert harness.run.phase == "Succeeded"


def test_the_workflow_waits_for_its_hooks_but_not_for_their_success() -> None:
    spec = """
    hooks: {run: {template: slow, expression: 'workflow.status == "Running"'}}
    """
    templates = LEAF + "- name: slow\n  container: {image: x, command: [x]}\n"
    harness = finished(templates, {"slow": Outcome(phase="Failed", seconds=60)}, spec=spec)

    assert harness.run.phase == "Succeeded"
    assert harness.run.finished_at == harness.run.created_at + 60


def test_the_exit_handler_waits_for_the_hooks() -> None:
    spec = """
    onExit: bye
    hooks: {run: {template: slow, expression: 'workflow.status == "Running"'}}
    """
    templates = LEAF + "- name: slow\n  container: {image: x, command: [x]}\n"
    harness = finished(templates, {"slow": Outcome(seconds=60)}, spec=spec)

    assert harness.node("wf.onExit").started_at == harness.run.created_at + 60


@pytest.mark.parametrize("hook", ["{template: leaf}", "{template: leaf, expression: '1 +'}"])
def test_a_hook_of_the_workflow_that_is_broken_is_an_error(hook: str) -> None:
    harness = finished(LEAF, spec=f"hooks: {{run: {hook}}}")

    assert harness.run.phase == "Error"


def test_on_stop_the_exit_handler_runs_and_on_terminate_it_does_not() -> None:
    for strategy, runs in ((ev.Shutdown.STOP, True), (ev.Shutdown.TERMINATE, False)):
        harness = Harness(flow(LEAF, spec="onExit: bye"), cast({"wf": Outcome(seconds=99)})).start()
        harness.advance()
        harness.send(ev.RunStopped(at=harness.now, strategy=strategy))
        harness.finish()

        assert ("wf.onExit" in harness.phases()) is runs
        assert harness.run.phase == "Failed"
        assert harness.run.message == f"Stopped with strategy '{strategy}'"


def test_the_exit_handler_runs_after_the_deadline_and_is_not_subject_to_it() -> None:
    harness = finished(
        LEAF,
        {"wf": Outcome(seconds=99), "bye": Outcome(seconds=50)},
        spec="onExit: bye\nactiveDeadlineSeconds: 10",
    )

    assert harness.node("wf").message == "Step exceeded its deadline"
    assert harness.node("wf.onExit").phase is Phase.SUCCEEDED
    assert harness.run.phase == "Failed"
    assert harness.run.finished_at == harness.run.created_at + 60


def test_an_exit_handler_that_runs_is_ended_by_terminate() -> None:
    harness = Harness(flow(LEAF, spec="onExit: bye"), cast({"bye": Outcome(seconds=99)})).start()
    while "wf.onExit" not in harness.started:
        harness.advance()
    harness.advance()

    harness.send(ev.RunStopped(at=harness.now, strategy=ev.Shutdown.TERMINATE))
    harness.finish()

    assert harness.node("wf.onExit").phase is Phase.FAILED
    assert harness.run.phase == "Failed"
