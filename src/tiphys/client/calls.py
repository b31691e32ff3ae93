"""What can be asked of the server, each as a value: method, path, body, and what comes back.

Pure. A ``Call`` does nothing until a client does it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from tiphys.client import model

T = TypeVar("T")
ARGO = "/argo/api/v1"
"""Paths that begin so are of the Argo Server's API, whose answers have no envelope."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, and the type of its answer's data."""

    method: str
    path: str
    kind: Any = None
    """What the data is read as; None where there is none, bytes for the body as it is."""
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def _query(path: str, values: Mapping[str, Any]) -> str:
    given = {name: value for name, value in values.items() if value not in (None, "", ())}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def _moment(at: datetime | None) -> str:
    """Write an instant for a query; one without a zone is in UTC, as everywhere here."""
    if at is None:
        return ""
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()


def _at(workflow: str, *more: str) -> str:
    return "/".join(["/workflows", *(quote(part, safe="") for part in (workflow, *more))])


# --- workflows ----------------------------------------------------------------------------------


def submit(  # noqa: PLR0913 - the fields of a submission
    name: str,
    project: str,
    text: str,
    *,
    parameters: Mapping[str, str] | None = None,
    priority: int | str | None = None,
    queue: str = "",
    scheduler: str = "",
    description: str = "",
    estimated_cpu: str = "",
    estimated_memory: str = "",
    idempotency_key: str = "",
    generate_name: bool = False,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    entrypoint: str = "",
) -> Call[model.Submitted]:
    """Submit a workflow; without a priority, with the one that its text names."""
    body: dict[str, Any] = {
        "name": name,
        "project_id": project,
        "workflow_yaml": text,
        "parameters": dict(parameters or {}),
        "description": description,
        **({} if priority is None else {"priority": priority}),
    }
    more = {
        "estimated_cpu": estimated_cpu,
        "estimated_memory": estimated_memory,
        "queue_id": queue,
        "scheduler": scheduler,
        "generate_name": generate_name,
        "labels": dict(labels or {}),
        "annotations": dict(annotations or {}),
        "entrypoint": entrypoint,
    }
    body |= {name: value for name, value in more.items() if value}
    headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
    return Call("POST", "/workflows", model.Submitted, body, headers)


def list_workflows(  # noqa: PLR0913 - the filters of the list
    *,
    project: str = "",
    statuses: Sequence[str] = (),
    scheduler: str = "",
    queue: str = "",
    name: str = "",
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    sort: str = "",
    page: int = 1,
    limit: int = 20,
) -> Call[list[model.Summary]]:
    """List workflows."""
    values = {
        "project_id": project,
        "status": tuple(statuses),
        "scheduler": scheduler,
        "queue_id": queue,
        "name": name,
        "created_after": _moment(created_after),
        "created_before": _moment(created_before),
        "sort": sort,
        "page": page,
        "limit": limit,
    }
    return Call("GET", _query("/workflows", values), list[model.Summary])


def get_workflow(workflow: str) -> Call[model.Workflow]:
    """Show a workflow."""
    return Call("GET", _at(workflow), model.Workflow)


def delete_workflow(workflow: str, *, purge: bool = False) -> Call[None]:
    """Terminate a live workflow, or remove it."""
    return Call("DELETE", _query(_at(workflow), {"purge": "true" if purge else ""}))


def stop(workflow: str, *, message: str = "") -> Call[model.Summary]:
    """End a workflow early; exit handlers still run."""
    return Call("POST", _at(workflow, "stop"), model.Summary, {"message": message})


def terminate(workflow: str) -> Call[model.Summary]:
    """End a workflow at once."""
    return Call("POST", _at(workflow, "terminate"), model.Summary, {})


def suspend(workflow: str) -> Call[model.Summary]:
    """Have nothing new started."""
    return Call("POST", _at(workflow, "suspend"), model.Summary, {})


def resume(
    workflow: str,
    *,
    node_selector: str = "",
    parameters: Mapping[str, str] | None = None,
    message: str = "",
) -> Call[model.Summary]:
    """Let a workflow, or some of its pauses, go on."""
    body = {
        "node_selector": node_selector,
        "parameters": dict(parameters or {}),
        "message": message,
    }
    return Call("POST", _at(workflow, "resume"), model.Summary, body)


def retry(
    workflow: str,
    *,
    restart_successful: bool = False,
    node_selector: str = "",
    parameters: Mapping[str, str] | None = None,
) -> Call[model.Summary]:
    """Run a workflow again from what failed."""
    body = {
        "restart_successful": restart_successful,
        "node_selector": node_selector,
        "parameters": dict(parameters or {}),
    }
    return Call("POST", _at(workflow, "retry"), model.Summary, body)


def resubmit(
    workflow: str, *, memoized: bool = False, parameters: Mapping[str, str] | None = None
) -> Call[model.Summary]:
    """Run a workflow once more, as a new one."""
    body = {"memoized": memoized, "parameters": dict(parameters or {})}
    return Call("POST", _at(workflow, "resubmit"), model.Summary, body)


def list_nodes(workflow: str, *, page: int = 1, limit: int = 200) -> Call[list[model.Node]]:
    """List the nodes of a workflow."""
    path = _query(_at(workflow, "nodes"), {"page": page, "limit": limit})
    return Call("GET", path, list[model.Node])


def get_node(workflow: str, node: str) -> Call[model.Node]:
    """Show a node."""
    return Call("GET", _at(workflow, "nodes", node), model.Node)


def get_output(workflow: str, node: str) -> Call[model.Output]:
    """Give what a node wrote."""
    return Call("GET", _at(workflow, "nodes", node, "output"), model.Output)


def get_artifact(workflow: str, node: str, name: str) -> Call[bytes]:
    """Give an artifact as it is stored."""
    return Call("GET", _at(workflow, "nodes", node, "artifacts", name), bytes)


def get_yaml(workflow: str) -> Call[bytes]:
    """Give the submitted text."""
    return Call("GET", _at(workflow, "yaml"), bytes)


def get_events(workflow: str, *, after: int = 0) -> Call[list[model.Event]]:
    """Give what happened to a workflow."""
    return Call("GET", _query(_at(workflow, "events"), {"after": after}), list[model.Event])


def get_timeline(workflow: str) -> Call[list[model.Bar]]:
    """Give when each node was queued, started and ended."""
    return Call("GET", _at(workflow, "timeline"), list[model.Bar])


def get_log(workflow: str, node: str, *, last_bytes: int) -> Call[bytes]:
    """Give the end of a node's log, one JSON object a line."""
    path = _query(_at(workflow, "nodes", node, "logs"), {"last_bytes": last_bytes})
    return Call("GET", path, bytes)


