"""What composite nodes give: their own outputs, the run's global outputs, and where edges go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from tiphys.engine.node import Node, NodeType
from tiphys.engine.resolve import UnresolvedError
from tiphys.engine.scope import Scope
from tiphys.engine.shield import shield, unshield
from tiphys.errors import ExpressionError
from tiphys.spec import expression, model
from tiphys.spec.template import compile_template, expand

if TYPE_CHECKING:
    from tiphys.engine.run import Run

replace = msgspec.structs.replace


def evaluate(text: str, scope: Mapping[str, object]) -> object:
    """Evaluate an expression over the flat names of ``scope``."""
    found = expression.compile_expression(unshield(text)).evaluate(expand(scope))
    return unshield(found) if isinstance(found, str) else found


def evaluate_bool(text: str, scope: Mapping[str, object]) -> bool:
    """Evaluate an expression that must be true or false."""
    found = evaluate(text, scope)
    if not isinstance(found, bool):
        raise ExpressionError(f"unable to cast expression result '{found}' to bool")
    return found


def template_outputs(template: model.Template, scope: Scope) -> model.Outputs | None:
    """Resolve the outputs that a steps or DAG template declares."""
    declared = template.outputs
    if not declared.parameters and not declared.artifacts:
        return None
    artifacts = (_artifact_output(a, scope) for a in declared.artifacts)
    return model.Outputs(
        parameters=tuple(_parameter_output(p, scope) for p in declared.parameters),
        artifacts=tuple(a for a in artifacts if a is not None),
    )


def _parameter_output(parameter: model.Parameter, scope: Scope) -> model.Parameter:
    source = parameter.value_from
    if source is None:
        raise UnresolvedError("output parameters must have a valueFrom specified")
    try:
        value = _value(source, scope)
    except (UnresolvedError, ExpressionError) as error:
        if source.default is None:
            raise UnresolvedError(str(error)) from None
        value = source.default
    return replace(parameter, value=value, value_from=None)


def _value(source: model.ValueFrom, scope: Scope) -> str:
    if source.expression:
        found = evaluate(source.expression, scope)
        if found is None:
            raise UnresolvedError(f"expression '{source.expression}' gave nil")
        return expression.text_of(found)
    if source.parameter:
        return unshield(resolve_variable(source.parameter, scope))
    return ""


def resolve_variable(text: str, scope: Mapping[str, str]) -> str:
    """Resolve ``{{a.b.c}}`` or ``{{=expr}}``; anything unknown is an error."""
    try:
        return compile_template(text.strip()).render(scope, allow_unresolved=False)
    except ExpressionError as error:
        raise UnresolvedError(f"Unable to resolve: {text}: {error}") from None


def _artifact_output(artifact: model.Artifact, scope: Scope) -> model.Artifact | None:
    try:
        found = resolve_artifact(artifact, scope)
    except UnresolvedError as error:
        if artifact.optional:
            return None
        raise UnresolvedError(f"unable to resolve outputs from scope: {error}") from None
    if found is None:
        return None
    return replace(found, name=artifact.name, global_name=artifact.global_name)


def resolve_artifact(artifact: model.Artifact, scope: Scope) -> model.Artifact | None:
    """Find the artifact that ``from`` or ``fromExpression`` names; None where neither is given."""
    if artifact.from_expression:
        found = _artifact_by_expression(unshield(artifact.from_expression), scope)
    elif artifact.from_:
        name = artifact.from_.strip().removeprefix("{{").removesuffix("}}").strip()
        known = scope.find_artifact(name)
        if known is None:
            raise UnresolvedError(f"Unable to resolve: {{{{{name}}}}}")
        found = known
    else:
        return None
    if artifact.sub_path:
        sub_path = compile_template(artifact.sub_path).render(scope, allow_unresolved=True)
        found = below(found, unshield(sub_path))
    return found


def _artifact_by_expression(text: str, scope: Scope) -> model.Artifact:
    program = expression.compile_expression(text)
    view: dict[str, object] = dict(scope)
    known: dict[str, model.Artifact] = {}
    for path in program.paths:
        name = ".".join(path)
        artifact = scope.find_artifact(name)
        if artifact is not None:
            # The language has no artifacts: a map with the name stands for each.
            known[name], view[name] = artifact, {_ARTIFACT: name}
    try:
        found = program.evaluate(expand(view))
    except ExpressionError as error:
        raise UnresolvedError(f"Unable to resolve: {error}") from None
    if not isinstance(found, dict) or _ARTIFACT not in found:
        raise UnresolvedError(f"Unable to resolve: '{text}' is not an artifact")
    return known[found[_ARTIFACT]]


_ARTIFACT = "\ufdd1"


_KEYED = ("local", "s3", "gcs", "oss")


def below(artifact: model.Artifact, sub_path: str) -> model.Artifact:
    """Give the part of ``artifact`` at ``sub_path``."""
    for kind in _KEYED:
        place = getattr(artifact, kind)
        if place is not None:
            key = f"{place.key.rstrip('/')}/{sub_path.lstrip('/')}"
            return replace(artifact, **{kind: replace(place, key=key)})
    raise UnresolvedError("a sub path needs an artifact that is stored under a key")


def publish(run: Run, outputs: model.Outputs | None) -> None:
    """Copy outputs that have a global name to the run's own; the later writer wins."""
    if outputs is None:
        return
    for parameter in outputs.parameters:
        name = parameter.global_name
        if name and parameter.value is not None:
            run.globals[f"workflow.outputs.parameters.{name}"] = shield(parameter.value)
            _keep(run, "parameters", model.Parameter(name=name, value=parameter.value))
    for artifact in outputs.artifacts:
        if artifact.global_name:
            _keep(
                run,
                "artifacts",
                replace(artifact, name=artifact.global_name, global_name="", path=""),
            )


def _keep(run: Run, field: str, item: model.Parameter | model.Artifact) -> None:
    outputs = run.outputs or model.Outputs()
    kept = {each.name: each for each in getattr(outputs, field)}
    if kept.get(item.name) == item:
        return
    kept[item.name] = item
    run.outputs = replace(outputs, **{field: tuple(kept.values())})
    run.header_changed = True


def outbound(run: Run, node_id: str) -> list[str]:
    """Give the nodes at which ``node_id`` ends: what follows it hangs below them."""
    node = run.nodes[node_id]
    kind = node.type
    if kind is NodeType.RETRY:
        children = run.children.get(node_id)
        return [children[-1]] if children else []
    if kind in {NodeType.STEPS, NodeType.DAG}:
        memo = node.memoization_status
        return [node_id] if memo is not None and memo.hit else _flat(run, node.outbound_nodes)
    if kind in {NodeType.TASK_GROUP, NodeType.CONTAINER} or _is_container_set(run, node):
        children = run.children.get(node_id)
        if not children:
            return [node_id]
        found: list[str] = []
        for child in children:
            outside = run.nodes[child].boundary_id != node.boundary_id
            if kind is NodeType.CONTAINER and outside:
                found.append(node_id)
            else:
                found.extend(outbound(run, child))
        return found
    if kind is NodeType.STEP_GROUP:
        return _flat(run, node.outbound_nodes)
    return [node_id]


def _flat(run: Run, ids: tuple[str, ...]) -> list[str]:
    return [leaf for each in ids for leaf in outbound(run, each)]


def _is_container_set(run: Run, node: Node) -> bool:
    if node.type is not NodeType.POD:
        return False
    children = run.children.get(node.id, ())
    # Its containers are the first children that it gets.
    return len(children) > 0 and run.nodes[children[0]].type is NodeType.CONTAINER
