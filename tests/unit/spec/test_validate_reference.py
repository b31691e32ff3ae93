"""References to other documents, templates on their own, and cron workflows."""

from __future__ import annotations

import textwrap

import pytest

from tiphys.errors import Problem
from tiphys.spec.library import Library
from tiphys.spec.parse import parse_text
from tiphys.spec.validate import (
    validate_cron_workflow,
    validate_workflow,
    validate_workflow_template,
)

HEAD = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: main
"""


def check_text(text: str, library: str = "") -> list[tuple[str, str]]:
    bundle = parse_text(text)
    bundle.raise_errors()
    known = Library.of(parse_text(library)) if library else Library()
    found: list[Problem] = []
    for workflow in bundle.workflows:
        found += validate_workflow(workflow.value, known, workflow.document)
    for template in bundle.workflow_templates:
        found += validate_workflow_template(template.value, known, template.document)
    for cron in bundle.cron_workflows:
        found += validate_cron_workflow(cron.value, known, cron.document)
    return [(each.path, each.message) for each in found if not each.warning]


def errors_of(body: str, *, library: str = "") -> list[tuple[str, str]]:
    """Check a workflow whose spec is ``body``; give path and message of each error."""
    found = check_text(HEAD + textwrap.indent(textwrap.dedent(body), "  "), library)
    return [(path.removeprefix("spec."), message) for path, message in found]


LIBRARY = """
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: lib}
spec:
  entrypoint: first
  arguments: {parameters: [{name: g, value: x}]}
  templates:
  - name: first
    inputs: {parameters: [{name: need}]}
    container: {image: i, args: ["{{workflow.parameters.g}}"]}
  - {name: second, steps: [[{name: a, template: nowhere}]]}
  - {name: third, container: {image: i}}
"""


@pytest.mark.parametrize(
    ("ref", "path", "message"),
    [
        (
            "{name: nowhere, template: a}",
            "templateRef.name",
            "there is no WorkflowTemplate 'nowhere'",
        ),
        ("{name: lib, template: a}", "templateRef.template", "'lib' has no template 'a'"),
        ("{name: lib}", "templateRef.template", "templateRef needs a template"),
        (
            "{name: lib, template: first, clusterScope: true}",
            "templateRef.name",
            "there is no ClusterWorkflowTemplate 'lib'",
        ),
        (
            "{name: lib, template: second}",
            "templateRef",
            "in 'lib', templates[1].steps[0][0].template: there is no template 'nowhere'",
        ),
    ],
)
def test_a_bad_reference_to_another_document_is_refused(ref: str, path: str, message: str) -> None:
    body = f"templates: [{{name: main, steps: [[{{name: s, templateRef: {ref}}}]]}}]"

    found = errors_of(body, library=LIBRARY)

    assert found == [(f"templates[0].steps[0][0].{path}", message)]


def test_a_template_of_another_document_is_checked_within_this_workflow() -> None:
    body = (
        "templates: [{name: main, steps: [[{name: s, templateRef: {name: lib, template: first}}]]}]"
    )

    assert [message for _, message in errors_of(body, library=LIBRARY)] == [
        "in 'lib', templates[0].container.args[0]: failed to resolve {{workflow.parameters.g}}",
        "template 'first' needs the parameter 'need'",
    ]


def test_a_reference_with_tags_is_left_for_run_time() -> None:
    ref = "{name: '{{workflow.name}}', template: x}"
    body = f"templates: [{{name: main, steps: [[{{name: s, templateRef: {ref}}}]]}}]"

    assert errors_of(body) == []


def test_a_workflow_made_of_a_template_is_checked_as_a_whole() -> None:
    head = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w}\n"
    good = LIBRARY.replace("template: nowhere", "template: third")
    text = head + "spec:\n  workflowTemplateRef: {name: lib}\n"

    assert check_text(text.replace("lib", "nowhere")) == [
        ("spec.workflowTemplateRef.name", "there is no WorkflowTemplate 'nowhere'")
    ]
    assert check_text(text, good) == [
        ("spec.workflowTemplateRef", "entrypoint: template 'first' needs the parameter 'need'")
    ]
    assert check_text(text + "  entrypoint: third\n", good) == []
    assert check_text(
        text + "  entrypoint: third\n  templates: [{name: a, suspend: {}}]\n", good
    ) == [("spec.templates", "templates cannot be given beside a workflowTemplateRef")]


def test_a_template_needs_no_entrypoint_and_no_values() -> None:
    text = """
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: t}
spec:
  arguments: {parameters: [{name: a}]}
  templates: [{name: a, container: {image: i, args: ["{{workflow.parameters.later}}"]}}]
"""

    assert check_text(text) == []


CRON = """
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: NAME}
spec:
  schedules: SCHEDULES
  workflowSpec: {entrypoint: a, templates: [{name: a, suspend: {}}]}
"""


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "*/5 0-6 1,15 jan-mar MON",
        "@daily",
        "@every 1h30m",
        "TZ=Europe/Vienna 0 0 * * ?",
        "0 0 1/2 * 0",
    ],
)
def test_a_good_schedule_is_accepted(schedule: str) -> None:
    text = CRON.replace("NAME", "c").replace("SCHEDULES", f'["{schedule}"]')

    assert check_text(text) == []


@pytest.mark.parametrize(
    "schedule",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "a * * * *",
        "5-1 * * * *",
        "*/0 * * * *",
        "* * * * 7",
        "@often",
        "@every soon",
    ],
)
def test_a_bad_schedule_is_refused(schedule: str) -> None:
    text = CRON.replace("NAME", "c").replace("SCHEDULES", f'["{schedule}"]')

    assert [path for path, _ in check_text(text)] == ["spec.schedules[0]"]


def test_a_cron_workflow_has_a_shorter_name_and_a_schedule() -> None:
    text = CRON.replace("NAME", "c" * 53).replace("SCHEDULES", "[]")

    assert [path for path, _ in check_text(text)] == ["metadata.name", "spec"]


def test_the_workflow_of_a_cron_workflow_is_checked_at_its_place() -> None:
    text = (
        CRON.replace("NAME", "c")
        .replace("SCHEDULES", "['@daily']")
        .replace("entrypoint: a", "entrypoint: b")
    )

    assert [path for path, _ in check_text(text)] == ["spec.workflowSpec.entrypoint"]
