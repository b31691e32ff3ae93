"""``/api/v1/schedules``: cron workflows of projects, and their backfills."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import Depends, Query
from starlette.responses import Response

from tiphys.api.bodies import Nothing
from tiphys.api.context import ApiContext
from tiphys.api.deps import Context, Who, body_of, find_project
from tiphys.api.document import answers, routes, takes
from tiphys.api.envelope import answer, instant
from tiphys.api.schedule_shapes import (
    BackfillShape,
    Instant,
    NewBackfill,
    NewSchedule,
    RunNow,
    Schedule,
    ScheduleChange,
    ScheduleText,
    Slot,
)
from tiphys.api.shapes import Done, Envelope, Submitted
from tiphys.api.view import public_id, summary
from tiphys.control.submit import random_suffix
from tiphys.service.access import Identity, Role
from tiphys.service.schedule_backfill import Backfill
from tiphys.service.schedule_state import Cron, read_time, shown
from tiphys.service.submission import CREATED_BY
from tiphys.spec import model
from tiphys.spec.parse import Parsed
from tiphys.spec.yaml import Document
from tiphys.store.row import UNFINISHED

router = routes("/schedules", "schedules")
_ONE = "/{project_id}/{name}"
New = Annotated[NewSchedule, Depends(body_of(NewSchedule))]
Text = Annotated[ScheduleText, Depends(body_of(ScheduleText))]
Change = Annotated[ScheduleChange, Depends(body_of(ScheduleChange))]
Run = Annotated[RunNow, Depends(body_of(RunNow))]
Range = Annotated[NewBackfill, Depends(body_of(NewBackfill))]
Empty = Annotated[Nothing, Depends(body_of(Nothing))]
_SHOWN = answers(Envelope[Schedule])
_CHANGED = answers(Envelope[Schedule], 403, 409, 415, 422)
change = msgspec.structs.replace


@router.get("", summary="List schedules", responses=answers(Envelope[list[Schedule]]))
def list_schedules(context: Context, who: Who, project_id: str | None = None) -> Response:
    """List the schedules of the projects that the token sees."""
    projects = {each.id for each in context.projects.visible(who)}
    if project_id is not None:
        projects &= {project_id}
    wanted = None if not who.project and project_id is None else projects
    return answer([_shown(context, cron) for cron in context.schedules.rows(wanted)])


@router.post(
    "",
    status_code=201,
    summary="Keep a schedule",
    responses=answers(Envelope[Schedule], 403, 409, 415, 422, status=201),
    openapi_extra=takes(NewSchedule),
)
async def create_schedule(context: Context, who: Who, body: New) -> Response:
    """Keep a new CronWorkflow; it is due from now on."""
    project = await find_project(context, who, body.project_id)
    value = await asyncio.to_thread(context.schedules.read, project, body.schedule_yaml)
    cron = await context.schedules.create(project, value, who.name)
    await _note(context, who, "create schedule", cron)
    return answer(_shown(context, cron), status=201)


@router.get(_ONE, summary="Show a schedule", responses=_SHOWN)
def get_schedule(context: Context, who: Who, project_id: str, name: str) -> Response:
    """Show a schedule."""
    who.require(Role.VIEWER, project_id)
    return answer(_shown(context, context.schedules.find(project_id, name)))


@router.put(
    _ONE, summary="Replace a schedule", responses=_CHANGED, openapi_extra=takes(ScheduleText)
)
async def replace_schedule(
    context: Context, who: Who, project_id: str, name: str, body: Text
) -> Response:
    """Put a CronWorkflow in the place of its older self; counts and active workflows stay."""
    who.require(Role.MEMBER, project_id)
    context.schedules.find(project_id, name)
    value = await asyncio.to_thread(context.schedules.read, project_id, body.schedule_yaml)
    cron = await context.schedules.update(project_id, name, value)
    await _note(context, who, "replace schedule", cron)
    return answer(_shown(context, cron))


@router.patch(
    _ONE, summary="Change a schedule", responses=_CHANGED, openapi_extra=takes(ScheduleChange)
)
async def change_schedule(
    context: Context, who: Who, project_id: str, name: str, body: Change
) -> Response:
    """Change parts of a schedule; what is not named stays."""
    who.require(Role.MEMBER, project_id)

    def edit(spec: model.CronWorkflowSpec) -> model.CronWorkflowSpec:
        given = body.given()
        if "schedules" in given:
            given["schedules"] = tuple(given["schedules"])
        if "stop_expression" in given:
            text = given.pop("stop_expression")
            given["stop_strategy"] = model.StopStrategy(expression=text) if text else None
        edited = change(spec, **given)
        known = context.schedules.find(project_id, name).with_spec(edited)
        context.schedules.check(project_id, Parsed(known.manifest, _NOWHERE))
        return edited

    cron = await context.schedules.amend(project_id, name, edit)
    await _note(context, who, "change schedule", cron)
    return answer(_shown(context, cron))


@router.delete(_ONE, summary="Remove a schedule", responses=answers(Done, 403))
async def delete_schedule(context: Context, who: Who, project_id: str, name: str) -> Response:
    """Remove a schedule and its backfills; its workflows stay."""
    who.require(Role.MEMBER, project_id)
    cron = await context.schedules.remove(project_id, name)
    await _note(context, who, "remove schedule", cron)
    return answer(message="Schedule removed")


@router.post(f"{_ONE}/suspend", summary="Suspend a schedule", responses=_CHANGED)
async def suspend_schedule(
    context: Context, who: Who, project_id: str, name: str, _: Empty
) -> Response:
    """Let no more workflows start; those under way go on."""
    return await _suspend(context, who, (project_id, name), suspend=True)


@router.post(f"{_ONE}/resume", summary="Resume a schedule", responses=_CHANGED)
async def resume_schedule(
    context: Context, who: Who, project_id: str, name: str, _: Empty
) -> Response:
    """Let workflows start again; a slot missed within the deadline is run."""
    return await _suspend(context, who, (project_id, name), suspend=False)


async def _suspend(
    context: ApiContext, who: Identity, key: tuple[str, str], *, suspend: bool
) -> Response:
    who.require(Role.MEMBER, key[0])
    cron = await context.schedules.suspend(*key, suspend=suspend)
    await _note(context, who, "suspend schedule" if suspend else "resume schedule", cron)
    return answer(_shown(context, cron))


@router.post(
    f"{_ONE}/run",
    status_code=201,
    summary="Run a schedule now",
    responses=answers(Envelope[Submitted], 403, 415, 422, status=201),
    openapi_extra=takes(RunNow, required=False),
)
async def run_schedule(
    context: Context, who: Who, project_id: str, name: str, body: Run
) -> Response:
    """Run the workflow of a schedule at once, whatever its conditions and policies say."""
    who.require(Role.MEMBER, project_id)
    row = await context.schedules.run_now(project_id, name, body.parameters)
    await context.audit.note_workflow(who, "run schedule", row)
    made = {
        **summary(row),
        "estimated_duration": await context.estimates.tell(row),
    }
    return answer(made, status=201)


@router.get(f"{_ONE}/next", summary="The next runs", responses=answers(Envelope[list[Slot]]))
def next_runs(
    context: Context,
    who: Who,
    project_id: str,
    name: str,
    count: Annotated[int, Query(ge=1, le=1000)] = 10,
    after: Annotated[Instant | None, Query(description="From now, if not given.")] = None,
) -> Response:
    """Tell when a schedule is due next, suspended or not."""
    who.require(Role.VIEWER, project_id)
    cron = context.schedules.find(project_id, name)
    begin = context.host.clock.now() if after is None else after.timestamp()
    slots = context.schedules.next_runs(cron, after=begin, count=count)
    return answer([{"at": instant(slot)} for slot in slots])


# --- backfills ------------------------------------------------------------------------------


@router.post(
    f"{_ONE}/backfill",
    status_code=201,
    summary="Fill back",
    responses=answers(Envelope[BackfillShape], 403, 409, 415, 422, status=201),
    openapi_extra=takes(NewBackfill),
)
async def start_backfill(
    context: Context, who: Who, project_id: str, name: str, body: Range
) -> Response:
    """Run all slots of a range, a few at a time; it goes on after a restart."""
    who.require(Role.MEMBER, project_id)
    wanted = Backfill(
        name=body.name or random_suffix(),
        namespace=project_id,
        schedule=name,
        start=body.start.timestamp(),
        end=body.end.timestamp(),
        max_parallel=body.max_parallel,
        parameter=body.parameter,
        created_by=who.name,
    )
    made = await context.schedules.backfill(wanted)
    subject = f"schedule {name} backfill {made.name}"
    await context.audit.note(who, "backfill schedule", project=project_id, subject=subject)
    return answer(_backfill(context, made), status=201)


@router.get(
    f"{_ONE}/backfills", summary="List backfills", responses=answers(Envelope[list[BackfillShape]])
)
def list_backfills(context: Context, who: Who, project_id: str, name: str) -> Response:
    """List the backfills of a schedule, the newest first."""
    who.require(Role.VIEWER, project_id)
    cron = context.schedules.find(project_id, name)
    return answer([_backfill(context, each) for each in context.schedules.backfills.of(cron)])


@router.delete(
    f"{_ONE}/backfills/{{backfill}}",
    summary="Cancel a backfill",
    responses=answers(Envelope[BackfillShape], 403, 409),
)
async def cancel_backfill(
    context: Context, who: Who, project_id: str, name: str, backfill: str
) -> Response:
    """Start nothing more of a backfill; what runs goes on."""
    who.require(Role.MEMBER, project_id)
    cancelled = await context.schedules.cancel_backfill(project_id, name, backfill)
    subject = f"schedule {name} backfill {backfill}"
    await context.audit.note(who, "cancel backfill", project=project_id, subject=subject)
    return answer(_backfill(context, cancelled))


# --- views ----------------------------------------------------------------------------------

_NOWHERE = Document(None, "")


async def _note(context: ApiContext, who: Identity, action: str, cron: Cron) -> None:
    subject = f"schedule {cron.name}"
    await context.audit.note(who, action, project=cron.namespace, subject=subject)


def _shown(context: ApiContext, cron: Cron) -> dict[str, Any]:
    spec, status, meta = cron.spec, cron.status, cron.manifest.metadata
    return {
        "name": cron.name,
        "project_id": cron.namespace,
        "schedules": spec.schedules,
        "timezone": spec.timezone or None,
        "suspended": bool(spec.suspend),
        "phase": "stopped" if cron.stopped else "active",
        "concurrency_policy": spec.concurrency_policy or "Allow",
        "starting_deadline_seconds": spec.starting_deadline_seconds,
        "last_run": instant(cron.last_scheduled),
        "next_run": instant(context.schedules.next_run(cron, context.host.clock.now())),
        "succeeded": status.succeeded,
        "failed": status.failed,
        "active": [{"id": public_id(each.uid), "name": each.name} for each in status.active],
        "conditions": [{"type": c.type, "message": c.message} for c in status.conditions],
        "created_at": instant(read_time(meta.creation_timestamp)),
        "created_by": meta.annotations.get(CREATED_BY, ""),
        "manifest": msgspec.to_builtins(shown(cron)),
    }


def _backfill(context: ApiContext, backfill: Backfill) -> dict[str, Any]:
    counts = context.schedules.backfills.counts(backfill)
    return {
        "name": backfill.name,
        "schedule": backfill.schedule,
        "project_id": backfill.namespace,
        "start": instant(backfill.start),
        "end": instant(backfill.end),
        "max_parallel": backfill.max_parallel,
        "status": backfill.phase.lower(),
        "message": backfill.message,
        "total": backfill.total,
        "started": sum(counts.values()),
        "live": sum(counts.get(phase, 0) for phase in UNFINISHED),
        "succeeded": counts.get("Succeeded", 0),
        "failed": counts.get("Failed", 0) + counts.get("Error", 0),
        "created_at": instant(backfill.created_at),
        "created_by": backfill.created_by,
    }
