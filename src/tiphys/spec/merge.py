"""Lays one part of a specification over another, as Kubernetes' strategic merge does.

Used twice: a workflow over its WorkflowTemplate over the defaults of the installation, and a
template over ``templateDefaults``. A field that is set wins, mappings are joined, lists are
replaced except the few whose items have a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from msgspec import UNSET, structs

from tiphys.errors import NotFoundError
from tiphys.spec.library import Library
from tiphys.spec.model import (
    Arguments,
    Container,
    DAGTemplate,
    Inputs,
    Model,
    ObjectMeta,
    Outputs,
    Parameter,
    Template,
    Workflow,
    WorkflowSpec,
)
from tiphys.spec.template_type import TYPE_FIELDS, template_type
from tiphys.spec.upgrade import upgrade

__all__ = ["apply_template_defaults", "merge", "merge_specs", "resolve_spec", "upgrade"]

T = TypeVar("T", bound=Model)

_NAMED: Mapping[str, str] = {"parameters": "name", "artifacts": "name"}
# By which field items are the same item; all other lists are replaced as a whole.
_LIST_KEYS: Mapping[type[Model], Mapping[str, str]] = {
    WorkflowSpec: {
        "templates": "name",
        "volumes": "name",
        "tolerations": "key",
        "image_pull_secrets": "name",
        "host_aliases": "ip",
    },
    Template: {
        "volumes": "name",
        "init_containers": "name",
        "sidecars": "name",
        "tolerations": "key",
        "host_aliases": "ip",
    },
    Arguments: _NAMED,
    Inputs: _NAMED,
    Outputs: _NAMED,
    DAGTemplate: {"tasks": "name"},
    ObjectMeta: {"owner_references": "uid"},
    Container: {
        "env": "name",
        "ports": "container_port",
        "volume_mounts": "mount_path",
        "volume_devices": "device_path",
    },
}
# Taken or left as a whole: half of one hook joined with half of another means nothing.
_WHOLE_FIELDS = frozenset({"hooks", "labels_from"})


def merge(base: T, over: T) -> T:
    """Give ``over`` with what it leaves open filled in from ``base``."""
    cls = type(over)
    values = {}
    for name, default in _defaults(cls).items():
        low, high = getattr(base, name), getattr(over, name)
        if high == default:
            values[name] = low
        else:
            values[name] = high if low == default else _merge_value(cls, name, low, high)
    return cls(**values)


@cache
def _defaults(cls: type[Model]) -> Mapping[str, Any]:
    """Give what each field is when it is not set; required fields are always set."""
    found = {}
    for each in structs.fields(cls):
        if each.default_factory in (dict, list):
            found[each.name] = each.default_factory()
        else:
            found[each.name] = UNSET if each.required else each.default
    return found


def _merge_value(cls: type[Model], name: str, low: Any, high: Any) -> Any:
    if isinstance(high, Model) and type(low) is type(high):
        return merge(low, high)
    if isinstance(high, dict) and isinstance(low, dict):
        return {**low, **high} if name in _WHOLE_FIELDS else _merge_maps(low, high)
    key = next((keys[name] for t, keys in _LIST_KEYS.items() if _has(cls, t, keys, name)), None)
    if key and isinstance(high, tuple):
        return _merge_items(low, high, key)
    return high


def _has(cls: type[Model], t: type[Model], keys: Mapping[str, str], name: str) -> bool:
    return name in keys and issubclass(cls, t)


def _merge_maps(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    joined = dict(low)
    for key, value in high.items():
        under = joined.get(key)
        if isinstance(value, Model) and isinstance(under, type(value)):
            joined[key] = merge(under, value)
        elif isinstance(value, dict) and isinstance(under, dict):
            joined[key] = _merge_maps(under, value)
        else:
            joined[key] = value
    return joined


def _merge_items(low: Sequence[Any], high: Sequence[Any], key: str) -> tuple[Any, ...]:
    """Join two lists by key, in Kubernetes' order.

    The upper list's items keep their order. Of the lower list's other items, those that stand
    before a shared item stay before it; the rest goes to the end.
    """
    places = {getattr(item, key): index for index, item in enumerate(low)}
    shared = {getattr(item, key) for item in high}
    rest = [item for item in low if getattr(item, key) not in shared]
    joined: list[Any] = []
    for item in high:
        place = places.get(getattr(item, key))
        if place is None:
            joined.append(item)
            continue
        while rest and places[getattr(rest[0], key)] < place:
            joined.append(rest.pop(0))
        joined.append(merge(low[place], item))
    return (*joined, *rest)


def merge_specs(
    spec: WorkflowSpec, template: WorkflowSpec | None, defaults: WorkflowSpec | None = None
) -> WorkflowSpec:
    """Lay a workflow's spec over its template's, and that over the defaults."""
    if template is None and defaults is None:
        return spec
    merged = spec
    for lower in (template, defaults):
        if lower is not None:
            merged = merge(lower, merged)
    parameters = tuple(_own(parameter, spec, template) for parameter in merged.arguments.parameters)
    arguments = structs.replace(merged.arguments, parameters=parameters)
    # A template's ``suspend`` is not the workflow's: it would stop every run made from it.
    return structs.replace(merged, arguments=arguments, suspend=spec.suspend)


def _own(merged: Parameter, spec: WorkflowSpec, template: WorkflowSpec | None) -> Parameter:
    """Give the parameter of the highest layer that gives it a value.

    Joined, it could hold one layer's ``value`` and another's ``valueFrom``.
    """
    for layer in (spec, template):
        for parameter in layer.arguments.parameters if layer else ():
            if parameter.name == merged.name and _has_value(parameter):
                return parameter
    return merged


def _has_value(parameter: Parameter) -> bool:
    values = (parameter.value, parameter.default, parameter.value_from)
    return any(value is not None for value in values)


def resolve_spec(
    workflow: Workflow, library: Library, defaults: WorkflowSpec | None = None
) -> WorkflowSpec:
    """Give the spec that really runs, with ``workflowTemplateRef`` followed.

    Raises NotFoundError when the library does not have the template.
    """
    ref = workflow.spec.workflow_template_ref
    if ref is None:
        return merge_specs(workflow.spec, None, defaults)
    namespace = workflow.metadata.namespace
    template = library.spec(ref.name, cluster_scope=ref.cluster_scope, namespace=namespace)
    if template is None:
        kind = "ClusterWorkflowTemplate" if ref.cluster_scope else "WorkflowTemplate"
        raise NotFoundError(f"there is no {kind} {ref.name!r}")
    return merge_specs(workflow.spec, template, defaults)


def apply_template_defaults(template: Template, defaults: Template | None) -> Template:
    """Fill in ``templateDefaults``, leaving out what belongs to other types of template."""
    if defaults is None:
        return template
    kind = template_type(template)
    foreign: dict[str, Any] = {name: None for name in TYPE_FIELDS if name != kind}
    applicable = structs.replace(defaults, name="", **foreign)
    return structs.replace(merge(applicable, template), **foreign)
