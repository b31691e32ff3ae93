"""``ENABLE_VOLCANO_SCHEDULER``: off, work for Volcano runs here; on, it goes to the cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.api_server import ADMIN, ApiServer, flow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("off")) as server:
        yield server


def submitted(server: ApiServer, **more: str) -> str:
    body = {"name": "w", "project_id": "default", "workflow_yaml": flow("echo hi"), **more}
    made = server.post("/workflows", body)
    assert made.status == 201, made.raw
    return str(made.data["id"])


def test_off_it_runs_here_whatever_queue_of_the_cluster_it_names(server: ApiServer) -> None:
    key = submitted(server, scheduler="volcano", queue_id="of-the-cluster")

    ended = server.wait(key, "succeeded", "failed", "error")
    events = server.get(f"/workflows/{key}/events").data

    assert (ended["status"], ended["scheduler"]) == ("succeeded", "local")
    (told,) = [each["text"] for each in events if each["kind"] == "SchedulerFallback"]
    assert told.startswith("Volcano is off")
    assert "runs on this machine" in server.said


def test_off_there_are_no_queues_of_volcano(server: ApiServer) -> None:
    refused = server.post("/queues", {"name": "q", "scheduler": "volcano"})

    assert (refused.status, refused.code) == (422, "invalid_input")
    assert server.get("/queues?scheduler=volcano").data == []


def test_on_it_goes_to_the_cluster_and_says_where_there_is_none(tmp_path: Path) -> None:
    flag = {"ENABLE_VOLCANO_SCHEDULER": "true", "KUBECONFIG": "", "TIPHYS_ADMIN_TOKEN": ADMIN}
    with ApiServer(tmp_path, environment=flag) as server:
        ended = server.wait(submitted(server, scheduler="volcano"), "succeeded", "failed", "error")
        listed = server.get("/queues?scheduler=volcano")
        own = server.get("/queues").data
        server.post("/queues", {"name": "shared"})
        server.wait(submitted(server, scheduler="volcano", queue_id="shared"))
        stats = server.get("/queues/q-shared/status").data["stats"]
        body = {"name": "w", "project_id": "default", "workflow_yaml": flow("true")}
        mixed = server.post("/workflows", {**body, "queue_id": "q-volcano:shared"})

    assert (mixed.status, stats["failed"]) == (422, 0)
    assert (ended["status"], ended["scheduler"]) == ("error", "volcano")
    assert "no cluster is known" in ended["message"]
    assert (listed.status, listed.code) == (502, "cluster_error")
    assert [each["id"] for each in own] == ["q-default"]


def test_run_on_one_machine_says_that_volcano_is_off(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    file.write_text(flow("echo hi"))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    words = ["run", "--scheduler", "volcano", "--runtime", "process", "-o", "json", str(file)]

    done = subprocess.run(
        [sys.executable, "-m", "tiphys", *words],
        env={**environment, "TIPHYS_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert json.loads(done.stdout)["status"]["phase"] == "Succeeded"
    assert "Volcano is off" in done.stderr
