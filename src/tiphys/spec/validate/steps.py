"""Steps templates."""

from __future__ import annotations

from tiphys.spec.model import Template, WorkflowStep
from tiphys.spec.validate.call import add_outputs, check_call, inline_scope
from tiphys.spec.validate.context import Context
from tiphys.spec.validate.loop import check_loop
from tiphys.spec.validate.names import check_field_name
from tiphys.spec.validate.tags import Scope, check_tags
from tiphys.spec.yaml import Path


def check_steps(template: Template, path: Path, scope: Scope, context: Context) -> None:
    """Check all steps in order; each may speak of those before it."""
    seen: set[str] = set()
    for index, group in enumerate(template.steps or ()):
        for place, step in enumerate(group):
            _check_step(step, (*path, "steps", index, place), scope, context)
            if step.name in seen:
                message = f"the step name {step.name!r} is not unique in its template"
                context.report.add((*path, "steps", index, place, "name"), message)
            seen.add(step.name)


def _check_step(step: WorkflowStep, path: Path, scope: Scope, context: Context) -> None:
    if not check_field_name(step.name, (*path, "name"), context.report):
        return
    prefix = f"steps.{step.name}"
    scope.add(f"{prefix}.status")
    check_loop(step, path, scope, context.report)
    target = check_call(step, path, context)
    own = inline_scope(step, scope)
    if step.hooks or step.on_exit:
        add_outputs(own, prefix, target)
    check_tags(step, path, own, context.report)
    if step.inline is not None:
        context.check_template(step.inline, (*path, "inline"), context)
    add_outputs(scope, prefix, target)
    if step.with_items or step.with_param or step.with_sequence:
        scope.add(f"{prefix}.outputs.parameters")
