"""Inputs and outputs of templates."""

from __future__ import annotations

from tiphys.spec.model import Artifact, ArtifactLocation, HDFSArtifact, Parameter, Template
from tiphys.spec.report import Report
from tiphys.spec.template_type import is_leaf, template_type
from tiphys.spec.validate.language import check_expression
from tiphys.spec.validate.names import check_value_name, check_value_names
from tiphys.spec.validate.tags import Scope, check_tags, is_reference
from tiphys.spec.yaml import Path

_SOURCES = ("path", "jq_filter", "json_path", "parameter", "expression")
# Where the outputs of each type of template can come from.
_ALLOWED = {
    "container": ("path",),
    "container_set": ("path",),
    "script": ("path",),
    "resource": ("jq_filter", "json_path"),
    "steps": ("parameter", "expression"),
    "dag": ("parameter", "expression"),
}
_WRITTEN = {"jq_filter": "jqFilter", "json_path": "jsonPath"}


def check_inputs(template: Template, path: Path, scope: Scope, report: Report) -> None:
    """Check inputs and make them known."""
    path = (*path, "inputs")
    check_value_names(template.inputs.parameters, (*path, "parameters"), report)
    check_value_names(template.inputs.artifacts, (*path, "artifacts"), report)
    for parameter in template.inputs.parameters:
        scope.add(f"inputs.parameters.{parameter.name}", "inputs.parameters")
    for index, artifact in enumerate(template.inputs.artifacts):
        place = (*path, "artifacts", index)
        scope.add(f"inputs.artifacts.{artifact.name}")
        if is_leaf(template):
            scope.add(f"inputs.artifacts.{artifact.name}.path")
        _check_path(artifact, template, place, report)
        if artifact.from_:
            report.add((*place, "from"), "an input takes its artifact from the caller's arguments")
        check_location(artifact, place, report)


def check_outputs(template: Template, path: Path, scope: Scope, report: Report) -> None:
    """Check outputs: names, sources, and that what they speak of exists."""
    path = (*path, "outputs")
    outputs = template.outputs
    check_value_names(outputs.parameters, (*path, "parameters"), report)
    check_value_names(outputs.artifacts, (*path, "artifacts"), report)
    if not is_leaf(template):  # a leaf's texts are all checked already
        check_tags(outputs, path, scope, report)
    for index, artifact in enumerate(outputs.artifacts):
        place = (*path, "artifacts", index)
        _check_path(artifact, template, place, report)
        _check_global_name(artifact.global_name, place, report)
        if artifact.from_expression:
            check_expression(artifact.from_expression, (*place, "fromExpression"), report)
    for index, parameter in enumerate(outputs.parameters):
        place = (*path, "parameters", index)
        _check_source(parameter, template, place, report)
        _check_global_name(parameter.global_name, place, report)


def _check_global_name(name: str, path: Path, report: Report) -> None:
    if name and not is_reference(name):
        check_value_name(name, (*path, "globalName"), report)


def _check_source(parameter: Parameter, template: Template, path: Path, report: Report) -> None:
    source = parameter.value_from
    if source is None:
        if parameter.value is None:
            report.add(path, f"the output {parameter.name!r} needs a value or a valueFrom")
        return
    if parameter.value is not None:
        report.add(path, "give either 'value' or 'valueFrom', not both")
    given = [name for name in _SOURCES if getattr(source, name)]
    count = len(given) + (source.supplied is not None)
    if count != 1:
        found = "no source" if count == 0 else "more than one source"
        report.add((*path, "valueFrom"), f"valueFrom has {found}")
        return
    allowed = _ALLOWED.get(template_type(template))
    if allowed and (not given or given[0] not in allowed):
        words = " or ".join(_WRITTEN.get(name, name) for name in allowed)
        kind = template_type(template)
        report.add((*path, "valueFrom"), f"outputs of a {kind} template come from {words}")
    if source.expression:
        check_expression(source.expression, (*path, "valueFrom", "expression"), report)


def _check_path(artifact: Artifact, template: Template, path: Path, report: Report) -> None:
    if not is_leaf(template):
        if artifact.path:
            message = "a path is for templates that run something, not for steps and dags"
            report.add((*path, "path"), message)
    elif not artifact.path:
        report.add(path, f"the artifact {artifact.name!r} needs a path")
    elif _climbs_out(artifact.path):
        report.add((*path, "path"), "the path leads out of its folder with '..'")


def _climbs_out(path: str) -> bool:
    """Tell whether '..' leaves the folder that the path names before it."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." not in parts:
        return False
    safe = parts[: parts.index("..")]
    real: list[str] = []
    for part in parts:
        if part != "..":
            real.append(part)
        elif real:
            real.pop()
    return real[: len(safe)] != safe or len(real) <= len(safe)


def check_location(artifact: ArtifactLocation, path: Path, report: Report) -> None:
    """Check the parts of a location that no store can do without."""
    if artifact.git is not None and not artifact.git.repo:
        report.add((*path, "git"), "a Git artifact needs a repo")
    if artifact.hdfs is not None:
        _check_hdfs(artifact.hdfs, (*path, "hdfs"), report)


def _check_hdfs(hdfs: HDFSArtifact, path: Path, report: Report) -> None:
    if not hdfs.addresses:
        report.add(path, "an HDFS artifact needs addresses")
    if not hdfs.path.startswith("/"):
        report.add((*path, "path"), "an HDFS artifact needs an absolute path")
    cache, keytab = hdfs.krb_ccache_secret, hdfs.krb_keytab_secret
    if not (hdfs.hdfs_user or cache or keytab):
        report.add(path, "one of hdfsUser, krbCCacheSecret and krbKeytabSecret is required")
    known = hdfs.krb_service_principal_name and hdfs.krb_config_config_map
    if (cache or keytab) and not known:
        report.add(path, "Kerberos needs krbServicePrincipalName and krbConfigConfigMap")
    if keytab and not (hdfs.krb_username and hdfs.krb_realm):
        report.add(path, "a keytab needs krbUsername and krbRealm")
