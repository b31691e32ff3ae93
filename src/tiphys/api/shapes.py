"""The shapes of the answers of ``/api/v1``, for readers of the OpenAPI document.

Answers are written by ``api.view`` and are not passed through these models; the contract tests hold
the two together.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, Field

T = TypeVar("T")


Status = Literal["pending", "running", "succeeded", "failed", "error"]


class Pagination(BaseModel):
    """Which part of a list this is."""

    total: int
    page: int
    limit: int
    at_least: bool | None = Field(
        None, description="True where a long list is still being counted: there may be more."
    )


class Envelope(BaseModel, Generic[T]):
    """A success."""

    success: Literal[True]
    data: T
    message: str | None = None


class Listed(BaseModel, Generic[T]):
    """A page of a list."""

    success: Literal[True]
    data: list[T]
    pagination: Pagination


class Done(BaseModel):
    """A success that gives nothing."""

    success: Literal[True]
    message: str


class Mistake(BaseModel):
    """One thing that is wrong with the input."""

    path: str
    line: int | None
    column: int | None
    message: str


class ErrorBody(BaseModel):
    """What went wrong."""

    code: str
    detail: str
    errors: list[Mistake]
    request_id: str


class Failure(BaseModel):
    """An answer to a request that failed."""

    success: Literal[False]
    message: str
    error: ErrorBody


class Summary(BaseModel):
    """A workflow in a list."""

    id: str
    name: str
    workflow_name: str = Field(description="The name that it really got; unique in its project.")
    project_id: str
    status: Status
    scheduler: str
    queue_id: str | None
    progress: int = Field(ge=0, le=100)
    created_at: datetime
    start_time: datetime | None
    end_time: datetime | None
    created_by: str
    priority: int
    suspended: bool
    message: str = Field(description="In lists, its first 200 characters.")


class Submitted(BaseModel):
    """A workflow that was just taken in."""

    id: str
    name: str
    workflow_name: str
    status: Status
    scheduler: str
    queue_id: str | None
    created_at: datetime
    estimated_duration: float | None


class Node(BaseModel):
    """A node of a workflow."""

    id: str
    name: str
    display_name: str
    type: str
    status: str
    phase: str
    template: str | None
    message: str
    cpu: float = Field(description="Requested, in cores.")
    memory: int = Field(description="Requested, in bytes.")
    cpu_used: float = Field(description="Measured, in CPU seconds.")
    memory_used: int = Field(description="Measured at its most, in bytes.")
    start_time: datetime | None
    end_time: datetime | None
    duration: float | None
    progress: int
    dependencies: list[str]
    children: list[str]
    boundary_id: str | None
    inputs: dict[str, Any] | None
    outputs: dict[str, Any] | None
    attempts: int
    waiting_for: str | None


class FlowJob(BaseModel):
    """A Volcano Job of a flow."""

    name: str
    step: str
    state: str = Field(description="Volcano's word.")
    message: str | None
    started_at: datetime | None
    finished_at: datetime | None
    restarts: int
    pods: dict[str, int] = Field(description="How many are in each phase.")
    cpu_seconds: float
    memory_bytes: int = Field(description="The most that one pod used.")
    runs_before: int = Field(description="Jobs of this template in the latest runs.")
    failed_before: int = Field(description="How many of them failed.")


class FlowWait(BaseModel):
    """Something that a step waits for."""

    step: str
    state: str
    missing: str


class FlowStep(BaseModel):
    """A step of a flow that has not begun."""

    step: str
    waits_for: list[FlowWait]


class Flow(BaseModel):
    """How a JobFlow stands."""

    kind: str
    jobs: list[FlowJob]
    next: list[FlowStep]
    status: dict[str, Any] | None = Field(description="As Volcano shapes it.")


class Workflow(Summary):
    """A workflow."""

    description: str
    duration: float | None
    estimated_duration: float | None
    estimated_end_time: datetime | None
    cpu_used: float = Field(description="CPU seconds of all nodes.")
    memory_used: int = Field(description="The most that one task used, in bytes.")
    parameters: dict[str, str | None] = Field(description="What it was given.")
    nodes: list[Node] = Field(description="The first 1,000.")
    nodes_total: int
    flow: Flow | None = Field(description="Of a JobFlow or a Volcano Job.")


class Output(BaseModel):
    """What a node wrote."""

    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool
    exit_code: int | None


class Edge(BaseModel):
    """From a node to one that came after it or inside of it."""

    source: str
    target: str


class GraphNode(BaseModel):
    """A node of the actual graph."""

    id: str
    name: str
    type: str
    status: str
    template: str | None
    boundary_id: str | None


class PlannedNode(BaseModel):
    """A step or task as it is written down."""

    id: str
    template: str
    calls: str
    name: str
    type: str | None = Field(description="Of the called template, where it is in the same spec.")
    loop: bool
    when: str | None


class PlannedGraph(BaseModel):
    """What the spec says."""

    entrypoint: str | None
    on_exit: str | None
    nodes: list[PlannedNode]
    edges: list[Edge]


class ActualGraph(BaseModel):
    """What has been made of it."""

    nodes: list[GraphNode]
    edges: list[Edge]


class Graph(BaseModel):
    """Both."""

    planned: PlannedGraph
    actual: ActualGraph


class Bar(BaseModel):
    """One bar of a Gantt chart."""

    id: str
    name: str
    type: str
    status: str
    queued_at: datetime | None
    start_time: datetime | None
    end_time: datetime | None
    duration: float | None


class Event(BaseModel):
    """Something that happened."""

    number: int
    at: datetime
    kind: str
    node: str
    text: str


class Report(BaseModel):
    """What is wrong with a text."""

    valid: bool
    problems: list[Mistake]


class SimulatedTask(BaseModel):
    """When a task would run, in seconds from the submission."""

    id: str
    workflow: str
    queue: str
    ready: float
    start: float
    end: float
    preempted: int


class Simulation(BaseModel):
    """The predicted schedule."""

    report: dict[str, Any]
    gantt: list[SimulatedTask]


class QueueShape(BaseModel):
    """A queue as it is defined."""

    id: str
    name: str
    description: str
    scheduler: str
    status: Literal["open", "closing", "closed", "unknown"]
    priority: int
    quota: dict[str, str]
    parent: str
    max_parallel: int | None
    guarantee: dict[str, str] | None
    capability: dict[str, str] | None
    borrowing_limit: dict[str, str] | None
    lending_limit: dict[str, str] | None
    reclaimable: bool
    preemption: str
    sla_seconds: float | None
    created_at: datetime | None


class QueueStats(BaseModel):
    """Workflows of a queue."""

    waiting: int
    running: int
    succeeded: int
    failed: int


class Waiting(BaseModel):
    """A node that waits, and why."""

    workflow_id: str
    node_id: str
    name: str
    reason: str
    expected_start: datetime | None


class QueueStatus(BaseModel):
    """How full a queue is."""

    id: str
    name: str
    status: Literal["open", "closing", "closed", "unknown"]
    quota: dict[str, str]
    reserved: dict[str, str]
    allocated: dict[str, str]
    available: dict[str, str]
    stats: QueueStats
    pod_groups: dict[str, int] | None = Field(
        None, description="Of a queue of Volcano: pod groups by phase."
    )
    workloads: dict[str, int] | None = Field(
        None, description="Of a queue of Kueue: workloads that wait, reserve quota, run."
    )
    waiting: list[Waiting]


class Why(BaseModel):
    """Why a node waits; one that does not exist yet has no id."""

    node_id: str | None
    name: str
    reason: str
    detail: dict[str, Any] | None
    expected_start: datetime | None


class ProjectShape(BaseModel):
    """A project."""

    id: str
    name: str
    description: str
    created_at: datetime | None
    created_by: str


class TokenShape(BaseModel):
    """A token, without its secret."""

    id: str
    name: str
    role: str
    project_id: str | None
    created_at: datetime
    created_by: str
    expires_at: datetime | None


class MadeToken(TokenShape):
    """A token that was just made."""

    token: str = Field(description="Shown this one time.")


class Ticket(BaseModel):
    """A single-use ticket for a WebSocket, or a GET, as ``?ticket=``."""

    ticket: str
    expires_at: datetime


class AuditEntry(BaseModel):
    """One change."""

    number: int
    at: datetime
    actor: str
    token: str
    action: str
    project: str
    object: str


class Self(BaseModel):
    """Who asks."""

    name: str
    role: str
    project_id: str | None
    token_id: str
    expires_at: datetime | None


class Template(BaseModel):
    """A template that is kept; of a JobTemplate, ``templates`` are its tasks."""

    kind: str
    name: str
    project_id: str | None
    templates: list[str]
    entrypoint: str
    updated_at: datetime
    manifest: dict[str, Any]
