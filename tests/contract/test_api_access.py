"""Who may do what: every route of the API, with every kind of token that must not do.

The list of routes is the router's own, so that a new route is under test before anybody thinks of
it. What needs no token is named here once more, path by path.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from fastapi.routing import APIRoute, APIWebSocketRoute
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.contract.api_server import ADMIN, ApiServer, flow
from tiphys.api.app import all_routes

AUTH = {"/auth/methods", "/auth/login", "/auth/callback"}
PROBES = {"/healthz", "/readyz"}
PUBLIC = {*PROBES, "/docs", *AUTH}
READS = {"POST /api/v1/workflows/lint", "POST /api/v1/tickets", "POST /auth/logout"}
"""Posts that change nothing of anybody's: viewers may."""
FOR_ALL = {
    "GET /metrics",
    "POST /api/v1/projects",
    "POST /api/v1/queues",
    "PATCH /api/v1/queues/{queue_id}",
    "DELETE /api/v1/queues/{queue_id}",
    "POST /api/v1/queues/{queue_id}/open",
    "POST /api/v1/queues/{queue_id}/close",
    "PUT /api/v1/queue-plans/{queue}",
    "POST /api/v1/queue-plans/{queue}/{state}",
    "DELETE /api/v1/queue-plans/{queue}",
    "GET /api/v1/backup",
    "POST /api/v1/cluster-templates",
    "DELETE /api/v1/cluster-templates/{name}",
}
"""What belongs to no project: a token of one gets 403, whatever its role."""
OWN_VIEW = {
    "GET /api/v1/schedulers",
    "GET /api/v1/schema",
    "GET /api/v1/overview",
    "GET /api/v1/overview/queues/{queue_id}",
    "GET /api/v1/whoami",
    "GET /api/v1/workflows",
    "GET /api/v1/projects",
    "GET /api/v1/templates",
    "GET /api/v1/schedules",
    "GET /api/v1/tokens",
    "GET /api/v1/audit",
    "GET /api/v1/cluster-templates",
    "GET /api/v1/cluster-templates/{name}",
    "GET /api/v1/queues",
    "GET /api/v1/queues/{queue_id}",
    "GET /api/v1/queues/{queue_id}/status",
    "GET /api/v1/queue-plans",
    "GET /api/v1/queue-plans/{queue}",
    "GET /openapi.json",
    "POST /api/v1/tickets",
    "POST /api/v1/tokens",
    "POST /api/v1/workflows/simulate",
}
"""What shows each token its own, or what all may see; its own tests tell about foreign objects."""
ADMIN_READS = {"GET /api/v1/tokens", "GET /api/v1/audit"}

TEMPLATE = """
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: kept}
spec:
  templates:
    - name: main
      container: {image: any, command: ["true"]}
"""


SCHEDULE = """
apiVersion: argoproj.io/v1alpha1
kind: CronWorkflow
metadata: {name: kept}
spec:
  schedules: ["@yearly"]
  workflowSpec:
    entrypoint: main
    templates:
      - name: main
        container: {image: any, command: ["true"]}
"""


class Route(NamedTuple):
    method: str
    path: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def _routes() -> list[Route]:
    return [
        Route(method, route.path)
        for route in all_routes()
        if isinstance(route, APIRoute)
        for method in sorted(route.methods or ())
    ]


ROUTES = _routes()
GUARDED = [route for route in ROUTES if route.path not in PUBLIC]


