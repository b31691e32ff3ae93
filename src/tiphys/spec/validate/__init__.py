"""Everything that is wrong with a workflow and can be known before it runs.

The rules are Argo's, with a few of our own for what Argo only finds out at run time. Problems are
collected, each with its path and place; nothing is raised. `validate_workflow` and its siblings
take a parsed document; `Library` answers for the templates of other documents.
"""

from __future__ import annotations

from msgspec import structs

from tiphys.errors import NotFoundError, Problem
from tiphys.spec.library import Library
from tiphys.spec.merge import merge_specs, resolve_spec
from tiphys.spec.model import (
    ClusterWorkflowTemplate,
    CronWorkflow,
    ObjectMeta,
    Workflow,
    WorkflowSpec,
    WorkflowTemplate,
)
from tiphys.spec.report import Report
from tiphys.spec.validate.names import check_object_name
from tiphys.spec.validate.workflow import check_spec
from tiphys.spec.yaml import Document, Path

__all__ = [
    "validate_cron_workflow",
    "validate_workflow",
    "validate_workflow_template",
]

_CONCURRENCY = ("Allow", "Forbid", "Replace")


def validate_workflow(
    workflow: Workflow,
    library: Library,
    document: Document | None = None,
    *,
    lint: bool = False,
    defaults: WorkflowSpec | None = None,
) -> list[Problem]:
    """List all problems of a workflow.

    ``lint`` lets arguments be empty, as they may come later. ``defaults`` are those of the
    installation; they lie under the workflow's own spec.
    """
    report = Report(document)
    check_object_name(workflow.metadata, report, optional=True)
    if defaults is not None:
        workflow = structs.replace(workflow, spec=merge_specs(workflow.spec, None, defaults))
    _check_spec(workflow, library, report, ("spec",), lint=lint)
    return report.problems


def validate_workflow_template(
    template: WorkflowTemplate | ClusterWorkflowTemplate,
    library: Library,
    document: Document | None = None,
) -> list[Problem]:
    """List all problems of a template of its own."""
    report = Report(document)
    check_object_name(template.metadata, report)
    workflow = Workflow(metadata=template.metadata, spec=template.spec)
    _check_spec(workflow, library, report, ("spec",), lint=True, is_template=True)
    return report.problems


def validate_cron_workflow(
    cron: CronWorkflow, library: Library, document: Document | None = None
) -> list[Problem]:
    """List all problems of a cron workflow: its schedule, and the workflow inside."""
    report = Report(document)
    check_object_name(cron.metadata, report, cron=True)
    _check_schedules(cron, report)
    inner = cron.spec.workflow_metadata or ObjectMeta()
    metadata = ObjectMeta(
        name=cron.metadata.name,
        namespace=cron.metadata.namespace,
        labels=inner.labels,
        annotations=inner.annotations,
    )
    workflow = Workflow(metadata=metadata, spec=cron.spec.workflow_spec)
    _check_spec(workflow, library, report, ("spec", "workflowSpec"))
    return report.problems


def _check_schedules(cron: CronWorkflow, report: Report) -> None:
    # Time zones and all: few files have a schedule.
    from tiphys.spec.validate.cron import schedule_problem  # noqa: PLC0415

    spec = cron.spec
    if not spec.schedules:
        report.add(("spec",), "a cron workflow needs at least one schedule")
    for index, schedule in enumerate(spec.schedules):
        problem = schedule_problem(schedule, spec.timezone)
        if problem:
            path = ("spec", "schedules", index)
            report.add(path, f"the schedule {schedule[:60]!r} is malformed: {problem}")
    policy = spec.concurrency_policy
    if policy and policy not in _CONCURRENCY:
        hint = report.close_to(policy, _CONCURRENCY)
        message = f"the concurrencyPolicy {policy[:60]!r} is not known"
        report.add(("spec", "concurrencyPolicy"), message, hint=hint)
    if (spec.starting_deadline_seconds or 0) < 0:
        report.add(("spec", "startingDeadlineSeconds"), "must not be negative")


def _check_spec(
    workflow: Workflow,
    library: Library,
    report: Report,
    prefix: Path,
    *,
    lint: bool = False,
    is_template: bool = False,
) -> None:
    inner = Report(report.document, report.problems, prefix)
    ref = workflow.spec.workflow_template_ref
    if ref is None:
        check_spec(workflow, workflow.spec, library, inner, lint=lint, is_template=is_template)
        return
    if workflow.spec.templates:
        inner.add(("templates",), "templates cannot be given beside a workflowTemplateRef")
    try:
        merged = resolve_spec(workflow, library)
    except NotFoundError as error:
        inner.add(("workflowTemplateRef", "name"), str(error))
        return
    _check_merged(workflow, merged, library, inner, lint=lint)


def _check_merged(
    workflow: Workflow, merged: WorkflowSpec, library: Library, report: Report, *, lint: bool
) -> None:
    """Check a workflow made of a template; most of it stands in the template's document."""
    hidden = Report()
    check_spec(workflow, merged, library, hidden, lint=lint, is_template=False)
    for problem in hidden.problems:
        if not problem.warning:
            message = f"{problem.path}: {problem.message}" if problem.path else problem.message
            path = ("workflowTemplateRef",)
            report.add(path, message, code=problem.code, hint=problem.hint)
