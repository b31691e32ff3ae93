"""``/api/v1/templates`` and ``/api/v1/cluster-templates``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from fastapi import Depends
from starlette.responses import Response

from tiphys.api.bodies import TemplateText
from tiphys.api.deps import Context, Who, body_of, find_project
from tiphys.api.document import answers, routes, takes
from tiphys.api.envelope import answer, instant
from tiphys.api.problems import RequestError
from tiphys.api.shapes import Done, Envelope, Template
from tiphys.service.access import Role
from tiphys.service.templates import FOR_ALL, names_in
from tiphys.store import ObjectRow

router = routes("", "templates")
Text = Annotated[TemplateText, Depends(body_of(TemplateText))]
Kind = Literal["WorkflowTemplate", "JobTemplate"]
NAMESPACED: Kind = "WorkflowTemplate"
_LIST = answers(Envelope[list[Template]])
_MADE = answers(Envelope[Template], 403, 415, 422, status=201)


@router.get("/templates", summary="List templates", responses=_LIST)
def list_templates(
    context: Context, who: Who, project_id: str | None = None, kind: Kind = NAMESPACED
) -> Response:
    """List the templates of one kind, of the projects that the token sees."""
    projects = {each.id for each in context.projects.visible(who)}
    if project_id is not None:
        projects &= {project_id}
    wanted = None if not who.project and project_id is None else projects
    return answer([_shown(row) for row in context.templates.rows(kind, wanted)])


@router.post(
    "/templates",
    status_code=201,
    summary="Keep a template",
    responses=_MADE,
    openapi_extra=takes(TemplateText),
)
async def save_template(context: Context, who: Who, body: Text) -> Response:
    """Keep a WorkflowTemplate or a JobTemplate; one of the same kind and name is replaced."""
    if not body.project_id:
        raise RequestError("invalid_input", "project_id: is needed")
    project = await find_project(context, who, body.project_id)
    row = await context.templates.save(NAMESPACED, project, body.template_yaml)
    await context.audit.note(who, "save template", project=project, subject=row.name)
    return answer(_shown(row), status=201)


@router.get(
    "/templates/{project_id}/{name}",
    summary="Show a template",
    responses=answers(Envelope[Template]),
)
def get_template(
    context: Context, who: Who, project_id: str, name: str, kind: Kind = NAMESPACED
) -> Response:
    """Show a template."""
    who.require(Role.VIEWER, project_id)
    return answer(_shown(context.templates.find(kind, project_id, name)))


@router.delete(
    "/templates/{project_id}/{name}", summary="Remove a template", responses=answers(Done, 403)
)
async def delete_template(
    context: Context, who: Who, project_id: str, name: str, kind: Kind = NAMESPACED
) -> Response:
    """Remove a template; workflows that began with it keep it."""
    who.require(Role.MEMBER, project_id)
    await context.templates.remove(context.templates.find(kind, project_id, name))
    await context.audit.note(who, "remove template", project=project_id, subject=name)
    return answer(message="Template removed")


@router.get("/cluster-templates", summary="List templates for all", responses=_LIST)
def list_cluster_templates(context: Context, who: Who) -> Response:
    """List the templates that every project may use."""
    who.require(Role.VIEWER, who.project)
    return answer([_shown(row) for row in context.templates.rows(FOR_ALL, None)])


@router.post(
    "/cluster-templates",
    status_code=201,
    summary="Keep a template for all",
    responses=_MADE,
    openapi_extra=takes(TemplateText),
)
async def save_cluster_template(context: Context, who: Who, body: Text) -> Response:
    """Keep a ClusterWorkflowTemplate; admins of all projects only."""
    who.require(Role.ADMIN)
    row = await context.templates.save(FOR_ALL, "", body.template_yaml)
    await context.audit.note(who, "save cluster template", subject=row.name)
    return answer(_shown(row), status=201)


@router.get(
    "/cluster-templates/{name}",
    summary="Show a template for all",
    responses=answers(Envelope[Template]),
)
def get_cluster_template(context: Context, who: Who, name: str) -> Response:
    """Show a template that every project may use."""
    who.require(Role.VIEWER, who.project)
    return answer(_shown(context.templates.find(FOR_ALL, "", name)))


@router.delete(
    "/cluster-templates/{name}",
    summary="Remove a template for all",
    responses=answers(Done, 403),
)
async def delete_cluster_template(context: Context, who: Who, name: str) -> Response:
    """Remove a template for all; admins of all projects only."""
    who.require(Role.ADMIN)
    await context.templates.remove(context.templates.find(FOR_ALL, "", name))
    await context.audit.note(who, "remove cluster template", subject=name)
    return answer(message="Template removed")


def _shown(row: ObjectRow) -> dict[str, Any]:
    names, entrypoint = names_in(row)
    return {
        "kind": row.kind,
        "name": row.name,
        "project_id": row.namespace or None,
        "templates": names,
        "entrypoint": entrypoint,
        "updated_at": instant(row.at),
        "manifest": msgspec.json.decode(row.body),
    }
