"""Arguments, and whether they fit the inputs that they are given to."""

from __future__ import annotations

from tiphys.spec.model import Arguments, Artifact, ArtifactLocation, Parameter, Template
from tiphys.spec.report import Report
from tiphys.spec.validate.names import check_value_names
from tiphys.spec.yaml import Path

# What makes a location complete enough to be used: each field of one of the groups.
_KEYS = {
    "s3": ("key",),
    "gcs": ("key",),
    "oss": ("key",),
    "azure": ("blob",),
    "hdfs": ("path",),
    "artifactory": ("url",),
    "http": ("url",),
    "git": ("repo",),
    "plugin": ("key",),
    "raw": (),
}


def has_location(artifact: ArtifactLocation) -> bool:
    """Tell whether an artifact says where it lies (a key alone is enough)."""
    for name, needed in _KEYS.items():
        location = getattr(artifact, name)
        if location is not None:
            return all(getattr(location, key) for key in needed)
    return False


def check_arguments(
    arguments: Arguments, path: Path, report: Report, *, may_be_empty: bool = False
) -> None:
    """Check names, values and locations of arguments."""
    check_value_names(arguments.parameters, (*path, "parameters"), report)
    check_value_names(arguments.artifacts, (*path, "artifacts"), report)
    for index, parameter in enumerate(arguments.parameters):
        _check_parameter(parameter, (*path, "parameters", index), report, may_be_empty)
    for index, artifact in enumerate(arguments.artifacts):
        _check_artifact(artifact, (*path, "artifacts", index), report)


def _check_parameter(parameter: Parameter, path: Path, report: Report, may_be_empty: bool) -> None:
    source = parameter.value_from
    if source is None and parameter.value is None and not may_be_empty:
        report.add(path, f"the parameter {parameter.name!r} needs a value or a valueFrom")
    if source is not None:
        given = source.config_map_key_ref or source.event or source.supplied is not None
        other = source.path or source.json_path or source.parameter or source.expression
        if other or not given:
            message = "an argument's valueFrom takes configMapKeyRef, event or supplied only"
            report.add((*path, "valueFrom"), message)
    if report.written((*path, "enum")) == []:
        report.add((*path, "enum"), "an enum needs at least one value")
    if parameter.enum and parameter.value is not None and parameter.value not in parameter.enum:
        known = ", ".join(parameter.enum[:10])
        report.add((*path, "value"), f"{parameter.value[:60]!r} is not one of {known}")


def _check_artifact(artifact: Artifact, path: Path, report: Report) -> None:
    if artifact.from_ and artifact.from_expression:
        report.add(path, "give either 'from' or 'fromExpression', not both")
    if not artifact.from_ and not artifact.from_expression and not has_location(artifact):
        message = f"the artifact {artifact.name!r} needs 'from', a location or a key"
        report.add(path, message)


def check_fit(arguments: Arguments, template: Template, path: Path, report: Report) -> None:
    """Check that all inputs of a template are given, and nothing that it does not take."""
    given = {each.name for each in arguments.parameters}
    for parameter in template.inputs.parameters:
        if parameter.name not in given and not _has_own_value(parameter):
            message = f"template {template.name!r} needs the parameter {parameter.name!r}"
            report.add(path, message, hint=report.close_to(parameter.name, given))
    artifacts = {each.name for each in arguments.artifacts}
    for artifact in template.inputs.artifacts:
        if artifact.name in artifacts or artifact.optional or has_location(artifact):
            continue
        message = f"template {template.name!r} needs the artifact {artifact.name!r}"
        report.add(path, message, hint=report.close_to(artifact.name, artifacts))
    _check_extra(arguments, template, path, report)


def _has_own_value(parameter: Parameter) -> bool:
    own = (parameter.value, parameter.default, parameter.value_from)
    return any(value is not None for value in own)


def _check_extra(arguments: Arguments, template: Template, path: Path, report: Report) -> None:
    known = {each.name for each in template.inputs.parameters}
    for index, parameter in enumerate(arguments.parameters):
        if parameter.name not in known:
            message = f"template {template.name!r} takes no parameter {parameter.name!r}"
            hint = report.close_to(parameter.name, known)
            report.warn((*path, "parameters", index, "name"), message, hint=hint)
