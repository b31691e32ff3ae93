"""Cancelling on Temporal's side ends the work on ours, and only where it is meant."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import CancelledError

from tests.integration.temporal.flows import How, RunJob
from tests.integration.temporal.rig import Rig, WorkerProcess, attempt, job, started, wait_for

Workers = Callable[..., WorkerProcess]
QUICK = How(attempts=20, heartbeat_seconds=10)


def test_a_cancelled_workflow_has_its_work_stopped_before_it_ends(
    rig: Rig, worker: Workers
) -> None:
    worker()

    async def story(client: Client) -> list[str]:
        trap = f"trap '{rig.slate.note('ended')}; exit 1' TERM"
        given = job(f"{trap}; {rig.script('sleep 600 & wait')}")
        handle = await rig.start(client, RunJob.run, given, QUICK)
        await started(rig, 1)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError) as error:
            await handle.result()
        assert isinstance(error.value.cause, CancelledError)
        return [run["status"] for run in rig.runs()]

    assert rig.play(story) == ["failed"]
    wait_for(lambda: rig.slate.count("ended") == 1, lambda: "the task was not ended")
    assert rig.starts == 1


def test_work_of_a_terminated_workflow_is_stopped(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> None:
        handle = await rig.start(client, RunJob.run, job(rig.until("never")), QUICK)
        await started(rig, 1)
        await handle.terminate("no longer wanted")

    rig.play(story)

    (run,) = rig.runs()
    assert rig.server.wait(run["id"])["status"] == "failed"


def test_a_cancellation_waits_for_a_server_that_is_away(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> None:
        handle = await rig.start(client, RunJob.run, job(rig.until("never")), QUICK)
        await started(rig, 1)
        await asyncio.to_thread(rig.server.stop)
        await handle.cancel()
        await asyncio.to_thread(rig.server.restart)
        with pytest.raises(WorkflowFailureError):
            await handle.result()

    rig.play(story)

    assert [run["status"] for run in rig.runs()] == ["failed"]
    assert rig.starts == 1


def test_what_is_cancelled_before_the_server_was_reached_does_not_run(
    rig: Rig, worker: Workers
) -> None:
    worker()

    async def story(client: Client) -> None:
        await asyncio.to_thread(rig.server.stop)
        handle = await rig.start(client, RunJob.run, job(rig.until("never")), QUICK)
        await attempt(handle, 1)
        await handle.cancel()
        await asyncio.to_thread(rig.server.restart)
        with pytest.raises(WorkflowFailureError) as error:
            await handle.result()
        assert isinstance(error.value.cause, CancelledError)

    rig.play(story)

    assert {run["status"] for run in rig.runs()} <= {"failed"}