class World(NamedTuple):
    server: ApiServer
    ids: dict[str, str]
    tokens: dict[str, str]

    def path(self, route: Route) -> str:
        path = re.sub(r"\{(\w+)\}", lambda m: self.ids[m[1]], route.path)
        if route.path.endswith("/compare"):
            path += f"?a={self.ids['workflow_id']}&b={self.ids['workflow_id']}"
        return path

    def body(self, route: Route) -> object:
        if route.method not in {"POST", "PATCH", "PUT"}:
            return None
        return {
            "/api/v1/workflows": {
                "name": "x",
                "project_id": "argonauts",
                "workflow_yaml": flow("true"),
            },
            "/api/v1/workflows/lint": {"workflow_yaml": flow("true"), "project_id": "argonauts"},
            "/api/v1/workflows/simulate": {"workflow_yaml": flow("true")},
            "/api/v1/templates": {"template_yaml": TEMPLATE, "project_id": "argonauts"},
            "/api/v1/cluster-templates": {
                "template_yaml": TEMPLATE.replace("WorkflowT", "ClusterWorkflowT")
            },
            "/api/v1/schedules": {"schedule_yaml": SCHEDULE, "project_id": "argonauts"},
            "/api/v1/schedules/{project_id}/{name}": (
                {"schedule_yaml": SCHEDULE} if route.method == "PUT" else {}
            ),
            "/api/v1/schedules/{project_id}/{name}/backfill": {
                "start": "2026-01-01T00:00:00Z",
                "end": "2026-01-02T00:00:00Z",
            },
            "/api/v1/projects": {"id": "another"},
            "/api/v1/queues": {"name": "another"},
            "/api/v1/tokens": {"name": "n", "role": "viewer", "project_id": "argonauts"},
        }.get(route.path, {})


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with ApiServer(tmp_path_factory.mktemp("access")) as server:
        for project in ("argonauts", "theirs"):
            assert server.post("/projects", {"id": project}).status == 201
        workflow = server.submit(flow("echo secret-of-ours"), project_id="argonauts")
        shown = server.wait(workflow)
        body = {"template_yaml": TEMPLATE, "project_id": "argonauts"}
        assert server.post("/templates", body).status == 201
        body = {"schedule_yaml": SCHEDULE, "project_id": "argonauts"}
        assert server.post("/schedules", body).status == 201
        tokens = {
            "viewer": server.make_token("viewer", "argonauts"),
            "member": server.make_token("member", "argonauts"),
            "admin": server.make_token("admin", "argonauts"),
            "foreign": server.make_token("admin", "theirs"),
            "expired": server.make_token("admin", None, expires_in=0.001),
            "bad": "tiphys_" + "x" * 43,
            "jwt": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9.",
            "removed": server.make_token("admin", None),
        }
        listed = {token["name"]: token["id"] for token in server.get("/tokens").data}
        removed = [t for t in server.get("/tokens").data if t["role"] == "admin"][-1]
        assert server.delete(f"/tokens/{removed['id']}").status == 200
        ids = {
            "workflow_id": workflow,
            "node_id": shown["nodes"][-1]["id"],
            "name": "kept",
            "project_id": "argonauts",
            "queue_id": "q-default",
            "queue": "default",
            "state": "open",
            "backfill": "none",
            "token_id": listed["viewer of argonauts"],
        }
        yield World(server, ids, tokens)


def test_there_are_routes_to_try() -> None:
    assert len(ROUTES) > 30
    assert {route.path for route in ROUTES} >= PUBLIC


@pytest.mark.parametrize("kind", [None, "bad", "expired", "removed", "jwt", "cookie"])
@pytest.mark.parametrize("route", GUARDED, ids=str)
def test_without_a_token_that_holds_nothing_is_served(
    world: World, route: Route, kind: str | None
) -> None:
    token = world.tokens.get(kind or "")
    origin = f"http://127.0.0.1:{world.server.port}"
    cookie = {"Cookie": f"tiphys_session={world.tokens['admin']}", "Origin": origin}

    answer = world.server.ask(
        route.method,
        world.path(route),
        world.body(route),
        token=token,
        headers=cookie if kind == "cookie" else None,
    )

    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert b"secret-of-ours" not in answer.raw


@pytest.mark.parametrize("route", GUARDED, ids=str)
def test_what_belongs_to_another_project_does_not_exist(world: World, route: Route) -> None:
    answer = world.server.ask(
        route.method, world.path(route), world.body(route), token=world.tokens["foreign"]
    )

    if str(route) in FOR_ALL:
        assert (answer.status, answer.code) == (403, "forbidden")
    elif str(route) in OWN_VIEW:
        assert answer.status in {200, 201, 404}
        assert world.ids["workflow_id"].encode() not in answer.raw
        assert world.ids["token_id"].encode() not in answer.raw
        assert b"argonauts" not in answer.raw.replace(b"resources", b"").replace(b"hours", b"") or (
            answer.status == 404 or route.path == "/openapi.json"
        )
    else:
        assert (answer.status, answer.code) == (404, "not_found")
    assert b"secret-of-ours" not in answer.raw


