"""Two projects on one server: whoever sees one of them finds no byte of the other, anywhere.

And a secret that goes through every feature is found nowhere but where secrets are kept.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fastapi.routing import APIRoute
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.contract.api_server import PATIENCE, Answer, ApiServer, flow, shell, steps
from tiphys.api.app import all_routes
from tiphys.api.argo import entries
from tiphys.api.argo.feed import Feed

CANARY = "zebra7canary"
"""Part of every name and text of the other project."""


class World(NamedTuple):
    server: ApiServer
    token: str
    """Of an admin of project ``mine``."""
    ids: dict[str, str]
    """Of things of the other project."""


def everything(server: ApiServer) -> dict[str, str]:
    """Fill the other project with all there is, and give the ids of it."""
    project = f"p-{CANARY}"
    assert server.post("/projects", {"id": project, "description": CANARY}).status == 201
    text = json.loads(steps(shell(f"s-{CANARY}", f"echo {CANARY}; echo {CANARY} >&2")))
    text["metadata"]["annotations"] = {"note": CANARY}
    text["spec"]["arguments"] = {"parameters": [{"name": "word", "value": CANARY}]}
    text["spec"]["metrics"] = {
        "prometheus": [{"name": CANARY, "help": "h", "gauge": {"value": "1"}}]
    }
    template = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTemplate",
        "metadata": {"name": f"t-{CANARY}"},
        "spec": {"templates": [shell("main", f"echo {CANARY}")]},
    }
    body = {"template_yaml": json.dumps(template), "project_id": project}
    assert server.post("/templates", body).status == 201
    cron = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "CronWorkflow",
        "metadata": {"name": f"c-{CANARY}"},
        "spec": {"schedules": ["@yearly"], "workflowSpec": text["spec"]},
    }
    body = {"schedule_yaml": json.dumps(cron), "project_id": project}
    assert server.post("/schedules", body).status == 201
    limit = {"cmName": f"m-{CANARY}", "key": CANARY, "limit": 1}
    assert server.ask("POST", f"/argo/api/v1/sync/{project}", limit).status == 200
    secret = server.make_token("member", project)
    given = {"name": f"w-{CANARY}", "project_id": project, "description": CANARY}
    done = server.submit(json.dumps(text), token=secret, **given)
    shown = server.wait(done)
    paused = server.submit(steps({"name": f"q-{CANARY}", "suspend": {}}), token=secret, **given)
    tokens = [each for each in server.get("/tokens").data if each["project_id"] == project]
    return {
        "workflow_id": done,
        "paused": paused,
        "uid": done.removeprefix("wf-"),
        "node_id": shown["nodes"][-1]["id"],
        "node": shown["nodes"][-1]["id"],
        "id": shown["workflow_name"],
        "pod": shown["workflow_name"],
        "project_id": project,
        "namespace": project,
        "token_id": tokens[0]["id"],
        "key": CANARY,
        "queue_id": "q-default",
        "queue": "default",
        "backfill": "none",
        "artifact": "main-logs",
        "place": "workflows",
        "way": "outputs",
    }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with ApiServer(tmp_path_factory.mktemp("crawl")) as server:
        assert server.post("/projects", {"id": "mine"}).status == 201
        ids = everything(server)
        server.wait(server.submit(flow("true"), project_id="mine"))
        yield World(server, server.make_token("admin", "mine"), ids)


def _routes() -> list[str]:
    ours = [
        route.path
        for route in all_routes()
        if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    ]
    argo = [f"/argo{path}" for method, path, _ in entries(Feed()) if method == "GET"]
    # Streams of events never end by themselves; ``test_argo_access`` has tests of their own.
    return sorted(path for path in {*ours, *argo} if "/workflow-events/" not in path)


def names_for(path: str, ids: dict[str, str]) -> list[str]:
    """Give the names that a route could be asked for."""
    if "{name}" not in path:
        return [""]
    kinds = {"template": "t-", "schedule": "c-", "cron": "c-", "artifacts/": "s-"}
    return [f"{prefix}{CANARY}" for word, prefix in kinds.items() if word in path] or [ids["id"]]


def filled(path: str, ids: dict[str, str]) -> Iterator[str]:
    for name in names_for(path, ids):
        known = {**ids, "name": name}
        parts = re.split(r"\{(\w+)(?::path)?\}", path)
        yield "".join(known[part] if number % 2 else part for number, part in enumerate(parts))


def found_in(answer: Answer, path: str) -> bool:
    """Tell whether anything of the other project is in an answer; what was asked does not count."""
    text = answer.raw.decode("utf-8", "replace")
    for part in sorted(set(re.findall(r"[^/?&=]+", path)), key=len, reverse=True):
        text = text.replace(part, "")
    return CANARY in text or CANARY in str(answer.headers)


@pytest.mark.parametrize("route", _routes())
def test_no_byte_of_another_project_is_seen(world: World, route: str) -> None:
    own = {**world.ids, "namespace": "mine", "project_id": "mine"}
    for ids in (world.ids, own):
        for path in filled(route, ids):
            asked = f"{path}?a={ids['workflow_id']}&b={ids['paused']}&limit=200&cmName=m-{CANARY}"
            answer = world.server.ask("GET", asked, token=world.token)
            assert not found_in(answer, asked), (asked, answer.raw[:2000])


@pytest.mark.parametrize(
    "query",
    [
        f"project_id=p-{CANARY}",
        f"name={CANARY}",
        "status=pending&status=running",
        "queue_id=q-default",
        "sort=created_at",
        "page=2&limit=1",
    ],
)
def test_no_filter_finds_or_counts_what_is_foreign(world: World, query: str) -> None:
    answer = world.server.get(f"/workflows?{query}", token=world.token)

    assert CANARY not in answer.raw.decode()
    assert answer.body["pagination"]["total"] <= 1


@pytest.mark.parametrize(
    "selector", ["tiphys.dev/name", f"tiphys.dev/name=w-{CANARY}", "workflows.argoproj.io/phase"]
)
def test_no_selector_finds_what_is_foreign(world: World, selector: str) -> None:
    for place in ("workflows/", "workflows/mine", "archived-workflows"):
        path = f"/argo/api/v1/{place}?listOptions.labelSelector={selector}"
        answer = world.server.ask("GET", path, token=world.token)
        assert answer.status == 200
        assert CANARY not in answer.raw.decode()


def test_streams_of_what_is_foreign_say_nothing(world: World) -> None:
    address = f"ws://127.0.0.1:{world.server.port}/api/v1/workflows/{world.ids['paused']}/watch"
    headers = {"Authorization": f"Bearer {world.token}"}

    with connect(address, additional_headers=headers) as stream:
        with pytest.raises(ConnectionClosed):
            stream.recv(timeout=30)
        assert stream.protocol.close_code == 4404
        assert CANARY not in (stream.protocol.close_reason or "")


# --- a secret ---------------------------------------------------------------------------------


def with_secret(value: str, gate: Path) -> str:
    """Give a workflow that uses a secret in every way, and fails at the end."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "kept"},
        "stringData": {"word": value},
    }
    ref = {"name": "kept", "key": "word"}
    text = json.loads(steps(shell("env", f"until [ -e {gate} ]; do sleep 0.05; done; exit 3")))
    container = text["spec"]["templates"][1]["container"]
    container["env"] = [{"name": "WORD", "valueFrom": {"secretKeyRef": ref}}]
    container["volumeMounts"] = [{"name": "kept", "mountPath": f"{gate.parent}/kept"}]
    text["spec"]["volumes"] = [{"name": "kept", "secret": {"secretName": "kept"}}]
    text["spec"]["templates"][1]["retryStrategy"] = {"limit": "1"}
    return f"{json.dumps(secret)}\n---\n{json.dumps(text)}"


