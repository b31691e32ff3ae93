"""The workflow: a campaign of three that somebody has to approve of, then one task that sums up.

Workflow code must be deterministic: it imports ``tiphys.temporal.workflow`` and nothing that does
I/O.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tiphys.temporal.payload import RunResult, Worker
    from tiphys.temporal.workflow import Payload, approved, run_payload

WRITE = 'echo "$AGENT: three lines about $SUBJECT"'


@dataclass
class Order:
    """What the campaign is about."""

    subject: str
    queue: str = "batch"
    approval_seconds: float = 3600.0


@workflow.defn
class Campaign:
    """Content, design and analytics start together or not at all."""

    def __init__(self) -> None:
        self._answers: list[bool] = []

    @workflow.signal
    def approve(self, yes: bool) -> None:
        """Take the answer of whoever was asked."""
        self._answers.append(yes)

    @workflow.run
    async def run(self, order: Order) -> str:
        """Ask, run the campaign, sum up."""
        # Nothing is queued yet: a person may take hours, and quota is not held for them.
        if not await approved(self._answers, within=timedelta(seconds=order.approval_seconds)):
            return "not approved"
        parts = await run_payload(_campaign(order))
        summary = await run_payload(_summary(order, parts))
        return summary.tasks[0].log_tail


def _campaign(order: Order) -> Payload:
    """Three workers, one gang: kind decides how many."""
    worker = Worker(
        image="busybox:1.37",
        command=["sh", "-c", WRITE],
        env={"SUBJECT": order.subject},
        cpu="100m",
    )
    # After five minutes without a start it leaves the queue and comes back later.
    return Payload(kind="campaign", worker=worker, queue=order.queue, wait_seconds=300)


def _summary(order: Order, parts: RunResult) -> Payload:
    """One task, with what the three have written."""
    text = "\n".join(task.log_tail for task in parts.tasks)
    worker = Worker(
        image="busybox:1.37",
        command=["sh", "-c", 'echo "$PARTS" | sort'],
        env={"PARTS": text},
        cpu="100m",
    )
    return Payload(kind="task", worker=worker, queue=order.queue)
