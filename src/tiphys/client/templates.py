"""What can be asked of the server about templates: those of a project, and those for all."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from tiphys.client.calls import Call

WORKFLOW_TEMPLATE = "WorkflowTemplate"


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """A template that is kept; of a JobTemplate, ``templates`` are its tasks."""

    kind: str
    name: str
    project_id: str | None = None
    """None for one that every project may use."""
    templates: list[str] = []
    entrypoint: str = ""
    updated_at: datetime | None = None
    manifest: dict[str, Any] = {}


def _at(project: str, name: str, kind: str) -> str:
    path = f"/templates/{quote(project, safe='')}/{quote(name, safe='')}"
    return f"{path}?{urlencode({'kind': kind})}"


def list_templates(*, project: str = "", kind: str = WORKFLOW_TEMPLATE) -> Call[list[Template]]:
    """List templates (or ``JobTemplate``): of a project, or of all that the token sees."""
    query = {"kind": kind, **({"project_id": project} if project else {})}
    return Call("GET", f"/templates?{urlencode(query)}", list[Template])


def save_template(project: str, text: str) -> Call[Template]:
    """Keep a WorkflowTemplate or a JobTemplate; one of the same kind and name is replaced."""
    return Call("POST", "/templates", Template, {"project_id": project, "template_yaml": text})


def get_template(project: str, name: str, *, kind: str = WORKFLOW_TEMPLATE) -> Call[Template]:
    """Show a template."""
    return Call("GET", _at(project, name, kind), Template)


def delete_template(project: str, name: str, *, kind: str = WORKFLOW_TEMPLATE) -> Call[None]:
    """Remove a template; workflows that began with it keep it."""
    return Call("DELETE", _at(project, name, kind))


def list_cluster_templates() -> Call[list[Template]]:
    """List the templates that every project may use."""
    return Call("GET", "/cluster-templates", list[Template])


def save_cluster_template(text: str) -> Call[Template]:
    """Keep a ClusterWorkflowTemplate."""
    return Call("POST", "/cluster-templates", Template, {"template_yaml": text})


def get_cluster_template(name: str) -> Call[Template]:
    """Show a template that every project may use."""
    return Call("GET", f"/cluster-templates/{quote(name, safe='')}", Template)


def delete_cluster_template(name: str) -> Call[None]:
    """Remove a template for all."""
    return Call("DELETE", f"/cluster-templates/{quote(name, safe='')}")
