"""Workflows of Temporal that the tests start. Deterministic, as Temporal asks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from tiphys.temporal.payload import GangInput, JobInput, RunResult, WorkflowInput
    from tiphys.temporal.workflow import Payload, approved, run_payload


@dataclass(kw_only=True)
class How:
    """Temporal's side of an activity."""

    attempts: int = 1
    heartbeat_seconds: float = 30.0
    pause_seconds: float = 0.2

    def options(self) -> dict[str, Any]:
        """Give what ``execute_activity`` takes."""
        return {
            "result_type": RunResult,
            "start_to_close_timeout": timedelta(minutes=10),
            "heartbeat_timeout": timedelta(seconds=self.heartbeat_seconds),
            "retry_policy": RetryPolicy(
                maximum_attempts=self.attempts,
                initial_interval=timedelta(seconds=self.pause_seconds),
                backoff_coefficient=1.0,
            ),
            "cancellation_type": workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        }


@workflow.defn
class RunWorkflow:
    """One workflow of Tiphys."""

    @workflow.run
    async def run(self, given: WorkflowInput, how: How) -> RunResult:
        """Run it."""
        result: RunResult = await workflow.execute_activity(
            "run_workflow",
            given,
            **how.options(),
        )
        return result


@workflow.defn
class RunJob:
    """One job."""

    @workflow.run
    async def run(self, given: JobInput, how: How) -> RunResult:
        """Run it."""
        result: RunResult = await workflow.execute_activity(
            "run_job",
            given,
            **how.options(),
        )
        return result


@workflow.defn
class RunGang:
    """One gang."""

    @workflow.run
    async def run(self, given: GangInput, how: How) -> RunResult:
        """Run it."""
        result: RunResult = await workflow.execute_activity(
            "run_gang",
            given,
            **how.options(),
        )
        return result


@workflow.defn
class Plain:
    """A payload, by the helpers that are shipped."""

    @workflow.run
    async def run(self, payload: Payload) -> RunResult:
        """Run it."""
        return await run_payload(payload)


@dataclass(kw_only=True)
class Asked:
    """Work that somebody has to approve of."""

    payload: Payload
    within_seconds: float


@workflow.defn
class Approval:
    """A payload that runs once somebody has said yes."""

    def __init__(self) -> None:
        self._given: list[bool] = []

    @workflow.signal
    def approve(self, yes: bool) -> None:
        """Hear the answer."""
        self._given.append(yes)

    @workflow.run
    async def run(self, asked: Asked) -> RunResult | None:
        """Wait for the answer, then run."""
        if not await approved(self._given, within=timedelta(seconds=asked.within_seconds)):
            return None
        return await run_payload(asked.payload)


ALL = (RunWorkflow, RunJob, RunGang, Plain, Approval)
