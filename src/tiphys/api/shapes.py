"""The shapes of ``/api/v1`` for readers of the OpenAPI document and for the bodies of requests.

Answers are written by ``api.view`` and are not passed through these models; the contract tests hold
the two together.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tiphys.core.quantity import bytes_of, cpu_millis
from tiphys.errors import InvalidInputError
from tiphys.service.access import Role

T = TypeVar("T")

EXAMPLE_YAML = """\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: hello-
spec:
  entrypoint: main
  arguments:
    parameters:
      - {name: who, value: world}
  templates:
    - name: main
      inputs:
        parameters:
          - {name: who, value: "{{workflow.parameters.who}}"}
      container:
        image: alpine
        command: [echo, "hello {{inputs.parameters.who}}"]
"""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
PRIORITIES = {"critical": 1000, "high": 100, "normal": 10, "low": 1}

Status = Literal["pending", "running", "succeeded", "failed", "error"]
Parameters = Annotated[dict[str, str], Field(max_length=1000)]


class Strict(BaseModel):
    """A body: unknown fields are mistakes."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Pagination(BaseModel):
    """Which part of a list this is."""

    total: int
    page: int
    limit: int


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


class Submit(Strict):
    """A workflow to run."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "hello",
                    "project_id": "default",
                    "workflow_yaml": EXAMPLE_YAML,
                    "parameters": {"who": "Tiphys"},
                    "priority": "high",
                }
            ]
        }
    )

    name: str = Field(description="Letters a-z, digits, '-' and '.'; need not be unique.")
    project_id: str = Field(min_length=1, max_length=63)
    workflow_yaml: str = Field(
        min_length=1,
        description="An Argo Workflow; templates, config maps and secrets may stand beside it.",
    )
    scheduler: Literal["local"] = "local"
    queue_id: str | None = Field(None, description="The default queue, if not given.")
    description: str = Field("", max_length=10_000)
    priority: int | Literal["critical", "high", "normal", "low"] = "normal"
    parameters: Parameters = Field(default_factory=dict)
    estimated_cpu: str | None = Field(None, description="For people; such as 500m.")
    estimated_memory: str | None = Field(None, description="For people; such as 1Gi.")

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError("must be 1 to 63 of a-z, 0-9, '-' and '.', no sign at either end")
        return value

    @field_validator("estimated_cpu", "estimated_memory")
    @classmethod
    def _check_amount(cls, value: str | None, info: Any) -> str | None:
        try:
            if value is not None:
                (cpu_millis if info.field_name == "estimated_cpu" else bytes_of)(value)
        except InvalidInputError as error:
            raise ValueError(str(error)) from None
        return value

    def priority_number(self) -> int:
        """Give the priority as a number."""
        return self.priority if isinstance(self.priority, int) else PRIORITIES[self.priority]


class Stop(Strict):
    """How a workflow is ended early."""

    message: str = Field("", max_length=1000)


class Resume(Strict):
    """What goes on."""

    node_selector: str = Field("", max_length=1000, examples=["displayName=approve"])
    parameters: Parameters = Field(default_factory=dict)
    message: str = Field("", max_length=1000)


class Retry(Strict):
    """How a failed workflow is run again."""

    restart_successful: bool = False
    node_selector: str = Field("", max_length=1000, examples=["templateName=flaky"])
    parameters: Parameters = Field(default_factory=dict)


class Resubmit(Strict):
    """How a workflow is run once more."""

    memoized: bool = False
    parameters: Parameters = Field(default_factory=dict)


class Nothing(Strict):
    """No fields."""


class Lint(Strict):
    """A text to look over."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"workflow_yaml": EXAMPLE_YAML}]})

    workflow_yaml: str = Field(min_length=1)
    project_id: str | None = None
    strict: bool = True


