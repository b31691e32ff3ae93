"""``/api/v1/workflows``: submit, list, show, end."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from fastapi import Depends, Header, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from tiphys.api.bodies import Submit
from tiphys.api.context import ApiContext
from tiphys.api.counting import Counts
from tiphys.api.deps import Context, Who, body_of, find_project, find_workflow
from tiphys.api.document import answers, routes, takes
from tiphys.api.envelope import answer, instant, page_of
from tiphys.api.problems import RequestError
from tiphys.api.shapes import Done, Envelope, Listed, Node, Submitted, Summary, Workflow
from tiphys.api.view import NodeViews, details, status_of, summary
from tiphys.control.insight import LABEL, describe_flow
from tiphys.control.queue_check import named
from tiphys.core.label import QUEUE
from tiphys.engine import event as ev
from tiphys.errors import ConflictError, NotFoundError
from tiphys.ports import LOCAL, SCHEDULER_LABEL, SCHEDULERS
from tiphys.service.access import Identity, Role
from tiphys.service.queue_desk import name_of
from tiphys.service.submission import CREATED_BY, DESCRIPTION, Order
from tiphys.spec import model
from tiphys.store import WorkflowFilter, WorkflowRow
from tiphys.wire.node import decode_node

router = routes("/workflows", "workflows")
MAX_NODES = 1000
"""So many nodes come with a workflow; the rest by pages."""
PHASES = {
    "pending": ("", "Pending"),
    "running": ("Running",),
    "succeeded": ("Succeeded",),
    "failed": ("Failed",),
    "error": ("Error",),
}
_SORTS = {"created_at": False, "-created_at": True}
_ENDED = frozenset({"Succeeded", "Failed", "Error"})
_counts = Counts()

Page = Annotated[int, Query(ge=1, le=1_000_000)]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.post(
    "",
    status_code=201,
    summary="Submit a workflow",
    responses=answers(
        Envelope[Submitted], 403, 409, 413, 415, 422, status=201, words="It is safely stored."
    ),
    openapi_extra=takes(Submit),
)
async def submit(
    context: Context,
    who: Who,
    body: Annotated[Submit, Depends(body_of(Submit))],
    idempotency_key: Annotated[str | None, Header(max_length=255)] = None,
) -> Response:
    """Take a workflow in. With an ``Idempotency-Key`` the same request is taken in only once."""
    project = await find_project(context, who, body.project_id)
    order = _order(body, who, project, await _queue(context, body, project))
    if idempotency_key is None:
        taken = await context.intake.submit(order)
    else:
        key = hashlib.sha256(f"{project}\0{idempotency_key}".encode()).hexdigest()[:40]
        digest = hashlib.sha256(body.model_dump_json(exclude_defaults=True).encode()).hexdigest()
        taken = await context.intake.submit_once(order, key, digest)
    row = taken.row
    if taken.new:
        await context.audit.note_workflow(who, "submit", row, source=taken.text)
    data = {
        **summary(row),
        "status": "pending" if taken.new else status_of(row.phase),
        "estimated_duration": await context.estimates.tell(row),
    }
    return answer(data, status=201)


async def _queue(context: ApiContext, body: Submit, project: str) -> str:
    """Give the name of the queue that is asked for, "" for none."""
    key, wanted = body.queue_id, body.scheduler or context.config.scheduler.default
    try:
        return await context.queues.choose(key, wanted, project) if key else ""
    except NotFoundError as error:
        known = context.host.control.scheduler.queues.leaves()
        hint = f" ({named(known)})" if wanted in ("", LOCAL) else ""
        text = f"{error}{hint}"
        raise RequestError("invalid_input", text, [{"path": "queue_id", "message": text}]) from None


def _order(body: Submit, who: Identity, project: str, queue: str) -> Order:
    own = {CREATED_BY: who.name, DESCRIPTION: body.description, QUEUE: queue}
    annotations = {**body.annotations, **own}
    annotations["tiphys.dev/estimated-cpu"] = body.estimated_cpu or ""
    annotations["tiphys.dev/estimated-memory"] = body.estimated_memory or ""
    labels = dict(body.labels)
    if body.scheduler is not None:
        labels[SCHEDULER_LABEL] = body.scheduler
    return Order(
        project=project,
        name=body.name,
        text=body.workflow_yaml,
        parameters=body.parameters,
        priority=body.priority_number(),
        labels=labels,
        annotations={name: value for name, value in annotations.items() if value},
        generate_name=body.generate_name,
        entrypoint=body.entrypoint,
        for_all=who.has(Role.ADMIN) and not who.project,
    )


class Filters:
    """The query of a list."""

    def __init__(  # noqa: PLR0913, PLR0917 - one for each filter
        self,
        project_id: str | None = None,
        status: Annotated[list[str] | None, Query(description="Repeatable.")] = None,
        scheduler: str | None = None,
        queue_id: str | None = None,
        name: Annotated[str | None, Query(max_length=200, description="A part of it.")] = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        sort: Annotated[str, Query(description="created_at or -created_at")] = "-created_at",
    ) -> None:
        self.project = project_id
        self.statuses = status or []
        self.nothing = scheduler not in (None, *SCHEDULERS)
        others = ",".join(each for each in SCHEDULERS if each != LOCAL)
        self.labels = f"{SCHEDULER_LABEL}={scheduler}" if scheduler else ""
        if scheduler == LOCAL:
            # Those that say nothing are local too.
            self.labels = f"{SCHEDULER_LABEL} notin ({others})"
        self.queue, self.name = name_of(queue_id or ""), name or ""
        self.since, self.before = _seconds(created_after), _seconds(created_before)
        if sort not in _SORTS:
            raise RequestError("bad_filter", "sort is created_at or -created_at")
        self.newest_first = _SORTS[sort]

    def wanted(self, who: Identity) -> WorkflowFilter | None:
        """Give what the store is asked for; None where nothing can match."""
        unknown = [each for each in self.statuses if each not in PHASES]
        if unknown:
            raise RequestError("bad_filter", f"status is one of {', '.join(PHASES)}")
        foreign = self.project is not None and not who.sees(self.project)
        if foreign or self.nothing:
            return None
        return WorkflowFilter(
            phases=tuple(phase for each in self.statuses for phase in PHASES[each]),
            namespace=self.project or who.project,
            name_contains=self.name,
            since=self.since,
            before=self.before,
            queue=self.queue,
            label_selector=self.labels,
        )


def _seconds(at: datetime | None) -> float | None:
    if at is None:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


@router.get("", summary="List workflows", responses=answers(Listed[Summary]))
def list_workflows(
    context: Context,
    who: Who,
    filters: Annotated[Filters, Depends()],
    page: Page = 1,
    limit: Limit = 20,
) -> Response:
    """List workflows of the projects that the token sees, the newest first."""
    wanted = filters.wanted(who)
    if wanted is None:
        return answer([], pagination=page_of(0, page, limit))
    rows = context.store.workflows(
        wanted, limit=limit, offset=(page - 1) * limit, newest_first=filters.newest_first
    )
    total, exact = _counts.count(context.store, wanted, len(rows), (page - 1) * limit, limit)
    place = page_of(total, page, limit, at_least=not exact)
    return answer([summary(row) for row in rows], pagination=place)


def node_views(context: ApiContext, row: WorkflowRow) -> NodeViews:
    """Read the nodes of a workflow."""
    try:
        spec = msgspec.json.decode(row.spec, type=model.WorkflowSpec)
    except msgspec.MsgspecError:
        spec = None  # Damaged: its nodes can still be shown.
    return NodeViews(list(context.store.nodes(row.uid)), spec, context.host.clock.now())


@router.get("/{workflow_id}", summary="Show a workflow", responses=answers(Envelope[Workflow]))
def get_workflow(context: Context, who: Who, workflow_id: str) -> Response:
    """Show a workflow with its nodes (the first 1,000; the others by pages of ``…/nodes``)."""
    row = find_workflow(context, who, workflow_id, Role.VIEWER)
    return answer(whole(context, row))


def whole(context: ApiContext, row: WorkflowRow) -> dict[str, Any]:
    """Give all of a workflow."""
    views = node_views(context, row)
    estimate = context.estimates.of(row)
    shown = details(row, estimate, views, context.host.clock.now())
    return {
        **shown,
        "parameters": views.parameters,
        "nodes": views.page(1, MAX_NODES),
        "nodes_total": views.total,
        "flow": _flow(context, row),
    }


def _flow(context: ApiContext, row: WorkflowRow) -> dict[str, Any] | None:
    """Describe a JobFlow; None where the workflow was none."""
    if LABEL not in row.labels:
        return None
    nodes = [decode_node(each.body) for each in context.store.nodes(row.uid)]
    found = describe_flow(context.store, row, nodes)
    for job in found["jobs"] if found else ():
        job |= {name: instant(job[name]) for name in ("started_at", "finished_at")}
    return found


@router.get("/{workflow_id}/nodes", summary="List nodes", responses=answers(Listed[Node]))
def list_nodes(
    context: Context,
    who: Who,
    workflow_id: str,
    page: Page = 1,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    """List the nodes of a workflow in the order in which they were made."""
    views = node_views(context, find_workflow(context, who, workflow_id, Role.VIEWER))
    return answer(views.page(page, limit), pagination=page_of(views.total, page, limit))


@router.delete(
    "/{workflow_id}", summary="Terminate or remove a workflow", responses=answers(Done, 403, 409)
)
async def delete_workflow(
    context: Context, who: Who, workflow_id: str, purge: bool = False
) -> Response:
    """Terminate a live workflow; with ``purge``, remove it with its logs and artifacts."""
    row = find_workflow(context, who, workflow_id, Role.MEMBER)
    if purge:
        await _purge(context, row)
        await context.audit.note(
            who, "purge", project=row.namespace, subject=f"workflow {row.name} {row.uid}"
        )
        return answer(message="Workflow removed")
    if row.phase in _ENDED:
        raise ConflictError(f"workflow {row.name} has ended already; ?purge=true removes it")
    row = await context.service.stop(row.uid, ev.Shutdown.TERMINATE)
    await context.audit.note_workflow(who, "terminate", row)
    return answer(message="Workflow terminated successfully")


async def _purge(context: ApiContext, row: WorkflowRow) -> None:
    if row.uid in context.host.control.runs:
        await context.service.stop(row.uid, ev.Shutdown.TERMINATE)
        await context.host.control.ended(row.uid)
    nodes = [decode_node(each.body) for each in context.store.nodes(row.uid)]
    await run_in_threadpool(context.artifacts.remove_outputs, nodes, row.namespace)
    await context.service.delete(row.uid, force=True)
