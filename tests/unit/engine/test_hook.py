"""Hooks and exit handlers of steps and tasks."""

from __future__ import annotations

import pytest

from tiphys.engine import event as ev
from tiphys.engine.node import Phase
from tiphys.testing.flow import ERROR, FAIL, cast, finished, flow
from tiphys.testing.harness import Harness, Outcome

SHOW = """
- name: show
  inputs: {parameters: [{name: m}]}
  container: {image: x, command: [x]}
"""


def steps(hooks: str, *, more: str = "") -> str:
    return f"""
- name: main
  steps:
  - [{{name: a, template: leaf, hooks: {hooks}{more}}}]
  - [{{name: b, template: leaf}}]
{SHOW}"""


def dag(hooks: str, *, more: str = "") -> str:
    return f"""
- name: main
  dag:
    tasks:
    - {{name: a, template: leaf, hooks: {hooks}{more}}}
    - {{name: b, template: leaf, depends: a}}
{SHOW}"""


def shown(harness: Harness, name: str) -> str | None:
    inputs = harness.node(name).inputs
    assert inputs is not None
    return inputs.parameters[0].value


def test_a_hook_runs_when_its_expression_becomes_true_and_is_waited_for() -> None:
    templates = steps("""{run: {template: leaf, expression: 'steps.a.status == "Running"'}}""")
    harness = finished(templates, {"a.hooks.run": Outcome(seconds=9)})

    hook = harness.node("wf[0].a.hooks.run")
    assert hook.phase is Phase.SUCCEEDED
    assert hook.node_flag is not None
    assert hook.node_flag.hooked
    assert hook.boundary_id == "wf"
    assert harness.run.children[harness.node("wf[0].a").id][0] == hook.id
    assert harness.node("wf[1].b").started_at == harness.run.created_at + 9


def test_a_hook_of_a_task_is_waited_for_by_its_dependants() -> None:
    templates = dag("""{ok: {template: leaf, expression: 'tasks.a.status == "Succeeded"'}}""")
    harness = finished(templates, {"a.hooks.ok": Outcome(seconds=9)})

    assert harness.node("wf.b").started_at == harness.run.created_at + 10


@pytest.mark.parametrize(("outcome", "runs"), [(Outcome(), False), (FAIL, True)])
def test_a_hook_whose_expression_stays_false_never_runs(outcome: Outcome, runs: bool) -> None:
    templates = steps("""{bad: {template: leaf, expression: 'steps.a.status == "Failed"'}}""")
    harness = finished(templates, {"a": outcome})

    assert ("wf[0].a.hooks.bad" in harness.phases()) is runs
    assert harness.run.phase == outcome.phase


def test_a_hook_runs_once() -> None:
    templates = steps("""{any: {template: leaf, expression: "true"}}""")
    harness = finished(templates, {"a": Outcome(seconds=9)})

    assert harness.started.count("wf[0].a.hooks.any") == 1


def test_a_hook_that_fails_does_not_change_the_outcome() -> None:
    templates = """{any: {template: leaf, expression: "true"}, exit: {template: leaf}}"""
    outcomes = {"a.hooks.any": FAIL, "a.onExit": ERROR}

    for text in (steps(templates), dag(templates)):
        harness = finished(text, outcomes)
        assert harness.run.phase == "Succeeded"
        assert harness.started[-1].endswith("b")


def test_a_hook_without_an_expression_is_an_error() -> None:
    harness = finished(steps("{any: {template: leaf}}"))

    assert harness.run.ended
    assert harness.run.phase == "Failed"
    assert "Expression required for hook" in harness.node("wf[0]").message


def test_a_broken_expression_ends_the_run_rather_than_hanging() -> None:
    for templates in (steps, dag):
        harness = finished(templates("{any: {template: leaf, expression: '1 +'}}"))
        assert harness.run.phase in {"Failed", "Error"}


def test_a_hook_gets_the_outputs_of_its_step() -> None:
    harness = finished(
        steps(
            """{ok: {template: show, expression: 'steps.a.status == "Succeeded"',
            arguments: {parameters: [{name: m, value: "{{steps.a.outputs.parameters.x}}"}]}}}"""
        ),
        {"a": Outcome(parameters={"x": "7"})},
    )

    assert shown(harness, "wf[0].a.hooks.ok") == "7"


def test_a_skipped_step_has_no_hooks() -> None:
    harness = finished(
        steps("""{any: {template: leaf, expression: "true"}}""", more=', when: "false"')
    )

    assert harness.started == ["wf[1].b"]
    assert "wf[0].a.hooks.any" not in harness.phases()


def test_an_exit_handler_runs_when_its_step_completed_and_is_waited_for() -> None:
    harness = finished(steps("{exit: {template: leaf}}"), {"a.onExit": Outcome(seconds=9)})

    handler = harness.node("wf[0].a.onExit")
    assert handler.phase is Phase.SUCCEEDED
    assert handler.node_flag is not None
    assert handler.node_flag.hooked
    assert harness.node("wf[1].b").started_at == harness.run.created_at + 10


def test_an_exit_handler_runs_after_a_failure_and_an_error_but_not_when_skipped() -> None:
    for templates in (steps, dag):
        text = templates("{exit: {template: leaf}}")
        for outcome in (FAIL, ERROR):
            harness = finished(text, {"a": outcome})
            assert any(name.endswith("a.onExit") for name in harness.started)
        skipped = finished(templates("{exit: {template: leaf}}", more=', when: "false"'))
        assert not any(name.endswith("onExit") for name in skipped.started)


