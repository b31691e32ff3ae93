"""Activities of a real Temporal whose gangs the real Volcano places."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.cluster.deck import Deck
from tests.cluster.test_volcano import cpu_of_node
from tests.integration.temporal.dev_server import MissingError, dev_server, find_program
from tests.integration.temporal.flows import How, RunGang
from tests.integration.temporal.rig import Rig, WorkerProcess, failure
from tiphys.client import calls
from tiphys.client.client import local_server
from tiphys.temporal.payload import GangInput, Placement, RunResult, Worker


class Aboard(Rig):
    """A Temporal whose worker hands work to a server that is configured for Volcano."""

    def __init__(self, temporal: str, deck: Deck, folder: Path) -> None:
        self.temporal, self.folder, self.deck = temporal, folder, deck
        self.queue = f"test-{uuid.uuid4()}"
        url, token = local_server(deck.folder / "data")
        environment = deck.helm.environment("worker")
        self.process = WorkerProcess(
            {
                **environment,
                "TEMPORAL_ADDRESS": temporal,
                "TASK_QUEUE": self.queue,
                "ENABLE_VOLCANO_SCHEDULER": "true",
                "TIPHYS_SERVER": url,
                "TIPHYS_TOKEN": token,
                "TIPHYS_SCHEDULER": "volcano",
            }
        )


@pytest.fixture(scope="module")
def aboard(deck: Deck, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aboard]:
    try:
        find_program()
    except MissingError as error:
        pytest.skip(f"no Temporal server here: {error}")
    folder = tmp_path_factory.mktemp("temporal")
    with dev_server(folder) as address:
        aboard = Aboard(address, deck, folder)
        try:
            aboard.process.wait_ready()
            yield aboard
        finally:
            aboard.process.end()


def gang(script: str, cpu: str, placement: Placement) -> GangInput:
    command = ["sh", "-c", script]
    worker = Worker(name="w", replicas=3, image="alpine:3.23", command=command, cpu=cpu)
    return GangInput(workers=[worker], placement=placement)


def test_a_gang_of_three_comes_back_as_an_ordinary_result(deck: Deck, aboard: Aboard) -> None:
    given = gang("echo I am $VC_TASK_INDEX", "10m", Placement(queue=deck.queue("temporal")))

    async def story(client: Client) -> RunResult:
        result: RunResult = await (await aboard.start(client, RunGang.run, given, How())).result()
        return result

    result = aboard.play(story)

    assert result.phase == "Succeeded"
    assert [(task.phase, task.exit_code) for task in result.tasks] == [("Succeeded", 0)] * 3
    assert {task.log_tail.strip() for task in result.tasks} == {f"I am {n}" for n in range(3)}
    assert deck.workflow(result.workflow_id).scheduler == "volcano"


def test_a_gang_with_room_for_two_starts_none_and_comes_back_late(
    deck: Deck, aboard: Aboard
) -> None:
    queue = deck.queue("late")
    request = f"{cpu_of_node(deck.helm) * 2 // 5}m"
    given = gang("sleep 600", request, Placement(queue=queue, wait_seconds=5.0))

    async def story(client: Client) -> str | None:
        return (await failure(await aboard.start(client, RunGang.run, given, How()))).type

    assert aboard.play(story) == "StartLate"
    listed = deck.client.do(calls.list_workflows(name="gang", limit=200))
    runs = [deck.ended(each.id) for each in listed]
    (run,) = [each for each in runs if each.queue_id == f"q-volcano:{queue}"]
    events = deck.client.do(calls.get_events(run.id))
    told = [event.text for event in events if event.kind == "PodGroup"]
    assert any(f"of 3 in queue {queue}: " in each for each in told)
    assert not any("Running" in each for each in told)
    assert all(node.start_time is None for node in run.nodes if node.type == "pod")
