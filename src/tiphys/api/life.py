"""``/api/v1/workflows/{id}/…``: what people have done with a workflow that exists."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from starlette.responses import Response

from tiphys.api import bodies
from tiphys.api.context import ApiContext
from tiphys.api.deps import Context, Who, body_of, find_workflow
from tiphys.api.document import answers, routes, takes
from tiphys.api.envelope import answer
from tiphys.api.shapes import Envelope, Summary
from tiphys.api.view import summary
from tiphys.control.service import Retry
from tiphys.engine import event as ev
from tiphys.service.access import Identity, Role
from tiphys.service.submission import CREATED_BY
from tiphys.store import WorkflowRow

router = routes("/workflows/{workflow_id}", "life cycle")
_ANSWERS = answers(Envelope[Summary], 403, 409, 415, 422)
_NEW = answers(Envelope[Summary], 403, 409, 415, 422, status=201, words="The new workflow.")

Stop = Annotated[bodies.Stop, Depends(body_of(bodies.Stop))]
Nothing = Annotated[bodies.Nothing, Depends(body_of(bodies.Nothing))]


async def _done(context: ApiContext, who: Identity, action: str, row: WorkflowRow) -> Response:
    await context.audit.note_workflow(who, action, row)
    return answer(summary(row), status=201 if action == "resubmit" else 200)


@router.post("/stop", responses=_ANSWERS, openapi_extra=takes(bodies.Stop, required=False))
async def stop(context: Context, who: Who, workflow_id: str, body: Stop) -> Response:
    """Have a workflow end early; exit handlers still run."""
    row = find_workflow(context, who, workflow_id, Role.MEMBER)
    row = await context.service.stop(row.uid, ev.Shutdown.STOP, message=body.message)
    return await _done(context, who, "stop", row)


@router.post("/terminate", responses=_ANSWERS, openapi_extra=takes(bodies.Nothing, required=False))
async def terminate(context: Context, who: Who, workflow_id: str, body: Nothing) -> Response:
    """End a workflow at once; exit handlers do not run."""
    del body
    row = find_workflow(context, who, workflow_id, Role.MEMBER)
    row = await context.service.stop(row.uid, ev.Shutdown.TERMINATE)
    return await _done(context, who, "terminate", row)


@router.post("/suspend", responses=_ANSWERS, openapi_extra=takes(bodies.Nothing, required=False))
async def suspend(context: Context, who: Who, workflow_id: str, body: Nothing) -> Response:
    """Have nothing new started; what runs goes on."""
    del body
    row = find_workflow(context, who, workflow_id, Role.MEMBER)
    return await _done(context, who, "suspend", await context.service.suspend(row.uid))


@router.post("/resume", responses=_ANSWERS, openapi_extra=takes(bodies.Resume, required=False))
async def resume(
    context: Context,
    who: Who,
    workflow_id: str,
    body: Annotated[bodies.Resume, Depends(body_of(bodies.Resume))],
) -> Response:
    """Let a workflow, or the pauses that the selector names, go on."""
    row = find_workflow(context, who, workflow_id, Role.MEMBER)
    row = await context.service.resume(
        row.uid,
        node_selector=body.node_selector,
        parameters=body.parameters,
        message=body.message,
    )
    return await _done(context, who, "resume", row)


@router.post("/retry", responses=_ANSWERS, openapi_extra=takes(bodies.Retry, required=False))
async def retry(
    context: Context,
    who: Who,
    workflow_id: str,
    body: Annotated[bodies.Retry, Depends(body_of(bodies.Retry))],
) -> Response:
    """Run a workflow again from the nodes that failed; what succeeded is not run again."""
    row = find_workflow(context, who, workflow_id, Role.MEMBER)
    how = Retry(
        restart_successful=body.restart_successful,
        node_selector=body.node_selector,
        parameters=body.parameters,
    )
    return await _done(context, who, "retry", await context.service.retry(row.uid, how))


@router.post(
    "/resubmit",
    status_code=201,
    responses=_NEW,
    openapi_extra=takes(bodies.Resubmit, required=False),
)
async def resubmit(
    context: Context,
    who: Who,
    workflow_id: str,
    body: Annotated[bodies.Resubmit, Depends(body_of(bodies.Resubmit))],
) -> Response:
    """Run a workflow once more, as a new one."""
    row = find_workflow(context, who, workflow_id, Role.MEMBER)
    row = await context.service.resubmit(
        row.uid,
        memoized=body.memoized,
        parameters=body.parameters,
        annotations={CREATED_BY: who.name},
    )
    return await _done(context, who, "resubmit", row)