@pytest.mark.parametrize("route", GUARDED, ids=str)
def test_a_viewer_sees_and_changes_nothing(world: World, route: Route) -> None:
    answer = world.server.ask(
        route.method, world.path(route), world.body(route), token=world.tokens["viewer"]
    )

    reads = route.method == "GET" or str(route) in READS
    if not reads or str(route) in FOR_ALL | ADMIN_READS:
        assert (answer.status, answer.code) == (403, "forbidden")
    else:
        assert answer.status in {200, 201, 404}, answer.raw
        missing = ("artifacts", "cluster", "backfill", "/auth/")
        assert answer.status != 404 or any(part in route.path for part in missing)


@pytest.mark.parametrize("path", sorted(PUBLIC))
def test_public_paths_need_no_token(world: World, path: str) -> None:
    """Without a provider there is nobody to log in with, which is no secret either."""
    missing = path in AUTH - {"/auth/methods"}

    assert world.server.ask("GET", path, token=None).status == (404 if missing else 200)
    probe = world.server.ask("HEAD", path, token=None)
    assert (probe.status, probe.raw) == (200 if path in PROBES else 405, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/healthz/",
        "/api/v1/healthz",
        "/api/v1/workflows/healthz",
        "/api/v1/workflows/docs",
        "//healthz",
        "/argo/api/v1/info",
        "/argo/healthz",
        "/nothing",
        "/assets/../api/v1/whoami",
        "/api/v1/whoami/assets/x.js",
        "/argo/",
        "/argo/workflows",
        "/argo/workflows/default",
        "/argo/workflows/default/",
        "/argo/workflows//some",
        "/argo/workflows/default/some/more",
        "/argo/cluster-workflow-templates/",
    ],
)
def test_paths_that_look_public_are_not(world: World, path: str) -> None:
    assert world.server.ask("GET", path, token=None).status == 401


def test_every_stream_is_in_the_router() -> None:
    found = [r.path for r in all_routes() if isinstance(r, APIWebSocketRoute)]

    assert sorted(found) == ["/api/v1/overview/watch", "/api/v1/workflows/{workflow_id}/watch"]


@pytest.mark.parametrize(
    ("kind", "code"),
    [(None, 4401), ("bad", 4401), ("expired", 4401), ("removed", 4401), ("foreign", 4404)],
)
def test_a_stream_is_closed_before_it_says_anything(
    world: World, kind: str | None, code: int
) -> None:
    headers = {} if kind is None else {"Authorization": f"Bearer {world.tokens[kind]}"}
    address = (
        f"ws://127.0.0.1:{world.server.port}/api/v1/workflows/{world.ids['workflow_id']}/watch"
    )

    with connect(address, additional_headers=headers) as stream:
        with pytest.raises(ConnectionClosed):
            stream.recv(timeout=10)

        assert stream.protocol.close_code == code


def test_a_page_of_another_site_cannot_open_a_stream(world: World) -> None:
    address = (
        f"ws://127.0.0.1:{world.server.port}/api/v1/workflows/{world.ids['workflow_id']}/watch"
    )
    headers = {"Authorization": f"Bearer {ADMIN}", "Origin": "https://evil.example"}

    with pytest.raises(InvalidStatus) as refused, connect(address, additional_headers=headers):
        pass

    assert refused.value.response.status_code == 403


def test_a_ticket_opens_one_stream_once(world: World) -> None:
    ticket = world.server.post("/tickets", token=world.tokens["viewer"]).data["ticket"]
    address = (
        f"ws://127.0.0.1:{world.server.port}/api/v1/workflows/{world.ids['workflow_id']}/watch"
    )

    with connect(f"{address}?ticket={ticket}") as stream:
        assert '"status":"succeeded"' in str(stream.recv(timeout=10))
    with connect(f"{address}?ticket={ticket}") as stream:
        with pytest.raises(ConnectionClosed):
            stream.recv(timeout=10)
        assert stream.protocol.close_code == 4401


