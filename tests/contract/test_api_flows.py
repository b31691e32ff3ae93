"""JobFlows and JobTemplates through ``/api/v1``, on a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contract.api_server import ApiServer
from tiphys.api import shapes
from tiphys.testing.volcano import Document, flow, step, task, template, text


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("flows")) as server:
        yield server


def keep(server: ApiServer, given: Document) -> None:
    body = {"project_id": "default", "template_yaml": text([given])}
    assert server.post("/templates", body).status == 201


def one(name: str, script: str = "true") -> Document:
    return template(name, task("t", script))


def test_a_flow_finds_the_templates_that_were_kept_before(server: ApiServer) -> None:
    keep(server, one("kept-a"))
    keep(server, one("kept-b"))

    shown = server.wait(
        server.submit(text([flow("f", [step("kept-a"), step("kept-b", "kept-a")])]))
    )

    shapes.Workflow.model_validate(shown)
    assert shown["status"] == "succeeded"
    assert [job["state"] for job in shown["flow"]["jobs"]] == ["Completed", "Completed"]
    assert [job["step"] for job in shown["flow"]["jobs"]] == ["kept-a", "kept-b"]
    assert shown["flow"]["status"]["state"] == {"phase": "Succeed"}


def test_templates_of_jobs_are_a_kind_of_their_own(server: ApiServer) -> None:
    keep(server, one("job-alone"))

    listed = server.get("/templates?kind=JobTemplate").data
    shown = server.get("/templates/default/job-alone?kind=JobTemplate")

    assert "job-alone" in {each["name"] for each in listed}
    assert "job-alone" not in {each["name"] for each in server.get("/templates").data}
    shapes.Template.model_validate(shown.data)
    assert (shown.data["kind"], shown.data["templates"]) == ("JobTemplate", ["t"])
    assert server.get("/templates/default/job-alone").status == 404
    assert server.delete("/templates/default/job-alone?kind=JobTemplate").status == 200
    assert server.get("/templates/default/job-alone?kind=JobTemplate").status == 404
    assert server.get("/templates?kind=Job").status == 400


def test_what_is_kept_is_kept_over_a_restart_and_unsound_templates_are_not(
    server: ApiServer,
) -> None:
    keep(server, one("kept-long", "echo long"))
    bad = {"project_id": "default", "template_yaml": text([template("bad", task("t", "x", -1))])}
    refused = server.post("/templates", bad)

    server.restart()
    shown = server.wait(server.submit(text([flow("f", [step("kept-long")])])))

    assert (refused.status, refused.code) == (422, "invalid_spec")
    assert shown["status"] == "succeeded"


def test_a_flow_is_looked_over_and_simulated_with_the_templates_that_were_kept(
    server: ApiServer,
) -> None:
    keep(server, one("kept-c"))
    body = {"workflow_yaml": text([flow("f", [step("kept-c")])])}

    looked = server.post("/workflows/lint", body)
    played = server.post("/workflows/simulate", body)

    assert looked.data["valid"]
    assert played.status == 200
    assert "f.kept-c.t-0" in str(played.data)


def test_a_flow_without_its_template_is_refused(server: ApiServer) -> None:
    body = {
        "name": "f",
        "project_id": "default",
        "workflow_yaml": text([flow("f", [step("nowhere")])]),
    }

    answer = server.post("/workflows", body)

    assert answer.status == 422
    assert "there is no JobTemplate 'nowhere'" in str(answer.body)


def test_a_flow_tells_what_its_next_steps_wait_for_and_how_templates_fared(
    server: ApiServer,
) -> None:
    documents = [
        flow("g", [step("flaky"), step("slow"), step("last", "slow")]),
        one("flaky", "exit 1"),
        one("slow", "sleep 300"),
        one("last"),
    ]
    first = server.submit(text([flow("g", [step("flaky")]), one("flaky", "exit 1")]))
    server.wait(first, "failed")
    under_way = server.submit(text(documents))
    server.wait_node(under_way, "slow", "running")

    shown = server.get(f"/workflows/{under_way}").data["flow"]

    server.delete(f"/workflows/{under_way}")
    (waits,) = shown["next"]
    assert waits["step"] == "last"
    assert waits["waits_for"] == [{"step": "slow", "state": "Running", "missing": "the end"}]
    jobs = {job["step"]: job for job in shown["jobs"]}
    assert (jobs["flaky"]["runs_before"], jobs["flaky"]["failed_before"]) == (1, 1)
    assert jobs["slow"]["pods"] == {"Running": 1}


def test_the_plan_of_a_flow_is_a_graph_of_jobs(server: ApiServer) -> None:
    text_ = text([flow("f", [step("a"), step("b", "a")]), one("a"), one("b")])

    graph = server.get(f"/workflows/{server.wait(server.submit(text_))['id']}/graph").data

    assert [(node["name"], node["type"]) for node in graph["planned"]["nodes"]] == [
        ("a", "job"),
        ("b", "job"),
    ]
    assert graph["planned"]["edges"] == [{"source": "flow/a", "target": "flow/b"}]
    assert [node["type"] for node in graph["actual"]["nodes"]].count("job") == 2


def test_other_workflows_have_no_flow(server: ApiServer) -> None:
    text_ = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: plain}
spec: {entrypoint: a, templates: [{name: a, container: {image: x, command: ["true"]}}]}
"""
    assert server.wait(server.submit(text_))["flow"] is None
