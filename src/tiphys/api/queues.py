"""``/api/v1/queues``: queues, their quotas, and how full they are."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from tiphys.api import bodies
from tiphys.api.deps import Context, Who, body_of
from tiphys.api.document import answers, routes, takes
from tiphys.api.envelope import answer, instant
from tiphys.api.shapes import Done, Envelope, QueueShape, QueueStatus
from tiphys.api.view import public_id
from tiphys.service.access import Role

router = routes("/queues", "queues")
_CHANGED = answers(Envelope[QueueShape], 403, 409, 415, 422)


def _shown(queue: dict[str, Any]) -> dict[str, Any]:
    return {**queue, "created_at": instant(queue["created_at"])}


@router.post(
    "",
    status_code=201,
    summary="Make a queue",
    responses=answers(Envelope[QueueShape], 403, 409, 415, 422, status=201),
    openapi_extra=takes(bodies.NewQueue),
)
async def make_queue(
    context: Context,
    who: Who,
    body: Annotated[bodies.NewQueue, Depends(body_of(bodies.NewQueue))],
) -> Response:
    """Make a queue; admins of all projects only. Without more, its quota is a hard limit."""
    who.require(Role.ADMIN)
    queue = await context.queues.of(body.scheduler).make(body.given())
    await context.audit.note(who, "make queue", subject=queue["id"])
    return answer(_shown(queue), status=201)


@router.get("", summary="List queues", responses=answers(Envelope[list[QueueShape]]))
async def list_queues(
    context: Context, who: Who, scheduler: Annotated[str | None, Query()] = None
) -> Response:
    """List all queues, parents before their children."""
    who.require(Role.VIEWER, who.project)
    return answer([_shown(queue) for queue in await context.queues.listed(scheduler)])


@router.get("/{queue_id}", summary="Show a queue", responses=answers(Envelope[QueueShape]))
async def get_queue(context: Context, who: Who, queue_id: str) -> Response:
    """Show a queue as it is defined."""
    who.require(Role.VIEWER, who.project)
    queues, name = await context.queues.find(queue_id)
    return answer(_shown(await queues.show(name)))


@router.patch(
    "/{queue_id}",
    summary="Change a queue",
    responses=_CHANGED,
    openapi_extra=takes(bodies.QueueChange),
)
async def change_queue(
    context: Context,
    who: Who,
    queue_id: str,
    body: Annotated[bodies.QueueChange, Depends(body_of(bodies.QueueChange))],
) -> Response:
    """Change what is given, at once; what runs goes on."""
    who.require(Role.ADMIN)
    queues, name = await context.queues.find(queue_id)
    queue = await queues.change(name, body.given())
    await context.audit.note(who, "change queue", subject=queue["id"])
    return answer(_shown(queue))


@router.delete("/{queue_id}", summary="Remove a queue", responses=answers(Done, 403, 409))
async def delete_queue(context: Context, who: Who, queue_id: str) -> Response:
    """Remove a queue that has neither live workflows nor queues below it."""
    who.require(Role.ADMIN)
    queues, name = await context.queues.find(queue_id)
    shown = await queues.show(name)
    await queues.remove(name)
    await context.audit.note(who, "remove queue", subject=shown["id"])
    return answer(message="Queue removed")


@router.post("/{queue_id}/open", summary="Open a queue", responses=_CHANGED)
async def open_queue(context: Context, who: Who, queue_id: str) -> Response:
    """Let work in again."""
    who.require(Role.ADMIN)
    queues, name = await context.queues.find(queue_id)
    queue = await queues.set_state(name, "Open")
    await context.audit.note(who, "open queue", subject=queue["id"])
    return answer(_shown(queue))


@router.post("/{queue_id}/close", summary="Close a queue", responses=_CHANGED)
async def close_queue(context: Context, who: Who, queue_id: str) -> Response:
    """Let nothing new in; what runs goes on."""
    who.require(Role.ADMIN)
    queues, name = await context.queues.find(queue_id)
    queue = await queues.set_state(name, "Closed")
    await context.audit.note(who, "close queue", subject=queue["id"])
    return answer(_shown(queue))


@router.get(
    "/{queue_id}/status", summary="How full a queue is", responses=answers(Envelope[QueueStatus])
)
async def queue_status(context: Context, who: Who, queue_id: str) -> Response:
    """Show what a queue uses and has left, and which nodes wait in it and why.

    Nodes of other projects are counted and not listed.
    """
    who.require(Role.VIEWER, who.project)
    queues, name = await context.queues.find(queue_id)
    desk, scheduler = context.queues, queues.scheduler
    ended = await run_in_threadpool(desk.stats, scheduler, name)
    stats = {**ended, **desk.present(scheduler, name)}
    status = await queues.status(name)
    waiting = [
        {
            "workflow_id": public_id(row["workflow"]),
            "node_id": row["node"],
            "name": row["name"],
            "reason": row["text"],
            "expected_start": instant(row["expected_start"]),
        }
        for row in desk.waiting(scheduler, name, who)
    ]
    return answer({**status, "stats": stats, "waiting": waiting})
