"""Queues through ``/api/v1``: quotas that hold, changes that take effect, reasons that are told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.api_server import ApiServer, flow
from tiphys.api import shapes


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("queues")) as server:
        yield server


def hungry(gate: Path, cpu: str = "1") -> str:
    """Give a workflow that takes so much until the gate is there."""
    text = json.loads(flow(f"until [ -e {gate} ]; do sleep 0.05; done"))
    resources = {"requests": {"cpu": cpu}}
    text["spec"]["templates"][0]["container"]["resources"] = resources
    return json.dumps(text)


def pending_node(server: ApiServer, workflow: str) -> Any:
    shown = server.get(f"/workflows/{workflow}").data
    return server.wait_node(workflow, shown["workflow_name"], "pending")


def _queue(server: ApiServer, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tiphys", "queue", *words]
    how: dict[str, Any] = {"cwd": server.folder, "env": server.environment}
    return subprocess.run(command, **how, capture_output=True, text=True, check=False)


def test_a_queue_is_made_and_shown(server: ApiServer) -> None:
    body = {
        "name": "shown",
        "description": "for people",
        "quota_cpu": "500m",
        "quota_memory": "1Gi",
        "priority": 3,
        "max_parallel": 4,
        "sla_seconds": 60,
    }

    made = server.post("/queues", body)

    assert made.status == 201
    shapes.QueueShape.model_validate(made.data)
    assert (made.data["id"], made.data["status"]) == ("q-shown", "open")
    assert made.data["quota"] == {"cpu": "500m", "memory": "1Gi"}
    assert (made.data["priority"], made.data["max_parallel"]) == (3, 4)
    assert server.get("/queues/q-shown").data == made.data
    assert "q-shown" in [each["id"] for each in server.get("/queues").data]
    assert server.get("/queues?scheduler=volcano").data == []
    again = server.post("/queues", body)
    assert (again.status, again.code) == (409, "conflict")


def test_a_quota_that_comes_later_is_as_hard_as_the_first(server: ApiServer) -> None:
    assert server.post("/queues", {"name": "later", "quota_cpu": "100m"}).status == 201

    changed = server.ask("PATCH", "/api/v1/queues/q-later", {"quota_memory": "64Mi"})

    assert changed.data["borrowing_limit"] == {"cpu": "0", "memory": "0"}
    available = server.get("/queues/q-later/status").data["available"]
    assert (available["cpu"], available["memory"]) == ("100m", "64Mi")


def test_who_waits_is_listed_in_the_order_of_their_turns(server: ApiServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    assert server.post("/queues", {"name": "turns", "quota_cpu": "100m"}).status == 201
    pause = json.loads(flow("true"))
    pause["spec"]["templates"] = [{"name": "main", "suspend": {}}]
    paused = server.submit(json.dumps(pause), queue_id="q-turns")
    first = server.submit(hungry(gate, "100m"), queue_id="q-turns")
    server.wait(first, "running")
    second = server.submit(hungry(gate, "100m"), queue_id="q-turns")
    third = server.submit(hungry(gate, "100m"), queue_id="q-turns", priority="high")
    for each in (second, third):
        pending_node(server, each)

    waiting = server.get("/queues/q-turns/status").data["waiting"]

    # What waits for a person is not in line.
    assert [each["workflow_id"] for each in waiting] == [third, second]
    gate.touch()
    for each in (first, second, third):
        assert server.wait(each)["status"] == "succeeded"
    assert server.post(f"/workflows/{paused}/resume", {}).status == 200


def test_a_queue_that_is_not_there_is_a_mistake_of_the_request(server: ApiServer) -> None:
    answer = server.post(
        "/workflows",
        {
            "name": "x",
            "project_id": "default",
            "workflow_yaml": flow("true"),
            "queue_id": "q-nowhere",
        },
    )

    assert (answer.status, answer.code) == (422, "invalid_input")
    (mistake,) = answer.body["error"]["errors"]
    shapes.Mistake.model_validate(mistake)
    assert mistake["path"] == "queue_id"


def test_a_quota_holds_and_its_change_takes_effect(server: ApiServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    assert server.post("/queues", {"name": "tight", "quota_cpu": "100m"}).status == 201
    first = server.submit(hungry(gate, "100m"), queue_id="q-tight")
    server.wait(first, "running")
    second = server.submit(hungry(gate, "100m"), queue_id="tight")
    node = pending_node(server, second)

    status = server.get("/queues/q-tight/status").data
    shapes.QueueStatus.model_validate(status)
    assert status["allocated"]["cpu"] == "100m"
    assert status["available"]["cpu"] == "0"
    assert status["quota"] == {"cpu": "100m"}
    assert [(each["workflow_id"], each["node_id"]) for each in status["waiting"]] == [
        (second, node["id"])
    ]
    numbers = server.ask("GET", "/metrics").raw.decode().splitlines()
    assert 'queue_depth{queue_id="tight"} 1' in numbers
    assert 'queue_used{queue_id="tight",resource="cpu"} 100' in numbers
    assert 'queue_quota{queue_id="tight",resource="cpu"} 100' in numbers
    (why,) = server.get(f"/workflows/{second}/explain").data
    shapes.Why.model_validate(why)
    assert why["node_id"] == node["id"]
    assert "tight" in why["reason"]
    live = server.delete("/queues/q-tight")
    assert (live.status, live.code) == (409, "conflict")
    assert [each["id"] for each in server.get("/workflows?queue_id=q-tight").data] == [
        second,
        first,
    ]

    assert server.ask("PATCH", "/api/v1/queues/q-tight", {"quota_cpu": "200m"}).status == 200

    server.wait_node(second, server.get(f"/workflows/{second}").data["workflow_name"], "running")
    gate.touch()
    for each in (first, second):
        assert server.wait(each)["status"] == "succeeded"
    stats = server.get("/queues/q-tight/status").data["stats"]
    assert stats == {"waiting": 0, "running": 0, "succeeded": 2, "failed": 0}
    assert server.delete("/queues/q-tight").status == 200
    assert server.get("/queues/q-tight").status == 404


def test_who_waits_and_runs_is_counted_in_the_queue_where_the_work_is(
    server: ApiServer, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    assert server.post("/queues", {"name": "own", "quota_cpu": "100m"}).status == 201
    text = json.loads(hungry(gate, "100m"))
    text["spec"]["templates"][0]["metadata"] = {"labels": {"tiphys.dev/queue": "own"}}
    first = server.submit(json.dumps(text))
    server.wait(first, "running")
    others = [server.submit(json.dumps(text)) for _ in range(2)]
    for each in others:
        pending_node(server, each)

    status = server.get("/queues/q-own/status").data
    elsewhere = server.get("/queues/q-default/status").data
    listed = _queue(server, "list").stdout
    refused = (server.delete("/queues/q-own"), _queue(server, "delete", "own"))

    assert (status["stats"]["waiting"], status["stats"]["running"]) == (2, 1)
    assert [each["workflow_id"] for each in status["waiting"]] == others
    assert not {each["workflow_id"] for each in elsewhere["waiting"]} & {first, *others}
    (line,) = [line.split() for line in listed.splitlines() if line.startswith("own ")]
    assert line[-2:] == ["2", "1"]
    assert (refused[0].status, refused[0].code) == (409, "conflict")
    assert "queue own has work of 3 unfinished workflows" in refused[1].stderr
    gate.touch()
    for each in (first, *others):
        assert server.wait(each)["status"] == "succeeded"
    assert server.delete("/queues/q-own").status == 200


def test_a_closed_queue_starts_nothing_until_it_is_opened(
    server: ApiServer, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    assert server.post("/queues", {"name": "shut"}).status == 201
    assert server.post("/queues/q-shut/close").data["status"] == "closed"
    workflow = server.submit(hungry(gate, "10m"), queue_id="q-shut")

    pending_node(server, workflow)
    (why,) = server.get(f"/workflows/{workflow}/explain").data
    assert why["reason"] == "queue shut is closed"
    assert server.post("/queues/q-shut/open").data["status"] == "open"
    assert server.wait(workflow)["status"] == "succeeded"


def test_who_waits_is_told_to_their_own_project_alone(server: ApiServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    for project in ("one", "two"):
        assert server.post("/projects", {"id": project}).status == 201
    assert server.post("/queues", {"name": "both", "quota_cpu": "100m"}).status == 201
    ids = {}
    for project in ("one", "two"):
        ids[project] = [
            server.submit(hungry(gate, "100m"), queue_id="q-both", project_id=project)
            for _ in range(2)
        ]
    pending_node(server, ids["two"][1])

    viewer = server.make_token("viewer", "two")
    seen = server.get("/queues/q-both/status", token=viewer)
    why = server.get(f"/workflows/{ids['two'][1]}/explain", token=viewer)

    assert {each["workflow_id"] for each in seen.data["waiting"]} <= set(ids["two"])
    for foreign in ids["one"]:
        assert foreign.removeprefix("wf-").encode() not in seen.raw + why.raw
    gate.touch()
    for each in (*ids["one"], *ids["two"]):
        server.wait(each)


@pytest.mark.parametrize(
    "body",
    [
        {"name": "root"},
        {"name": "Bad Name"},
        {"name": "x", "quota_cpu": "many"},
        {"name": "x", "parent": "nowhere"},
        {"name": "x", "priority": 0},
        {"name": "x", "preemption": "Always"},
        {"name": "x", "guarantee": {"cpu": "2"}, "quota_cpu": "1"},
    ],
)
def test_queues_that_cannot_be_are_refused(server: ApiServer, body: dict[str, Any]) -> None:
    answer = server.post("/queues", body)

    assert (answer.status, answer.code) == (422, "invalid_input")
    assert server.get("/queues/q-x").status == 404


def test_an_unknown_queue_is_refused(server: ApiServer) -> None:
    body = {"name": "x", "project_id": "default", "workflow_yaml": flow("true"), "queue_id": "q-0"}

    answer = server.post("/workflows", body)

    assert (answer.status, answer.code) == (422, "invalid_input")
    assert answer.body["error"]["errors"][0]["path"] == "queue_id"


def test_queues_outlive_the_server(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        body = {"name": "kept", "quota_cpu": "500m", "description": "still here"}
        made = server.post("/queues", body).data
        server.restart()

        assert server.get("/queues/q-kept").data == made


def test_a_simulation_sees_what_runs_and_waits_now(server: ApiServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    assert server.post("/queues", {"name": "seen", "quota_cpu": "100m"}).status == 201
    holder = server.submit(hungry(gate, "100m"), queue_id="q-seen", name="never-ran")
    server.wait(holder, "running")
    waiting = server.submit(hungry(gate, "100m"), queue_id="q-seen", name="never-ran")
    pending_node(server, waiting)
    text = json.loads(hungry(gate, "100m"))
    text["metadata"]["name"] = "never-ran-either"
    text["metadata"]["annotations"] = {"tiphys.dev/queue": "seen"}
    body = {"workflow_yaml": json.dumps(text), "default_seconds": 1000}

    busy = server.post("/workflows/simulate", body)
    idle = server.post("/workflows/simulate", {**body, "idle": True})
    first = server.post("/workflows/simulate", {**body, "priority": "critical"})
    elsewhere = server.post("/workflows/simulate", {**body, "queue_id": "q-default"})
    nowhere = server.post("/workflows/simulate", {**body, "queue_id": "q-nowhere"})
    gate.touch()

    (bar,) = busy.data["gantt"]
    # The one that runs has most of its 1,000 seconds left, the other all of them.
    assert 1000 < bar["start"] <= 2000
    assert bar["end"] - bar["start"] == 1000
    assert busy.data["report"]["queues"]["seen"]["tasks"] == 1
    for workflow in (holder, waiting):
        assert workflow.removeprefix("wf-").encode() not in busy.raw
    assert [each["start"] for each in idle.data["gantt"]] == [0]
    assert 0 < first.data["gantt"][0]["start"] <= 1000  # Before the other that waits.
    assert list(elsewhere.data["report"]["queues"]) == ["default"]
    assert elsewhere.data["gantt"][0]["start"] == 0
    assert nowhere.status == 422
    for workflow in (holder, waiting):
        assert server.wait(workflow)["status"] == "succeeded"


def test_a_text_that_names_an_unknown_queue_is_refused_where_it_does(
    server: ApiServer, tmp_path: Path
) -> None:
    assert server.post("/queues", {"name": "known", "quota_cpu": "1"}).status == 201
    text = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: t-
  labels:
    kueue.x-k8s.io/queue-name: nowhere
spec:
  entrypoint: main
  templates:
  - name: main
    metadata: {annotations: {tiphys.dev/queue: noplace}}
    container: {image: any, command: ["true"]}
"""
    body = {"name": "lost", "project_id": "default", "workflow_yaml": text}

    refused = server.post("/workflows", body)
    unknown = server.post("/workflows", {**body, "queue_id": "q-nowhere"})
    other = {**json.loads(flow("true")), "kind": "Workflow"}
    other["metadata"]["annotations"] = {"tiphys.dev/queue": "nowhere"}
    argo = server.ask("POST", "/argo/api/v1/workflows/default", {"workflow": other})
    (tmp_path / "lost.yaml").write_text(text)
    command = [sys.executable, "-m", "tiphys", "submit", "lost.yaml"]
    typed = subprocess.run(
        command, cwd=tmp_path, env=server.environment, capture_output=True, text=True, check=False
    )
    there = server.post("/workflows", {**body, "scheduler": "k8s-native"})
    right = text.replace("nowhere", "known").replace("noplace", "default")
    taken = server.post("/workflows", {**body, "workflow_yaml": right})

    assert (refused.status, refused.code) == (422, "invalid_spec")
    first, second = refused.body["error"]["errors"]
    assert first["path"] == "metadata.labels['kueue.x-k8s.io/queue-name']"
    assert (first["line"], first["column"]) == (7, 32)
    assert first["message"].startswith("there is no queue 'nowhere' that takes work (there are ")
    assert "known" in first["message"]
    assert (second["path"].split(".")[1], second["line"]) == ("templates[0]", 12)
    assert (unknown.status, unknown.body["error"]["errors"][0]["path"]) == (422, "queue_id")
    assert "known" in unknown.body["message"]
    assert argo.status == 400
    assert "there is no queue 'nowhere'" in argo.body["message"]
    assert (typed.returncode, "there is no queue 'nowhere'" in typed.stderr) == (2, True)
    assert "no queue" not in str(there.body)  # Queues of a cluster are the cluster's.
    assert (taken.status, taken.data["queue_id"]) == (201, "q-known")
