"""The role that is shipped is enough, and no more than enough."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.cluster.helm import Helm
from tests.cluster.rig.api import Api, ApiError
from tests.cluster.rig.plane import ControlPlane
from tests.cluster.roles import be_account, bind, token_of
from tests.cluster.test_k8s_native import HEAD, SLEEPER, single

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
    bind(helm.namespace, cluster)
    return token_of(helm.namespace, cluster)


@pytest.fixture
def bound(helm: Helm, cluster: ControlPlane, token: str) -> Helm:
    """Give a ``tiphys`` that is nobody but that service account."""
    be_account(helm, cluster, token)
    return helm


def test_a_workflow_with_large_files_runs_under_the_shipped_role(bound: Helm) -> None:
    workflow = bound.run(WORKFLOW)

    assert workflow["status"]["phase"] == "Succeeded", workflow["status"]


def test_a_workflow_is_ended_under_the_shipped_role(bound: Helm) -> None:
    words = ["run", "--name", "sleeper", "--scheduler", "k8s-native", bound.write(SLEEPER)]
    process = bound.begin(*words)
    bound.until_running()

    assert bound("terminate", "sleeper").returncode == 0
    process.communicate(timeout=200)

    bound.until(lambda: not bound.jobs(), "the end of the Job")


def test_claims_are_made_and_removed_under_the_shipped_role(bound: Helm) -> None:
    claims = """
  volumeClaimGC: {strategy: OnWorkflowCompletion}
  volumeClaimTemplates:
  - metadata: {name: work}
    spec:
      accessModes: [ReadWriteOnce]
      storageClassName: nobody-has-it
      resources: {requests: {storage: 1Mi}}
"""
    more = "    activeDeadlineSeconds: 5\n" + claims.lstrip("\n")
    mounts = ", volumeMounts: [{name: work, mountPath: /w}]"
    text = single(["true"], more).replace('["true"]', f'["true"]{mounts}')

    workflow = bound.run(text)

    # Nobody gives such a volume: the task ends by its deadline, and the claim goes with it.
    assert "longer than the specified deadline" in workflow["status"]["message"]
    path = f"/api/v1/namespaces/{bound.namespace}/persistentvolumeclaims"
    bound.until(lambda: not bound.api.call("GET", path)["items"], "the end of the claim")


def test_a_workflow_is_handed_to_argo_under_the_shipped_role(
    argo: ControlPlane, bound: Helm
) -> None:
    workflow = bound.run(single(["true"]), scheduler="argo-default")

    assert workflow["status"]["phase"] == "Succeeded", workflow["status"]


def test_the_shipped_role_is_all_that_its_account_may_do(helm: Helm, token: str) -> None:
    things = list(yaml.safe_load_all((ROOT / "deploy/kubernetes/rbac.yaml").read_text()))
    rules = next(t for t in things if (t["kind"], t["metadata"]["name"]) == ("Role", "tiphys"))
    granted = {
        (group, name, verb)
        for rule in rules["rules"]
        for group in rule["apiGroups"]
        for name in rule["resources"]
        for verb in rule["verbs"]
    }

    assert not {one for one in granted if "*" in one}
    assert not {one for one in granted if one[1] in ("secrets", "nodes", "roles", "namespaces")}
    assert not {one for one in granted if one[1] == "pods" and one[2] not in READING}


READING = {"get", "list", "watch"}


def test_the_shipped_role_ends_at_its_namespace(cluster: ControlPlane, token: str) -> None:
    api = Api(cluster.settings.server, token, cluster.authority)

    for path in ("/api/v1/nodes", "/api/v1/namespaces/default/pods", "/api/v1/secrets"):
        with pytest.raises(ApiError) as caught:
            api.call("GET", path)
        assert caught.value.status == 403
