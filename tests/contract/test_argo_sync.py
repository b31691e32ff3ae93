"""Limits of semaphores through the Argo Server's API, and that workflows heed them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.argo_server import NS, Answer, ArgoServer, flow, shell

SYNC = "/api/v1/sync/default"


def make(server: ArgoServer, key: str, limit: Any, **more: Any) -> Answer:
    return server.ask("POST", SYNC, {"cmName": "limits", "key": key, "limit": limit, **more})


def test_a_limit_is_made_shown_changed_and_forgotten(server: ArgoServer) -> None:
    made = make(server, "life", 2)
    again = make(server, "life", 3)
    changed = server.ask("PUT", f"{SYNC}/life", {"cmName": "limits", "limit": 5})
    shown = server.ask("GET", f"{SYNC}/life", cmName="limits")
    gone = server.ask("DELETE", f"{SYNC}/life", cmName="limits")

    assert made.json == {
        "type": "CONFIGMAP",
        "namespace": "default",
        "cmName": "limits",
        "key": "life",
        "limit": 2,
    }
    assert (again.status, again.json["code"]) == (409, 6)
    assert changed.json["limit"] == shown.json["limit"] == 5
    assert (gone.status, gone.json) == (200, {})
    assert server.ask("GET", f"{SYNC}/life", cmName="limits").status == 404


@pytest.mark.parametrize(
    "body",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": "2"},
        {"limit": True},
        {"cmName": "../x"},
        {"cmName": ""},
        {"key": "a/b"},
        {"type": "DATABASE"},
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(server: ArgoServer, body: dict[str, Any]) -> None:
    whole = {"cmName": "limits", "key": "odd", "limit": 1, **body}

    assert server.ask("POST", SYNC, whole).status == 400


def test_a_workflow_heeds_a_limit(server: ArgoServer) -> None:
    make(server, "turns", 1)
    wanted = {"semaphores": [{"configMapKeyRef": {"name": "limits", "key": "turns"}}]}
    one = flow({"name": "main", "suspend": {}})
    one["spec"]["synchronization"] = wanted
    other = flow(shell("true"))
    other["spec"]["synchronization"] = wanted
    first = server.submit(one)
    second = server.submit(other)

    waiting = server.ask("GET", f"{NS}/{second}").json
    server.ask("PUT", f"{NS}/{first}/resume", {})

    assert waiting["status"]["phase"] == "Pending"
    assert server.ended(second)["status"]["phase"] == "Succeeded"


def test_who_runs_a_workflow_once_more_is_who_made_it(server: ArgoServer) -> None:
    name = server.submit(flow())
    server.ended(name)

    again = server.ask("PUT", f"{NS}/{name}/resubmit", {}, token="member").json

    assert again["metadata"]["annotations"]["tiphys.dev/created-by"] == "member"
    server.ended(again["metadata"]["name"])
