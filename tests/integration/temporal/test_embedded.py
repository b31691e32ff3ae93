"""With ``ENABLE_VOLCANO_SCHEDULER`` off the worker runs the same work itself, the same way."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable

from temporalio.client import Client

from tests.integration.temporal.flows import How, RunGang, RunJob
from tests.integration.temporal.rig import Rig, WorkerProcess, failure, job, shell, started
from tiphys.client.client import local_server
from tiphys.errors import TiphysError
from tiphys.temporal.payload import GangInput, Placement, RunResult

Workers = Callable[..., WorkerProcess]


def alone(rig: Rig) -> dict[str, str]:
    """Give the environment of a worker that hands nothing over."""
    data = rig.folder / "own"
    data.mkdir(exist_ok=True)
    (data / "tiphys.yaml").write_text('{"isolation": "process", "lingerSeconds": 0.5}')
    return {
        "ENABLE_VOLCANO_SCHEDULER": "false",
        "TIPHYS_SERVER": "",
        "TIPHYS_TEMPORAL_DATA": str(data),
        "TIPHYS_CONFIG": str(data / "tiphys.yaml"),
    }


def gang() -> GangInput:
    workers = [shell("echo hi; exit $CODE", name="w", replicas=2, env={"CODE": "0"})]
    return GangInput(workers=workers, placement=Placement(queue="default"))


def test_flag_on_and_off_give_the_same_result(rig: Rig, worker: Workers) -> None:
    async def story(client: Client) -> RunResult:
        result: RunResult = await (await rig.start(client, RunGang.run, gang(), How())).result()
        return result

    on = worker()
    handed = rig.play(story)
    on.end()
    worker(**alone(rig))
    own = rig.play(story)

    assert shape(own) == shape(handed)
    assert len(rig.runs()) == 1


def shape(result: RunResult) -> dict[str, object]:
    """Give all of a result that does not differ from run to run."""
    whole = dataclasses.asdict(result)
    for changing in ("workflow_id", "name", "link", "waited_seconds", "ran_seconds"):
        assert whole.pop(changing) not in ("", None)
    return whole


def test_a_failure_looks_the_same(rig: Rig, worker: Workers) -> None:
    worker(**alone(rig))

    async def story(client: Client) -> tuple[str | None, int]:
        error = await failure(await rig.start(client, RunJob.run, job("exit 4"), How()))
        return error.type, error.details[0]["tasks"][0]["exit_code"]

    assert rig.play(story) == ("WorkflowFailed", 4)


def test_a_worker_killed_in_the_middle_is_replaced_and_nothing_starts_twice(
    rig: Rig, worker: Workers
) -> None:
    first = worker(**alone(rig))

    async def story(client: Client) -> RunResult:
        how = How(attempts=20, heartbeat_seconds=3)
        handle = await rig.start(client, RunJob.run, job(rig.until("go")), how)
        await started(rig, 1)
        first.kill()
        await asyncio.to_thread(worker, **alone(rig))
        rig.open("go")
        result: RunResult = await handle.result()
        return result

    assert rig.play(story).phase == "Succeeded"
    assert rig.starts == 1


def test_the_workers_own_server_ends_with_the_worker(rig: Rig, worker: Workers) -> None:
    killed = worker(**alone(rig))

    async def story(client: Client) -> None:
        await (await rig.start(client, RunJob.run, job("true"), How())).result()

    rig.play(story)
    data = rig.folder / "own"
    assert answers(rig)

    killed.kill()

    end = time.monotonic() + 120
    while answers(rig):
        assert time.monotonic() < end, (data / "server.log").read_text()
        time.sleep(0.1)


def answers(rig: Rig) -> bool:
    from tiphys.client import Client as Tiphys  # noqa: PLC0415
    from tiphys.client import calls  # noqa: PLC0415

    try:
        with Tiphys(*local_server(rig.folder / "own")) as client:
            client.do(calls.whoami())
    except TiphysError:
        return False
    return True
