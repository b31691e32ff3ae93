"""The typed client against a real server."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from fastapi.routing import APIRoute

from tests.contract.api_server import ADMIN, ApiServer, flow, shell, steps
from tiphys.api.app import all_routes
from tiphys.client import AsyncClient, Client, calls, insight, schedules, templates
from tiphys.errors import ConflictError, NotFoundError, SpecError, UnauthenticatedError

NOBODY = "wf-00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("client")) as server:
        yield server


@pytest.fixture
def client(server: ApiServer) -> Iterator[Client]:
    with Client(f"http://127.0.0.1:{server.port}", ADMIN) as client:
        yield client


def test_a_workflow_from_submission_to_removal(client: Client) -> None:
    made = client.do(calls.submit("hello", "default", steps(shell("a", "echo hi"))))

    updates = list(client.watch(made.id))

    assert updates[-1].status == "succeeded"
    shown = client.do(calls.get_workflow(made.id))
    assert shown.ended
    node = next(each for each in shown.nodes if each.display_name == "a")
    assert client.do(calls.get_output(made.id, node.id)).stdout == "hi\n"
    assert [line.text for line in client.logs(made.id, node.id, follow=True)] == ["hi"]
    assert client.do(calls.get_node(made.id, node.id)) == node
    assert len(client.do(calls.list_nodes(made.id))) == 3
    assert b'"echo hi"' in client.do(calls.get_yaml(made.id))
    assert made.id in {each.id for each in client.do(calls.list_workflows(statuses=["succeeded"]))}
    here: dict[str, Any] = {"scheduler": "local", "queue": "q-default", "name": "hello"}
    (found,) = client.do(calls.list_workflows(**here, created_after=made.created_at))
    assert found.id == made.id
    for other in ({"scheduler": "volcano"}, {"queue": "q-none"}):
        assert not client.do(calls.list_workflows(**{**here, **other}))
    assert not client.do(calls.list_workflows(**here, created_before=made.created_at))
    client.do(calls.delete_workflow(made.id, purge=True))
    with pytest.raises(NotFoundError):
        client.do(calls.get_workflow(made.id))


def test_a_schedule_from_its_making_to_its_removal(server: ApiServer, client: Client) -> None:
    spec = json.loads(flow("true"))["spec"]
    cron = {"schedules": ["0 3 * * *"], "timezone": "UTC", "workflowSpec": spec}
    text = {"apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow", "spec": cron}
    key = ("default", "nightly")
    first, second = datetime(2026, 1, 1, 3, tzinfo=UTC), datetime(2026, 1, 2, 3, tzinfo=UTC)

    made = client.do(
        schedules.make_schedule("default", json.dumps({**text, "metadata": {"name": "nightly"}}))
    )
    assert (made.name, made.phase, made.timezone) == ("nightly", "active", "UTC")
    assert client.do(schedules.suspend_schedule(*key)).suspended
    changed = client.do(schedules.change_schedule(*key, schedules=["30 4 * * *"]))
    assert (changed.schedules, changed.next_run) == (["30 4 * * *"], None)
    assert client.do(schedules.resume_schedule(*key)).next_run is not None
    client.do(schedules.change_schedule(*key, schedules=["0 3 * * *"]))
    due = client.do(schedules.next_runs(*key, count=2, after=datetime(2026, 1, 1, tzinfo=UTC)))
    assert [each.at for each in due] == [first, second]
    run = client.do(schedules.run_schedule(*key))
    assert [each.status for each in client.watch(run.id)][-1] == "succeeded"
    backfill = client.do(schedules.start_backfill(*key, first, second, key="january"))
    assert (backfill.name, backfill.total) == ("january", 2)
    assert [each.name for each in client.do(schedules.list_backfills(*key))] == ["january"]
    listed = client.do(schedules.list_schedules(project="default"))
    assert [each.name for each in listed] == ["nightly"]
    assert client.do(schedules.get_schedule(*key)).manifest["kind"] == "CronWorkflow"

    client.do(schedules.delete_schedule(*key))

    with pytest.raises(NotFoundError):
        client.do(schedules.get_schedule(*key))


def test_the_life_cycle(client: Client) -> None:
    made = client.do(calls.submit("pause", "default", steps({"name": "p", "suspend": {}})))

    client.do(calls.suspend(made.id))
    client.do(calls.resume(made.id))
    assert [each.status for each in client.watch(made.id)][-1] == "succeeded"
    with pytest.raises(ConflictError):
        client.do(calls.stop(made.id))
    again = client.do(calls.resubmit(made.id))
    client.do(calls.terminate(again.id))
    assert [each.status for each in client.watch(again.id)][-1] == "failed"
    assert client.do(calls.retry(again.id)).id == again.id
    client.do(calls.delete_workflow(again.id))


def test_errors_are_those_of_tiphys(server: ApiServer, client: Client) -> None:
    with pytest.raises(SpecError) as wrong:
        client.do(calls.submit("x", "default", "a: 1\nb: {]"))
    assert wrong.value.problems[0].code == "parse_error"
    assert wrong.value.problems[0].line == 2
    with pytest.raises(NotFoundError):
        list(client.watch(NOBODY))
    with Client(f"http://127.0.0.1:{server.port}", "nobody") as stranger:
        with pytest.raises(UnauthenticatedError):
            stranger.do(calls.whoami())
        with pytest.raises(UnauthenticatedError):
            list(stranger.watch(NOBODY))


def test_administration(client: Client) -> None:
    project = client.do(calls.make_project("client-made", name="Made"))
    token = client.do(calls.make_token("ci", "member", project=project.id, expires_in=60))

    assert token.token
    assert token.id in {each.id for each in client.do(calls.list_tokens())}
    assert "client-made" in {each.id for each in client.do(calls.list_projects())}
    assert client.do(calls.whoami()).role == "admin"
    client.do(calls.delete_token(token.id))
    client.do(calls.delete_project(project.id))
    assert not client.do(calls.lint("a: 1")).valid


def test_queues(client: Client) -> None:
    made = client.do(calls.make_queue("client-queue", quota_cpu="500m"))
    pause = steps({"name": "p", "suspend": {}})
    workflow = client.do(calls.submit("queued", "default", pause, queue=made.id))

    assert workflow.queue_id == made.id
    assert client.do(calls.change_queue(made.id, quota_cpu=1)).quota == {"cpu": "1"}
    assert made.id in {each.id for each in client.do(calls.list_queues())}
    assert client.do(calls.get_queue_status(made.id)).quota == {"cpu": "1"}
    assert all(each.reason for each in client.do(calls.explain(workflow.id)))
    client.do(calls.delete_workflow(workflow.id))
    assert [each.status for each in client.watch(workflow.id)][-1] == "failed"
    client.do(calls.delete_queue(made.id))


def test_what_is_told_about_workflows_and_kept_beside_them(client: Client) -> None:
    text = steps(shell("a", "echo looked at"))
    one, other = (client.do(calls.submit("looked", "default", text)) for _ in range(2))
    for made in (one, other):
        assert list(client.watch(made.id))[-1].status == "succeeded"

    graph = client.do(insight.get_graph(one.id))
    compared = client.do(insight.compare(one.id, other.id))
    played = client.do(insight.simulate(text, project="default", idle=True))

    assert [each["name"] for each in graph.planned["nodes"]] == ["a"]
    assert (compared.a["id"], compared.b["id"]) == (one.id, other.id)
    assert [(each.queue, each.start) for each in played.gantt] == [("default", 0.0)]
    assert one.id[3:] in str(client.do(insight.list_audit(before=2**62, limit=50)))
    assert client.do(insight.list_schedulers()).default == "local"
    assert client.do(insight.make_ticket()).ticket
    assert client.do(insight.get_project("default")).id == "default"

    spec = {"templates": json.loads(flow("true"))["spec"]["templates"]}
    kept = {"apiVersion": "argoproj.io/v1alpha1", "metadata": {"name": "kept"}, "spec": spec}
    here = json.dumps({**kept, "kind": "WorkflowTemplate"})
    saved = client.do(templates.save_template("default", here))
    for_all = json.dumps({**kept, "kind": "ClusterWorkflowTemplate"})
    assert client.do(templates.save_cluster_template(for_all)).project_id is None
    assert client.do(templates.get_template("default", "kept")) == saved
    assert saved in client.do(templates.list_templates(project="default"))
    assert client.do(templates.get_cluster_template("kept")).templates == ["main"]
    client.do(templates.delete_template("default", "kept"))
    client.do(templates.delete_cluster_template("kept"))
    assert not client.do(templates.list_templates())
    assert not client.do(templates.list_cluster_templates())


APART = {
    "/api/v1/workflows/{workflow_id}/nodes/{node_id}/logs",  # Client.logs
    "/api/v1/backup",  # Client.backup
    "/api/v1/schema",
    "/api/v1/overview",
    "/api/v1/overview/queues/{queue_id}",
}
"""Streams, which are methods of the client, and what is made for the pages."""


def test_everything_that_the_server_answers_can_be_asked() -> None:
    known = [made for module in (calls, schedules, templates, insight) for made in _made_by(module)]

    routes = [each for each in all_routes() if isinstance(each, APIRoute)]
    unknown = [
        f"{method} {route.path}"
        for route in routes
        if route.path.startswith("/api/") and route.path not in APART
        for method in route.methods or ()
        if not any(
            call.method == method and route.path_regex.match(f"/api/v1{call.path.split('?')[0]}")
            for call in known
        )
    ]

    assert unknown == []


def _made_by(module: ModuleType) -> Iterator[calls.Call[Any]]:
    """Make every call of a module with some value for whatever it needs."""
    for function in vars(module).values():
        if not isinstance(function, FunctionType) or function.__name__ in {"read", "_query"}:
            continue
        hints = inspect.signature(function)
        if str(hints.return_annotation).startswith("Call["):
            needed = [p for p in hints.parameters.values() if p.default is p.empty]
            needed = [p for p in needed if p.kind is not p.VAR_KEYWORD]
            given = {p.name: _SOME.get(str(p.annotation), "x") for p in needed}
            yield function(**given)


_SOME: dict[str, Any] = {"datetime": datetime(2026, 1, 1, tzinfo=UTC), "Mapping[str, Any]": {}}


def test_the_async_client_does_the_same(server: ApiServer) -> None:
    async def use() -> tuple[str, int]:
        async with AsyncClient(f"http://127.0.0.1:{server.port}", ADMIN) as client:
            made = await client.do(calls.submit("async", "default", flow("true")))
            last = [update async for update in client.watch(made.id)][-1]
            many = await asyncio.gather(*(client.do(calls.get_workflow(made.id)) for _ in range(9)))
            return last.status, len(many)

    assert asyncio.run(use()) == ("succeeded", 9)


def test_the_owner_of_a_data_directory_needs_no_settings(tmp_path: Path) -> None:
    with ApiServer(tmp_path, environment={}) as server, Client.of(server.data) as client:
        assert client.do(calls.whoami()).name == "admin"


def test_a_kept_connection_that_was_closed_is_opened_anew(tmp_path: Path) -> None:
    with ApiServer(tmp_path, "--port", "0") as server:
        port = server.port
        client = Client(f"http://127.0.0.1:{port}", ADMIN)
        client.do(calls.whoami())
        server.arguments = ("--port", str(port))
        server.restart()

        assert client.do(calls.whoami()).name == "admin"
        client.close()
