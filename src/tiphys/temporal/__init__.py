"""Temporal activities that hand heavy work to Tiphys: queued, in gangs, fair-shared, preemptible.

    from tiphys.temporal import GangInput, RunResult, Settings, TiphysActivities, Worker

    activities = TiphysActivities(Settings.from_environment())
    worker = temporalio.worker.Worker(client, task_queue="batch", activities=activities.all(), …)

Needs the extra ``tiphys[temporal]``. Workflow code imports ``tiphys.temporal.workflow`` only, which
is deterministic and does no I/O. docs/temporal.md has the rules: who retries, what a crash does.
"""

from tiphys.temporal.activity import TiphysActivities
from tiphys.temporal.payload import (
    GangInput,
    JobInput,
    Placement,
    RunResult,
    TaskResult,
    Worker,
    WorkflowInput,
)
from tiphys.temporal.setting import Settings

__all__ = [
    "GangInput",
    "JobInput",
    "Placement",
    "RunResult",
    "Settings",
    "TaskResult",
    "TiphysActivities",
    "Worker",
    "WorkflowInput",
]