def test_a_ticket_changes_nothing(world: World) -> None:
    ticket = world.server.post("/tickets").data["ticket"]

    answer = world.server.post(f"/tokens?ticket={ticket}", {}, token=None)

    assert answer.status == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:2746", "127.0.0.1.evil.example", ""]
)
def test_a_name_that_is_not_ours_is_refused(world: World, host: str) -> None:
    answer = world.server.get("/whoami", headers={"Host": host})

    assert (answer.status, answer.code) == (403, "bad_origin")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_page_of_another_site_is_refused(world: World, method: str, origin: str) -> None:
    answer = world.server.ask(method, "/api/v1/tickets", headers={"Origin": origin})

    assert (answer.status, answer.code) == (403, "bad_origin")


def test_our_own_page_is_served(world: World) -> None:
    origin = f"http://127.0.0.1:{world.server.port}"

    assert world.server.get("/whoami", headers={"Origin": origin}).status == 200


def test_a_strangers_body_is_not_read(world: World) -> None:
    """The answer comes although the body that was announced never does."""
    request = (
        b"POST /api/v1/workflows HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n"
        b"Content-Type: application/json\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", world.server.port), timeout=30) as stream:
        stream.sendall(request)

        assert stream.recv(12) == b"HTTP/1.1 401"


def test_a_token_for_one_project_cannot_make_one_for_all(world: World) -> None:
    body = {"name": "up", "role": "admin"}

    answer = world.server.post("/tokens", body, token=world.tokens["admin"])

    assert (answer.status, answer.code) == (403, "forbidden")


@pytest.mark.parametrize("name", ["", "   ", "two\nlines", "\x1b[31m"])
def test_a_token_has_a_name_that_can_be_seen(world: World, name: str) -> None:
    answer = world.server.post("/tokens", {"name": name, "role": "viewer"})

    assert (answer.status, answer.code) == (422, "invalid_input")


def test_the_first_admins_token_is_removed_where_it_comes_from(world: World) -> None:
    ours = world.server.delete("/tokens/admin")
    theirs = world.server.delete("/tokens/admin", token=world.tokens["admin"])

    assert (ours.status, ours.code) == (409, "conflict")
    assert "TIPHYS_ADMIN_TOKEN" in ours.body["message"]
    assert (theirs.status, theirs.code) == (404, "not_found")


def test_tokens_are_listed_in_the_order_of_their_making(world: World) -> None:
    made = [world.server.post("/tokens", {"name": f"n{n}", "role": "viewer"}) for n in range(5)]
    listed = [each["id"] for each in world.server.get("/tokens").data]
    world.server.restart()

    assert listed[-5:] == [each.data["id"] for each in made]
    assert [each["id"] for each in world.server.get("/tokens").data] == listed


def test_a_token_for_one_project_cannot_make_one_for_another(world: World) -> None:
    body = {"name": "up", "role": "viewer", "project_id": "theirs"}

    answer = world.server.post("/tokens", body, token=world.tokens["admin"])

    assert (answer.status, answer.code) == (404, "not_found")


def test_a_text_cannot_reach_into_another_project(world: World) -> None:
    text = TEMPLATE.replace("name: kept", "name: kept, namespace: theirs")
    both = f"{text}\n---\n{flow('true')}"
    body = {"name": "x", "project_id": "argonauts", "workflow_yaml": both}

    answer = world.server.post("/workflows", body, token=world.tokens["member"])

    assert (answer.status, answer.code) == (422, "invalid_spec")
    assert answer.body["error"]["errors"][0]["line"] == 4


def test_a_member_cannot_leave_templates_for_all(world: World) -> None:
    text = TEMPLATE.replace("WorkflowT", "ClusterWorkflowT")
    body = {"name": "x", "project_id": "argonauts", "workflow_yaml": f"{text}\n---\n{flow('true')}"}

    answer = world.server.post("/workflows", body, token=world.tokens["member"])

    assert (answer.status, answer.code) == (403, "forbidden")


def test_secrets_of_tokens_are_nowhere_in_the_data_directory(world: World) -> None:
    secrets = [world.tokens[kind].encode() for kind in ("viewer", "member", "admin")]
    files = [path for path in world.server.data.rglob("*") if path.is_file()]

    assert not [
        path
        for path in files
        for secret in (*secrets, ADMIN.encode())
        if secret in path.read_bytes()
    ]
