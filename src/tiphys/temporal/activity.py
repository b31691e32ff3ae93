"""The activities themselves: submit once, follow by the stream, stop when Temporal says so.

Each attempt of an activity finds the run of the attempts before it by a key made of the workflow's
id, its run and the activity's id; so a worker that dies, or a server that is away, never starts
work twice. Who retries is decided in one place: ``Placement.retry_failed`` (docs/temporal.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from tiphys.client import AsyncClient, calls
from tiphys.client.model import Update
from tiphys.errors import TiphysError
from tiphys.temporal.embedded import EmbeddedServer
from tiphys.temporal.follow import StartLateError, follow, result_of
from tiphys.temporal.manifest import gang_text, job_text
from tiphys.temporal.payload import GangInput, JobInput, Placement, RunResult, WorkflowInput
from tiphys.temporal.setting import Settings

_log = logging.getLogger("tiphys.temporal")
_HEARTBEAT_PART = 3
"""A heartbeat is sent so many times within the time in which Temporal expects one."""
_LATE_PAUSE = timedelta(seconds=10)
_LONGEST_PAUSE = timedelta(minutes=10)


class TiphysActivities:
    """Activities of one worker; register ``all()`` and ``close`` it with the worker."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: AsyncClient | None = None
        self._embedded = None if settings.enabled else EmbeddedServer(settings.data)

    def all(self) -> Sequence[Callable[..., Any]]:
        """Give what a worker registers."""
        return (self.run_workflow, self.run_job, self.run_gang)

    async def close(self) -> None:
        """Let go of the connections, and of the worker's own server where there is one."""
        if self._client is not None:
            await self._client.__aexit__(None, None, None)
        if self._embedded is not None:
            await self._embedded.close()

    @activity.defn(name="run_workflow")
    async def run_workflow(self, given: WorkflowInput) -> RunResult:
        """Run a workflow and give how it went."""
        return await self._run(given.text, given.name, given.parameters, given.placement)

    @activity.defn(name="run_job")
    async def run_job(self, given: JobInput) -> RunResult:
        """Run one task and give how it went."""
        return await self._run(job_text(given), given.name, {}, given.placement)

    @activity.defn(name="run_gang")
    async def run_gang(self, given: GangInput) -> RunResult:
        """Run tasks that start together or not at all, and give how they went."""
        try:
            text = gang_text(given)
        except ValueError as error:
            raise ApplicationError(str(error), type="InvalidInput", non_retryable=True) from None
        return await self._run(text, given.name, {}, given.placement)

    async def _run(
        self, text: str, name: str, parameters: dict[str, str], placement: Placement
    ) -> RunResult:
        info = activity.info()
        generation = _generation(info.heartbeat_details)
        client = await self._connected()
        made = await self._submitted(client, (text, name, parameters), placement, generation)
        course = _Course(made, generation)
        beat = asyncio.create_task(course.beat(info.heartbeat_timeout))
        try:
            phase = await follow(client, made, course.changed, wait_seconds=placement.wait_seconds)
        except StartLateError as error:
            await self._stopped(client, made)
            raise course.late(error, info.attempt) from None
        except asyncio.CancelledError:
            if not activity.is_worker_shutdown():
                await asyncio.shield(self._stopped(client, made))
            raise
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat
        return await self._judged(client, made, phase, placement, course)

    async def _connected(self) -> AsyncClient:
        if self._client is None:
            if self._embedded is not None:
                self._client = await self._embedded.client()
            else:
                self._client = AsyncClient(self._settings.url, self._settings.token)
        return self._client

    async def _submitted(
        self,
        client: AsyncClient,
        work: tuple[str, str, dict[str, str]],
        placement: Placement,
        generation: int,
    ) -> str:
        """Submit, or find what an earlier attempt has submitted; give its id."""
        text, name, parameters = work
        info = activity.info()
        key = f"temporal/{info.workflow_id}/{info.workflow_run_id}/{info.activity_id}/{generation}"
        scheduler = placement.scheduler or self._settings.scheduler
        call = calls.submit(
            name,
            placement.project,
            text,
            parameters=parameters,
            priority=placement.priority,
            queue=placement.queue,
            scheduler="" if self._embedded is not None else scheduler,
            description=f"Temporal workflow {info.workflow_id}, activity {info.activity_id}",
            idempotency_key=key,
            generate_name=True,
            labels={"tiphys.dev/submitted-by": "temporal"},
        )
        try:
            return (await client.do(call)).id
        except TiphysError as error:
            if error.code in _FINAL:
                raise ApplicationError(str(error), type=error.code, non_retryable=True) from error
            raise

    async def _stopped(self, client: AsyncClient, workflow: str) -> None:
        """Stop the work; its exit handlers run. A run that has ended needs none of it."""
        with suppress(TiphysError, OSError):
            await client.do(calls.stop(workflow, message="cancelled by Temporal"))

    async def _judged(
        self,
        client: AsyncClient,
        workflow: str,
        phase: str,
        placement: Placement,
        course: _Course,
    ) -> RunResult:
        url = self._settings.url
        link = f"{url.rstrip('/')}/workflows/{workflow}" if url else ""
        result = await result_of(client, workflow, phase, link=link, lines=self._settings.log_lines)
        _measure(result)
        if phase == "Succeeded":
            return result
        activity.heartbeat({"workflow_id": workflow, "generation": course.generation + 1})
        raise ApplicationError(
            f"{result.name} {phase}: {result.message}",
            result,
            type=f"Workflow{phase}",
            non_retryable=not placement.retry_failed,
        )


