"""Work that waits for a person: it holds nothing meanwhile, and an answer may come too late."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from tests.contract.api_server import ApiServer
from tests.integration.temporal.flows import Approval, Asked
from tests.integration.temporal.rig import Rig, WorkerProcess, shell
from tiphys.temporal.payload import RunResult
from tiphys.temporal.workflow import Payload

Workers = Callable[..., WorkerProcess]


@pytest.fixture(autouse=True)
def _queue(server: ApiServer) -> None:
    made = server.post("/queues", {"name": "interactive", "capability": {"cpu": "300m"}})
    assert made.status in {201, 409}, made.raw


def asked(rig: Rig, within: float) -> Asked:
    worker = shell(rig.script("true"), cpu="100m")
    payload = Payload(kind="campaign", worker=worker, queue="interactive")
    return Asked(payload=payload, within_seconds=within)


def test_nothing_is_queued_or_held_until_somebody_approves(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> RunResult:
        handle = await rig.start(client, Approval.run, asked(rig, 600))
        # The workflow's code has run up to its wait once this answers.
        await handle.query("__stack_trace")
        status = rig.server.get("/queues/interactive/status").data
        assert status["waiting"] == []
        assert set(status["allocated"].values()) <= {"0"}
        assert rig.runs() == []
        await handle.signal(Approval.approve, True)
        result: RunResult = await handle.result()
        return result

    assert rig.play(story).phase == "Succeeded"
    assert rig.starts == 3


def test_who_says_no_has_nothing_run(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> RunResult | None:
        handle = await rig.start(client, Approval.run, asked(rig, 600))
        await handle.signal(Approval.approve, False)
        result: RunResult | None = await handle.result()
        return result

    assert rig.play(story) is None
    assert rig.runs() == []


def test_an_approval_that_comes_late_starts_nothing_and_is_told_so(
    rig: Rig, worker: Workers
) -> None:
    worker()

    async def story(client: Client) -> RPCStatusCode:
        handle = await rig.start(client, Approval.run, asked(rig, 0.5))
        assert await handle.result() is None
        with pytest.raises(RPCError) as error:
            await handle.signal(Approval.approve, True)
        return error.value.status

    assert rig.play(story) is RPCStatusCode.NOT_FOUND
    assert rig.runs() == []
    assert rig.starts == 0
