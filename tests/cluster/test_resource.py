"""``resource`` templates: objects of the cluster as steps of a workflow."""

from __future__ import annotations

import pytest

from tests.cluster.helm import Helm
from tests.cluster.test_k8s_native import HEAD, node

STEPS = """
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: make, template: make}
    - - {name: alter, template: alter}
    - - {name: read, template: read}
    - - {name: remove, template: remove}
  - name: make
    resource:
      action: create
      manifest: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        data: {colour: red}
  - name: alter
    resource:
      action: patch
      mergeStrategy: merge
      manifest: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
        data: {colour: blue}
  - name: read
    resource:
      action: get
      manifest: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
    outputs:
      parameters:
      - {name: colour, valueFrom: {jsonPath: "{.data.colour}"}}
      - {name: kind, valueFrom: {jqFilter: .kind}}
  - name: remove
    resource:
      action: delete
      manifest: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings}
"""
JOB = """
  entrypoint: main
  templates:
  - name: main
    resource:
      action: create
      successCondition: status.succeeded > 0
      failureCondition: status.failed > 0
      manifest: |
        apiVersion: batch/v1
        kind: Job
        metadata: {generateName: inner-}
        spec:
          backoffLimit: 0
          template:
            spec:
              restartPolicy: Never
              containers:
              - {name: c, image: "alpine:3.23", imagePullPolicy: IfNotPresent, command: [COMMAND]}
    outputs: {parameters: [{name: name, valueFrom: {jsonPath: "{.metadata.name}"}}]}
"""


def test_objects_are_made_altered_read_and_deleted(helm: Helm) -> None:
    workflow = helm.run(HEAD + STEPS)

    assert workflow["status"]["phase"] == "Succeeded", workflow["status"].get("message")
    values = {p["name"]: p["value"] for p in node(workflow, "read")["outputs"]["parameters"]}
    assert values == {"colour": "blue", "kind": "ConfigMap"}
    names = helm.api.call("GET", f"/api/v1/namespaces/{helm.namespace}/configmaps")["items"]
    assert "settings" not in [each["metadata"]["name"] for each in names]


@pytest.mark.parametrize(("command", "phase"), [("true", "Succeeded"), ("false", "Failed")])
def test_a_condition_decides_how_an_object_ends(helm: Helm, command: str, phase: str) -> None:
    workflow = helm.run(HEAD + JOB.replace("COMMAND", f'"{command}"'))

    assert workflow["status"]["phase"] == phase, workflow["status"].get("message")
    (job,) = helm.jobs()
    (root,) = workflow["status"]["nodes"].values()
    assert root["outputs"]["parameters"][0]["value"] == job["metadata"]["name"]