_FINAL = frozenset(
    {"invalid_input", "invalid_spec", "parse_error", "policy_denied", "forbidden", "not_found",
     "unauthenticated", "idempotency_conflict", "unknown_scheduler", "duplicate_name", "cycle"}
)  # fmt: skip
"""Trying again would only hear the same."""


def _generation(details: Sequence[Any]) -> int:
    """Which run of the work is due: another one only after the last was given up."""
    found = details[0] if details else None
    return int(found.get("generation", 0)) if isinstance(found, dict) else 0


class _Course:
    """How one run goes, as told to Temporal and to the log."""

    def __init__(self, workflow: str, generation: int) -> None:
        self.workflow = workflow
        self.generation = generation
        self.status = ""
        self.progress = 0
        self.waiting = ""

    def changed(self, update: Update) -> None:
        """Note a change; tell it where it matters."""
        if (update.status, update.message) != (self.status, self.waiting):
            info = activity.info()
            _log.info(
                "state changed",
                extra={
                    "tiphys_workflow": self.workflow,
                    "temporal_workflow": info.workflow_id,
                    "temporal_run": info.workflow_run_id,
                    "was": self.status,
                    "state": update.status,
                    "message_of_run": update.message,
                },
            )
        self.status, self.waiting = update.status, update.message
        self.progress = update.progress
        activity.heartbeat(self.details())

    def details(self) -> dict[str, Any]:
        """What a heartbeat carries."""
        return {
            "workflow_id": self.workflow,
            "generation": self.generation,
            "status": self.status,
            "progress": self.progress,
        }

    async def beat(self, expected: timedelta | None) -> None:
        """Tell Temporal now and then that somebody is here; nothing need change for it."""
        if expected is None:
            return
        while True:
            activity.heartbeat(self.details())
            await asyncio.sleep(expected.total_seconds() / _HEARTBEAT_PART)

    def late(self, error: StartLateError, attempt: int) -> ApplicationError:
        """What is raised where the wait was too long: tried again later, as a new run."""
        self.generation += 1
        activity.heartbeat(self.details())
        pause = min(_LONGEST_PAUSE, _LATE_PAUSE * 2 ** min(attempt - 1, 10))
        return ApplicationError(str(error), type="StartLate", next_retry_delay=pause)


def _measure(result: RunResult) -> None:
    """Give Temporal's own metrics what the work was like."""
    meter = activity.metric_meter()
    meter.create_histogram_float("tiphys_activity_wait_seconds").record(result.waited_seconds)
    meter.create_histogram_float("tiphys_activity_run_seconds").record(result.ran_seconds)
    if result.preemptions:
        meter.create_counter("tiphys_activity_preemptions").add(result.preemptions)
