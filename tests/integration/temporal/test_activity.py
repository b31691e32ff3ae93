"""Activities through a real Temporal, a real worker and a real Tiphys: how work ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from temporalio.client import Client

from tests.contract.api_server import flow as argo
from tests.integration.temporal.flows import How, RunGang, RunJob, RunWorkflow
from tests.integration.temporal.rig import (
    Rig,
    WorkerProcess,
    failure,
    flow,
    job,
    result_in,
    shell,
)
from tiphys.temporal.payload import GangInput, RunResult

Workers = Callable[..., WorkerProcess]


def greeting(file: Path) -> str:
    """Give a workflow with a parameter and an output."""
    script = f"echo hello {{{{workflow.parameters.who}}}} | tee {file}"
    main = {
        "name": "main",
        "container": {"image": "any", "command": ["sh", "-c", script]},
        "outputs": {"parameters": [{"name": "said", "valueFrom": {"path": str(file)}}]},
    }
    parameters = [{"name": "who", "value": "nobody"}]
    return json.dumps(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {"generateName": "out-"},
            "spec": {
                "entrypoint": "main",
                "arguments": {"parameters": parameters},
                "templates": [main],
            },
        }
    )


def test_a_workflow_gives_its_outputs_and_the_end_of_its_log(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> RunResult:
        given = flow(greeting(rig.folder / "out"), parameters={"who": "Temporal"})
        handle = await rig.start(client, RunWorkflow.run, given, How())
        result: RunResult = await handle.result()
        return result

    result = rig.play(story)

    assert result.phase == "Succeeded"
    assert result.outputs == {"said": "hello Temporal"}
    assert [(each.exit_code, each.log_tail) for each in result.tasks] == [(0, "hello Temporal")]
    assert result.link == f"http://127.0.0.1:{rig.server.port}/workflows/{result.workflow_id}"
    assert result.waited_seconds > 0
    (run,) = rig.runs()
    assert run["id"] == result.workflow_id


def test_a_failed_job_is_not_run_again_by_temporal(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> RunResult:
        given = job(rig.script("echo wrong; exit 7"))
        handle = await rig.start(client, RunJob.run, given, How(attempts=5))
        error = await failure(handle)
        assert error.type == "WorkflowFailed"
        assert error.non_retryable
        return result_in(error)

    result = rig.play(story)

    assert result.phase == "Failed"
    assert rig.starts == 1
    assert len(rig.runs()) == 1


def test_what_failed_comes_with_exit_code_and_log(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> dict[str, object]:
        handle = await rig.start(client, RunJob.run, job("echo wrong; exit 7"), How())
        task: dict[str, object] = (await failure(handle)).details[0]["tasks"][0]
        return task

    task = rig.play(story)

    assert (task["phase"], task["exit_code"], task["log_tail"]) == ("Failed", 7, "wrong")


def test_retries_inside_are_tiphys_own_and_do_not_multiply(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> None:
        given = job(rig.script("exit 1"), max_retry=2)
        await failure(await rig.start(client, RunJob.run, given, How(attempts=4)))

    rig.play(story)

    assert rig.starts == 3
    assert len(rig.runs()) == 1


def test_temporal_retries_failed_work_where_it_is_asked_to(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> RunResult:
        given = job(rig.nth_start(3), retry_failed=True)
        handle = await rig.start(client, RunJob.run, given, How(attempts=5))
        result: RunResult = await handle.result()
        return result

    result = rig.play(story)

    assert result.phase == "Succeeded"
    assert rig.starts == 3
    assert [run["status"] for run in rig.runs()] == ["failed", "failed", "succeeded"]


def test_text_that_is_no_workflow_is_refused_once_and_for_all(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> tuple[str | None, bool]:
        handle = await rig.start(client, RunWorkflow.run, flow("kind: Pod"), How(attempts=9))
        error = await failure(handle)
        return error.type, error.non_retryable

    assert rig.play(story) == ("invalid_spec", True)
    assert rig.runs() == []


def test_a_gang_that_cannot_be_is_refused(rig: Rig, worker: Workers) -> None:
    worker()

    async def story(client: Client) -> str | None:
        given = GangInput(workers=[shell("true")], size=2)
        return (await failure(await rig.start(client, RunGang.run, given, How()))).type

    assert rig.play(story) == "InvalidInput"


def test_every_change_of_a_task_is_logged_with_the_ids_of_both_sides(
    rig: Rig, worker: Workers
) -> None:
    logging = worker()

    async def story(client: Client) -> tuple[str, RunResult]:
        handle = await rig.start(client, RunWorkflow.run, flow(argo("true")), How())
        return handle.id, await handle.result()

    workflow_id, result = rig.play(story)

    logging.end()
    ours = [each for each in logging.records if each.get("tiphys_workflow") == result.workflow_id]
    states = [each["state"] for each in ours if each["event"] == "task_changed"]
    assert states[-1] == "Succeeded"
    assert {each["temporal_workflow"] for each in ours} == {workflow_id}
    assert all(each["temporal_run"] and each["temporal_activity"] for each in ours)
    assert [each["state"] for each in ours if each["event"] == "run_changed"][-1] == "succeeded"
