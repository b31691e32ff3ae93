"""``/api/v1/queue-plans``: queues with every word that a queue plan has.

``/queues`` speaks of quotas and hides the rest; here a queue is what ``tiphys queue`` and plan
files say of it, and what is done is done as at the door of the host.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from starlette.responses import Response

from tiphys.api import bodies
from tiphys.api.context import ApiContext
from tiphys.api.deps import Context, Who, body_of
from tiphys.api.document import answers, routes, takes
from tiphys.api.envelope import answer
from tiphys.api.shapes import Done, Envelope
from tiphys.control.queues import queue_handlers
from tiphys.control.server import QueueOffice
from tiphys.errors import NotFoundError
from tiphys.ports import KUEUE, LOCAL, VOLCANO
from tiphys.service.access import Role
from tiphys.service.queue_desk import PREFIX

router = routes("/queue-plans", "queues")
Scheduler = Annotated[
    str | None, Query(max_length=40, description="Whose queues; as configured, if not given.")
]


@router.get("", summary="List queue plans", responses=answers(Envelope[list[dict[str, Any]]]))
async def list_queue_plans(context: Context, who: Who, scheduler: Scheduler = None) -> Response:
    """List all queues of a scheduler as plans, with state and numbers, parents first."""
    who.require(Role.VIEWER, who.project)
    return answer(await _perform(context, scheduler, "queue-list"))


@router.get(
    "/{queue}", summary="Show a queue as a plan", responses=answers(Envelope[dict[str, Any]])
)
async def get_queue_plan(
    context: Context, who: Who, queue: str, scheduler: Scheduler = None
) -> Response:
    """Show a queue as a plan, with its state and numbers."""
    who.require(Role.VIEWER, who.project)
    return answer(await _perform(context, scheduler, "queue-get", name=queue))


@router.put(
    "/{queue}",
    summary="Make or replace a queue by a plan",
    responses=answers(Envelope[dict[str, Any]], 403, 409, 415, 422),
    openapi_extra=takes(bodies.QueuePlan),
)
async def put_queue_plan(
    context: Context,
    who: Who,
    queue: str,
    body: Annotated[bodies.QueuePlan, Depends(body_of(bodies.QueuePlan))],
    new: Annotated[bool, Query(description="Refuse a queue that is there already.")] = False,
    scheduler: Scheduler = None,
) -> Response:
    """Have a queue be what the plan says, at once; admins of all projects only."""
    who.require(Role.ADMIN)
    bodies.check_queue_name(queue)
    plan = {"name": queue, **body.given()}
    saved = await _perform(context, scheduler, "queue-save", queue=plan, new=new)
    what = "make queue" if new else "change queue"
    await context.audit.note(who, what, subject=_id(context, scheduler, queue))
    return answer(saved)


@router.post(
    "/{queue}/{state}",
    summary="Open or close a queue",
    responses=answers(Envelope[dict[str, Any]], 403, 409, 422),
)
async def set_queue_plan_state(
    context: Context,
    who: Who,
    queue: str,
    state: Literal["open", "close"],
    scheduler: Scheduler = None,
) -> Response:
    """Let work in, or let nothing new in; admins of all projects only."""
    who.require(Role.ADMIN)
    word = "Open" if state == "open" else "Closed"
    saved = await _perform(context, scheduler, "queue-state", name=queue, state=word)
    await context.audit.note(who, f"{state} queue", subject=_id(context, scheduler, queue))
    return answer(saved)


@router.delete("/{queue}", summary="Remove a queue", responses=answers(Done, 403, 409))
async def delete_queue_plan(
    context: Context, who: Who, queue: str, scheduler: Scheduler = None
) -> Response:
    """Remove a queue that has neither live workflows nor queues below it."""
    who.require(Role.ADMIN)
    await _perform(context, scheduler, "queue-delete", name=queue)
    await context.audit.note(who, "remove queue", subject=_id(context, scheduler, queue))
    return answer(message="Queue removed")


def _id(context: ApiContext, scheduler: str | None, queue: str) -> str:
    whose = scheduler or context.config.scheduler.default
    return f"{PREFIX}{whose}:{queue}" if whose in (VOLCANO, KUEUE) else f"{PREFIX}{queue}"


async def _perform(context: ApiContext, scheduler: str | None, op: str, **arguments: Any) -> Any:
    """Do it as the door of the host does."""
    whose = scheduler or context.config.scheduler.default
    handlers = context.host.handlers
    if f"{whose}-{op}" in handlers:
        return await handlers[f"{whose}-{op}"](arguments)
    if scheduler not in (None, LOCAL):
        raise NotFoundError(f"this server has no queues of {whose!r}")
    host = context.host
    return await queue_handlers(host.queues, QueueOffice(host))[op](arguments)