def lint(text: str, *, project: str = "", strict: bool = True) -> Call[model.Report]:
    """Look a text over."""
    body: dict[str, Any] = {"workflow_yaml": text, "strict": strict}
    if project:
        body["project_id"] = project
    return Call("POST", "/workflows/lint", model.Report, body)


def explain(workflow: str) -> Call[list[model.Why]]:
    """Tell why nodes wait."""
    return Call("GET", _at(workflow, "explain"), list[model.Why])


def get_object(place: str, *, fields: str = "") -> Call[dict[str, Any]]:
    """Give a workflow in Argo's shape; ``place`` is ``namespace/name``, quoted."""
    path = _query(f"{ARGO}/workflows/{place}", {"fields": fields})
    return Call("GET", path, dict[str, Any])


def delete_object(place: str) -> Call[None]:
    """Forget a workflow; its artifacts stay unless it says otherwise."""
    return Call("DELETE", f"{ARGO}/workflows/{place}")


def list_objects(
    namespace: str = "", *, selector: str = "", fields: str = "", limit: int = 0, after: str = ""
) -> Call[dict[str, Any]]:
    """List workflows in Argo's shape, the newest first."""
    values = {
        "listOptions.labelSelector": selector,
        "listOptions.limit": limit or "",
        "listOptions.continue": after,
        "fields": fields,
    }
    return Call("GET", _query(f"{ARGO}/workflows/{namespace}", values), dict[str, Any])


# --- queues -------------------------------------------------------------------------------------


def list_queues(*, scheduler: str = "") -> Call[list[model.Queue]]:
    """List queues: all, or those of one scheduler."""
    return Call("GET", _query("/queues", {"scheduler": scheduler}), list[model.Queue])


def get_queue(key: str) -> Call[model.Queue]:
    """Show a queue."""
    return Call("GET", f"/queues/{quote(key, safe='')}", model.Queue)


def open_queue(key: str) -> Call[model.Queue]:
    """Let work into a queue."""
    return Call("POST", f"/queues/{quote(key, safe='')}/open", model.Queue)


