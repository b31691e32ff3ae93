"""Argo's workflow controller, outside of the cluster, for the namespaces of the tests."""

from __future__ import annotations

from tests.cluster.rig.daemon import Daemons, wait_until
from tests.cluster.rig.image import ARGOEXEC
from tests.cluster.rig.parts import ARGO
from tests.cluster.rig.plane import ControlPlane, free_port

NAMESPACE = "argo"
SERVICE_ACCOUNT = "argo-workflow"
_IMAGES = """
argoproj/argosay:v2: {entrypoint: [argosay]}
argoproj/argosay:v1: {entrypoint: [cowsay]}
busybox: {cmd: [sh]}
"""


def start(plane: ControlPlane, daemons: Daemons) -> None:
    """Install the definitions and run the controller over all namespaces."""
    plane.api.apply_definitions(ARGO.home / "manifests/manifests/base/crds/minimal")
    wait_until(
        lambda: plane.api.answers("/apis/argoproj.io/v1alpha1/workflows"), "Argo's definitions", 60
    )
    plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    for thing in (_config(), *_access()):
        plane.api.apply(thing)
    daemons.start(
        "workflow-controller",
        [
            ARGO.program("workflow-controller"),
            f"--kubeconfig={plane.kubeconfig}",
            f"--namespace={NAMESPACE}",
            f"--executor-image={ARGOEXEC}",
            "--executor-image-pull-policy=IfNotPresent",
        ],
        env={"LEADER_ELECTION_DISABLE": "true", "ARGO_POD_NAMES": "v2"},
    )


def _config() -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "workflow-controller-configmap", "namespace": NAMESPACE},
        "data": {
            "images": _IMAGES,
            "metricsConfig": f"enabled: true\nport: {free_port()}\nsecure: false\n",
            "executor": "imagePullPolicy: IfNotPresent\n",
            "workflowDefaults": f"spec: {{serviceAccountName: {SERVICE_ACCOUNT}}}\n",
        },
    }


def _access() -> list[dict[str, object]]:
    """Let pods of any namespace report their results, as Argo's executor does."""
    rules = [
        {
            "apiGroups": ["argoproj.io"],
            "resources": ["workflowtaskresults"],
            "verbs": ["create", "patch"],
        },
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "watch", "patch"]},
    ]
    group = "rbac.authorization.k8s.io"
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "rules": rules}
    binding: dict[str, object] = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": SERVICE_ACCOUNT},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": SERVICE_ACCOUNT},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "system:serviceaccounts"}],
    }
    account: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": SERVICE_ACCOUNT, "namespace": "default"},
    }
    return [{**role, "metadata": {"name": SERVICE_ACCOUNT}}, binding, account]
