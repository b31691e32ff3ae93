"""Calls of templates: what steps, tasks and hooks have in common."""

from __future__ import annotations

from tiphys.spec.model import DAGTask, LifecycleHook, Template, WorkflowStep
from tiphys.spec.template_type import gives_result
from tiphys.spec.validate.arguments import check_arguments, check_fit
from tiphys.spec.validate.context import Context
from tiphys.spec.validate.language import check_expression, check_when
from tiphys.spec.validate.tags import Scope
from tiphys.spec.yaml import Path

Call = WorkflowStep | DAGTask


def check_call(call: Call, path: Path, context: Context) -> Template | None:
    """Check which template is called, with what, and when; give the template if it is known."""
    report = context.report
    check_arguments(call.arguments, (*path, "arguments"), report)
    check_when(call.when, (*path, "when"), report)
    template = _target(call, path, context)
    if template is not None:
        check_fit(call.arguments, template, (*path, "arguments"), report)
        context.make_outputs_global(template)
    if call.on_exit:
        context.own_template(call.on_exit, (*path, "onExit"))
    check_hooks(call.hooks, (*path, "hooks"), context)
    return template


def is_bare(call: Call) -> bool:
    """Tell whether a call says no more than a template's name."""
    arguments = call.arguments
    more = arguments.parameters or arguments.artifacts or call.when or call.on_exit or call.hooks
    return not (more or call.template_ref or call.inline)


def _target(call: Call, path: Path, context: Context) -> Template | None:
    ways = bool(call.template) + (call.template_ref is not None) + (call.inline is not None)
    if ways != 1:
        problem = "only one of" if ways else "one of"
        context.report.add(path, f"{problem} template, templateRef and inline must be given")
    if call.template_ref is not None:
        return context.referred_template(call.template_ref, (*path, "templateRef"))
    if call.inline is not None:
        return call.inline
    return context.own_template(call.template, (*path, "template")) if call.template else None


def check_hooks(hooks: dict[str, LifecycleHook], path: Path, context: Context) -> None:
    """Check lifecycle hooks: all but ``exit`` need an expression."""
    for name, hook in hooks.items():
        place = (*path, name)
        if name != "exit" and not hook.expression:
            context.report.add(place, f"the hook {name!r} needs an expression")
        if hook.expression:
            check_expression(hook.expression, (*place, "expression"), context.report)
        target = _hook_target(hook, place, context)
        if target is not None:
            check_fit(hook.arguments, target, (*place, "arguments"), context.report)


def _hook_target(hook: LifecycleHook, path: Path, context: Context) -> Template | None:
    if hook.template_ref is not None:
        return context.referred_template(hook.template_ref, (*path, "templateRef"))
    if not hook.template:
        context.report.add(path, "one of template and templateRef must be given")
        return None
    return context.own_template(hook.template, (*path, "template"))


def add_outputs(scope: Scope, prefix: str, template: Template | None) -> None:
    """Make known what others may say about a step or task."""
    if template is None:
        # The template is not known before run time, so neither are its outputs.
        scope.open.add(f"{prefix}.")
    scope.names.update([f"{prefix}.{name}" for name in output_names(template)])


def output_names(template: Template | None) -> list[str]:
    """Give what may be said about each step or task that calls a template."""
    names = ["id", "startedAt", "finishedAt", "hostNodeName"]
    if template is None:
        return names
    if template.daemon:
        names.append("ip")
    if gives_result(template):
        names += ["outputs.result", "exitCode"]
    names += [f"outputs.parameters.{each.name}" for each in template.outputs.parameters]
    return [*names, *(f"outputs.artifacts.{each.name}" for each in template.outputs.artifacts)]


def inline_scope(call: Call, scope: Scope) -> Scope:
    """Give the scope of a call's texts; an inline template's inputs belong to it."""
    inner = scope.below()
    if call.inline is not None:
        inner.add("pod.name", "inputs.parameters")
        for parameter in call.inline.inputs.parameters:
            inner.add(f"inputs.parameters.{parameter.name}")
        for artifact in call.inline.inputs.artifacts:
            inner.add(f"inputs.artifacts.{artifact.name}", f"inputs.artifacts.{artifact.name}.path")
    return inner
