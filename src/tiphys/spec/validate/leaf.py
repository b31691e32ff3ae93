"""Templates that do work themselves: containers, scripts, container sets, resources."""

from __future__ import annotations

from tiphys.errors import SpecError
from tiphys.spec import yaml
from tiphys.spec.model import ContainerSetTemplate, Prometheus, ResourceTemplate, Template
from tiphys.spec.validate.context import Context
from tiphys.spec.validate.language import check_duration, check_whole
from tiphys.spec.validate.names import check_field_name, check_unique, is_metric_name
from tiphys.spec.validate.resources import check_resources
from tiphys.spec.validate.tags import has_tag, without_tags
from tiphys.spec.yaml import Path

_ACTIONS = frozenset({"get", "create", "apply", "delete", "replace", "patch"})


def check_leaf(template: Template, path: Path, context: Context) -> None:
    """Check what only leaf templates have."""
    report = context.report
    _check_image(template, path, context)
    if template.container is not None:
        _check_mounts(template, path, context)
    if template.container_set is not None:
        _check_set(template.container_set, template, (*path, "containerSet"), context)
    if template.resource is not None:
        _check_resource(template.resource, template, (*path, "resource"), context)
    check_resources(template, path, report)
    check_whole(template.active_deadline_seconds, (*path, "activeDeadlineSeconds"), report, least=0)
    if template.parallelism is not None:
        message = "parallelism is for steps and dag templates only"
        report.add((*path, "parallelism"), message)
    check_duration(template.timeout, (*path, "timeout"), report, bare=False)
    check_duration(template.pending_timeout, (*path, "pendingTimeout"), report, bare=False)


def _check_image(template: Template, path: Path, context: Context) -> None:
    defaults = context.spec.template_defaults
    for kind in ("container", "script"):
        own = getattr(template, kind)
        default = getattr(defaults, kind) if defaults else None
        if own is not None and not own.image and not (default and default.image):
            context.report.add((*path, kind), f"the {kind} needs an image")


def _check_mounts(template: Template, path: Path, context: Context) -> None:
    assert template.container is not None
    taken: dict[str, str] = {}
    wanted = [
        (mount.mount_path, mount.name, (*path, "container", "volumeMounts", index, "mountPath"))
        for index, mount in enumerate(template.container.volume_mounts)
    ] + [
        (artifact.path, artifact.name, (*path, "inputs", "artifacts", index, "path"))
        for index, artifact in enumerate(template.inputs.artifacts)
    ]
    for target, name, where in wanted:
        if target and target in taken:
            context.report.add(where, f"{target!r} is already taken by {taken[target]!r}")
        taken.setdefault(target, name)


def _check_set(
    containers: ContainerSetTemplate, template: Template, path: Path, context: Context
) -> None:
    report = context.report
    names = {each.name for each in containers.containers}
    if not containers.containers:
        report.add((*path, "containers"), "a container set needs at least one container")
    for index, each in enumerate(containers.containers):
        place = (*path, "containers", index)
        check_field_name(each.name, (*place, "name"), report)
        for number, need in enumerate(each.dependencies):
            if need not in names:
                message = f"there is no container {need[:100]!r} here"
                hint = report.close_to(need, names)
                report.add((*place, "dependencies", number), message, hint=hint)
    check_unique((each.name for each in containers.containers), (*path, "containers"), report)
    _check_set_order(containers, path, context)
    uses_files = template.inputs.artifacts or template.outputs.parameters
    if (uses_files or template.outputs.artifacts) and "main" not in names:
        message = "inputs and outputs of a container set need a container named 'main'"
        report.add((*path, "containers"), message)
    if containers.retry_strategy is not None:
        where = (*path, "retryStrategy")
        check_whole(containers.retry_strategy.retries, (*where, "retries"), report)
        check_duration(containers.retry_strategy.duration, (*where, "duration"), report)


def _check_set_order(containers: ContainerSetTemplate, path: Path, context: Context) -> None:
    """Take away containers that wait for nothing until none is left, or only circles."""
    left = {each.name: set(each.dependencies) for each in containers.containers}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    if left:
        message = f"the containers depend on each other in a circle: {', '.join(left)}"
        context.report.add((*path, "containers"), message)


def _check_resource(
    resource: ResourceTemplate, template: Template, path: Path, context: Context
) -> None:
    report = context.report
    action = resource.action
    if not has_tag(action) and action not in _ACTIONS:
        message = f"the action must be one of {', '.join(sorted(_ACTIONS))}"
        report.add((*path, "action"), message, hint=report.close_to(action, _ACTIONS))
    if action in ("get", "delete"):
        return
    if resource.manifest and resource.manifest_from is not None:
        report.add(path, "give either 'manifest' or 'manifestFrom', not both")
    elif resource.manifest:
        _check_manifest(resource.manifest, (*path, "manifest"), context)
    elif resource.manifest_from is None:
        report.add(path, "'manifest' or 'manifestFrom' is required")
    else:
        name = resource.manifest_from.artifact.name
        if name not in {each.name for each in template.inputs.artifacts}:
            where = (*path, "manifestFrom", "artifact", "name")
            report.add(where, f"there is no input artifact {name!r}")


def _check_manifest(manifest: str, path: Path, context: Context) -> None:
    try:
        yaml.load(without_tags(manifest))
    except SpecError as error:
        problem = error.problems[0]
        if problem.code == "parse_error":
            message = f"the manifest is not valid YAML: line {problem.line}: {problem.message}"
            context.report.add(path, message)


def check_metric(metric: Prometheus, path: Path, context: Context) -> None:
    """Check one metric."""
    report = context.report
    if not is_metric_name(metric.name):
        hint = "use letters, digits and '_'"
        report.add((*path, "name"), f"{metric.name[:60]!r} is not a metric's name", hint=hint)
    if not metric.help:
        report.add((*path, "help"), "a metric needs a help text")
    for index, label in enumerate(metric.labels):
        if not is_metric_name(label.key):
            report.add((*path, "labels", index, "key"), f"{label.key[:60]!r} is not a label's name")
    for kind in ("gauge", "counter", "histogram"):
        meter = getattr(metric, kind)
        if meter is not None and not meter.value:
            report.add((*path, kind), f"the {kind} needs a value")
    gauge = metric.gauge
    if gauge is not None and gauge.realtime and "resourcesDuration." in gauge.value:
        message = "resourcesDuration is not known while the node runs"
        report.add((*path, "gauge", "value"), message)
