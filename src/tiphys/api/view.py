"""Stored workflows and nodes as ``/api/v1`` shows them. Pure: rows in, plain data out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tiphys.api.envelope import instant
from tiphys.control.task import requests_of
from tiphys.engine.node import Node, NodeType, Phase
from tiphys.errors import InvalidInputError, NotFoundError
from tiphys.ports import LOCAL, SCHEDULER_LABEL, WITH_QUEUES
from tiphys.service.submission import CREATED_BY, DESCRIPTION, NAME_LABEL
from tiphys.spec import model
from tiphys.store import NodeRow, WorkflowSummary
from tiphys.wire.node import decode_node

PREFIX = "wf-"
_ENDED = frozenset({"Succeeded", "Failed", "Error"})
_TYPES = {"StepGroup": "step-group", "TaskGroup": "task-group", "DAG": "dag"}


def public_id(uid: str) -> str:
    """Give the id of a workflow in this API."""
    return PREFIX + uid


def status_of(phase: str) -> str:
    """Give the status of a phase."""
    return phase.lower() or "pending"


def percent(progress: str, phase: str) -> int:
    """Give ``done/all`` as a number from 0 to 100; only what succeeded is at 100 for sure."""
    if phase == "Succeeded":
        return 100
    done, _, total = progress.partition("/")
    if not (done.isdecimal() and total.isdecimal() and int(total)):
        return 0
    share = 100 * int(done) // int(total)
    return min(share, 100 if phase in _ENDED else 99)


def shown_name(row: WorkflowSummary) -> str:
    """Give the name that was asked for."""
    return row.labels.get(NAME_LABEL) or row.name


def summary(row: WorkflowSummary) -> dict[str, Any]:
    """Give a workflow as lists show it."""
    return {
        "id": public_id(row.uid),
        "name": shown_name(row),
        "workflow_name": row.name,
        "project_id": row.namespace,
        "status": status_of(row.phase),
        "scheduler": row.labels.get(SCHEDULER_LABEL) or LOCAL,
        "queue_id": queue_of(row),
        "progress": percent(row.progress, row.phase),
        "created_at": instant(row.created_at),
        "start_time": instant(row.started_at),
        "end_time": instant(row.finished_at),
        "created_by": row.annotations.get(CREATED_BY, ""),
        "priority": row.priority,
        "suspended": row.suspended,
        "message": (row.message or row.quarantine)[:200],
    }


def queue_of(row: WorkflowSummary) -> str | None:
    """Give the id of the queue that a workflow is in."""
    if not row.queue:
        return None
    # Queues of others than our own scheduler say whose they are (``service.queue_desk``).
    whose = row.labels.get(SCHEDULER_LABEL, "")
    return f"q-{whose}:{row.queue}" if whose in WITH_QUEUES else f"q-{row.queue}"


def details(
    row: WorkflowSummary, estimate: float | None, nodes: NodeViews, now: float
) -> dict[str, Any]:
    """Give all of a workflow but its nodes."""
    return {
        **summary(row),
        "description": row.annotations.get(DESCRIPTION, ""),
        "message": row.message or row.quarantine,
        "duration": duration(row.started_at, row.finished_at, now),
        "estimated_duration": estimate,
        "estimated_end_time": _expected(row, estimate),
        "cpu_used": round(nodes.cpu_used, 3),
        "memory_used": nodes.memory_used,
    }


def duration(start: float | None, end: float | None, now: float) -> float | None:
    """Give the seconds that something took, or takes so far."""
    if start is None:
        return None
    return round(max(0.0, (now if end is None else end) - start), 3)


def _expected(row: WorkflowSummary, estimate: float | None) -> str | None:
    if estimate is None or row.started_at is None or row.phase in _ENDED:
        return None
    return instant(row.started_at + estimate)


class _SlimOurs(msgspec.Struct):
    parents: tuple[str, ...] = ()
    cpu_seconds: float = 0.0
    memory_bytes: int = 0


class _Slim(msgspec.Struct):
    """Of a node what its neighbours and the sums need: ten times faster to read than all of it."""

    id: str
    name: str
    ours: _SlimOurs


_slim = msgspec.json.Decoder(_Slim).decode


class NodeViews:
    """The nodes of one workflow, each shown with its place among the others."""

    def __init__(
        self, rows: Sequence[NodeRow], spec: model.WorkflowSpec | None, now: float
    ) -> None:
        self._rows = rows
        self._templates = {each.name: each for each in spec.templates} if spec else {}
        self._now = now
        given = spec.arguments.parameters if spec else ()
        self.parameters = {each.name: each.value for each in given}
        """What the workflow was given."""
        self._names: dict[str, str] = {}
        self._children: dict[str, list[str]] = {}
        self.cpu_used, self.memory_used = 0.0, 0
        for row in rows:
            self._note(_slim(row.body))

    def _note(self, node: _Slim) -> None:
        self._names[node.id] = node.name
        for parent in node.ours.parents:
            self._children.setdefault(parent, []).append(node.id)
        self.cpu_used += node.ours.cpu_seconds
        self.memory_used = max(self.memory_used, node.ours.memory_bytes)

    @property
    def total(self) -> int:
        """How many nodes there are."""
        return len(self._rows)

    def page(self, page: int, limit: int) -> list[dict[str, Any]]:
        """Show a part of them, in the order in which they were made."""
        rows = self._rows[(page - 1) * limit : page * limit]
        return [self.show(decode_node(row.body)) for row in rows]

    def find(self, node_id: str) -> Node:
        """Find a node by id."""
        for row in self._rows:
            if row.id == node_id:
                return decode_node(row.body)
        raise NotFoundError(f"there is no node {node_id[:200]!r}")

    def last_attempt(self, node: Node) -> Node:
        """Give the latest attempt of a node that is retried, else the node itself."""
        attempts = self._attempts(node)
        return self.find(attempts[-1]) if node.type is NodeType.RETRY and attempts else node

    def children(self, node_id: str) -> list[str]:
        """Give the ids of what hangs below a node."""
        return self._children.get(node_id, [])

    def show(self, node: Node) -> dict[str, Any]:
        """Give all of a node."""
        template = self._templates.get(node.template_name)
        asked = _requests(template)
        retried = node.type is NodeType.RETRY
        return {
            "id": node.id,
            "name": node.name,
            "display_name": node.display_name or node.name,
            "type": type_of(node, template),
            "status": status_of(node.phase),
            "phase": str(node.phase),
            "template": node.template_name or None,
            "message": node.message,
            "cpu": asked.get("cpu", 0) / 1000,
            "memory": asked.get("memory", 0),
            "cpu_used": round(node.ours.cpu_seconds, 3),
            "memory_used": node.ours.memory_bytes,
            "start_time": instant(node.started_at),
            "end_time": instant(node.finished_at),
            "duration": duration(node.started_at, node.finished_at, self._now),
            "progress": percent(node.progress, node.phase),
            "dependencies": [each for each in node.ours.parents if each in self._names],
            "children": self.children(node.id),
            "boundary_id": node.boundary_id or None,
            "inputs": msgspec.to_builtins(node.inputs) if node.inputs else None,
            "outputs": msgspec.to_builtins(node.outputs) if node.outputs else None,
            "attempts": len(self._attempts(node)) if retried else int(node.ours.attempt > 0),
            "waiting_for": waiting_for(node),
        }

    def _attempts(self, node: Node) -> list[str]:
        below = self._children.get(node.id, ())
        return [each for each in below if self._names[each].startswith(f"{node.name}(")]


def brief(node: Node, kinds: Mapping[str, str]) -> dict[str, Any]:
    """Give a node as streams of changes show it; ``kinds`` are those of ``kinds_of``."""
    return {
        "id": node.id,
        "name": node.name,
        "display_name": node.display_name or node.name,
        "status": status_of(node.phase),
        "phase": str(node.phase),
        "progress": percent(node.progress, node.phase),
        "message": node.message,
        "type": kind_of(node, kinds),
        "template": node.template_name or None,
        "boundary_id": node.boundary_id or None,
        "dependencies": list(node.ours.parents),
        "start_time": instant(node.started_at),
        "end_time": instant(node.finished_at),
        "waiting_for": waiting_for(node),
    }


def waiting_for(node: Node) -> str | None:
    """Tell what a node waits for, where it does."""
    if node.phase is not Phase.PENDING:
        return None
    status = node.synchronization_status
    if status is not None and status.waiting:
        return f"lock {status.waiting}"
    if node.ours.held:
        return "the release of its layer" if node.message else "parallelism of the workflow"
    if node.ours.wake_at is not None:
        return f"retry at {instant(node.ours.wake_at)}"
    if node.ours.attempt and not node.ours.admitted:
        return "its turn in the queue"
    return "its start"


def _requests(template: model.Template | None) -> Mapping[str, int]:
    if template is None:
        return {}
    try:
        return requests_of(template)
    except InvalidInputError:
        return {}  # The amount is an expression; the node's message says so if it failed.


def type_of(node: Node, template: model.Template | None) -> str:
    """Give the type of a node; a pod is what its template says."""
    return kind_of(node, {node.template_name: _pod_kind(template)} if template else {})


def kind_of(node: Node, kinds: Mapping[str, str]) -> str:
    """Give the type of a node; a pod is what ``kinds`` says of its template."""
    if node.type is NodeType.POD:
        return kinds.get(node.template_name, "container")
    return _TYPES.get(str(node.type), str(node.type).lower())


def kinds_of(spec: bytes) -> dict[str, str]:
    """Read what the pods of each template of a stored spec are; nothing of a damaged one."""
    try:
        templates = msgspec.json.decode(spec, type=model.WorkflowSpec).templates
    except msgspec.MsgspecError:
        return {}
    return {each.name: _pod_kind(each) for each in templates}


def _pod_kind(template: model.Template) -> str:
    kinds = ("script", "resource", "data", "container_set")
    found = next((kind for kind in kinds if getattr(template, kind) is not None), "container")
    return found.replace("_", "-")
