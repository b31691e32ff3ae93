"""``podSpecPatch`` where it means something on this machine: containers' resources and environment.

Everything else in a patch concerns pods and nodes of a cluster and is left alone.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tiphys.errors import RuntimeFailure, SpecError
from tiphys.spec import model
from tiphys.spec.yaml import load

FAILED = "Failed to merge the workflow PodSpecPatch"
"""Argo's words, also for a template's own."""


def apply(template: model.Template, text: str) -> model.Template:
    """Return the template with the patches of the workflow and of its own."""
    for patch in (text, template.pod_spec_patch):
        if patch:
            template = _apply(template, patch)
    return template


def read_patch(text: str) -> dict[str, Any]:
    """Read a patch, within the bounds that hold for every text."""
    try:
        documents = load(text)
    except SpecError as error:
        first = error.problems[0]
        raise RuntimeFailure(f"{FAILED}: line {first.line}: {first.message}") from error
    value = documents[0].value if documents else {}
    if not isinstance(value, dict):
        raise RuntimeFailure(f"{FAILED}: it is no mapping")
    return value


def _apply(template: model.Template, text: str) -> model.Template:
    value = read_patch(text)
    try:
        containers = {entry["name"]: entry for entry in value.get("containers") or ()}
    except (AttributeError, KeyError, TypeError) as error:
        raise RuntimeFailure(f"{FAILED}: containers: {error}") from error
    changed: dict[str, Any] = {}
    deadline = value.get("activeDeadlineSeconds")
    if deadline is not None:
        changed["active_deadline_seconds"] = str(deadline)
    for kind in ("container", "script"):
        main = getattr(template, kind)
        if main is not None and "main" in containers:
            changed[kind] = _patched(main, containers["main"])
    if template.container_set is not None:
        nodes = tuple(
            _patched(node, containers[node.name]) if node.name in containers else node
            for node in template.container_set.containers
        )
        changed["container_set"] = msgspec.structs.replace(template.container_set, containers=nodes)
    return msgspec.structs.replace(template, **changed)


def _patched(container: model.Container, entry: dict[str, Any]) -> Any:
    changed: dict[str, Any] = {}
    try:
        resources = entry.get("resources") or {}
        changed["resources"] = msgspec.structs.replace(
            container.resources,
            limits=_merged(container.resources.limits, resources.get("limits")),
            requests=_merged(container.resources.requests, resources.get("requests")),
        )
        given = msgspec.convert(entry.get("env") or [], tuple[model.EnvVar, ...])
    except (msgspec.ValidationError, AttributeError, TypeError) as error:
        raise RuntimeFailure(f"{FAILED}: {error}") from error
    names = {variable.name for variable in given}
    kept = tuple(variable for variable in container.env if variable.name not in names)
    changed["env"] = (*kept, *given)
    return msgspec.structs.replace(container, **changed)


def _merged(below: dict[str, str], above: dict[str, Any] | None) -> dict[str, str]:
    """Lay amounts over others; null takes one away."""
    both = below | (above or {})
    return {name: str(amount) for name, amount in both.items() if amount is not None}
