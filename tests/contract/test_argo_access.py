"""Who may ask the Argo Server's API for what: every route, with every kind of token."""

from __future__ import annotations

import pytest

from tests.contract.argo_server import ArgoServer, flow, names_of, shell
from tests.contract.test_argo_life import TEMPLATE
from tiphys.api.argo import entries
from tiphys.api.argo.feed import Feed

PARTS = {
    "{namespace}": "default",
    "{name}": "mine",
    "{pod}": "mine",
    "{node}": "mine",
    "{artifact}": "a",
    "{place}": "workflows",
    "{id}": "mine",
    "{way}": "outputs",
    "{key}": "limit",
    "{discriminator}": "any",
}
ROUTES = sorted({(method, path) for method, path, _ in entries(Feed())})
BOUND = [each for each in ROUTES if "{namespace}" in each[1] or "{uid}" in each[1]]
"""Routes of what belongs to one project."""
CLUSTER = "/api/v1/cluster-workflow-templates"


@pytest.fixture(scope="module")
def mine(server: ArgoServer) -> str:
    """Give the uid of a workflow that everybody asks for."""
    server.submit({**flow(), "metadata": {"name": "mine"}})
    return str(server.ended("mine")["metadata"]["uid"])


def asked(server: ArgoServer, route: tuple[str, str], uid: str, token: str) -> tuple[int, int]:
    method, path = route
    for part, value in {**PARTS, "{uid}": uid}.items():
        path = path.replace(part, value)
    answer = server.ask(method, path, None if method == "GET" else {}, token=token)
    return answer.status, answer.json.get("code", 0)


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_a_stranger_gets_nothing(server: ArgoServer, mine: str, route: tuple[str, str]) -> None:
    for token in ("", "no-token-at-all", "expired"):
        assert asked(server, route, mine, token) == (401, 16)


@pytest.mark.parametrize("route", BOUND, ids=" ".join)
def test_what_is_foreign_does_not_exist(
    server: ArgoServer, mine: str, route: tuple[str, str]
) -> None:
    assert asked(server, route, mine, "foreign") == (404, 5)


@pytest.mark.parametrize(
    "route",
    [each for each in ROUTES if each[0] != "GET" and not each[1].endswith("/lint")],
    ids=" ".join,
)
def test_a_viewer_changes_nothing(server: ArgoServer, mine: str, route: tuple[str, str]) -> None:
    assert asked(server, route, mine, "viewer") == (403, 7)


def test_a_list_of_everything_shows_a_project_only_its_own(server: ArgoServer, mine: str) -> None:
    theirs = server.submit(flow(prefix="theirs-"), "elsewhere")
    server.ended(theirs, "elsewhere")

    for path in ("/api/v1/workflows/", "/api/v1/archived-workflows"):
        answer = server.ask("GET", path, token="foreign")
        assert theirs in names_of(answer)
        assert {item["metadata"]["namespace"] for item in answer.json["items"]} == {"elsewhere"}


def test_a_uid_finds_nothing_in_another_namespace(server: ArgoServer, mine: str) -> None:
    assert server.ask("GET", f"/api/v1/workflows/elsewhere/{mine}", token="foreign").status == 404


def test_a_wrong_name_is_answered_without_the_names_of_other_projects(server: ArgoServer) -> None:
    server.submit({**flow(), "metadata": {"name": "launch-of-the-yacht"}})

    answers = [
        server.ask("GET", f"/api/v1/{place}/launch-of-the-yach", token="foreign")
        for place in ("workflows/elsewhere", "archived-workflows")
    ]

    assert [answer.status for answer in answers] == [404, 404]
    assert not any(b"yacht" in answer.body for answer in answers)


def test_a_name_in_place_of_a_uid_does_not_tell_who_uses_it(server: ArgoServer) -> None:
    server.submit({**flow(), "metadata": {"name": "used-once"}})
    for namespace in ("default", "third"):
        server.submit({**flow(), "metadata": {"name": "used-twice"}}, namespace)

    said = {
        (answer.status, answer.json["message"].replace(name, "NAME"))
        for name in ("used-once", "used-twice", "used-never", "@latest")
        for answer in [server.ask("GET", f"/api/v1/archived-workflows/{name}", token="foreign")]
    }

    assert said == {(404, "there is no workflow 'NAME'")}


def test_what_is_for_all_is_changed_by_an_admin_of_all_alone(server: ArgoServer) -> None:
    for token in ("member", "viewer", "foreign"):
        assert server.ask("POST", CLUSTER, {"template": TEMPLATE}, token=token).status == 403
        assert server.ask("GET", CLUSTER, token=token).status == 200


def test_a_template_of_another_project_cannot_be_run(server: ArgoServer) -> None:
    secret = {**TEMPLATE, "metadata": {"name": "theirs-alone"}}
    server.ask("POST", "/api/v1/workflow-templates/elsewhere", {"template": secret})
    request = {"resourceKind": "WorkflowTemplate", "resourceName": "theirs-alone"}

    answer = server.ask("POST", "/api/v1/workflows/default/submit", request, token="member")

    assert (answer.status, answer.json["code"]) == (400, 3)


def test_no_name_of_a_container_leads_to_the_logs_of_others(server: ArgoServer) -> None:
    theirs = server.submit(flow(shell("echo canary")), "elsewhere")
    uid = server.ended(theirs, "elsewhere")["metadata"]["uid"]
    mine = server.submit(flow())
    server.ended(mine)

    answer = server.ask(
        "GET",
        f"/api/v1/workflows/default/{mine}/log",
        token="member",
        logOptions__container=f"../../{uid}/{uid}.1/main",
    )

    assert (answer.status, answer.json["code"]) == (400, 3)


def test_a_token_that_is_taken_away_ends_its_streams(server: ArgoServer) -> None:
    token = server.add_token("brief", "viewer", "default")
    name = server.submit({**flow(), "spec": {**flow()["spec"], "suspend": True}})
    events = server.watch(name, token="brief")
    assert next(events)["type"] == "ADDED"

    server.ask("DELETE", f"/api/v1/tokens/{token}", base="")
    server.ask("PUT", f"/api/v1/workflows/default/{name}/resume", {})

    assert list(events) == []


def test_a_link_to_argos_page_leads_to_ours(server: ArgoServer, mine: str) -> None:
    def led(path: str, token: str) -> str:
        answer = server.ask("GET", path, token=token)
        assert (answer.status, answer.body) == (302, b"")
        return str(answer.headers["location"])

    link = "/workflows/default/mine"
    listed = "/workflows?project=default&name=mine"
    assert led(f"{link}?tab=workflow", "viewer") == f"/workflows/wf-{mine}"
    for token in ("", "no-token-at-all", "expired", "foreign"):
        assert led(link, token) == listed
    assert led("/workflows/default/none", "viewer").endswith("?project=default&name=none")
    assert led("/cron-workflows/default/a%26b", "") == "/schedules?schedule=default%2Fa%26b"
    assert led("/cluster-workflow-templates/t", "") == "/templates?template=t"


def test_a_link_can_only_be_followed(server: ArgoServer, mine: str) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert server.ask(method, "/workflows/default/mine", {}, token="").status == 401
