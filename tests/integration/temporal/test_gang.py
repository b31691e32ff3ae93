"""Gangs start whole or not at all; one that waits too long leaves the queue and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from tests.contract.api_server import ApiServer
from tests.integration.temporal.flows import How, Plain, RunGang, RunJob
from tests.integration.temporal.rig import Rig, WorkerProcess, failure, shell, started, wait_for
from tiphys.temporal.payload import GangInput, JobInput, Placement, RunResult
from tiphys.temporal.workflow import Payload

Workers = Callable[..., WorkerProcess]


@pytest.fixture(autouse=True)
def _queue(server: ApiServer) -> None:
    """A queue with room for two such tasks."""
    amounts = {"cpu": "200m", "memory": "1Gi"}
    made = server.post("/queues", {"name": "batch", "capability": amounts})
    assert made.status in {201, 409}, made.raw
    widen(server, "200m")


def widen(server: ApiServer, cpu: str) -> None:
    changed = server.ask("PATCH", "/api/v1/queues/batch", {"capability": {"cpu": cpu}})
    assert changed.status == 200, changed.raw


def gang(rig: Rig, script: str, **placement: Any) -> GangInput:
    workers = [shell(script, name="w", replicas=3, cpu="100m")]
    return GangInput(workers=workers, placement=Placement(queue="batch", **placement))


def test_a_gang_of_three_with_room_for_three_runs_at_the_same_time(
    rig: Rig, worker: Workers
) -> None:
    worker()
    widen(rig.server, "300m")

    async def story(client: Client) -> RunResult:
        handle = await rig.start(client, RunGang.run, gang(rig, rig.until("go")), How())
        await started(rig, 3)
        rig.open("go")
        result: RunResult = await handle.result()
        return result

    result = rig.play(story)

    assert [task.phase for task in result.tasks] == ["Succeeded"] * 3
    assert rig.starts == 3


def test_with_room_for_two_none_of_three_starts_and_the_wait_ends_late(
    rig: Rig, worker: Workers
) -> None:
    worker()

    async def story(client: Client) -> str | None:
        given = gang(rig, rig.script("true"), wait_seconds=3.0)
        return (await failure(await rig.start(client, RunGang.run, given, How()))).type

    assert rig.play(story) == "StartLate"
    assert rig.starts == 0
    (run,) = rig.runs()
    assert rig.server.wait(run["id"])["status"] == "failed"
    status = rig.server.get("/queues/batch/status").data
    assert (status["waiting"], status["stats"]["running"]) == ([], 0)


def test_a_gang_that_came_late_comes_back_after_a_pause_and_starts_once_there_is_room(
    rig: Rig, worker: Workers
) -> None:
    worker()

    async def story(client: Client) -> RunResult:
        given = gang(rig, rig.script("true"), wait_seconds=2.0)
        handle = await rig.start(client, RunGang.run, given, How(attempts=50))
        await asyncio.to_thread(wait_for, lambda: len(rig.runs()) > 1, rig.runs)
        widen(rig.server, "300m")
        result: RunResult = await handle.result()
        return result

    result = rig.play(story)

    assert result.phase == "Succeeded"
    assert rig.starts == 3
    statuses = [run["status"] for run in rig.runs()]
    assert statuses[-1] == "succeeded"
    assert set(statuses[:-1]) == {"failed"}


def test_work_that_had_to_make_room_says_so(rig: Rig, worker: Workers) -> None:
    worker()
    wanted = {"capability": {"cpu": "100m"}, "preemption": "LowerPriority"}
    made = rig.server.post("/queues", {"name": "narrow", **wanted})
    assert made.status == 201, made.raw

    def given(script: str, priority: str) -> JobInput:
        place = Placement(queue="narrow", priority=priority)
        return JobInput(worker=shell(script, cpu="100m"), placement=place)

    async def story(client: Client) -> RunResult:
        low = await rig.start(client, RunJob.run, given(rig.until("go"), "low"), How())
        await started(rig, 1)
        await (await rig.start(client, RunJob.run, given("true", "high"), How())).result()
        rig.open("go")
        result: RunResult = await low.result()
        return result

    result = rig.play(story)

    assert (result.phase, result.preemptions) == ("Succeeded", 1)
    assert rig.starts == 2


@pytest.mark.parametrize(
    ("kind", "agents", "names"),
    [
        ("task", [], {"main"}),
        ("campaign", [], {"content", "design", "analytics"}),
        ("directive", ["ann", "bob"], {"ann", "bob"}),
    ],
)
def test_a_payload_decides_who_works_on_it(
    rig: Rig, worker: Workers, kind: str, agents: list[str], names: set[str]
) -> None:
    worker()
    widen(rig.server, "400m")

    async def story(client: Client) -> RunResult:
        payload = Payload(kind=kind, agents=agents, worker=shell('echo "$AGENT"', cpu="100m"))
        result: RunResult = await (await rig.start(client, Plain.run, payload)).result()
        return result

    result = rig.play(story)

    assert {task.log_tail for task in result.tasks} == names
    (run,) = rig.runs()
    assert run["queue_id"] == "q-batch"


def test_a_payload_that_makes_no_sense_fails_the_workflow(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> str | None:
        payload = Payload(kind="task", worker=shell("true"), queue="nowhere")
        with pytest.raises(WorkflowFailureError) as error:
            await (await rig.start(client, Plain.run, payload)).result()
        assert isinstance(error.value.cause, ApplicationError)
        return error.value.cause.type

    assert rig.play(story) == "InvalidInput"
