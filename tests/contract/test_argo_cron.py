"""Cron workflows over the Argo Server's API, as its clients ask."""

from __future__ import annotations

from typing import Any

from tests.contract.argo_server import ArgoServer, flow, names_of

BASE = "/api/v1/cron-workflows/default"


def cron(name: str, schedule: str = "@yearly", **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"of": name}},
        "spec": {"schedules": [schedule], "workflowSpec": flow()["spec"], **more},
    }


def create(server: ArgoServer, made: dict[str, Any], **how: Any) -> Any:
    return server.ask("POST", BASE, {"cronWorkflow": made, "namespace": "default"}, **how)


def test_a_cron_workflow_is_kept_shown_listed_and_forgotten(server: ArgoServer) -> None:
    made = create(server, cron("kept"))
    assert made.status == 200
    assert made.json["status"]["active"] == []
    assert made.json["metadata"]["uid"]

    shown = server.ask("GET", f"{BASE}/kept").json
    assert shown == made.json
    assert shown["kind"] == "CronWorkflow"
    assert names_of(server.ask("GET", BASE, listOptions__labelSelector="of=kept")) == ["kept"]
    assert "kept" in names_of(server.ask("GET", "/api/v1/cron-workflows/"))

    assert server.ask("DELETE", f"{BASE}/kept").json == {}
    gone = server.ask("GET", f"{BASE}/kept")
    assert (gone.status, gone.json["code"]) == (404, 5)


def test_a_name_that_is_taken_is_a_conflict(server: ArgoServer) -> None:
    create(server, cron("taken"))

    again = create(server, cron("taken"))

    assert (again.status, again.json["code"]) == (409, 6)


def test_an_update_keeps_what_has_become_of_it(server: ArgoServer) -> None:
    made = create(server, cron("changed")).json
    made["spec"]["schedules"] = ["@monthly"]

    updated = server.ask("PUT", f"{BASE}/changed", {"cronWorkflow": made})
    stale = server.ask("PUT", f"{BASE}/changed", {"cronWorkflow": made})

    assert updated.json["spec"]["schedules"] == ["@monthly"]
    assert updated.json["metadata"]["uid"] == made["metadata"]["uid"]
    assert (stale.status, stale.json["code"]) == (409, 10)
    made["metadata"]["resourceVersion"] = ""
    assert server.ask("PUT", f"{BASE}/", {"cronWorkflow": made}).status == 200
    assert server.ask("PUT", f"{BASE}/nowhere", {"cronWorkflow": cron("nowhere")}).status == 404


def test_it_is_suspended_and_resumed(server: ArgoServer) -> None:
    create(server, cron("paused"))

    assert server.ask("PUT", f"{BASE}/paused/suspend", {}).json["spec"]["suspend"] is True
    assert not server.ask("PUT", f"{BASE}/paused/resume", {}).json["spec"].get("suspend")


def test_what_is_wrong_is_told(server: ArgoServer) -> None:
    for wrong in (
        cron("wrong", "61 * * * *"),
        cron("wrong", timezone="Mars/Base"),
        cron("wrong", concurrencyPolicy="Never"),
        cron("wrong", when="{{nothing}}"),
        cron("wrong", stopStrategy={"expression": "1 +"}),
        cron("w" * 53),
        {**cron("wrong"), "spec": {"schedules": [], "workflowSpec": flow()["spec"]}},
    ):
        answer = create(server, wrong)
        assert (answer.status, answer.json["code"]) == (400, 3), answer.body
        lint = server.ask("POST", f"{BASE}/lint", {"cronWorkflow": wrong})
        assert lint.status == 400
    good = server.ask("POST", f"{BASE}/lint", {"cronWorkflow": cron("fine")})
    assert (good.status, good.json["metadata"]["name"]) == (200, "fine")


def test_a_cron_workflow_is_run_out_of_turn(server: ArgoServer) -> None:
    create(server, cron("turn"))
    request = {"resourceKind": "CronWorkflow", "resourceName": "turn"}

    made = server.ask("POST", "/api/v1/workflows/default/submit", request)

    assert made.status == 200, made.body
    meta = made.json["metadata"]
    assert meta["labels"]["workflows.argoproj.io/cron-workflow"] == "turn"
    assert meta["ownerReferences"][0]["kind"] == "CronWorkflow"
    server.ended(meta["name"])


def test_the_older_form_of_a_schedule_is_taken(server: ArgoServer) -> None:
    old = cron("older")
    old["spec"]["schedule"] = old["spec"].pop("schedules")[0]

    assert create(server, old).json["spec"]["schedules"] == ["@yearly"]
