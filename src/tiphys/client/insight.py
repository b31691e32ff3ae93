"""What else can be asked of the server: graphs, comparisons, predictions, the audit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from tiphys.client.calls import Call
from tiphys.client.model import Project


class Graph(msgspec.Struct, frozen=True, kw_only=True):
    """What a workflow says and what has become of it; nodes as the API names their fields."""

    planned: dict[str, Any]
    actual: dict[str, Any]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two workflows side by side."""

    a: dict[str, Any]
    b: dict[str, Any]
    spec_diff: list[str]
    parameters: list[dict[str, Any]]
    nodes: list[dict[str, Any]]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """When a task would run, in seconds from the submission."""

    id: str
    workflow: str
    queue: str
    ready: float
    start: float
    end: float
    preempted: int = 0


class Simulation(msgspec.Struct, frozen=True, kw_only=True):
    """The predicted schedule."""

    report: dict[str, Any]
    gantt: list[Task]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the audit."""

    number: int
    at: datetime
    actor: str
    action: str
    token: str = ""
    project: str = ""
    object: str = ""


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """What opens one stream, or one GET, as ``?ticket=``."""

    ticket: str
    expires_at: datetime


class Schedulers(msgspec.Struct, frozen=True, kw_only=True):
    """Where work can run."""

    default: str
    available: list[str]


def get_graph(workflow: str) -> Call[Graph]:
    """Show the planned and the actual graph of a workflow."""
    return Call("GET", f"/workflows/{quote(workflow, safe='')}/graph", Graph)


def compare(a: str, b: str) -> Call[Comparison]:
    """Compare specs, parameters and durations of two workflows."""
    return Call("GET", f"/workflows/compare?{urlencode({'a': a, 'b': b})}", Comparison)


def simulate(  # noqa: PLR0913 - the fields of the question
    text: str,
    *,
    project: str = "",
    parameters: Mapping[str, str] | None = None,
    default_seconds: float = 60.0,
    idle: bool = False,
    queue: str = "",
    priority: int | str | None = None,
) -> Call[Simulation]:
    """Predict a schedule; tasks of which nothing is known take ``default_seconds``."""
    body = {
        "workflow_yaml": text,
        "project_id": project or None,
        "parameters": dict(parameters or {}),
        "default_seconds": default_seconds,
        "idle": idle,
        "queue_id": queue or None,
        "priority": priority,
    }
    return Call("POST", "/workflows/simulate", Simulation, body)


def list_audit(
    *, after: int = 0, before: int | None = None, limit: int = 200
) -> Call[list[Change]]:
    """List changes behind a number, the oldest first; or those ``before`` one, the latest first."""
    query = {"after": after} if before is None else {"before": before}
    return Call("GET", f"/audit?{urlencode({**query, 'limit': limit})}", list[Change])


def list_schedulers() -> Call[Schedulers]:
    """Tell where work can run."""
    return Call("GET", "/schedulers", Schedulers)


def make_ticket() -> Call[Ticket]:
    """Get a ticket for what cannot send the header: a browser's WebSocket."""
    return Call("POST", "/tickets", Ticket)


def get_project(key: str) -> Call[Project]:
    """Show a project."""
    return Call("GET", f"/projects/{quote(key, safe='')}", Project)
