"""The life of workflows through ``/api/v1``, on a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.contract.api_server import ADMIN, ApiServer, flow, shell, steps
from tiphys.api import shapes

PAUSE = {"name": "pause", "suspend": {}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with ApiServer(tmp_path_factory.mktemp("workflows")) as server:
        yield server


def test_a_submission_says_what_it_became(server: ApiServer) -> None:
    body = {
        "name": "hello",
        "project_id": "default",
        "workflow_yaml": flow("echo hi"),
        "description": "for people",
        "priority": "high",
        "estimated_cpu": "500m",
        "estimated_memory": "1Gi",
    }

    answer = server.post("/workflows", body)

    assert answer.status == 201
    shapes.Submitted.model_validate(answer.data)
    assert answer.data["id"].startswith("wf-")
    assert (answer.data["name"], answer.data["status"]) == ("hello", "pending")
    shown = server.wait(answer.data["id"])
    assert (shown["status"], shown["progress"], shown["priority"]) == ("succeeded", 100, 100)
    assert (shown["description"], shown["created_by"]) == ("for people", "admin")


def test_a_workflow_is_shown_as_documented(server: ApiServer) -> None:
    shown = server.wait(server.submit(steps(shell("a", "true"), shell("b", "true"))))

    shapes.Workflow.model_validate(shown)
    nodes = {node["display_name"]: node for node in shown["nodes"]}
    assert shown["nodes_total"] == len(shown["nodes"]) == 5
    assert nodes["a"]["type"] == "container"
    assert nodes["a"]["attempts"] == 1
    assert nodes["[1]"]["dependencies"] == [nodes["a"]["id"]]
    assert nodes["[1]"]["children"] == [nodes["b"]["id"]]
    assert datetime.fromisoformat(shown["end_time"]) >= datetime.fromisoformat(shown["start_time"])


@pytest.mark.parametrize(
    ("own", "given", "found"),
    [
        ({}, {}, 10),
        ({"spec": {"priority": 77}}, {}, 77),
        ({"spec": {"podPriorityClassName": "low"}}, {}, 1),
        ({"metadata": {"labels": {"tiphys.dev/priority-class": "critical"}}}, {}, 1000),
        ({"spec": {"priority": 77}}, {"priority": "high"}, 100),
    ],
)
def test_a_text_names_its_own_priority_and_a_request_another(
    server: ApiServer, own: dict[str, dict[str, Any]], given: dict[str, Any], found: int
) -> None:
    text = json.loads(flow("true"))
    for part, fields in own.items():
        text[part] |= fields

    workflow = server.submit(json.dumps(text), **given)

    assert server.get(f"/workflows/{workflow}").data["priority"] == found


def test_the_same_name_may_be_used_again(server: ApiServer) -> None:
    first = server.submit(flow("true"), name="again")
    second = server.submit(flow("true"), name="again")

    assert first != second
    assert server.get(f"/workflows/{second}").data["name"] == "again"


def test_history_tells_how_long_the_next_will_take(server: ApiServer) -> None:
    took = server.wait(server.submit(flow("true"), name="measured"))["duration"]

    body = {"name": "measured", "project_id": "default", "workflow_yaml": flow("true")}
    answer = server.post("/workflows", body)

    assert answer.data["estimated_duration"] == pytest.approx(took, abs=0.002)


def test_history_is_that_of_the_beginning_of_generated_names(server: ApiServer) -> None:
    text = json.loads(flow("true"))
    text["metadata"]["generateName"] = "counted-"
    ids = []
    for _ in range(2):
        made = server.ask("POST", "/argo/api/v1/workflows/default", {"workflow": text})
        ids.append(f"wf-{made.body['metadata']['uid']}")
        first = server.wait(ids[0])

    second = server.get(f"/workflows/{ids[1]}").data

    assert second["workflow_name"] != first["workflow_name"]
    assert second["estimated_duration"] is not None


def test_a_first_run_takes_what_its_templates_took_in_the_project(server: ApiServer) -> None:
    slow, quick = shell("slow", "sleep 0.2; : told"), shell("quick", ": told")
    for name, each in (("one", slow), ("two", quick)):
        text = steps(each).replace('"t-"', f'"taught-{name}-"')
        server.wait(server.submit(text, name=f"taught-{name}"))
    assert server.post("/projects", {"id": "untaught", "name": "untaught"}).status == 201

    def asked(project: str) -> Any:
        question = {"workflow_yaml": steps(slow, quick), "project_id": project}
        return server.post("/workflows/simulate", question).data["report"]["makespan"]

    def told(name: str, text: str, project: str) -> Any:
        """Give what is told of a run that is the first of its name."""
        text = text.replace('"t-"', f'"{name}-"')
        body = {"name": name, "project_id": project, "workflow_yaml": text}
        answer = server.post("/workflows", body)
        assert answer.status == 201, answer.raw
        return answer.data["estimated_duration"]

    assert asked("untaught") == 120
    assert 0.2 <= asked("default") < 120
    assert told("stranger", steps(slow, quick), "untaught") is None
    assert told("half", steps(quick, shell("new", ": unheard")), "default") is None
    assert told("pupil", steps(slow, quick), "default") >= 0.2


def test_parameters_reach_the_tasks(server: ApiServer) -> None:
    text = json.loads(flow("echo {{workflow.parameters.who}}"))
    text["spec"]["arguments"] = {"parameters": [{"name": "who", "value": "nobody"}]}
    workflow = server.submit(json.dumps(text), parameters={"who": "Jason"})

    node = server.wait(workflow)["nodes"][0]["id"]

    output = server.get(f"/workflows/{workflow}/nodes/{node}/output").data
    assert output["stdout"] == "Jason\n"


def test_an_idempotency_key_stands_for_one_workflow(server: ApiServer) -> None:
    key = {"Idempotency-Key": "once"}
    first = server.submit(flow("true"), headers=key)

    assert server.submit(flow("true"), headers=key) == first
    other = {"name": "test", "project_id": "default", "workflow_yaml": flow("false")}
    refused = server.post("/workflows", other, headers=key)
    assert (refused.status, refused.code) == (409, "idempotency_conflict")


def test_an_idempotency_key_outlives_the_server(tmp_path: Path) -> None:
    key = {"Idempotency-Key": "once"}
    with ApiServer(tmp_path) as server:
        first = server.submit(flow("true"), headers=key)
        server.restart()

        assert server.submit(flow("true"), headers=key) == first


def test_lists_are_filtered_and_paged(server: ApiServer) -> None:
    assert server.post("/projects", {"id": "lists"}).status == 201
    ids = [server.submit(flow("true"), name=f"n-{n}", project_id="lists") for n in range(5)]
    ids.append(server.submit(flow("exit 3"), name="broken", project_id="lists"))
    for each in ids:
        server.wait(each)

    def listed(query: str) -> list[str]:
        return [each["id"] for each in server.get(f"/workflows?project_id=lists{query}").data]

    assert listed("") == ids[::-1]
    assert listed("&sort=created_at") == ids
    assert listed("&limit=2&page=2") == ids[::-1][2:4]
    assert listed("&status=failed") == [ids[5]]
    assert listed("&status=failed&status=succeeded") == ids[::-1]
    assert listed("&name=n-3") == [ids[3]]
    assert listed("&scheduler=volcano") == []
    created = server.get(f"/workflows/{ids[3]}").data["created_at"]
    assert listed(f"&created_before={created}") == ids[2::-1]
    page = server.get("/workflows?project_id=lists&limit=2").body["pagination"]
    assert page == {"total": 6, "page": 1, "limit": 2}
    behind = server.get("/workflows?project_id=lists&limit=2&page=50").body
    assert (behind["data"], behind["pagination"]["total"]) == ([], 6)
    for each in server.get("/workflows?project_id=lists").data:
        shapes.Summary.model_validate(each)


def test_output_keeps_the_two_streams_apart(server: ApiServer) -> None:
    workflow = server.submit(flow("echo out; echo err >&2; exit 3"))
    node = server.wait(workflow)["nodes"][0]["id"]

    output = server.get(f"/workflows/{workflow}/nodes/{node}/output").data

    shapes.Output.model_validate(output)
    assert (output["stdout"], output["stderr"], output["exit_code"]) == ("out\n", "err\n", 3)


def test_output_is_cut_to_its_last_mebibyte(server: ApiServer) -> None:
    workflow = server.submit(flow("head -c 2000000 /dev/zero | tr '\\0' x; echo end"))
    node = server.wait(workflow)["nodes"][0]["id"]

    output = server.get(f"/workflows/{workflow}/nodes/{node}/output").data

    assert len(output["stdout"]) == 1024 * 1024
    assert output["stdout"].endswith("xend\n")
    assert (output["stdout_truncated"], output["stderr_truncated"]) == (True, False)


def test_logs_are_followed_to_the_end(server: ApiServer, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    workflow = server.submit(flow(f"echo one; until [ -e {gate} ]; do sleep 0.05; done; echo two"))
    node = server.wait_node(workflow, server.wait(workflow, "running")["workflow_name"], "running")
    path = f"/workflows/{workflow}/nodes/{node['id']}/logs"

    gate.touch()
    lines = [json.loads(each) for each in server.get(f"{path}?follow=true").raw.splitlines()]

    assert [(line["stream"], line["text"]) for line in lines] == [
        ("stdout", "one"),
        ("stdout", "two"),
    ]
    events = server.get(path, headers={"Accept": "text/event-stream"})
    assert events.headers["content-type"].startswith("text/event-stream")
    assert events.raw.startswith(b'data: {"time":')


def test_a_log_that_is_followed_ends_when_its_workflow_is_removed(server: ApiServer) -> None:
    workflow = server.submit(flow("echo one; sleep 600"))
    node = server.wait_node(workflow, server.wait(workflow, "running")["workflow_name"], "running")
    path = f"/api/v1/workflows/{workflow}/nodes/{node['id']}/logs?follow=true"
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {ADMIN}"})
        answer = connection.getresponse()
        assert json.loads(answer.readline())["text"] == "one"

        assert server.delete(f"/workflows/{workflow}?purge=true").status == 200

        assert answer.read() == b""  # To its end: it is not cut off.


def test_a_retried_nodes_output_is_that_of_its_last_attempt(server: ApiServer) -> None:
    template = {
        **shell("flaky", "echo try {{retries}}; [ {{retries}} = 1 ]"),
        "retryStrategy": {"limit": 2},
    }
    workflow = server.submit(steps(template))
    nodes = {node["display_name"]: node for node in server.wait(workflow)["nodes"]}

    output = server.get(f"/workflows/{workflow}/nodes/{nodes['flaky']['id']}/output").data

    assert output["stdout"] == "try 1\n"
    assert nodes["flaky"]["attempts"] == 2


def test_deleting_a_live_workflow_terminates_it(server: ApiServer) -> None:
    workflow = server.submit(flow("sleep 600"))
    server.wait(workflow, "running")

    answer = server.delete(f"/workflows/{workflow}")

    assert answer.body == {"success": True, "message": "Workflow terminated successfully"}
    assert server.wait(workflow)["status"] == "failed"


def test_deleting_a_finished_workflow_needs_purge(server: ApiServer) -> None:
    workflow = server.submit(flow("echo gone"))
    server.wait(workflow)

    refused = server.delete(f"/workflows/{workflow}")
    removed = server.delete(f"/workflows/{workflow}?purge=true")

    assert (refused.status, refused.code) == (409, "conflict")
    assert removed.status == 200
    assert server.get(f"/workflows/{workflow}").status == 404
    assert not (server.data / "attempts" / workflow.removeprefix("wf-")).exists()


def test_artifacts_are_downloaded_safely_and_purged(server: ApiServer) -> None:
    text = json.loads(flow("echo '<script>alert(1)</script>' > /tmp/page-of-the-api-test.html"))
    text["spec"]["templates"][0]["outputs"] = {
        "artifacts": [
            {
                "name": "page",
                "path": "/tmp/page-of-the-api-test.html",
                "archive": {"none": {}},
            }
        ]
    }
    workflow = server.submit(json.dumps(text))
    shown = server.wait(workflow)
    assert shown["status"] == "succeeded", shown
    path = f"/workflows/{workflow}/nodes/{shown['nodes'][0]['id']}/artifacts"

    answer = server.get(f"{path}/page")

    assert answer.raw == b"<script>alert(1)</script>\n"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "allow-same-origin" not in answer.headers["content-security-policy"]
    assert server.get(f"{path}/none").status == 404
    kept = [each for each in (server.data / "artifacts").rglob("*") if each.is_file()]
    assert server.delete(f"/workflows/{workflow}?purge=true").status == 200
    left = [each for each in (server.data / "artifacts").rglob("*") if each.is_file()]
    assert len(left) < len(kept)


def test_a_suspended_workflow_waits_until_it_is_resumed(server: ApiServer) -> None:
    workflow = server.submit(steps(PAUSE, shell("after", "true")))
    server.wait_node(workflow, "pause", "running")

    assert server.post(f"/workflows/{workflow}/suspend").data["id"] == workflow
    assert server.get(f"/workflows/{workflow}").data["suspended"] is True
    none = server.post(f"/workflows/{workflow}/resume", {"node_selector": "displayName=x"})
    assert (none.status, none.code) == (409, "conflict")
    server.post(f"/workflows/{workflow}/resume", {})

    assert server.wait(workflow)["status"] == "succeeded"


def test_stop_and_terminate_end_a_workflow(server: ApiServer) -> None:
    for action in ("stop", "terminate"):
        workflow = server.submit(flow("sleep 600"))
        server.wait(workflow, "running")

        assert server.post(f"/workflows/{workflow}/{action}").status == 200

        assert server.wait(workflow)["status"] == "failed"
        again = server.post(f"/workflows/{workflow}/{action}")
        assert (again.status, again.code) == (409, "conflict")


def test_retry_runs_what_failed_and_resubmit_runs_all(server: ApiServer, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    workflow = server.submit(
        steps(shell("first", f"echo x >> {mark}"), shell("second", f"[ -e {mark}.ok ]"))
    )
    assert server.wait(workflow)["status"] == "failed"
    Path(f"{mark}.ok").touch()

    assert server.post(f"/workflows/{workflow}/retry", {}).status == 200

    assert server.wait(workflow, "succeeded")["status"] == "succeeded"
    assert mark.read_text() == "x\n"
    again = server.post(f"/workflows/{workflow}/resubmit", {})
    assert again.status == 201
    assert server.wait(again.data["id"])["status"] == "succeeded"
    assert mark.read_text() == "x\nx\n"
    events = [each["text"] for each in server.get(f"/workflows/{workflow}/events").data]
    assert events == ["submit by admin", "retry by admin"]


def test_the_submitted_text_comes_back_as_it_was(server: ApiServer) -> None:
    text = "# a remark\n" + flow("true")
    workflow = server.submit(text)

    assert server.get(f"/workflows/{workflow}/yaml").raw.decode() == text
    copy = server.post(f"/workflows/{workflow}/resubmit").data["id"]
    assert b"kind: Workflow" in server.get(f"/workflows/{copy}/yaml").raw


def test_secrets_that_come_with_a_text_are_not_shown_again(server: ApiServer) -> None:
    canary = "canary-of-a-secret"
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "kept"},
        "stringData": {"word": canary},
    }
    text = json.loads(flow('[ "$WORD" = canary-of-a-secret ]'.replace("canary", "can''ary")))
    text["spec"]["templates"][0]["container"]["env"] = [
        {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "kept", "key": "word"}}}
    ]
    workflow = server.submit(f"{json.dumps(secret)}\n---\n{json.dumps(text)}")
    assert server.wait(workflow)["status"] == "succeeded"

    paths = ("", "/nodes", "/yaml", "/graph", "/timeline", "/events")
    seen = b"".join(server.get(f"/workflows/{workflow}{path}").raw for path in paths)

    assert canary.encode() not in seen
    for path in server.data.glob("tiphys.db*"):
        assert canary.encode() not in path.read_bytes()


def test_a_resubmitted_workflow_does_not_take_its_originals_key(server: ApiServer) -> None:
    key = {"Idempotency-Key": "resubmitted"}
    first = server.submit(flow("true"), headers=key)
    server.wait(first)
    server.post(f"/workflows/{first}/resubmit")

    assert server.submit(flow("true"), headers=key) == first


def test_graph_and_timeline_show_plan_and_course(server: ApiServer) -> None:
    text = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"generateName": "t-"},
        "spec": {
            "entrypoint": "main",
            "templates": [
                {
                    "name": "main",
                    "dag": {
                        "tasks": [
                            {"name": "a", "template": "work"},
                            {"name": "b", "template": "work", "depends": "a"},
                            {"name": "c", "template": "work", "depends": "a && b.Succeeded"},
                        ]
                    },
                },
                shell("work", "true"),
            ],
        },
    }
    workflow = server.submit(json.dumps(text))
    server.wait(workflow)

    graph = server.get(f"/workflows/{workflow}/graph").data
    bars = server.get(f"/workflows/{workflow}/timeline").data

    shapes.Graph.model_validate(graph)
    planned = {(each["source"], each["target"]) for each in graph["planned"]["edges"]}
    assert planned == {("main/a", "main/b"), ("main/a", "main/c"), ("main/b", "main/c")}
    assert [each["name"] for each in graph["actual"]["nodes"]][1:] == ["a", "b", "c"]
    for bar in bars:
        shapes.Bar.model_validate(bar)
    assert [bar["name"] for bar in bars][1:] == ["a", "b", "c"]


def test_two_workflows_are_compared(server: ApiServer) -> None:
    text = json.loads(flow("echo {{workflow.parameters.who}}"))
    text["spec"]["arguments"] = {"parameters": [{"name": "who", "value": "nobody"}]}
    pair = [server.submit(json.dumps(text), parameters={"who": each}) for each in ("x", "y")]
    for each in pair:
        server.wait(each)

    found = server.get(f"/workflows/compare?a={pair[0]}&b={pair[1]}").data

    assert found["parameters"] == [{"name": "who", "a": "x", "b": "y"}]
    assert [line for line in found["spec_diff"] if line.startswith("+ ")] == ["+    value: y"]
    (node,) = found["nodes"]
    assert node["a"]["status"] == node["b"]["status"] == "succeeded"


def test_nodes_come_by_pages(server: ApiServer) -> None:
    workflow = server.submit(steps(*(shell(name, "true") for name in "abcdef")))
    server.wait(workflow)

    pages = [server.get(f"/workflows/{workflow}/nodes?limit=5&page={page}") for page in (1, 2, 3)]

    assert [len(page.data) for page in pages] == [5, 5, 3]
    assert pages[0].body["pagination"] == {"total": 13, "page": 1, "limit": 5}
    one = pages[1].data[0]
    assert server.get(f"/workflows/{workflow}/nodes/{one['id']}").data == one


def test_templates_are_kept_used_and_removed(server: ApiServer) -> None:
    template = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTemplate",
        "metadata": {"name": "greeter"},
        "spec": {"entrypoint": "main", "templates": [shell("main", "echo from a template")]},
    }
    body = {"template_yaml": json.dumps(template), "project_id": "default"}

    saved = server.post("/templates", body)

    assert saved.status == 201
    shapes.Template.model_validate(saved.data)
    using: dict[str, Any] = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"generateName": "t-"},
        "spec": {"workflowTemplateRef": {"name": "greeter"}},
    }
    workflow = server.submit(json.dumps(using))
    assert server.wait(workflow)["status"] == "succeeded"
    assert [each["name"] for each in server.get("/templates").data] == ["greeter"]
    assert server.delete("/templates/default/greeter").status == 200
    assert server.get("/templates/default/greeter").status == 404
    body = {"name": "x", "project_id": "default", "workflow_yaml": json.dumps(using)}
    assert server.post("/workflows", body).status == 422


def test_templates_of_one_project_are_not_seen_by_another(server: ApiServer) -> None:
    template = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "WorkflowTemplate",
        "metadata": {"name": "private"},
        "spec": {"entrypoint": "main", "templates": [shell("main", "true")]},
    }
    body = {"template_yaml": json.dumps(template), "project_id": "one"}
    assert server.post("/templates", body).status == 201
    using = json.dumps(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {"generateName": "t-"},
            "spec": {"workflowTemplateRef": {"name": "private"}},
        }
    )

    body = {"name": "x", "project_id": "two", "workflow_yaml": using}

    assert server.post("/workflows", body).status == 422
    assert server.post("/workflows", {**body, "project_id": "one"}).status == 201


def test_the_audit_names_who_did_what(server: ApiServer) -> None:
    assert server.post("/projects", {"id": "audited"}).status == 201
    admin = server.make_token("admin", "audited")
    member = server.make_token("member", "audited")
    workflow = server.submit(flow("true"), project_id="audited", token=member)

    entries = server.get("/audit?limit=1000", token=admin).data

    for each in entries:
        shapes.AuditEntry.model_validate(each)
    actions = [(each["actor"], each["action"]) for each in entries]
    assert actions == [
        ("admin", "make project"),
        ("admin", "make token"),
        ("admin", "make token"),
        ("member of audited", "submit"),
    ]
    assert workflow.removeprefix("wf-") in entries[-1]["object"]
    back = server.get(f"/audit?limit=3&before={entries[-1]['number']}", token=admin).data
    assert back == entries[2::-1]


def test_lint_lists_all_problems_with_their_places(server: ApiServer) -> None:
    text = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: t-}\n"
    text += "spec:\n  entrypoint: nothing\n  templates:\n    - name: a\n      contaner: {}\n"

    found = server.post("/workflows/lint", {"workflow_yaml": text}).data

    shapes.Report.model_validate(found)
    assert found["valid"] is False
    assert [each["line"] for each in found["problems"] if "contaner" in each["path"]] == [8]
    good = server.post("/workflows/lint", {"workflow_yaml": flow("true")}).data
    assert good["valid"] is True


def test_a_simulation_predicts_the_schedule(server: ApiServer) -> None:
    text = steps(shell("a", ": unseen"), shell("b", ": unseen"))

    found = server.post("/workflows/simulate", {"workflow_yaml": text, "default_seconds": 30}).data

    shapes.Simulation.model_validate(found)
    assert found["report"]["makespan"] == 60
    assert [(bar["start"], bar["end"]) for bar in found["gantt"]] == [(0, 30), (30, 60)]
    wrong = server.post("/workflows/simulate", {"workflow_yaml": "a: ["})
    assert (wrong.status, wrong.code) == (400, "parse_error")


def test_workflows_outlive_the_server(tmp_path: Path) -> None:
    with ApiServer(tmp_path) as server:
        done = server.submit(flow("true"))
        server.wait(done)
        token = server.make_token("viewer", None)
        live = server.submit(flow("sleep 2; echo late"))
        server.wait(live, "running")

        server.restart()

        assert server.get(f"/workflows/{done}", token=token).data["status"] == "succeeded"
        assert server.wait(live)["status"] == "succeeded"


def test_metrics_count_what_happened(server: ApiServer) -> None:
    server.wait(server.submit(flow("true")))

    answer = server.ask("GET", "/metrics")

    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.raw.decode().splitlines()
    assert any(
        line.startswith('workflow_submitted_total{scheduler="local",queue="default"} ')
        for line in lines
    )
    assert any(
        line.startswith('workflow_duration_seconds_count{scheduler="local",status="succeeded"} ')
        for line in lines
    )
    assert any(line.startswith("queue_wait_seconds_count{") for line in lines)
