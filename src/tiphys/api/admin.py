"""``/api/v1/projects``, ``/tokens``, ``/tickets``, ``/audit`` and ``/whoami``."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Query
from starlette.responses import Response

from tiphys.api import bodies, shapes
from tiphys.api.deps import Context, Who, body_of
from tiphys.api.document import answers, routes, takes
from tiphys.api.envelope import answer, instant
from tiphys.api.shapes import AuditEntry, Done, Envelope, MadeToken, ProjectShape, Self, TokenShape
from tiphys.errors import ForbiddenError
from tiphys.service.access import Role
from tiphys.service.projects import Project
from tiphys.service.tokens import Token

router = routes("", "administration")


@router.get("/whoami", summary="Who asks", responses=answers(Envelope[Self]))
async def whoami(who: Who) -> Response:
    """Tell whose token this is and what it may do."""
    return answer(
        {
            "name": who.name,
            "role": who.role,
            "project_id": who.project or None,
            "token_id": who.token,
            "expires_at": instant(who.expires_at),
        }
    )


@router.post(
    "/tickets",
    status_code=201,
    summary="A ticket for a browser",
    responses=answers(Envelope[shapes.Ticket], status=201, words="Good for one use."),
)
async def make_ticket(context: Context, who: Who) -> Response:
    """Give a ticket that opens one WebSocket or GET within 30 seconds, as ``?ticket=``."""
    ticket, until = context.tickets.give(who)
    return answer({"ticket": ticket, "expires_at": instant(until)}, status=201)


# --- projects -----------------------------------------------------------------------------------


@router.get("/projects", summary="List projects", responses=answers(Envelope[list[ProjectShape]]))
async def list_projects(context: Context, who: Who) -> Response:
    """List the projects that the token sees."""
    return answer([_project(each) for each in context.projects.visible(who)])


@router.post(
    "/projects",
    status_code=201,
    summary="Make a project",
    responses=answers(Envelope[ProjectShape], 403, 409, 415, 422, status=201),
    openapi_extra=takes(bodies.NewProject),
)
async def make_project(
    context: Context,
    who: Who,
    body: Annotated[bodies.NewProject, Depends(body_of(bodies.NewProject))],
) -> Response:
    """Make a project; admins of all projects only."""
    who.require(Role.ADMIN)
    project = await context.projects.make(
        who, body.id, name=body.name, description=body.description
    )
    await context.audit.note(who, "make project", project=project.id, subject=project.id)
    return answer(_project(project), status=201)


@router.get(
    "/projects/{project_id}", summary="Show a project", responses=answers(Envelope[ProjectShape])
)
async def get_project(context: Context, who: Who, project_id: str) -> Response:
    """Show a project."""
    return answer(_project(context.projects.find(who, project_id)))


@router.delete(
    "/projects/{project_id}", summary="Remove a project", responses=answers(Done, 403, 409)
)
async def delete_project(context: Context, who: Who, project_id: str) -> Response:
    """Remove a project without workflows and templates; its tokens and sessions go with it."""
    project = context.projects.find(who, project_id)
    who.require(Role.ADMIN)
    await context.projects.remove(project)
    for token in context.tokens.of_project(project.id):
        await context.tokens.remove(token)
    await context.audit.note(who, "remove project", project=project.id, subject=project.id)
    return answer(message="Project removed")


def _project(project: Project) -> dict[str, Any]:
    return {
        "id": project.id,
        "name": project.name,
        "description": project.description,
        "created_at": instant(project.created_at or None),
        "created_by": project.created_by,
    }


# --- tokens -------------------------------------------------------------------------------------


@router.get("/tokens", summary="List tokens", responses=answers(Envelope[list[TokenShape]], 403))
async def list_tokens(context: Context, who: Who) -> Response:
    """List tokens, without their secrets; admins only, of their own projects."""
    who.require(Role.ADMIN, who.project)
    return answer([_token(each) for each in context.tokens.visible(who)])


@router.post(
    "/tokens",
    status_code=201,
    summary="Make a token",
    responses=answers(
        Envelope[MadeToken], 403, 415, 422, status=201, words="The secret is shown this one time."
    ),
    openapi_extra=takes(bodies.NewToken),
)
async def make_token(
    context: Context,
    who: Who,
    body: Annotated[bodies.NewToken, Depends(body_of(bodies.NewToken))],
) -> Response:
    """Make a token. An admin of one project makes tokens for that project only."""
    who.require(Role.ADMIN, who.project)
    if body.project_id is None and who.project:
        raise ForbiddenError(
            "this token makes tokens for its own project only: name it (project_id, --project)"
        )
    if body.project_id is not None:
        context.projects.find(who, body.project_id)
    until = None if body.expires_in is None else context.host.clock.now() + body.expires_in
    token, secret = await context.tokens.make(
        who,
        name=body.name,
        role=body.role_value(),
        project=body.project_id or "",
        expires_at=until,
    )
    await context.audit.note(
        who, "make token", project=token.project, subject=f"{token.id} {token.name} {token.role}"
    )
    return answer({**_token(token), "token": secret}, status=201)


@router.delete("/tokens/{token_id}", summary="Remove a token", responses=answers(Done, 403, 409))
async def delete_token(context: Context, who: Who, token_id: str) -> Response:
    """Make a token worthless, at once, streams included."""
    who.require(Role.ADMIN, who.project)
    token = context.tokens.find(who, token_id)
    await context.tokens.remove(token)
    await context.audit.note(
        who, "remove token", project=token.project, subject=f"{token.id} {token.name}"
    )
    return answer(message="Token removed")


def _token(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "role": token.role,
        "project_id": token.project or None,
        "created_at": instant(token.created_at),
        "created_by": token.created_by,
        "expires_at": instant(token.expires_at),
    }


# --- audit --------------------------------------------------------------------------------------


@router.get(
    "/audit", summary="Who changed what", responses=answers(Envelope[list[AuditEntry]], 403)
)
def list_audit(
    context: Context,
    who: Who,
    after: Annotated[int, Query(ge=0, lt=2**63, description="The last number seen.")] = 0,
    before: Annotated[
        int | None, Query(ge=0, lt=2**63, description="Those before this number, the latest first.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    """List changes, the oldest first; admins only, of their own projects."""
    who.require(Role.ADMIN, who.project)
    entries = context.audit.entries(who, after=after, limit=limit, before=before)
    return answer([{**entry, "at": instant(entry["at"])} for entry in entries])
