"""What dashboards ask for, and the end of long logs, on a real server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.api_server import PATIENCE, ApiServer, flow
from tiphys.api.overview import Overview, QueueUse


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("overview")) as server:
        yield server


def _ended(server: ApiServer, **how: Any) -> dict[str, int]:
    found = server.get("/overview?hours=1&buckets=4", **how).data
    return {
        status: sum(bucket[status] for bucket in found["buckets"])
        for status in ("succeeded", "failed", "error")
    }


def _until_ended(server: ApiServer, wanted: dict[str, int]) -> None:
    """Look until so many have ended: they are counted just after they are on record."""
    end = time.monotonic() + PATIENCE
    while (found := _ended(server)) != wanted:
        assert time.monotonic() < end, found
        time.sleep(0.05)


def test_what_ended_is_counted_by_status_also_after_a_restart(server: ApiServer) -> None:
    server.wait(server.submit(flow("true")))
    server.wait(server.submit(flow("false")))
    _until_ended(server, {"succeeded": 1, "failed": 1, "error": 0})

    server.restart()

    assert _ended(server) == {"succeeded": 1, "failed": 1, "error": 0}
    shown = server.get("/overview").data
    Overview.model_validate(shown)
    assert shown["cpu"] > 0
    assert shown["use"][-1]["running"] == 0


def test_others_do_not_see_what_ended_in_a_project(server: ApiServer) -> None:
    assert server.post("/projects", {"id": "apart"}).status == 201
    token = server.make_token("viewer", "apart")

    assert _ended(server, token=token) == {"succeeded": 0, "failed": 0, "error": 0}


def test_waits_and_use_of_a_queue_are_told(server: ApiServer) -> None:
    server.wait(server.submit(flow("true")))

    points = server.get("/overview/queues/q-default?hours=1").data

    for point in points:
        QueueUse.model_validate(point)
    waits = {each["queue_id"]: each for each in server.get("/overview").data["waits"]}
    assert waits["q-default"]["count"] >= 1
    assert server.get("/overview/queues/q-none").status == 404


def test_the_end_of_a_long_log_is_read_without_its_beginning(server: ApiServer) -> None:
    workflow = server.submit(flow("for n in $(seq 1 5000); do echo line $n; done"))
    node = server.wait(workflow)["nodes"][0]["id"]
    path = f"/workflows/{workflow}/nodes/{node}/logs?last_bytes=100"

    lines = [json.loads(line) for line in server.get(path).raw.splitlines()]

    assert lines[-1]["text"] == "line 5000"
    assert 1 < len(lines) <= 11
    first = lines[0]
    assert first["offset"] > len(first["text"]) + 1  # Something stands before it.
