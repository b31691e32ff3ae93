"""What the server answers, as types. Fields that a newer server adds are passed over."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow that was just taken in."""

    id: str
    name: str
    status: str
    scheduler: str
    created_at: datetime
    workflow_name: str = ""
    """The name that it really got: names that are asked for need not be unique."""
    queue_id: str | None = None
    estimated_duration: float | None = None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow in a list."""

    id: str
    name: str
    project_id: str
    status: str
    scheduler: str
    progress: int
    created_at: datetime
    start_time: datetime | None = None
    end_time: datetime | None = None
    queue_id: str | None = None
    workflow_name: str = ""
    created_by: str = ""
    priority: int = 0
    suspended: bool = False
    message: str = ""

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.status in {"succeeded", "failed", "error"}


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a workflow."""

    id: str
    name: str
    display_name: str
    type: str
    status: str
    phase: str
    message: str = ""
    template: str | None = None
    cpu: float = 0.0
    memory: int = 0
    cpu_used: float = 0.0
    memory_used: int = 0
    start_time: datetime | None = None
    end_time: datetime | None = None
    duration: float | None = None
    progress: int = 0
    dependencies: list[str] = []
    children: list[str] = []
    boundary_id: str | None = None
    inputs: dict[str, Any] | None = None
    outputs: dict[str, Any] | None = None
    attempts: int = 0
    waiting_for: str | None = None


class Workflow(Summary, frozen=True, kw_only=True):
    """A workflow with its nodes."""

    description: str = ""
    duration: float | None = None
    estimated_duration: float | None = None
    estimated_end_time: datetime | None = None
    cpu_used: float = 0.0
    memory_used: int = 0
    parameters: dict[str, str | None] = {}
    nodes: list[Node] = []
    nodes_total: int = 0
    flow: dict[str, Any] | None = None
    """How a JobFlow or a Volcano Job stands: ``jobs``, and ``next`` with what it waits for."""


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What a node wrote."""

    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool
    exit_code: int | None


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a log."""

    time: datetime
    stream: str
    container: str
    text: str


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """A node that changed."""

    id: str
    name: str
    display_name: str
    status: str
    phase: str
    progress: int
    message: str = ""
    type: str = ""
    waiting_for: str | None = None


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a watch."""

    workflow_id: str
    status: str
    progress: int
    current_node: str | None
    nodes: list[Brief]
    message: str
    timestamp: datetime


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a text."""

    path: str
    message: str
    line: int | None = None
    column: int | None = None
    code: str = ""
    warning: bool = False


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a text."""

    valid: bool
    problems: list[Problem]


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a workflow."""

    number: int
    at: datetime
    kind: str
    node: str
    text: str


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """When a node was queued, started and ended."""

    id: str
    name: str
    type: str
    status: str
    queued_at: datetime | None = None
    start_time: datetime | None = None
    end_time: datetime | None = None


class Project(msgspec.Struct, frozen=True, kw_only=True):
    """A project."""

    id: str
    name: str
    description: str = ""
    created_at: datetime | None = None
    created_by: str = ""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token as it is listed."""

    id: str
    name: str
    role: str
    created_at: datetime
    project_id: str | None = None
    created_by: str = ""
    expires_at: datetime | None = None


class MadeToken(Token, frozen=True, kw_only=True):
    """A token that was just made."""

    token: str
    """The secret, which nothing tells a second time."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks."""

    name: str
    role: str
    token_id: str
    project_id: str | None = None
    expires_at: datetime | None = None


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """A queue as it is defined."""

    id: str
    name: str
    status: str
    description: str = ""
    scheduler: str = ""
    priority: int = 1
    quota: dict[str, str] = {}
    parent: str = ""
    max_parallel: int | None = None
    guarantee: dict[str, str] | None = None
    capability: dict[str, str] | None = None
    borrowing_limit: dict[str, str] | None = None
    lending_limit: dict[str, str] | None = None
    reclaimable: bool = True
    preemption: str = ""
    sla_seconds: float | None = None
    created_at: datetime | None = None


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A node that waits in a queue, and why."""

    workflow_id: str
    node_id: str
    name: str
    reason: str
    expected_start: datetime | None = None


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How full a queue is."""

    id: str
    name: str
    status: str
    quota: dict[str, str]
    reserved: dict[str, str]
    allocated: dict[str, str]
    available: dict[str, str]
    stats: dict[str, int]
    waiting: list[Waiting]
    pod_groups: dict[str, int] | None = None
    """Of a queue of Volcano: pod groups by phase."""
    workloads: dict[str, int] | None = None
    """Of a queue of Kueue: workloads that wait, reserve quota, run."""


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why a node waits."""

    name: str
    reason: str
    node_id: str | None = None
    detail: dict[str, Any] | None = None
    expected_start: datetime | None = None
