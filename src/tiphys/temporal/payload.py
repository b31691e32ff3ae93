"""What activities take and give: plain dataclasses, as Temporal's own converter wants them.

Deterministic and without I/O: workflow code may import it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tiphys.core.gang import Worker

__all__ = [
    "GangInput",
    "JobInput",
    "Placement",
    "RunResult",
    "TaskResult",
    "Worker",
    "WorkflowInput",
]


@dataclass(slots=True, kw_only=True)
class Placement:
    """Where work is queued, and how long one is patient with it."""

    queue: str = ""
    priority: str = "normal"
    project: str = "default"
    scheduler: str = ""
    """``local``, ``volcano``, ``kueue`` …; empty: what the worker is configured for."""
    wait_seconds: float = 0.0
    """Give up, and let Temporal try again later, when nothing has started by then; 0: never."""
    retry_failed: bool = False
    """Whether Temporal's retry policy runs failed work again. Without it a failure is final here:
    retries inside of the work are Tiphys' own, and the two do not multiply."""


@dataclass(slots=True, kw_only=True)
class WorkflowInput:
    """A whole workflow: the text of an Argo Workflow, a JobFlow or a Volcano Job."""

    text: str
    name: str = "temporal"
    parameters: dict[str, str] = field(default_factory=dict)
    placement: Placement = field(default_factory=Placement)


@dataclass(slots=True, kw_only=True)
class JobInput:
    """A single task."""

    worker: Worker
    name: str = "job"
    max_retry: int = 0
    """How often Tiphys itself runs it again when it fails."""
    placement: Placement = field(default_factory=Placement)


@dataclass(slots=True, kw_only=True)
class GangInput:
    """Tasks that start together or not at all."""

    workers: list[Worker]
    name: str = "gang"
    size: int = 0
    """How many must start together; 0: all of them."""
    max_retry: int = 0
    placement: Placement = field(default_factory=Placement)


@dataclass(slots=True, kw_only=True)
class TaskResult:
    """How one task ended."""

    name: str
    phase: str
    exit_code: int | None = None
    log_tail: str = ""
    message: str = ""


@dataclass(slots=True, kw_only=True)
class RunResult:
    """How the work ended."""

    phase: str
    """Succeeded, Failed or Error."""
    workflow_id: str = ""
    name: str = ""
    message: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    tasks: list[TaskResult] = field(default_factory=list)
    link: str = ""
    waited_seconds: float = 0.0
    """From the submission until the first task started."""
    ran_seconds: float = 0.0
    preemptions: int = 0
    tasks_total: int = 0
    """How many tasks ran; ``tasks`` has those that failed first, and no more than fit."""