def test_the_older_field_gives_the_handler_the_arguments_of_the_workflow() -> None:
    harness = finished(
        f"""
- name: main
  steps:
  - [{{name: a, template: leaf, onExit: show}}]
{SHOW}""",
        spec="arguments: {parameters: [{name: m, value: hello}]}",
    )

    assert shown(harness, "wf[0].a.onExit") == "hello"


def test_an_exit_handler_may_have_a_condition() -> None:
    text = steps("""{exit: {template: leaf, expression: 'steps.a.status == "Failed"'}}""")

    assert "wf[0].a.onExit" not in finished(text).phases()
    assert "wf[0].a.onExit" in finished(text, {"a": FAIL}).phases()


def test_an_exit_handler_gets_outputs_and_status_of_its_task() -> None:
    harness = finished(
        dag(
            """{exit: {template: show, arguments: {parameters:
            [{name: m, value: "{{tasks.a.status}} {{tasks.a.outputs.parameters.x}}"}]}}}"""
        ),
        {"a": Outcome(parameters={"x": "7"})},
    )

    assert shown(harness, "wf.a.onExit") == "Succeeded 7"


def test_an_exit_handler_of_a_retried_step_runs_once_after_the_last_attempt() -> None:
    text = steps("{exit: {template: leaf}}").replace("template: leaf, hooks", "template: r, hooks")
    text += "\n- name: r\n  retryStrategy: {limit: 1}\n  container: {image: x, command: [x]}\n"
    harness = finished(text, {"a": [FAIL, Outcome()]})

    assert harness.started == ["wf[0].a(0)", "wf[0].a(1)", "wf[0].a.onExit", "wf[1].b"]
    assert harness.run.phase == "Succeeded"


def test_each_item_of_a_loop_in_steps_has_its_exit_handler() -> None:
    harness = finished(steps("{exit: {template: leaf}}", more=", withItems: [1, 2]"))

    assert harness.node("wf[0].a(0:1).onExit").phase is Phase.SUCCEEDED
    assert harness.node("wf[0].a(1:2).onExit").phase is Phase.SUCCEEDED


def test_each_item_of_a_loop_in_a_dag_and_the_loop_itself_have_their_exit_handler() -> None:
    harness = finished(dag("{exit: {template: leaf}}", more=", withItems: [1, 2]"))

    handlers = [name for name in harness.started if name.endswith("onExit")]
    assert handlers == ["wf.a(0:1).onExit", "wf.a(1:2).onExit", "wf.a.onExit"]
    assert harness.run.phase == "Succeeded"


def test_the_hooks_of_a_loop_in_a_dag_belong_to_the_loop_not_to_its_items() -> None:
    templates = dag(
        """{run: {template: leaf, expression: 'tasks.a.status == "Running"'}}""",
        more=", withItems: [1, 2]",
    )
    harness = finished(templates, {"a(0:1)": Outcome(seconds=5)})

    hooks = [name for name in harness.started if ".hooks." in name]
    assert hooks == ["wf.a.hooks.run"]


def test_an_exit_handler_that_cannot_be_executed_ends_the_group() -> None:
    harness = finished(steps("{exit: {template: show}}"))

    assert harness.node("wf[0].a.onExit").phase is Phase.ERROR
    assert harness.node("wf[0]").phase is Phase.ERROR
    assert harness.run.phase == "Failed"


def test_an_exit_handler_that_cannot_be_executed_ends_the_dag_where_its_task_is_a_target() -> None:
    between = finished(dag("{exit: {template: show}}"))
    target = finished(
        f"""
- name: main
  dag:
    tasks:
    - {{name: a, template: leaf, hooks: {{exit: {{template: show}}}}}}
{SHOW}"""
    )

    assert between.node("wf.a.onExit").phase is target.node("wf.a.onExit").phase is Phase.ERROR
    assert between.run.phase == "Succeeded"
    assert target.node("wf").phase is Phase.ERROR
    assert target.run.phase == "Error"


def test_a_hook_may_be_a_whole_template() -> None:
    templates = (
        steps("{exit: {template: sub}}")
        + """
- name: sub
  steps:
  - [{name: x, template: leaf}]
"""
    )
    harness = finished(templates)

    assert harness.started == ["wf[0].a", "wf[0].a.onExit[0].x", "wf[1].b"]


def test_on_stop_exit_handlers_of_steps_still_run_and_on_terminate_they_do_not() -> None:
    for strategy, runs in ((ev.Shutdown.STOP, True), (ev.Shutdown.TERMINATE, False)):
        harness = Harness(
            flow(steps("{exit: {template: leaf}}")), cast({"a": Outcome(seconds=99)})
        ).start()
        harness.advance()
        harness.send(ev.RunStopped(at=harness.now, strategy=strategy))
        harness.finish()

        assert ("wf[0].a.onExit" in harness.phases()) is runs
        assert harness.run.phase == "Failed"


def test_the_hook_of_a_task_that_was_omitted_runs_if_its_expression_is_true() -> None:
    harness = finished(
        """
    - name: main
      dag:
        tasks:
        - {name: a, template: leaf}
        - name: b
          template: leaf
          depends: a.Failed
          hooks: {gone: {template: leaf, expression: 'tasks.b.status == "Omitted"'}}
    """
    )

    assert harness.node("wf.b.hooks.gone").phase is Phase.SUCCEEDED
    assert harness.run.phase == "Succeeded"


def test_depends_waits_for_a_hook_that_is_slower_than_its_task() -> None:
    templates = dag("""{run: {template: leaf, expression: 'tasks.a.status == "Running"'}}""")
    harness = finished(templates, {"a.hooks.run": Outcome(seconds=30)})

    assert harness.node("wf.a").finished_at == harness.run.created_at + 1
    assert harness.node("wf.b").started_at == harness.run.created_at + 30