class Simulate(Strict):
    """A workflow to play through; all templates that it needs stand in the text."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"workflow_yaml": EXAMPLE_YAML, "default_seconds": 30}]}
    )

    workflow_yaml: str = Field(min_length=1)
    parameters: Parameters = Field(default_factory=dict)
    default_seconds: float = Field(60.0, gt=0, le=1e9, description="What a task takes.")


class TemplateText(Strict):
    """A WorkflowTemplate or ClusterWorkflowTemplate as YAML."""

    template_yaml: str = Field(min_length=1)
    project_id: str | None = Field(None, description="Of a WorkflowTemplate.")


Amount = str | int | float
Amounts = Annotated[dict[str, Amount], Field(max_length=100, examples=[{"cpu": "4"}])]


class QueueChange(Strict):
    """What of a queue is to change."""

    description: str | None = Field(None, max_length=10_000)
    priority: int | None = Field(None, ge=1, le=1_000_000, description="The weight of its share.")
    quota_cpu: Amount | None = None
    quota_memory: Amount | None = None
    quota: Amounts | None = Field(None, description="Further resources, such as nvidia.com/gpu.")
    max_parallel: int | None = Field(None, ge=1, description="Workflows at once.")
    parent: str | None = None
    guarantee: Amounts | None = None
    capability: Amounts | None = None
    borrowing_limit: Amounts | None = None
    lending_limit: Amounts | None = None
    reclaimable: bool | None = None
    preemption: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] | None = None
    sla_seconds: float | None = Field(None, gt=0)

    def given(self) -> dict[str, Any]:
        """Give the fields that were set."""
        return self.model_dump(exclude_none=True)


class NewQueue(QueueChange):
    """A queue to make."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "batch", "quota_cpu": "2", "quota_memory": "4Gi"}]}
    )

    name: str
    scheduler: Literal["local"] = "local"

    @field_validator("name")
    @classmethod
    def _check_queue_name(cls, value: str) -> str:
        if not _NAME.fullmatch(value) or value == "root":
            raise ValueError("must be 1 to 63 of a-z, 0-9, '-' and '.', and not root")
        return value


class NewProject(Strict):
    """A project to make."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "training", "name": "Model training"}]}
    )

    id: str
    name: str = Field("", max_length=200)
    description: str = Field("", max_length=10_000)


class NewToken(Strict):
    """A token to make."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "ci", "role": "member", "project_id": "training"}]}
    )

    name: str = Field(min_length=1, max_length=200)
    role: Literal["admin", "member", "viewer"]
    project_id: str | None = Field(None, description="None: all projects; for admins of all only.")
    expires_in: float | None = Field(None, gt=0, le=10 * 366 * 86400, description="Seconds.")

    def role_value(self) -> Role:
        """Give the role."""
        return Role(self.role)


class Summary(BaseModel):
    """A workflow in a list."""

    id: str
    name: str
    project_id: str
    status: Status
    scheduler: str
    queue_id: str | None
    progress: int = Field(ge=0, le=100)
    created_at: datetime
    start_time: datetime | None
    end_time: datetime | None


class Submitted(BaseModel):
    """A workflow that was just taken in."""

    id: str
    name: str
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


class Workflow(Summary):
    """A workflow."""

    workflow_name: str
    description: str
    created_by: str
    priority: int
    suspended: bool
    message: str
    duration: float | None
    estimated_duration: float | None
    estimated_end_time: datetime | None
    cpu_used: float = Field(description="CPU seconds of all nodes.")
    memory_used: int = Field(description="The most that one task used, in bytes.")
    nodes: list[Node] = Field(description="The first 1,000.")
    nodes_total: int


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


class PlannedGraph(BaseModel):
    """What the spec says."""

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
    status: Literal["open", "closing", "closed"]
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
    status: Literal["open", "closing", "closed"]
    quota: dict[str, str]
    reserved: dict[str, str]
    allocated: dict[str, str]
    available: dict[str, str]
    stats: QueueStats
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
    """A template that is kept."""

    name: str
    project_id: str | None
    templates: list[str]
    entrypoint: str
    updated_at: datetime
    manifest: dict[str, Any]
