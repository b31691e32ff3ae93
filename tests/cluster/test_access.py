"""The role that is shipped is enough, and no more than enough."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cluster.helm import Helm
from tests.cluster.rig.api import Api, ApiError
from tests.cluster.rig.plane import ControlPlane
from tests.cluster.test_k8s_native import HEAD

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = (
    HEAD
    + """
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {name: make, template: make}
    - - name: use
        template: use
        arguments:
          artifacts: [{name: a, from: "{{steps.make.outputs.artifacts.a}}"}]
  - name: make
    container: {image: "alpine:3.23", command: [sh, -c], args: ["head -c 300000 /dev/urandom > /a"]}
    outputs: {artifacts: [{name: a, path: /a}]}
  - name: use
    inputs: {artifacts: [{name: a, path: /b}]}
    container: {image: "alpine:3.23", command: [sh, -c], args: ["test $(wc -c < /b) = 300000"]}
"""
)


@pytest.fixture
def token(helm: Helm, cluster: ControlPlane) -> str:
    """Give the token of the service account that the manifests make."""
    text = (ROOT / "deploy/kubernetes/rbac.yaml").read_text()
    for thing in yaml.safe_load_all(text):
        thing["metadata"]["namespace"] = helm.namespace
        for subject in thing.get("subjects", ()):
            subject["namespace"] = helm.namespace
        cluster.api.apply(thing)
    path = f"/api/v1/namespaces/{helm.namespace}/serviceaccounts/tiphys/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(cluster.api.call("POST", path, request)["status"]["token"])


def test_a_workflow_with_large_files_runs_under_the_shipped_role(
    helm: Helm, cluster: ControlPlane, token: str
) -> None:
    config = json.loads(cluster.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = token
    path = helm.folder / "kubeconfig"
    path.write_text(json.dumps(config))
    helm.configure(str(path))

    workflow = helm.run(WORKFLOW)

    assert workflow["status"]["phase"] == "Succeeded", workflow["status"]


def test_the_shipped_role_ends_at_its_namespace(cluster: ControlPlane, token: str) -> None:
    api = Api(cluster.settings.server, token, cluster.authority)

    for path in ("/api/v1/nodes", "/api/v1/namespaces/default/pods", "/api/v1/secrets"):
        with pytest.raises(ApiError) as caught:
            api.call("GET", path)
        assert caught.value.status == 403
