"""The life of workflows, templates, the archive and artifacts in the Argo Server's API."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.contract.argo_server import (
    NS,
    SSE,
    ArgoServer,
    flow,
    names_of,
    read_logs,
    serving,
    shell,
)

PAUSE = {
    "name": "main",
    "suspend": {},
    "outputs": {"parameters": [{"name": "verdict", "valueFrom": {"supplied": {}}}]},
}


# --- life ---------------------------------------------------------------------------------------


def put(server: ArgoServer, name: str, verb: str, **body: Any) -> Any:
    answer = server.ask(
        "PUT", f"{NS}/{name}/{verb}", {"namespace": "default", "name": name, **body}
    )
    assert answer.status == 200, answer.body
    return answer.json


def test_a_pause_is_set_with_its_outputs(server: ArgoServer) -> None:
    name = server.submit(flow(PAUSE))

    put(
        server,
        name,
        "set",
        nodeFieldSelector=f"displayName={name}",
        phase="Succeeded",
        message="by hand",
        outputParameters=json.dumps({"verdict": "yes"}),
    )

    (node,) = server.ended(name)["status"]["nodes"].values()
    assert node["phase"] == "Succeeded"
    assert node["outputs"]["parameters"] == [{"name": "verdict", "value": "yes"}]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"phase": "Running"}, 400),
        ({"phase": "Succeeded", "outputParameters": '{"other": "x"}'}, 400),
        ({"phase": "Succeeded", "nodeFieldSelector": "displayName=none"}, 400),
        ({"outputParameters": '{"other": "x"}'}, 400),
        ({}, 400),
    ],
)
def test_a_pause_cannot_be_set_to_anything(
    server: ArgoServer, body: dict[str, str], status: int
) -> None:
    name = server.submit(flow(PAUSE))

    assert server.ask("PUT", f"{NS}/{name}/set", body).status == status
    server.ask("DELETE", f"{NS}/{name}")


def test_a_pause_is_given_outputs_and_goes_on_waiting(server: ArgoServer) -> None:
    name = server.submit(flow(PAUSE))
    body = {"outputParameters": '{"verdict": "later"}', "message": "asked the captain"}

    answer = server.ask("PUT", f"{NS}/{name}/set", body)

    assert answer.status == 200, answer.body
    (node,) = answer.json["status"]["nodes"].values()
    assert (node["phase"], node["message"]) == ("Running", "asked the captain")
    assert node["outputs"]["parameters"] == [{"name": "verdict", "value": "later"}]
    again = server.ask("PUT", f"{NS}/{name}/set", body)
    assert again.status == 400, "a value is given once"
    server.ask("PUT", f"{NS}/{name}/resume", {})
    (node,) = server.ended(name)["status"]["nodes"].values()
    assert node["outputs"]["parameters"] == [{"name": "verdict", "value": "later"}]


def test_a_pause_is_failed_by_a_stop_that_names_it(server: ArgoServer) -> None:
    name = server.submit(flow(PAUSE))

    put(server, name, "stop", nodeFieldSelector=f"displayName={name}", message="refused")

    done = server.ended(name)
    (node,) = done["status"]["nodes"].values()
    assert (node["phase"], node["message"]) == ("Failed", "refused")
    assert "shutdown" not in done["spec"]


def test_suspended_work_waits_for_resume(server: ArgoServer) -> None:
    name = server.submit({**flow(), "spec": {**flow()["spec"], "suspend": True}})
    assert put(server, name, "suspend")["spec"]["suspend"] is True

    assert "suspend" not in put(server, name, "resume")["spec"]

    assert server.ended(name)["status"]["phase"] == "Succeeded"


@pytest.mark.parametrize(("verb", "strategy"), [("stop", "Stop"), ("terminate", "Terminate")])
def test_work_is_ended_early(server: ArgoServer, verb: str, strategy: str) -> None:
    name = server.submit(flow(shell("sleep 100")))

    assert put(server, name, verb)["spec"]["shutdown"] == strategy

    assert server.ended(name)["status"]["phase"] == "Failed"
    again = server.ask("PUT", f"{NS}/{name}/{verb}", {})
    assert (again.status, again.json["code"]) == (400, 9)


def test_a_failed_workflow_is_retried_with_another_parameter(server: ArgoServer) -> None:
    workflow = flow(shell("exit {{workflow.parameters.code}}"))
    workflow["spec"]["arguments"] = {"parameters": [{"name": "code", "value": "1"}]}
    name = server.submit(workflow)
    assert server.ended(name)["status"]["phase"] == "Failed"

    put(server, name, "retry", parameters=["code=0"])

    assert server.ended(name)["status"]["phase"] == "Succeeded"


def test_a_resubmitted_workflow_has_a_new_name_and_tells_the_old_one(server: ArgoServer) -> None:
    name = server.submit(flow())
    server.ended(name)

    again = put(server, name, "resubmit")["metadata"]

    assert again["name"] != name
    assert again["labels"]["workflows.argoproj.io/resubmitted-from-workflow"] == name


# --- templates ----------------------------------------------------------------------------------

TEMPLATE: dict[str, Any] = {
    "metadata": {"name": "greet", "labels": {"kind": "greeting"}},
    "spec": {
        "entrypoint": "main",
        "arguments": {"parameters": [{"name": "word", "value": "hello"}]},
        "templates": [shell("echo {{workflow.parameters.word}}")],
    },
}
KINDS = [
    ("/api/v1/workflow-templates/default", "WorkflowTemplate"),
    ("/api/v1/cluster-workflow-templates", "ClusterWorkflowTemplate"),
]


@pytest.mark.parametrize(("base", "kind"), KINDS)
def test_a_template_is_kept_run_changed_and_forgotten(
    server: ArgoServer, base: str, kind: str
) -> None:
    made = server.ask("POST", base, {"template": TEMPLATE})
    assert made.status == 200, made.body
    assert made.json["kind"] == kind
    assert made.json["metadata"]["uid"]
    twin = server.ask("POST", base, {"template": TEMPLATE})
    assert (twin.status, twin.json["code"]) == (409, 6)
    assert names_of(server.ask("GET", base, listOptions__labelSelector="kind=greeting")) == [
        "greet"
    ]

    request = {
        "resourceKind": kind,
        "resourceName": "greet",
        "submitOptions": {"parameters": ["word=moin"], "labels": "a=b", "generateName": "g-"},
    }
    run = server.ask("POST", f"{NS}/submit", request).json["metadata"]
    assert run["labels"]["a"] == "b"
    assert server.ended(run["name"])["status"]["phase"] == "Succeeded"
    with server.open("GET", f"{NS}/{run['name']}/log", accept=SSE) as response:
        assert read_logs(response) == ["moin"]

    changed = {**made.json, "spec": {**TEMPLATE["spec"], "entrypoint": "main"}}
    updated = server.ask("PUT", f"{base}/greet", {"template": changed})
    assert updated.json["metadata"]["uid"] == made.json["metadata"]["uid"]
    stale = server.ask("PUT", f"{base}/greet", {"template": changed})
    assert (stale.status, stale.json["code"]) == (409, 10)
    nameless = server.ask("PUT", f"{base}/", {"template": TEMPLATE})
    assert nameless.status == 200

    assert server.ask("DELETE", f"{base}/greet").json == {}
    assert server.ask("GET", f"{base}/greet").json["code"] == 5
    assert server.ask("POST", f"{NS}/submit", request).status == 400


@pytest.mark.parametrize(("base", "kind"), KINDS)
def test_a_template_is_linted(server: ArgoServer, base: str, kind: str) -> None:
    wrong = {"metadata": {"name": "w"}, "spec": {"templates": [{"name": "a"}, {"name": "a"}]}}

    assert server.ask("POST", f"{base}/lint", {"template": TEMPLATE}).json["kind"] == kind
    assert server.ask("POST", f"{base}/lint", {"template": wrong}).json["code"] == 3


def test_templates_outlive_the_server(tmp_path: Path) -> None:
    base = "/api/v1/workflow-templates/default"
    with serving(tmp_path / "data") as first:
        first.ask("POST", base, {"template": TEMPLATE})
        first.ask("POST", base, {"template": {**TEMPLATE, "metadata": {"name": "gone"}}})
        first.ask("DELETE", f"{base}/gone")

    with serving(tmp_path / "data") as second:
        assert names_of(second.ask("GET", base)) == ["greet"]


# --- archive, artifacts, the rest ---------------------------------------------------------------


def test_ended_workflows_are_the_archive(server: ArgoServer) -> None:
    name = server.submit(flow(labels={"lab": "old"}))
    uid = server.ended(name)["metadata"]["uid"]
    base = "/api/v1/archived-workflows"

    listed = server.ask("GET", base, listOptions__labelSelector="lab=old")
    keys = server.ask("GET", f"{base}-label-keys").json["items"]
    values = server.ask("GET", f"{base}-label-values", listOptions__labelSelector="lab").json
    again = server.ask("PUT", f"{base}/{uid}/resubmit", {})

    assert names_of(listed) == [name]
    assert server.ask("GET", f"{base}/{uid}").json["metadata"]["name"] == name
    assert "lab" in keys
    assert "old" in values["items"]
    assert again.json["metadata"]["name"] != name
    assert server.ask("DELETE", f"{base}/{uid}").json == {}
    assert server.ask("GET", f"{base}/{uid}").status == 404


def test_artifacts_are_downloads_that_no_browser_shows(server: ArgoServer) -> None:
    artifact = {"name": "page", "path": "/tmp/tiphys-page.html"}
    template = shell(
        "echo '<script>alert(1)</script>' > /tmp/tiphys-page.html",
        outputs={"artifacts": [artifact]},
    )
    name = server.submit(flow(template))
    done = server.ended(name)
    (node,) = done["status"]["nodes"]
    uid = done["metadata"]["uid"]

    answers = [
        server.ask("GET", f"/artifacts/default/{name}/{node}/page"),
        server.ask("GET", f"/artifacts-by-uid/{uid}/{node}/page"),
        server.ask("GET", f"/artifact-files/default/workflows/{name}/{node}/outputs/page"),
    ]

    for answer in answers:
        assert answer.status == 200, answer.body
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]
        with tarfile.open(fileobj=io.BytesIO(answer.body)) as archive:
            assert archive.getnames() == ["tiphys-page.html"]
    missing = server.ask("GET", f"/artifacts/default/{name}/{node}/none")
    assert (missing.status, missing.json["code"]) == (404, 5)


def test_the_server_tells_who_it_is_and_who_asks(server: ArgoServer) -> None:
    version = server.ask("GET", "/api/v1/version").json

    assert version["version"].startswith("v4.")
    assert all(isinstance(value, str) for value in version.values())
    assert len(version) == 8
    assert server.ask("GET", "/api/v1/userinfo", token="viewer").json["groups"] == ["viewer"]
    assert server.ask("GET", "/api/v1/info").json["managedNamespace"] == ""


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("POST", "/api/v1/event-sources/default", 501, 12),
        ("GET", "/api/v1/stream/events/default", 501, 12),
        ("GET", "/api/v1/nothing", 404, 5),
        ("POST", "/api/v1/version", 404, 5),
        ("GET", "/nothing", 404, 5),
    ],
)
def test_what_is_not_there_is_said_in_json(
    server: ArgoServer, method: str, path: str, status: int, code: int
) -> None:
    answer = server.ask(method, path)

    assert (answer.status, answer.json["code"]) == (status, code)
