"""Workflow code for the usual shapes: one task, a campaign of three, a directive to N agents.

Deterministic: no I/O, no clock but Temporal's. Import it inside of
``workflow.unsafe.imports_passed_through()`` or list it as passed through.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError

from tiphys.core import gang
from tiphys.temporal.payload import GangInput, Placement, RunResult, Worker

QUEUES = ("interactive", "batch", "analytics")
CAMPAIGN = gang.CAMPAIGN
HEARTBEAT = timedelta(seconds=30)
LONGEST = timedelta(days=7)


@dataclass(slots=True, kw_only=True)
class Payload:
    """What is to be done: the kind decides how many start together."""

    kind: str
    """``task`` (1), ``campaign`` (3), or ``directive`` (as many as there are agents)."""
    worker: Worker
    """What each of them runs; ``{agent}`` in its arguments is replaced by the agent's name."""
    agents: list[str] = field(default_factory=list)
    queue: str = "batch"
    priority: str = "normal"
    wait_seconds: float = 0.0
    """How long the gang may wait for its start before it leaves the queue and comes back later."""


def members(payload: Payload) -> list[str]:
    """Give the names of those who work on a payload."""
    try:
        return gang.members(payload.kind, payload.agents)
    except ValueError as error:
        raise _wrong(str(error)) from None


def gang_of(payload: Payload) -> GangInput:
    """Turn a payload into a gang: queue and size come from it."""
    if payload.queue not in QUEUES:
        raise _wrong(f"there is no queue {payload.queue!r}: {', '.join(QUEUES)}")
    workers = gang.crew(payload.worker, members(payload))
    placement = Placement(
        queue=payload.queue, priority=payload.priority, wait_seconds=payload.wait_seconds
    )
    return GangInput(name=payload.kind, workers=workers, placement=placement)


def _wrong(message: str) -> ApplicationError:
    """Fail the workflow: any other error would have Temporal try its code for ever."""
    return ApplicationError(message, type="InvalidInput", non_retryable=True)


async def run_payload(payload: Payload, *, longest: timedelta = LONGEST) -> RunResult:
    """Run a payload as one gang, from inside of a workflow."""
    result: RunResult = await workflow.execute_activity(
        "run_gang",
        gang_of(payload),
        result_type=RunResult,
        start_to_close_timeout=longest,
        heartbeat_timeout=HEARTBEAT,
        # Whoever is told that it is cancelled may rely on it: the run has been stopped by then.
        cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        # Only what is not the work's own failure is tried again: see docs/temporal.md.
        retry_policy=RetryPolicy(maximum_attempts=0),
    )
    return result


async def approved(given: list[bool], *, within: timedelta) -> bool:
    """Wait for a signal that fills ``given``; False where it does not come in time.

    Nothing is queued and no quota is held meanwhile: work is submitted only afterwards.
    """
    try:
        await workflow.wait_condition(lambda: bool(given), timeout=within)
    except TimeoutError:
        return False
    return given[0]
