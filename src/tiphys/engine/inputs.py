"""From a prepared template and a call's arguments to the template of one node.

Input parameters get their values (argument, else value, else default, else config map), artifacts
their locations; then every tag that can be resolved is. Unknown tags stay as they are, as in Argo:
a step's own tags are rendered when its turn comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from tiphys.core.name import pod_name
from tiphys.engine.resolve import POD_KINDS, Prepared, UnresolvedError
from tiphys.engine.scope import Overlay
from tiphys.engine.shield import shield, unshield
from tiphys.spec import model
from tiphys.spec.template import compile_template

if TYPE_CHECKING:
    from tiphys.engine.run import Call, Run

replace = msgspec.structs.replace


def template_of(run: Run, call: Call, prepared: Prepared) -> model.Template:
    """Give the template of the node that ``call`` becomes."""
    if prepared.fixed:
        return prepared.template  # One for all nodes, which others may know it by.
    return render_template(run, call, prepared, local_values(run, call, prepared))


def local_values(run: Run, call: Call, prepared: Prepared, *, attempt: str = "") -> dict[str, str]:
    """Give the values that only this node has: its names. An attempt has a pod of its own."""
    name = attempt or call.name
    found = {"node.name": call.name}
    if isinstance(call.holder, model.DAGTask):
        found["tasks.name"] = call.holder.name
    else:
        found["steps.name"] = call.holder.name
    if prepared.kind in POD_KINDS and (prepared.retry is None or attempt):
        found["pod.name"] = pod_name(run.name, name, prepared.template.name, run.node_id(name))
    return found


def render_template(
    run: Run, call: Call, prepared: Prepared, values: dict[str, str]
) -> model.Template:
    """Give the template of one node; ``values`` are its own and are added to."""
    template = prepared.template
    if prepared.fixed:
        return template
    parameters = _parameters(run, call, prepared, values)
    if prepared.plain:
        rendered = template
    else:
        known = _with_own_paths(template, values, run.globals)
        text = prepared.text.render(
            Overlay(known, run.globals), allow_unresolved=True, json_text=True
        )
        if prepared.kind not in {"steps", "dag"}:
            text = unshield(text)
        rendered = msgspec.json.decode(text, type=model.Template)
    inputs = model.Inputs(
        parameters=parameters, artifacts=_artifacts(call, rendered.inputs.artifacts)
    )
    return replace(rendered, inputs=inputs)


def _parameters(
    run: Run, call: Call, prepared: Prepared, values: dict[str, str]
) -> tuple[model.Parameter, ...]:
    declared = prepared.template.inputs.parameters
    if not declared:
        return ()
    given = {p.name: p for p in call.arguments.parameters}
    found = []
    for parameter in declared:
        done = _parameter(run, parameter, given.get(parameter.name), values)
        found.append(done)
        if done.value is not None:
            values[f"inputs.parameters.{done.name}"] = shield(done.value)
    values["inputs.parameters"] = shield(msgspec.json.encode(found).decode())
    return tuple(found)


def _parameter(
    run: Run,
    declared: model.Parameter,
    given: model.Parameter | None,
    values: dict[str, str],
) -> model.Parameter:
    source = declared.value_from
    if given is not None and (given.value is not None or given.value_from is not None):
        if given.value is not None:
            return replace(declared, value=_late(given.value, values, run), value_from=None)
        source = given.value_from
    elif declared.value is not None or declared.default is not None:
        own = declared.default if declared.value is None else declared.value
        assert own is not None
        return replace(declared, value=unshield(_render(own, values, run.globals)))
    if source is not None and source.config_map_key_ref is not None:
        return replace(declared, value=_from_config_map(run, declared.name, source))
    if source is not None:
        return replace(declared, value_from=source)
    why = given.description if given is not None and given.description else ""
    # The reason is in words, not a tag that anybody should resolve.
    reason = f": {why.replace('{{', '').replace('}}', '')}" if why.endswith(_ABSENT) else ""
    raise UnresolvedError(f"inputs.parameters.{declared.name} was not supplied{reason}")


_ABSENT = "there is no default"
_LATE_TAGS = ("{{pod.name}}", "{{node.name}}", "{{retries}}", "{{steps.name}}", "{{tasks.name}}")


def _late(value: str, values: Mapping[str, str], run: Run) -> str:
    """Resolve the few tags that only the called node can know, and nothing else."""
    if "{{" in value and any(tag in value for tag in _LATE_TAGS):
        return _render(value, values, run.globals)
    return value


def _from_config_map(run: Run, name: str, source: model.ValueFrom) -> str:
    ref = source.config_map_key_ref
    assert ref is not None
    map_name = unshield(_render(ref.name, {}, run.globals))
    key = unshield(_render(ref.key, {}, run.globals))
    found = run.library.config_value(map_name, key, namespace=run.namespace)
    if found is not None:
        return found
    if source.default is not None:
        return source.default
    raise UnresolvedError(
        f"unable to retrieve inputs.parameters.{name} from ConfigMap: "
        f"ConfigMap '{map_name}' does not exist or does not have the key '{key}'"
    )


def _render(text: str, front: Mapping[str, str], back: Mapping[str, str]) -> str:
    if "{{" not in text:
        return text
    return compile_template(text).render(Overlay(front, back), allow_unresolved=True)


def _with_own_paths(
    template: model.Template, values: dict[str, str], back: Mapping[str, str]
) -> dict[str, str]:
    """Add ``inputs.artifacts.X.path`` and its kin."""
    for artifact in template.inputs.artifacts:
        if artifact.path:
            values[f"inputs.artifacts.{artifact.name}.path"] = _render(artifact.path, values, back)
    for artifact in template.outputs.artifacts:
        if artifact.path:
            values[f"outputs.artifacts.{artifact.name}.path"] = _render(artifact.path, values, back)
    for parameter in template.outputs.parameters:
        if parameter.value_from is not None and parameter.value_from.path:
            values[f"outputs.parameters.{parameter.name}.path"] = _render(
                parameter.value_from.path, values, back
            )
    return values


def _artifacts(call: Call, declared: tuple[model.Artifact, ...]) -> tuple[model.Artifact, ...]:
    if not declared:
        return ()
    given = {a.name: a for a in call.arguments.artifacts}
    found = []
    for artifact in declared:
        argument = given.get(artifact.name)
        if argument is None:
            if not artifact.optional and not has_location(artifact):
                raise UnresolvedError(f"inputs.artifacts.{artifact.name} was not supplied")
            found.append(artifact)
            continue
        if not artifact.optional and not has_location(artifact) and not has_location(argument):
            raise UnresolvedError(f"inputs.artifacts.{artifact.name} missing location information")
        found.append(
            replace(
                argument,
                name=artifact.name,
                path=artifact.path,
                mode=artifact.mode,
                recurse_mode=artifact.recurse_mode,
                optional=artifact.optional or argument.optional,
            )
        )
    return tuple(found)


_LOCATIONS = (
    "local",
    "raw",
    "s3",
    "http",
    "git",
    "gcs",
    "azure",
    "oss",
    "hdfs",
    "artifactory",
    "plugin",
)


def has_location(artifact: model.Artifact) -> bool:
    """Whether the artifact says where it lies."""
    return any(getattr(artifact, kind, None) is not None for kind in _LOCATIONS)
