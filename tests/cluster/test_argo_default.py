"""Workflows that the real Argo controller runs, as Tiphys shows them."""

from __future__ import annotations

import json

import pytest

from tests.cluster.helm import Helm, Json, essence
from tests.cluster.rig.plane import ControlPlane
from tests.cluster.test_k8s_native import HEAD

ACCOUNT = "  serviceAccountName: default\n"
BOTH_WAYS = (
    HEAD
    + ACCOUNT
    + """
  entrypoint: main
  templates:
  - name: main
    dag:
      tasks:
      - {name: make, template: make}
      - name: loop
        dependencies: [make]
        template: say
        withParam: "{{tasks.make.outputs.result}}"
        arguments: {parameters: [{name: x, value: "{{item}}"}]}
      - {name: fails, template: fails, continueOn: {failed: true}}
  - name: make
    script: {image: "alpine:3.23", command: [sh], source: "echo '[1, 2]'"}
  - name: say
    inputs: {parameters: [{name: x}]}
    script: {image: "alpine:3.23", command: [sh], source: "echo {{inputs.parameters.x}} > /tmp/o"}
    outputs: {parameters: [{name: o, valueFrom: {path: /tmp/o}}]}
  - name: fails
    container: {image: "alpine:3.23", command: [sh, -c], args: ["echo bad; exit 7"]}
"""
)
PAUSING = (
    HEAD
    + ACCOUNT
    + """
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: approve, template: approve}
    - - {name: after, template: after}
  - {name: approve, suspend: {}}
  - name: after
    container: {image: "alpine:3.23", command: [sh, -c], args: ["echo begun; sleep 600"]}
"""
)


@pytest.fixture
def sailing(helm: Helm, argo: ControlPlane) -> Helm:
    return helm


def workflows(helm: Helm) -> list[Json]:
    path = f"/apis/argoproj.io/v1alpha1/namespaces/{helm.namespace}/workflows"
    items: list[Json] = helm.api.call("GET", path)["items"]
    return items


def test_the_mirror_shows_what_our_own_engine_would_have_made(sailing: Helm) -> None:
    there = sailing.run(BOTH_WAYS, scheduler="argo-default")

    here = sailing.run(BOTH_WAYS, "--runtime", "sandbox", scheduler="local")

    assert there["status"]["phase"] == here["status"]["phase"] == "Succeeded"
    assert essence(there) == essence(here)
    (workflow,) = workflows(sailing)
    assert workflow["metadata"]["labels"]["workflow-id"] == there["metadata"]["uid"]
    told = sailing("logs", "@latest", "--no-color", data="argo-default").stdout
    assert "bad" in told


def test_orders_reach_argo_and_a_killed_tiphys_finds_its_workflow(sailing: Helm) -> None:
    words = ["run", "--name", "pausing", "--scheduler", "argo-default", sailing.write(PAUSING)]
    process = sailing.begin(*words)
    sailing.until(lambda: _phase(sailing, "approve") == "Running", "the pause")
    sailing.kill(process)
    (sailing.folder / "data" / "door").unlink(missing_ok=True)

    process = sailing.begin("watch", "pausing")
    sailing.until((sailing.folder / "data" / "door").exists, "a host")
    sailing.until(lambda: sailing("resume", "pausing").returncode == 0, "the resumption")
    sailing.until(lambda: _phase(sailing, "after") == "Running", "the step after the pause")
    assert sailing("terminate", "pausing").returncode == 0
    process.communicate(timeout=200)

    assert sailing.get("pausing")["status"]["phase"] == "Failed"
    (workflow,) = workflows(sailing)
    assert workflow["spec"]["shutdown"] == "Terminate"
    sailing.until(lambda: not _running(sailing), "the end of the pods")


def _phase(helm: Helm, name: str) -> str:
    done = helm("get", "pausing", "-o", "json")
    if done.returncode:
        return ""
    nodes = json.loads(done.stdout)["status"].get("nodes", {}).values()
    return next((each["phase"] for each in nodes if each["displayName"] == name), "")


def _running(helm: Helm) -> list[str]:
    return [
        pod["metadata"]["name"]
        for pod in helm.pods()
        if pod["status"].get("phase") in ("Pending", "Running")
    ]