def arguments_of_all() -> bytes:
    """Give the arguments of all processes of this machine."""
    found = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += path.read_bytes()
        except OSError:
            continue
    return found


def test_a_secret_is_found_nowhere_else(tmp_path: Path) -> None:
    canary = f"canary{os.urandom(8).hex()}"
    gate = tmp_path / "gate"
    with ApiServer(tmp_path, "--log-format", "json") as server:
        workflow = server.submit(with_secret(canary, gate))
        server.wait_node(workflow, "env(0)", "running")
        seen = arguments_of_all()
        gate.touch()
        assert server.wait(workflow)["status"] == "failed"
        seen += answers_about(server, workflow)
        bad = with_secret(canary, gate).replace('"steps"', '"stepz"')
        refused = server.post(
            "/workflows", {"name": "x", "project_id": "default", "workflow_yaml": bad}
        )
        assert refused.status == 422
        seen += refused.raw
        seen += server.ask("GET", "/metrics").raw
    seen += server.said.encode()
    for path in (each for each in server.data.rglob("*") if each.is_file()):
        if server.data / "secrets" not in path.parents:
            assert canary.encode() not in path.read_bytes(), path
    assert canary.encode() not in seen


def answers_about(server: ApiServer, workflow: str) -> bytes:
    """Give all that the API tells about a workflow and its nodes."""
    found = b""
    nodes: list[dict[str, Any]] = server.get(f"/workflows/{workflow}").data["nodes"]
    parts = ["", "/nodes", "/yaml", "/graph", "/timeline", "/events", "/explain"]
    parts += [f"/nodes/{each['id']}{tail}" for each in nodes for tail in ("", "/output", "/logs")]
    for part in parts:
        found += server.get(f"/workflows/{workflow}{part}").raw
    end = time.monotonic() + PATIENCE
    while not server.get("/audit").data and time.monotonic() < end:
        time.sleep(0.02)
    return found + server.get("/audit").raw
