"""Workers and servers that die, fall silent or restart: the same run is followed on, once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from temporalio.client import Client

from tests.integration.temporal.flows import How, RunJob
from tests.integration.temporal.rig import Rig, WorkerProcess, attempt, job, started, wait_for
from tiphys.temporal.payload import RunResult

Workers = Callable[..., WorkerProcess]
PATIENT = How(attempts=20, heartbeat_seconds=5)


def test_a_worker_killed_in_the_middle_is_replaced_and_nothing_starts_twice(
    rig: Rig, worker: Workers
) -> None:
    first = worker()

    async def story(client: Client) -> RunResult:
        handle = await rig.start(client, RunJob.run, job(rig.until("go")), PATIENT)
        await started(rig, 1)
        first.kill()
        await asyncio.to_thread(worker)
        await attempt(handle, 2)
        rig.open("go")
        result: RunResult = await handle.result()
        return result

    result = rig.play(story)

    assert result.phase == "Succeeded"
    assert rig.starts == 1
    (run,) = rig.runs()
    assert run["id"] == result.workflow_id


def test_a_run_that_ends_while_no_worker_is_there_is_reported_by_the_next(
    rig: Rig, worker: Workers
) -> None:
    first = worker()

    async def story(client: Client) -> RunResult:
        handle = await rig.start(client, RunJob.run, job(rig.until("go")), PATIENT)
        await started(rig, 1)
        first.kill()
        rig.open("go")
        await asyncio.to_thread(rig.server.wait, rig.runs()[0]["id"], "succeeded")
        await asyncio.to_thread(worker)
        result: RunResult = await handle.result()
        return result

    assert rig.play(story).phase == "Succeeded"
    assert rig.starts == 1


def test_a_worker_that_falls_silent_is_replaced_and_does_not_stop_the_run_when_it_wakes(
    rig: Rig, worker: Workers
) -> None:
    silent = worker()

    async def story(client: Client) -> RunResult:
        handle = await rig.start(client, RunJob.run, job(rig.until("go")), PATIENT)
        await started(rig, 1)
        silent.freeze()
        await asyncio.to_thread(worker)
        await attempt(handle, 2)
        silent.thaw()
        # Its next heartbeat is refused; what it makes of that, it has logged.
        await asyncio.to_thread(
            wait_for, lambda: "left to the next attempt" in silent.said, lambda: silent.said
        )
        rig.open("go")
        result: RunResult = await handle.result()
        return result

    assert rig.play(story).phase == "Succeeded"
    assert rig.starts == 1
    assert [run["status"] for run in rig.runs()] == ["succeeded"]


def test_a_worker_that_shuts_down_leaves_the_run_to_the_next(rig: Rig, worker: Workers) -> None:
    first = worker()

    async def story(client: Client) -> RunResult:
        handle = await rig.start(client, RunJob.run, job(rig.until("go")), PATIENT)
        await started(rig, 1)
        await asyncio.to_thread(first.end)
        await asyncio.to_thread(worker)
        await attempt(handle, 2)
        rig.open("go")
        result: RunResult = await handle.result()
        return result

    assert rig.play(story).phase == "Succeeded"
    assert rig.starts == 1


def test_a_tiphys_server_that_restarts_is_waited_for(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> tuple[RunResult, int]:
        handle = await rig.start(client, RunJob.run, job(rig.until("go")), How())
        await started(rig, 1)
        await asyncio.to_thread(rig.server.restart)
        rig.open("go")
        result: RunResult = await handle.result()
        history = await handle.fetch_history()
        begun = [e.activity_task_started_event_attributes for e in history.events]
        return result, max(each.attempt for each in begun)

    result, attempts = rig.play(story)

    assert result.phase == "Succeeded"
    assert rig.starts == 1
    assert attempts == 1
