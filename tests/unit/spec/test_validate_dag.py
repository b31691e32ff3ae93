"""DAGs: dependencies, circles, targets, and what a task may speak of."""

from __future__ import annotations

import textwrap

import pytest

from tiphys.spec.library import Library
from tiphys.spec.parse import parse_text
from tiphys.spec.validate import (
    validate_workflow,
)

HEAD = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: main
"""

WORK = """
  - name: work
    inputs:
      parameters:
      - {name: a}
      - {name: b, default: x}
    container: {image: i, args: ["{{inputs.parameters.a}}"]}
    outputs:
      parameters:
      - {name: p, valueFrom: {path: /p}}
"""


def errors_of(body: str) -> list[tuple[str, str]]:
    """Check a workflow whose spec is ``body``; give path and message of each error."""
    bundle = parse_text(HEAD + textwrap.indent(textwrap.dedent(body), "  "))
    bundle.raise_errors()
    (workflow,) = bundle.workflows
    found = validate_workflow(workflow.value, Library(), workflow.document)
    return [(each.path.removeprefix("spec."), each.message) for each in found if not each.warning]


def paths_of(body: str) -> list[str]:
    return [path for path, _ in errors_of(body)]


def block(template: str) -> str:
    """Give a spec with ``main`` made of the fields of ``template``, and ``work``."""
    fields = textwrap.indent(textwrap.dedent(template).strip("\n"), "  ")
    return f"templates:\n- name: main\n{fields}\n{textwrap.dedent(WORK).strip()}\n"


def dag(tasks: str) -> str:
    return block("dag:\n  tasks:\n" + textwrap.indent(textwrap.dedent(tasks), "  "))


ARGUMENTS = "arguments: {parameters: [{name: a, value: x}]}"


@pytest.mark.parametrize(
    ("tasks", "path"),
    [
        (f"- {{name: a, template: work, dependencies: [b], {ARGUMENTS}}}", "[0].dependencies[0]"),
        (f"- {{name: a, template: work, depends: b, {ARGUMENTS}}}", "[0].depends"),
        (f"- {{name: a, template: work, depends: '(', {ARGUMENTS}}}", "[0].depends"),
        (
            f"- {{name: a, template: work, {ARGUMENTS}}}\n"
            f"- {{name: b, template: work, depends: a.Nice, {ARGUMENTS}}}",
            "[1].depends",
        ),
        (
            f"- {{name: a, template: work, {ARGUMENTS}}}\n"
            f"- {{name: b, template: work, depends: a.AnySucceeded, {ARGUMENTS}}}",
            "[1].depends",
        ),
        (
            f"- {{name: a, template: work, {ARGUMENTS}}}\n"
            f"- {{name: b, template: work, depends: a, {ARGUMENTS}}}\n"
            f"- {{name: c, template: work, dependencies: [a], {ARGUMENTS}}}",
            "[2].dependencies",
        ),
        (
            f"- {{name: a, template: work, continueOn: {{failed: true}}, {ARGUMENTS}}}\n"
            f"- {{name: b, template: work, depends: a, {ARGUMENTS}}}",
            "[0].continueOn",
        ),
        (
            f"- {{name: a, template: work, {ARGUMENTS}}}\n"
            f"- {{name: 1b, template: work, dependencies: [a], {ARGUMENTS}}}",
            "[1].name",
        ),
        (
            f"- {{name: a, template: work, {ARGUMENTS}}}\n"
            f"- {{name: a, template: work, {ARGUMENTS}}}",
            "[1].name",
        ),
        (
            f"- {{name: a, template: work, dependencies: [b], {ARGUMENTS}}}\n"
            f"- {{name: b, template: work, dependencies: [c], {ARGUMENTS}}}\n"
            f"- {{name: c, template: work, dependencies: [a], {ARGUMENTS}}}",
            "[0]",
        ),
        (f"- {{name: a, template: work, dependencies: [a], {ARGUMENTS}}}", "[0]"),
        (
            f"- {{name: a, template: work, {ARGUMENTS}}}\n"
            "- {name: b, template: work, arguments: {parameters: "
            "[{name: a, value: '{{tasks.a.outputs.result}}'}]}}",
            "[1].arguments.parameters[0].value",
        ),
        (
            f"- {{name: a, template: work, {ARGUMENTS}}}\n"
            f"- {{name: b, template: work, when: '{{{{tasks.a.status}}}} == x', {ARGUMENTS}}}",
            "[1].when",
        ),
    ],
)
def test_a_bad_dag_is_refused(tasks: str, path: str) -> None:
    assert paths_of(dag(tasks)) == [f"templates[0].dag.tasks{path}"]


def test_a_circle_is_named() -> None:
    tasks = "".join(
        f"- {{name: {name}, template: work, dependencies: [{need}], {ARGUMENTS}}}\n"
        for name, need in (("a", "b"), ("b", "c"), ("c", "b"))
    )

    assert [message for _, message in errors_of(dag(tasks))] == [
        "the tasks depend on each other in a circle: b -> c -> b"
    ]


def test_a_task_may_speak_of_all_that_it_depends_on() -> None:
    tasks = f"""
        - {{name: a, template: work, withItems: [1, 2], {ARGUMENTS}}}
        - {{name: b, template: work, depends: a.AnySucceeded, {ARGUMENTS}}}
        - name: c
          template: work
          depends: b || b.Failed
          when: "{{{{tasks.a.status}}}} == Succeeded"
          arguments: {{parameters: [{{name: a, value: "{{{{tasks.a.outputs.parameters}}}}"}}]}}
        """

    assert errors_of(dag(tasks)) == []


def test_an_unknown_target_is_refused() -> None:
    body = dag(f"- {{name: a, template: work, {ARGUMENTS}}}").replace(
        "dag:\n", "dag:\n    target: a b\n"
    )

    assert paths_of(body) == ["templates[0].dag.target"]
