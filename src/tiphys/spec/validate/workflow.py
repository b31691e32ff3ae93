"""The spec of a workflow as a whole: arguments, entrypoint, exit handlers, all templates."""

from __future__ import annotations

from tiphys.spec.library import Library
from tiphys.spec.model import DAGTask, Template, Workflow, WorkflowSpec, WorkflowStep
from tiphys.spec.report import Report
from tiphys.spec.validate.arguments import check_arguments, check_fit
from tiphys.spec.validate.call import check_hooks
from tiphys.spec.validate.context import Context
from tiphys.spec.validate.leaf import check_metric
from tiphys.spec.validate.names import check_field_name, check_unique
from tiphys.spec.validate.resources import check_resources
from tiphys.spec.validate.tags import Scope
from tiphys.spec.validate.template import check_locks, check_template

_POD_GC = (
    "OnPodCompletion",
    "OnPodSuccess",
    "OnWorkflowCompletion",
    "OnWorkflowSuccess",
)
_SCHEDULER = "tiphys.dev/scheduler"
_KNOWN = (
    "name",
    "namespace",
    "mainEntrypoint",
    "serviceAccountName",
    "uid",
    "status",
    "labels",
    "labels.json",
    "annotations",
    "annotations.json",
)


def check_spec(
    workflow: Workflow,
    spec: WorkflowSpec,
    library: Library,
    report: Report,
    *,
    lint: bool,
    is_template: bool,
) -> None:
    """Check a spec (the workflow's own, or merged with its template's)."""
    context = Context(
        spec=spec,
        report=report,
        library=library,
        namespace=workflow.metadata.namespace,
        scope=_globals(workflow, spec, is_template=is_template),
        check_template=check_template,
        is_template=is_template,
    )
    check_arguments(spec.arguments, ("arguments",), report, may_be_empty=lint or is_template)
    _check_entrypoint(context, lint=lint)
    if spec.on_exit:
        context.own_template(spec.on_exit, ("onExit",))
    check_hooks(spec.hooks, ("hooks",), context)
    _check_policies(context)
    if spec.suspend_by_steps and workflow.metadata.labels.get(_SCHEDULER) == "argo-default":
        message = "Argo knows no suspendBySteps and would not pause: `tiphys kueue inject` helps"
        report.add(("suspendBySteps",), message, warning=True)
    _check_templates(context)


def _globals(workflow: Workflow, spec: WorkflowSpec, *, is_template: bool) -> Scope:
    """Give the names that exist everywhere in a workflow."""
    scope = Scope()
    scope.add(*(f"workflow.{name}" for name in _KNOWN))
    parameters = spec.arguments.parameters
    if parameters:
        scope.add("workflow.parameters", "workflow.parameters.json")
    scope.add(*(f"workflow.parameters.{each.name}" for each in parameters))
    scope.add(*(f"workflow.annotations.{key}" for key in workflow.metadata.annotations))
    scope.add(*(f"workflow.labels.{key}" for key in workflow.metadata.labels))
    meta = spec.workflow_metadata
    if meta is not None:
        scope.add(*(f"workflow.annotations.{key}" for key in meta.annotations))
        scope.add(*(f"workflow.labels.{key}" for key in (*meta.labels, *meta.labels_from)))
    if spec.priority is not None:
        scope.add("workflow.priority")
    if spec.on_exit or spec.hooks:
        scope.add("workflow.failures")
    if is_template:
        # A workflow that uses the template brings parameters of its own.
        scope.add("workflow.parameters")
        scope.open.add("workflow.parameters.")
    return scope


def _check_entrypoint(context: Context, *, lint: bool) -> None:
    spec = context.spec
    if not spec.entrypoint:
        if not context.is_template:
            hint = ""
            if len(spec.templates) == 1 and spec.templates[0].name:
                hint = f"entrypoint: {spec.templates[0].name}"
            context.report.add(("entrypoint",), "an entrypoint is required", hint=hint)
        return
    template = context.own_template(spec.entrypoint, ("entrypoint",))
    if template is None or context.is_template:
        return
    if lint:
        # Values that are still missing come with the submission.
        return
    inner = Report()
    check_fit(spec.arguments, template, (), inner)
    for problem in inner.problems:
        if not problem.warning:
            context.report.add(("entrypoint",), problem.message, hint=problem.hint)


def _check_policies(context: Context) -> None:
    spec, report = context.spec, context.report
    if spec.pod_gc is not None and spec.pod_gc.strategy not in ("", *_POD_GC):
        hint = report.close_to(spec.pod_gc.strategy, _POD_GC)
        message = f"the strategy {spec.pod_gc.strategy[:60]!r} is not known"
        report.add(("podGC", "strategy"), message, hint=hint)
    if spec.template_defaults is not None:
        check_resources(spec.template_defaults, ("templateDefaults",), report)
    if spec.synchronization is not None:
        check_locks(spec.synchronization, ("synchronization",), report)
    for index, metric in enumerate(spec.metrics.prometheus if spec.metrics else ()):
        check_metric(metric, ("metrics", "prometheus", index), context)
    if (spec.parallelism or 0) < 0:
        report.add(("parallelism",), "must not be negative")


def _check_templates(context: Context) -> None:
    spec, report = context.spec, context.report
    for index, template in enumerate(spec.templates):
        check_field_name(template.name, ("templates", index, "name"), report)
        _make_outputs_global(template, context)
    check_unique((template.name for template in spec.templates), ("templates",), report)
    for index, template in enumerate(spec.templates):
        check_template(template, ("templates", index), context)


def _make_outputs_global(template: Template, context: Context) -> None:
    """Make known what a template and those that it calls elsewhere export."""
    context.make_outputs_global(template)
    calls: list[WorkflowStep | DAGTask] = [step for group in template.steps or () for step in group]
    calls += template.dag.tasks if template.dag else ()
    for call in calls:
        if call.template_ref is not None:
            found = context.library.template(call.template_ref, namespace=context.namespace)
            if found is not None:
                context.make_outputs_global(found)
