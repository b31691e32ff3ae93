"""What can be asked of the server about schedules (CronWorkflows) and their backfills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from tiphys.client.calls import Call
from tiphys.client.model import Submitted


class Active(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow of a schedule that has not ended."""

    id: str
    name: str


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule and what has become of it."""

    name: str
    project_id: str
    schedules: list[str]
    suspended: bool
    phase: str
    """``active`` or ``stopped``."""
    concurrency_policy: str
    timezone: str | None = None
    """The server's own, if None."""
    starting_deadline_seconds: int | None = None
    last_run: datetime | None = None
    next_run: datetime | None = None
    succeeded: int = 0
    failed: int = 0
    active: list[Active] = []
    conditions: list[dict[str, str]] = []
    created_at: datetime | None = None
    created_by: str = ""
    manifest: dict[str, Any] = {}
    """The CronWorkflow in Argo's shape, with its status."""


class Slot(msgspec.Struct, frozen=True):
    """A time at which a schedule is due."""

    at: datetime


class Backfill(msgspec.Struct, frozen=True, kw_only=True):
    """A backfill and how far it has come."""

    name: str
    schedule: str
    project_id: str
    start: datetime
    end: datetime
    max_parallel: int
    status: str
    """``running``, ``finished``, ``cancelled`` or ``failed``."""
    message: str = ""
    total: int = 0
    started: int = 0
    live: int = 0
    succeeded: int = 0
    failed: int = 0
    created_at: datetime | None = None
    created_by: str = ""


def _at(*parts: str) -> str:
    return "/".join(["/schedules", *(quote(part, safe="") for part in parts)])


def list_schedules(*, project: str = "") -> Call[list[Schedule]]:
    """List schedules: of a project, or of all that the token sees."""
    query = f"?{urlencode({'project_id': project})}" if project else ""
    return Call("GET", f"/schedules{query}", list[Schedule])


def get_schedule(project: str, name: str) -> Call[Schedule]:
    """Show a schedule."""
    return Call("GET", _at(project, name), Schedule)


def make_schedule(project: str, text: str) -> Call[Schedule]:
    """Keep a CronWorkflow, given as YAML or JSON."""
    return Call("POST", "/schedules", Schedule, {"project_id": project, "schedule_yaml": text})


def replace_schedule(project: str, name: str, text: str) -> Call[Schedule]:
    """Put a CronWorkflow in the place of its older self."""
    return Call("PUT", _at(project, name), Schedule, {"schedule_yaml": text})


def change_schedule(
    project: str,
    name: str,
    *,
    schedules: Sequence[str] | None = None,
    timezone: str | None = None,
    **fields: Any,
) -> Call[Schedule]:
    """Change parts of a schedule; further ``fields`` as the API names them."""
    given = {"schedules": schedules and list(schedules), "timezone": timezone, **fields}
    body = {field: value for field, value in given.items() if value is not None}
    return Call("PATCH", _at(project, name), Schedule, body)


def delete_schedule(project: str, name: str) -> Call[None]:
    """Remove a schedule; its workflows stay."""
    return Call("DELETE", _at(project, name))


def suspend_schedule(project: str, name: str) -> Call[Schedule]:
    """Let no more workflows start."""
    return Call("POST", _at(project, name, "suspend"), Schedule, {})


def resume_schedule(project: str, name: str) -> Call[Schedule]:
    """Let workflows start again."""
    return Call("POST", _at(project, name, "resume"), Schedule, {})


def run_schedule(
    project: str, name: str, *, parameters: Mapping[str, str] | None = None
) -> Call[Submitted]:
    """Run the workflow of a schedule at once."""
    body = {"parameters": dict(parameters or {})}
    return Call("POST", _at(project, name, "run"), Submitted, body)


def next_runs(
    project: str, name: str, *, count: int = 10, after: datetime | None = None
) -> Call[list[Slot]]:
    """Tell when a schedule is due next; ``after`` is an instant with its zone."""
    values = {"count": count, **({"after": after.isoformat()} if after else {})}
    return Call("GET", f"{_at(project, name, 'next')}?{urlencode(values)}", list[Slot])


def start_backfill(  # noqa: PLR0913 - one for each field
    project: str,
    name: str,
    start: datetime,
    end: datetime,
    *,
    max_parallel: int = 1,
    key: str = "",
    parameter: str = "",
) -> Call[Backfill]:
    """Run all slots of a range; both ends are instants with their zone. ``key`` names it."""
    body: dict[str, Any] = {
        "start": start.isoformat(),
        "end": end.isoformat(),
        "max_parallel": max_parallel,
        "parameter": parameter,
    }
    body |= {"name": key} if key else {}
    return Call("POST", _at(project, name, "backfill"), Backfill, body)


def list_backfills(project: str, name: str) -> Call[list[Backfill]]:
    """List the backfills of a schedule, the newest first."""
    return Call("GET", _at(project, name, "backfills"), list[Backfill])


def cancel_backfill(project: str, name: str, key: str) -> Call[Backfill]:
    """Start nothing more of a backfill."""
    return Call("DELETE", _at(project, name, "backfills", key), Backfill)