def close_queue(key: str) -> Call[model.Queue]:
    """Let nothing new into a queue."""
    return Call("POST", f"/queues/{quote(key, safe='')}/close", model.Queue)


def make_queue(name: str, **fields: Any) -> Call[model.Queue]:
    """Make a queue; ``fields`` as the API names them: quota_cpu, quota_memory, parent…"""
    return Call("POST", "/queues", model.Queue, {"name": name, **fields})


def change_queue(key: str, **fields: Any) -> Call[model.Queue]:
    """Change a queue."""
    return Call("PATCH", f"/queues/{quote(key, safe='')}", model.Queue, fields)


def delete_queue(key: str) -> Call[None]:
    """Remove a queue."""
    return Call("DELETE", f"/queues/{quote(key, safe='')}")


def list_queue_plans(*, scheduler: str = "") -> Call[list[dict[str, Any]]]:
    """List queues in the words of a queue plan."""
    return Call("GET", _query("/queue-plans", {"scheduler": scheduler}), list[dict[str, Any]])


def get_queue_plan(name: str, *, scheduler: str = "") -> Call[dict[str, Any]]:
    """Show a queue in the words of a queue plan."""
    path = _query(f"/queue-plans/{quote(name, safe='')}", {"scheduler": scheduler})
    return Call("GET", path, dict[str, Any])


def put_queue_plan(
    name: str, plan: Mapping[str, Any], *, new: bool = False, scheduler: str = ""
) -> Call[dict[str, Any]]:
    """Have a queue be what a plan says; ``new`` refuses one that is there."""
    values = {"scheduler": scheduler, "new": "true" if new else ""}
    path = _query(f"/queue-plans/{quote(name, safe='')}", values)
    return Call("PUT", path, dict[str, Any], plan)


def set_queue_plan_state(name: str, state: str, *, scheduler: str = "") -> Call[dict[str, Any]]:
    """``open`` or ``close`` a queue."""
    path = _query(f"/queue-plans/{quote(name, safe='')}/{state}", {"scheduler": scheduler})
    return Call("POST", path, dict[str, Any])


def delete_queue_plan(name: str, *, scheduler: str = "") -> Call[None]:
    """Remove a queue."""
    path = _query(f"/queue-plans/{quote(name, safe='')}", {"scheduler": scheduler})
    return Call("DELETE", path)


def get_queue_status(key: str) -> Call[model.QueueStatus]:
    """Tell how full a queue is."""
    return Call("GET", f"/queues/{quote(key, safe='')}/status", model.QueueStatus)


# --- administration -----------------------------------------------------------------------------


def whoami() -> Call[model.Identity]:
    """Tell whose token this is."""
    return Call("GET", "/whoami", model.Identity)


def list_projects() -> Call[list[model.Project]]:
    """List projects."""
    return Call("GET", "/projects", list[model.Project])


def make_project(key: str, *, name: str = "", description: str = "") -> Call[model.Project]:
    """Make a project."""
    body = {"id": key, "name": name, "description": description}
    return Call("POST", "/projects", model.Project, body)


def delete_project(key: str) -> Call[None]:
    """Remove a project."""
    return Call("DELETE", f"/projects/{quote(key, safe='')}")


def list_tokens() -> Call[list[model.Token]]:
    """List tokens."""
    return Call("GET", "/tokens", list[model.Token])


def make_token(
    name: str, role: str, *, project: str | None = None, expires_in: float | None = None
) -> Call[model.MadeToken]:
    """Make a token."""
    body = {"name": name, "role": role, "project_id": project, "expires_in": expires_in}
    return Call("POST", "/tokens", model.MadeToken, body)


def delete_token(key: str) -> Call[None]:
    """Remove a token."""
    return Call("DELETE", f"/tokens/{quote(key, safe='')}")


def read(call: Call[T], raw: bytes) -> T:
    """Read the answer of a call that went well."""
    if call.kind is bytes:
        return raw  # type: ignore[return-value]
    if call.kind is None:
        return None  # type: ignore[return-value]
    if call.path.startswith(ARGO):
        return msgspec.json.decode(raw, type=call.kind)  # type: ignore[no-any-return]
    envelope = msgspec.json.decode(raw, type=_Envelope)
    data: T = msgspec.json.decode(envelope.data, type=call.kind)
    return data


class _Envelope(msgspec.Struct):
    data: msgspec.Raw
