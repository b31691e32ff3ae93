"""Events from outside and the bindings that make workflows of them, in the Argo Server's API."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.argo_server import NS, Answer, ArgoServer, names_of, shell

BINDINGS = "/api/v1/workflow-event-bindings/default"
EVENTS = "/api/v1/events/default"
LABEL = "workflows.argoproj.io/workflow-event-binding"


def save(server: ArgoServer, name: str, selector: str, **submit: Any) -> Answer:
    spec = {"event": {"selector": selector}, "submit": submit}
    body = {"eventBinding": {"metadata": {"name": name}, "spec": spec}}
    return server.ask("POST", BINDINGS, body)


@pytest.fixture(scope="module", autouse=True)
def template(server: ArgoServer) -> None:
    spec = {
        "entrypoint": "main",
        "arguments": {"parameters": [{"name": "message"}]},
        "templates": [shell("echo {{workflow.parameters.message}}")],
    }
    body = {"template": {"metadata": {"name": "greets"}, "spec": spec}}
    assert server.ask("POST", "/api/v1/workflow-templates/default", body).status == 200


def started(server: ArgoServer, name: str) -> list[str]:
    return names_of(server.ask("GET", NS, listOptions__labelSelector=f"{LABEL}={name}"))


def test_an_event_starts_the_workflows_that_want_it(server: ArgoServer) -> None:
    parameters = [{"name": "message", "valueFrom": {"event": "payload.message"}}]
    made = save(
        server,
        "wanted",
        'payload.message != "" && discriminator == "greeting"',
        workflowTemplateRef={"name": "greets"},
        arguments={"parameters": parameters},
        metadata={"labels": {"told": "payload.who"}},
    )
    assert made.status == 200, made.body

    other = server.ask("POST", f"{EVENTS}/other", {"message": "no", "who": "nobody"})
    answer = server.ask("POST", f"{EVENTS}/greeting", {"message": "hello", "who": "jason"})

    assert (other.status, answer.status, answer.json) == (200, 200, {})
    (name,) = started(server, "wanted")
    done = server.ended(name)
    assert done["status"]["phase"] == "Succeeded"
    assert done["metadata"]["labels"]["told"] == "jason"
    assert done["spec"]["arguments"]["parameters"] == [{"name": "message", "value": "hello"}]


def test_a_binding_that_fails_does_not_stop_the_others(server: ArgoServer) -> None:
    save(server, "a-broken", "payload.nothing.at.all", workflowTemplateRef={"name": "greets"})
    save(server, "b-missing", "true", workflowTemplateRef={"name": "not-there"})
    parameters = [{"name": "message", "valueFrom": {"event": "payload"}}]
    reference = {"name": "greets"}
    save(
        server,
        "c-good",
        "discriminator == 'all'",
        workflowTemplateRef=reference,
        arguments={"parameters": parameters},
    )

    assert server.ask("POST", f"{EVENTS}/all", b'"just text"').status == 200

    (name,) = started(server, "c-good")
    server.ended(name)
    for each in ("a-broken", "b-missing", "c-good"):
        assert server.ask("DELETE", f"{BINDINGS}/{each}").status == 200
    assert server.ask("DELETE", f"{BINDINGS}/c-good").status == 404


def test_bindings_are_listed(server: ArgoServer) -> None:
    save(server, "listed", "false", workflowTemplateRef={"name": "greets"})

    listed = server.ask("GET", BINDINGS).json

    assert listed["kind"] == "WorkflowEventBindingList"
    assert "listed" in [item["metadata"]["name"] for item in listed["items"]]


@pytest.mark.parametrize(
    "binding",
    [
        {},
        {"metadata": {"name": "x"}},
        {"metadata": {"name": "UP"}, "spec": {"event": {"selector": "true"}}},
        {"metadata": {"name": "x"}, "spec": {"event": {"selector": "1 +"}}},
        {
            "metadata": {"name": "x"},
            "spec": {
                "event": {"selector": "true"},
                "submit": {"arguments": {"parameters": [{"name": "a", "value": "b"}]}},
            },
        },
    ],
)
def test_a_binding_that_cannot_be_used_is_refused(
    server: ArgoServer, binding: dict[str, Any]
) -> None:
    answer = server.ask("POST", BINDINGS, {"eventBinding": binding})

    assert (answer.status, answer.json["code"]) == (400, 3)


def test_headers_that_may_hold_secrets_are_not_shown_to_bindings(server: ArgoServer) -> None:
    save(
        server,
        "curious",
        '"authorization" in metadata',
        workflowTemplateRef={"name": "greets"},
    )

    server.ask("POST", f"{EVENTS}/x", {})

    assert started(server, "curious") == []
