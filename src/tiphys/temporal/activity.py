"""The activities themselves: submit once, follow by the stream, stop when Temporal says so.

Each attempt of an activity finds the run of the attempts before it: by the last heartbeat, or by a
key made of the workflow's id, its run and the activity's id. So a worker that dies, or a server
that is away, never starts work twice. Who retries is decided in one place:
``Placement.retry_failed`` (docs/temporal.md).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from tiphys.client import calls
from tiphys.client.model import Workflow
from tiphys.core import origin
from tiphys.errors import ConflictError, NotFoundError, TiphysError
from tiphys.temporal.cancellation import is_abandoned
from tiphys.temporal.course import Course, Memory, log, measure
from tiphys.temporal.follow import StartLateError, follow, has_started
from tiphys.temporal.manifest import gang_text, job_text
from tiphys.temporal.payload import GangInput, JobInput, Placement, RunResult, WorkflowInput
from tiphys.temporal.reach import Reach, is_passing
from tiphys.temporal.result import result_of
from tiphys.temporal.setting import Settings

LABEL = "temporal.tiphys.dev/activity"
"""Marks runs that came from Temporal; its value is the activity's type."""
GIVEN_UP = "given up by Temporal: nothing had started in time"
CANCELLED = "cancelled by Temporal"
_FOREVER = float("inf")


class TiphysActivities:
    """Activities of one worker; register ``all()`` and ``close`` it with the worker."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._reach = Reach(settings)

    def all(self) -> Sequence[Callable[..., Any]]:
        """Give what a worker registers."""
        return (self.run_workflow, self.run_job, self.run_gang)

    async def close(self) -> None:
        """Let go of the connections, and of the worker's own server where there is one."""
        await self._reach.close()

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
        memory = Memory.of(activity.info().heartbeat_details)
        course = Course(memory.workflow, memory.generation, placement)
        # From the first moment on: a server that is away, or has to start, takes its time.
        beat = asyncio.create_task(course.beat(activity.info().heartbeat_timeout))
        try:
            if not course.workflow:
                call = self._submission(name, text, parameters, placement, course.generation)
                await self._begun(course, call)
            return await self._followed(course)
        except asyncio.CancelledError:
            await self._cancelled(course)
            raise
        except NotFoundError as error:
            message = f"the run was removed before it was reported: {error}"
            raise ApplicationError(message, type="RunRemoved", non_retryable=True) from error
        finally:
            beat.cancel()
            with suppress(asyncio.CancelledError):
                await beat

    def _submission(
        self,
        name: str,
        text: str,
        parameters: dict[str, str],
        placement: Placement,
        generation: int,
    ) -> calls.Call[Any]:
        info = activity.info()
        own = self._reach.embedded
        return calls.submit(
            name,
            placement.project,
            text,
            parameters=parameters,
            priority=placement.priority,
            # The worker's own server has no queues and hands nothing over.
            queue="" if own else placement.queue,
            scheduler="" if own else placement.scheduler or self._settings.scheduler,
            description=f"Temporal workflow {info.workflow_id}, activity {info.activity_id}",
            idempotency_key=_key(generation),
            generate_name=True,
            labels={LABEL: info.activity_type},
            annotations={
                origin.WORKFLOW: info.workflow_id or "",
                origin.RUN: info.workflow_run_id or "",
                origin.ACTIVITY: info.activity_id,
            },
        )

    async def _begun(self, course: Course, call: calls.Call[Any]) -> None:
        """Submit; a cancellation meanwhile is heeded when it is known what there is to stop."""
        submission = asyncio.create_task(self._submitted(call))
        try:
            course.workflow = await asyncio.shield(submission)
        except asyncio.CancelledError:
            with suppress(TiphysError, ApplicationError):
                course.workflow = await submission
            raise

    async def _submitted(self, call: calls.Call[Any]) -> str:
        """Submit, or find what an earlier attempt has submitted; give its id."""
        try:
            return str((await self._reach.do(call)).id)
        except TiphysError as error:
            if is_passing(error):
                raise
            kind = "KeyConflict" if isinstance(error, ConflictError) else error.code
            raise ApplicationError(str(error), type=kind, non_retryable=True) from error

    async def _followed(self, course: Course) -> RunResult:
        """Follow a run to its end; raise where Temporal is to see a failure."""
        wait = course.placement.wait_seconds
        try:
            phase = await follow(self._reach, course.workflow, course.changed, wait_seconds=wait)
        except StartLateError as error:
            if not has_started((await self._look(course.workflow)).nodes):
                await self._stopped(course.workflow, GIVEN_UP)
                raise course.late(error, activity.info().attempt) from None
            phase = await follow(self._reach, course.workflow, course.changed)
        result = await result_of(
            self._reach, course.workflow, phase, lines=self._settings.log_lines
        )
        measure(result, course.placement.queue)
        if phase == "Succeeded":
            return result
        if any(GIVEN_UP in task.message for task in result.tasks):
            # An attempt before this one gave it up, and died before it could say so.
            raise course.late(StartLateError(GIVEN_UP), activity.info().attempt)
        raise course.failed(result)

    async def _look(self, workflow: str) -> Workflow:
        return await self._reach.do(calls.get_workflow(workflow), patience=_FOREVER)

    async def _cancelled(self, course: Course) -> None:
        """See to the work of a cancelled attempt: it is stopped, or left to the next attempt."""
        details = activity.cancellation_details()
        if details is not None and details.worker_shutdown:
            # Not a cancellation: the next worker follows the run on.
            message = "the worker shuts down; the run goes on"
            raise ApplicationError(message, type="WorkerShutdown") from None
        if not course.workflow:
            return
        if not await is_abandoned():
            log.info("left to the next attempt: %s", course.workflow)
            return
        await self._stopped(course.workflow, CANCELLED)
        with suppress(TimeoutError, TiphysError):
            async with asyncio.timeout(self._settings.stop_seconds):
                await follow(self._reach, course.workflow, course.changed)

    async def _stopped(self, workflow: str, message: str) -> None:
        """Stop the work; its exit handlers run. A server that is away is waited for."""
        # A run that has ended meanwhile, or has been removed, needs no stopping.
        with suppress(ConflictError, NotFoundError):
            await self._reach.do(calls.stop(workflow, message=message), patience=_FOREVER)


def _key(generation: int) -> str:
    """Name a run of the work; hashed, as ids of Temporal may be longer than a header."""
    info = activity.info()
    place = (info.namespace, info.workflow_id, info.workflow_run_id, info.activity_id)
    name = "\0".join([*(str(each) for each in place), str(generation)])
    return "temporal-" + hashlib.sha256(name.encode()).hexdigest()
