"""Which type a template is of, and what the types have in common."""

from __future__ import annotations

from tiphys.spec.model import Template

TYPE_FIELDS = (
    "container",
    "container_set",
    "steps",
    "script",
    "resource",
    "dag",
    "suspend",
    "data",
    "http",
    "plugin",
    "volcano_job",
    "volcano_probe",
)
"""The attributes of `Template` of which exactly one is set."""

POD_TYPES = frozenset({"container", "container_set", "script", "resource", "data"})
LEAF_TYPES = POD_TYPES | {"http", "plugin", "volcano_probe"}


def template_types(template: Template) -> tuple[str, ...]:
    """Give the names of all type fields that are set; a sound template has one."""
    return tuple(name for name in TYPE_FIELDS if getattr(template, name) is not None)


def template_type(template: Template) -> str:
    """Give the type's attribute name (``container``, ``dag``…), "" where none is set."""
    return next(iter(template_types(template)), "")


def is_leaf(template: Template) -> bool:
    """Tell whether the template does work itself instead of calling others."""
    return template_type(template) in LEAF_TYPES


def is_pod(template: Template) -> bool:
    """Tell whether the template becomes a pod of its own."""
    return template_type(template) in POD_TYPES


def gives_result(template: Template) -> bool:
    """Tell whether a node of the template can have ``outputs.result`` and an exit code."""
    containers = template.container_set.containers if template.container_set else ()
    if any(container.name == "main" for container in containers):
        return True
    kinds = {"container", "script", "data", "http", "plugin", "volcano_job"}
    return template_type(template) in kinds
