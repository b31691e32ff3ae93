"""The same scenarios as with Temporal on one machine, with the real Volcano for its pods.

All of them are played at once: each of them alone would mostly wait for Volcano.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client

from tests.cluster.helm import CONFIG, Json
from tests.cluster.rig.plane import ControlPlane
from tests.contract.api_server import ADMIN, ApiServer
from tests.integration.temporal import test_activity, test_approval, test_cancel, test_crash
from tests.integration.temporal import test_embedded as embedded
from tests.integration.temporal.dev_server import MissingError, dev_server, find_program, free_port
from tests.integration.temporal.flows import How, RunGang
from tests.integration.temporal.rig import Rig, WorkerProcess, failure, shell, wait_for
from tests.integration.temporal.slate import WireSlate, wire_slate
from tiphys.temporal.payload import GangInput, Placement, RunResult

Workers = Callable[..., WorkerProcess]
Scenario = Callable[[Rig, Workers], None]


class Afloat(Rig):
    """One scenario's view of the world: its pods are Volcano's."""

    def worker(self, **environment: str) -> WorkerProcess:
        """Start a worker that hands work to Volcano, unless it is told otherwise."""
        return super().worker(TIPHYS_SCHEDULER="volcano", **environment)

    def make_queue(self) -> str:
        """Make a queue of Volcano."""
        name = f"t-{os.urandom(4).hex()}"
        made = self.server.post("/queues", {"name": name, "scheduler": "volcano"})
        assert made.status == 201, made.raw
        return name


# --- scenarios of Volcano's own -------------------------------------------------------------


def gang(script: str, cpu: str, placement: Placement) -> GangInput:
    workers = [shell(script, name="w", replicas=3, cpu=cpu)]
    return GangInput(workers=workers, placement=placement)


def a_gang_of_three_is_an_ordinary_result_and_its_pod_group_is_logged_with_temporals_ids(
    rig: Rig, worker: Workers
) -> None:
    worker()
    assert isinstance(rig, Afloat)
    queue = rig.make_queue()
    given = gang("echo I am $VC_TASK_INDEX", "10m", Placement(queue=queue))

    async def story(client: Client) -> tuple[RunResult, str, str]:
        handle = await rig.start(client, RunGang.run, given, How())
        result: RunResult = await handle.result()
        return result, handle.id, (await handle.describe()).run_id

    result, *ids = rig.play(story)

    assert result.phase == "Succeeded"
    assert [(task.phase, task.exit_code) for task in result.tasks] == [("Succeeded", 0)] * 3
    assert {task.log_tail.strip() for task in result.tasks} == {f"I am {n}" for n in range(3)}
    (run,) = rig.runs()
    assert (run["scheduler"], run["queue_id"]) == ("volcano", f"q-volcano:{queue}")
    wait_for(lambda: "Running" in _phases(rig, run), lambda: _said(rig, run))
    said = _said(rig, run)
    assert {(each["queue"], each["size"]) for each in said} == {(queue, "3")}
    assert all([each["temporal_workflow"], each["temporal_run"]] == ids for each in said)


def _phases(rig: Rig, run: Json) -> list[str]:
    return [each["phase"] for each in _said(rig, run)]


def _said(rig: Rig, run: Json) -> list[Json]:
    """Give what the server's log says of a run's gang."""
    lines = [line for line in list(rig.server.lines) if '"gang_changed"' in line]
    uid = run["id"].removeprefix("wf-")
    return [each for each in map(json.loads, lines) if each["workflow_id"] == uid]


def a_gang_with_room_for_two_starts_none_and_comes_back_late(rig: Rig, worker: Workers) -> None:
    worker()
    assert isinstance(rig, Afloat)
    queue = rig.make_queue()
    # Whoever has room for two of three such pods is no machine of ours.
    request = f"{os.cpu_count() or 1}"
    given = gang("sleep 600", request, Placement(queue=queue, wait_seconds=5.0))

    async def story(client: Client) -> str | None:
        return (await failure(await rig.start(client, RunGang.run, given, How()))).type

    assert rig.play(story) == "StartLate"
    (run,) = rig.runs()
    ended = rig.server.wait(run["id"])
    events = rig.server.get(f"/workflows/{run['id']}/events").data
    told = [each["text"] for each in events if each["kind"] == "PodGroup"]
    assert any(f"of 3 in queue {queue}: " in each for each in told)
    assert "Running" not in _phases(rig, run)
    assert all(node["start_time"] is None for node in ended["nodes"] if node["type"] == "pod")


# --- all of them ----------------------------------------------------------------------------

SHARING: tuple[Scenario, ...] = (
    a_gang_of_three_is_an_ordinary_result_and_its_pod_group_is_logged_with_temporals_ids,
    a_gang_with_room_for_two_starts_none_and_comes_back_late,
    test_activity.test_a_failed_job_is_not_run_again_by_temporal,
    test_activity.test_what_failed_comes_with_exit_code_and_log,
    test_activity.test_temporal_retries_failed_work_where_it_is_asked_to,
    test_approval.test_an_approval_that_comes_late_starts_nothing_and_is_told_so,
    test_cancel.test_a_cancelled_workflow_has_its_work_stopped_before_it_ends,
)
"""They leave their worker alone, so one serves all."""
APART: tuple[Scenario, ...] = (
    test_crash.test_a_worker_killed_in_the_middle_is_replaced_and_nothing_starts_twice,
    test_crash.test_a_worker_that_falls_silent_is_replaced_and_does_not_stop_the_run_when_it_wakes,
    embedded.test_flag_on_and_off_give_the_same_result,
)
"""They have workers of their own."""
LAST: tuple[Scenario, ...] = (test_crash.test_a_tiphys_server_that_restarts_is_waited_for,)
"""They end the server, which others talk to."""


class Fleet:
    """Both servers and the worker that most scenarios share."""

    def __init__(self, temporal: str, server: ApiServer, folder: Path, slate: WireSlate) -> None:
        self._temporal, self._server, self._folder = temporal, server, folder
        self._slate = slate
        self._shared = self._rig("shared")
        self.worker = self._shared.worker()
        self._played: dict[Scenario, Future[None]] = {}

    def _rig(self, name: str) -> Afloat:
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        slate = self._slate.of(os.urandom(4).hex())
        return Afloat(self._temporal, self._server, folder, slate)

    def play_all(self) -> None:
        """Play all scenarios but those that would disturb the others; then these."""
        with ThreadPoolExecutor(len(SHARING + APART)) as pool:
            self._played = {each: pool.submit(self._play, each) for each in SHARING + APART}
            wait(self._played.values())
        with ThreadPoolExecutor(1) as pool:
            self._played |= {each: pool.submit(self._play, each) for each in LAST}

    def take(self, scenario: Scenario) -> None:
        """Give how a scenario went; whoever asks again has it played again."""
        played = self._played.pop(scenario, None)
        played.result() if played is not None else self._play(scenario)

    def _play(self, scenario: Scenario) -> None:
        rig = self._rig(scenario.__name__[-60:])
        with ExitStack() as stack:

            def worker(**environment: str) -> WorkerProcess:
                if scenario not in APART:
                    return self.worker
                started = rig.worker(**environment)
                stack.callback(started.end)
                started.wait_ready()
                return started

            if scenario not in APART:
                rig.queue = self._shared.queue
            scenario(rig, worker)


@pytest.fixture(scope="module")
def fleet(volcano: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Play the scenarios, or skip with the reason why there is no Temporal."""
    try:
        find_program()
    except MissingError as error:
        pytest.skip(f"no Temporal server here: {error}")
    folder, namespace = tmp_path_factory.mktemp("fleet"), f"t-{os.urandom(4).hex()}"
    volcano.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    with ExitStack() as stack:
        stack.callback(volcano.api.call, "DELETE", f"/api/v1/namespaces/{namespace}")
        slate = stack.enter_context(wire_slate(volcano.settings.gateway))
        temporal = stack.enter_context(dev_server(folder))
        server = stack.enter_context(_server(folder, volcano, namespace))
        fleet = Fleet(temporal, server, folder, slate)
        stack.callback(fleet.worker.end)
        fleet.worker.wait_ready()
        fleet.play_all()
        yield fleet


def _server(folder: Path, plane: ControlPlane, namespace: str) -> ApiServer:
    config = folder / "volcano.yaml"
    text = CONFIG.format(namespace=namespace, kubeconfig=plane.kubeconfig)
    config.write_text(f"{text}log: {{format: json}}\n")
    environment = {
        "TIPHYS_ADMIN_TOKEN": ADMIN,
        "TIPHYS_PORT": str(free_port()),
        "TIPHYS_CONFIG": str(config),
    }
    (folder / "server").mkdir()
    return ApiServer(folder / "server", environment=environment)


def _name(scenario: Any) -> str:
    return str(scenario.__name__).removeprefix("test_")


@pytest.mark.parametrize("scenario", SHARING + APART + LAST, ids=_name)
def test_on_volcano(fleet: Fleet, scenario: Scenario) -> None:
    fleet.take(scenario)
