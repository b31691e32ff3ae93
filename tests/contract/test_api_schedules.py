"""``/api/v1/schedules`` of a real server: what it takes, what it runs, and what a crash leaves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.api_server import PATIENCE, ApiServer

YEARLY = "@yearly"


def text(name: str, script: str = "true", **spec: Any) -> str:
    template = {"name": "main", "container": {"image": "any", "command": ["sh", "-c", script]}}
    return json.dumps(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "CronWorkflow",
            "metadata": {"name": name},
            "spec": {
                "schedules": [YEARLY],
                "workflowSpec": {"entrypoint": "main", "templates": [template]},
                **spec,
            },
        }
    )


def create(server: ApiServer, body: str) -> Any:
    return server.post("/schedules", {"project_id": "default", "schedule_yaml": body})


def until(what: Callable[[], Any]) -> Any:
    """Wait for something to become true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come true in time")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("schedules")) as server:
        yield server


def test_a_schedule_is_made_listed_shown_and_removed(server: ApiServer) -> None:
    made = create(server, text("plain", timezone="Asia/Tokyo", startingDeadlineSeconds=60))
    assert made.status == 201

    shown = server.get("/schedules/default/plain").data
    assert (shown["schedules"], shown["timezone"]) == ([YEARLY], "Asia/Tokyo")
    assert shown["next_run"].endswith("-12-31T15:00:00.000Z")
    assert (shown["last_run"], shown["phase"], shown["suspended"]) == (None, "active", False)
    assert "plain" in [each["name"] for each in server.get("/schedules").data]
    assert server.get("/schedules?project_id=nobody").data == []
    assert create(server, text("plain")).code == "name_taken"
    assert server.delete("/schedules/default/plain").status == 200
    assert server.get("/schedules/default/plain").status == 404
    actions = [each["action"] for each in server.get("/audit?limit=200").data]
    assert {"create schedule", "remove schedule"} <= set(actions)


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"schedules": ["61 * * * *"]}, "spec.schedules[0]"),
        ({"schedules": []}, "spec"),
        ({"timezone": "Mars/Base"}, "spec.schedules[0]"),
        ({"when": "{{nothing}}"}, "spec.when"),
        ({"stopStrategy": {"expression": "1 +"}}, "spec.stopStrategy.expression"),
        ({"concurrencyPolicy": "Never"}, "spec.concurrencyPolicy"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(
    server: ApiServer, wrong: dict[str, Any], path: str
) -> None:
    answer = create(server, text("wrong", **wrong))

    assert (answer.status, answer.code) == (422, "invalid_spec")
    assert answer.body["error"]["errors"][0]["path"] == path
    assert answer.body["error"]["errors"][0]["line"] == 1


def test_a_text_with_anything_else_is_refused(server: ApiServer) -> None:
    for body in (text("a") + "\n---\n" + text("b"), "kind: ConfigMap\napiVersion: v1", "- 1"):
        assert create(server, body).status in {400, 422}
    foreign = text("a").replace('"name": "a"', '"name": "a", "namespace": "theirs"')
    assert create(server, foreign).code == "invalid_spec"


def test_a_schedule_is_changed_in_part_and_replaced(server: ApiServer) -> None:
    create(server, text("parts"))
    path = "/schedules/default/parts"

    changed = server.ask("PATCH", f"/api/v1{path}", {"schedules": ["0 3 * * *"], "suspend": True})
    assert (changed.data["schedules"], changed.data["suspended"]) == (["0 3 * * *"], True)
    assert changed.data["next_run"] is None
    wrong = server.ask("PATCH", f"/api/v1{path}", {"schedules": ["never"]})
    assert (wrong.status, wrong.code) == (422, "invalid_spec")
    assert server.get(path).data["schedules"] == ["0 3 * * *"]

    replaced = server.ask("PUT", f"/api/v1{path}", {"schedule_yaml": text("parts")})
    assert (replaced.data["schedules"], replaced.data["suspended"]) == ([YEARLY], False)
    renamed = server.ask("PUT", f"/api/v1{path}", {"schedule_yaml": text("other")})
    assert renamed.status == 422
    older = json.dumps(changed.data["manifest"])
    stale = server.ask("PUT", f"/api/v1{path}", {"schedule_yaml": older})
    assert (stale.status, stale.code) == (409, "conflict")


def test_the_next_runs_are_told_over_a_change_of_clocks(server: ApiServer) -> None:
    create(server, text("clocks", schedules=["30 2 * * *"], timezone="Europe/Berlin"))
    path = "/schedules/default/clocks/next?count=3&after=2026-10-24T12:00:00Z"

    assert [each["at"] for each in server.get(path).data] == [
        "2026-10-25T00:30:00.000Z",
        "2026-10-25T01:30:00.000Z",
        "2026-10-26T01:30:00.000Z",
    ]
    assert server.get("/schedules/default/clocks/next?count=0").status == 400
    assert server.get("/schedules/default/clocks/next?after=soon").status == 400


def test_a_schedule_runs_its_workflow_and_tells_it_when(server: ApiServer) -> None:
    body = text("beats", "echo at {{workflow.scheduledTime}}", schedules=["@every 1s"])
    create(server, body)

    shown = until(
        lambda: (d := server.get("/schedules/default/beats").data)["succeeded"] >= 2 and d
    )
    server.post("/schedules/default/beats/suspend")
    assert shown["last_run"] is not None
    names = [each["name"] for each in server.get("/workflows?name=beats-").data]
    assert len(names) == len(set(names))
    one = server.get("/workflows?name=beats-&status=succeeded").data[0]
    node = server.get(f"/workflows/{one['id']}/nodes").data[0]["id"]
    said = server.get(f"/workflows/{one['id']}/nodes/{node}/output").data["stdout"]
    slot = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(one["name"].split("-")[1])))
    assert said == f"at {slot}\n"


