"""Outputs that can never come.

Argo 4.1 has an answer for those of skipped steps; where it asks again forever, the run must end
with a message that names what is missing.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tiphys.engine.node import Phase
from tiphys.testing.flow import FAIL, finished
from tiphys.testing.harness import Harness


def steps(producer: str, value: str, *, template: str = "give", taker: str = "show") -> str:
    return f"""
- name: main
  steps:
  - [{{name: a, template: {template}, {producer}}}]
  - - name: b
      template: {taker}
      arguments: {{parameters: [{{name: m, value: "{value}"}}]}}
{TEMPLATES}"""


def dag(producer: str, value: str, *, template: str = "give", taker: str = "show") -> str:
    value = value.replace("steps.", "tasks.")
    return f"""
- name: main
  dag:
    tasks:
    - {{name: a, template: {template}, {producer}}}
    - name: b
      template: {taker}
      dependencies: [a]
      arguments: {{parameters: [{{name: m, value: "{value}"}}]}}
{TEMPLATES}"""


TEMPLATES = """
- name: give
  outputs: {parameters: [{name: x, valueFrom: {path: /x}}]}
  container: {image: x, command: [x]}
- name: default
  outputs: {parameters: [{name: x, valueFrom: {path: /x, default: spare}}]}
  container: {image: x, command: [x]}
- name: show
  inputs: {parameters: [{name: m}]}
  container: {image: x, command: [x]}
- name: lenient
  inputs: {parameters: [{name: m, default: mine}]}
  container: {image: x, command: [x]}
"""
SKIPPED = 'when: "false"'
X = "{{steps.a.outputs.parameters.x}}"
Shape = Callable[..., str]
SHAPES = pytest.mark.parametrize("shape", [steps, dag])


def shown(harness: Harness) -> str | None:
    inputs = next(n for n in harness.run.nodes.values() if n.display_name == "b").inputs
    assert inputs is not None
    return inputs.parameters[0].value


@SHAPES
def test_a_skipped_step_gives_the_defaults_of_its_outputs(shape: Shape) -> None:
    assert shown(finished(shape(SKIPPED, X, template="default"))) == "spare"
    assert shown(finished(shape(SKIPPED, f"<{X}>", template="default"))) == "<spare>"


@SHAPES
def test_the_consumers_default_stands_in_for_a_pure_reference(shape: Shape) -> None:
    harness = finished(shape(SKIPPED, X, taker="lenient"))

    assert shown(harness) == "mine"
    assert harness.run.phase == "Succeeded"


@SHAPES
def test_the_producers_default_comes_before_the_consumers(shape: Shape) -> None:
    assert shown(finished(shape(SKIPPED, X, template="default", taker="lenient"))) == "spare"


@SHAPES
def test_an_expression_sees_nil(shape: Shape) -> None:
    value = "{{=steps.a.outputs.parameters.x ?? 'none'}}"

    assert shown(finished(shape(SKIPPED, value))) == "none"


@SHAPES
@pytest.mark.parametrize(
    "value",
    [
        X,
        f"<{X}>",
        "{{steps.a.outputs.result}}",
        "{{=steps.a.outputs.parameters.x + '!'}}",
        "{{steps.a.outputs.parameters.undeclared}}",
    ],
)
def test_an_output_of_a_skipped_step_that_nothing_stands_in_for_ends_the_run(
    shape: Shape, value: str
) -> None:
    harness = finished(shape(SKIPPED, value))

    assert harness.run.phase in {"Failed", "Error"}
    messages = " ".join(node.message for node in harness.run.nodes.values())
    assert ".a.outputs" in messages


@SHAPES
@pytest.mark.parametrize("value", [X, f"<{X}>", "{{steps.a.outputs.result}}"])
def test_an_output_that_a_failed_step_did_not_give_ends_the_run(shape: Shape, value: str) -> None:
    harness = finished(shape("continueOn: {failed: true}", value), {"a": FAIL})

    assert harness.run.phase in {"Failed", "Error"}
    messages = " ".join(node.message for node in harness.run.nodes.values())
    assert ".a.outputs" in messages


@SHAPES
@pytest.mark.parametrize("loop", ['withParam: "[]"', 'withItems: [1, 2], when: "false"'])
@pytest.mark.parametrize("what", ["outputs.parameters", "outputs.parameters.x", "outputs.result"])
def test_what_a_loop_that_never_ran_gives_does_not_hang(shape: Shape, loop: str, what: str) -> None:
    harness = finished(shape(loop, f"{{{{steps.a.{what}}}}}"))

    assert harness.run.ended


def test_a_loop_that_never_ran_has_no_outputs_in_steps() -> None:
    harness = finished(steps('withParam: "[]"', "{{steps.a.outputs.result}}"))

    assert harness.run.phase == "Failed"
    assert "steps.a.outputs.result" in harness.node("wf[1]").message


def test_a_loop_whose_items_were_all_skipped_gives_an_empty_list_in_a_dag() -> None:
    harness = finished(dag('withItems: [1], when: "false"', "{{tasks.a.outputs.result}}"))

    assert shown(harness) == "[]"


@SHAPES
def test_a_reference_to_nobody_ends_the_run(shape: Shape) -> None:
    harness = finished(shape("continueOn: {}", "{{steps.nobody.outputs.result}}"))

    assert harness.run.phase in {"Failed", "Error"}
    messages = " ".join(node.message for node in harness.run.nodes.values())
    assert "nobody" in messages


def test_a_task_cannot_see_what_it_does_not_depend_on() -> None:
    harness = finished(dag("continueOn: {}", X).replace("      dependencies: [a]\n", ""), {})

    assert harness.node("wf.b").phase is Phase.ERROR
    assert harness.run.phase == "Error"


@SHAPES
def test_status_and_exit_code_of_a_failed_step_are_known(shape: Shape) -> None:
    value = "{{steps.a.status}} {{steps.a.exitCode}}"
    harness = finished(shape("continueOn: {failed: true}", value), {"a": FAIL})

    assert shown(harness) == "Failed 1"


@SHAPES
def test_the_condition_may_ask_for_the_status_of_a_skipped_step(shape: Shape) -> None:
    when = 'template: show\n      when: "{{steps.a.status}} == Skipped"'
    text = shape(SKIPPED, "v").replace("template: show", when)
    text = text.replace("{{steps.", "{{tasks.") if shape is dag else text

    assert shown(finished(text)) == "v"


def test_an_output_of_a_template_may_fall_back_where_its_step_was_skipped() -> None:
    harness = finished(f"""
- name: main
  outputs:
    parameters:
    - {{name: p, valueFrom: {{parameter: "{X}", default: fallback}}}}
  steps:
  - [{{name: a, template: give, {SKIPPED}}}]
{TEMPLATES}""")

    outputs = harness.node("wf").outputs
    assert outputs is not None
    assert outputs.parameters[0].value == "fallback"


def test_an_output_of_a_template_without_a_fallback_is_an_error() -> None:
    harness = finished(f"""
- name: main
  outputs: {{parameters: [{{name: p, valueFrom: {{parameter: "{X}"}}}}]}}
  steps:
  - [{{name: a, template: give, {SKIPPED}}}]
{TEMPLATES}""")

    assert harness.run.phase == "Error"
    assert "steps.a.outputs.parameters.x" in harness.run.message