def test_a_workflow_is_run_out_of_turn(server: ApiServer) -> None:
    create(server, text("turn"))

    made = server.post("/schedules/default/turn/run")

    assert made.status == 201
    assert server.wait(made.data["id"])["status"] == "succeeded"
    assert until(lambda: server.get("/schedules/default/turn").data["succeeded"]) == 1


def test_a_range_is_filled_back_a_few_at_a_time(server: ApiServer) -> None:
    body = text("past", "echo {{workflow.parameters.day}}", schedules=["0 0 * * *"])
    given = '"arguments": {"parameters": [{"name": "day", "value": "none"}]}, "entrypoint"'
    assert create(server, body.replace('"entrypoint"', given)).status == 201
    path = "/schedules/default/past"
    wanted = {
        "start": "2026-02-01T00:00:00Z",
        "end": "2026-02-05T00:00:00Z",
        "max_parallel": 2,
        "name": "feb",
        "parameter": "day",
    }

    assert server.post(f"{path}/backfill", {**wanted, "end": "2020-01-01T00:00:00Z"}).status == 422
    made = server.post(f"{path}/backfill", wanted)

    assert (made.status, made.data["total"]) == (201, 5)
    assert server.post(f"{path}/backfill", wanted).code == "conflict"

    def ended() -> Any:
        (found,) = server.get(f"{path}/backfills").data
        assert found["live"] <= 2
        return found["status"] == "finished" and not found["live"] and found

    assert until(ended)["succeeded"] == 5
    one = server.get("/workflows?name=past-feb-1769904000").data[0]
    node = server.get(f"/workflows/{one['id']}/nodes").data[0]["id"]
    said = server.get(f"/workflows/{one['id']}/nodes/{node}/output").data["stdout"]
    assert said == "2026-02-01T00:00:00Z\n"
    assert server.delete(f"{path}/backfills/feb").code == "conflict"
    assert server.get(path).data["succeeded"] == 0


def test_a_range_whose_work_is_refused_fails_and_holds_up_nothing(server: ApiServer) -> None:
    meta = {"labels": {"tiphys.dev/scheduler": "kueue"}}
    create(server, text("queueless", schedules=["0 0 * * *"], workflowMetadata=meta))
    path = "/schedules/default/queueless"
    wanted = {"start": "2026-02-01T00:00:00Z", "end": "2026-02-02T00:00:00Z", "name": "feb"}

    server.post(f"{path}/backfill", wanted)

    failed = until(lambda: [e for e in server.get(f"{path}/backfills").data if e["message"]])
    assert failed[0]["status"] == "failed"
    assert "needs a queue" in failed[0]["message"]


def test_kills_lose_no_schedule_and_run_no_slot_twice(tmp_path: Path) -> None:
    body = text("beats", schedules=["@every 1s"], startingDeadlineSeconds=30)
    body = body.replace('"schedules"', '"successfulJobsHistoryLimit": 1000, "schedules"', 1)
    with ApiServer(tmp_path) as server:
        create(server, body)
        for _ in range(3):
            _one_more(server)
            server.process.kill()
            server.restart()
        _one_more(server)
        server.post("/schedules/default/beats/suspend")
        shown = until(
            lambda: not (d := server.get("/schedules/default/beats").data)["active"] and d
        )
        rows = server.get("/workflows?name=beats-&limit=200").data

        assert shown["succeeded"] == len(rows) == len({row["name"] for row in rows})
        assert {row["status"] for row in rows} == {"succeeded"}


def _one_more(server: ApiServer) -> None:
    known = server.get("/schedules/default/beats").data["succeeded"]
    until(lambda: server.get("/schedules/default/beats").data["succeeded"] > known)
