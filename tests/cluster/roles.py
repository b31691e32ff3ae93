"""The roles that ship, bound to a service account of a test's namespace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.cluster.helm import Helm
from tests.cluster.rig.plane import ControlPlane

ROLES = Path(__file__).resolve().parents[2] / "deploy/kubernetes"


def bind(namespace: str, plane: ControlPlane) -> None:
    """Make the service account with its role in a namespace."""
    for thing in yaml.safe_load_all((ROLES / "rbac.yaml").read_text()):
        thing["metadata"]["namespace"] = namespace
        for subject in thing.get("subjects", ()):
            subject["namespace"] = namespace
        plane.api.apply(thing)


@contextmanager
def binding_queues(namespace: str, plane: ControlPlane) -> Iterator[None]:
    """Let the service account of a namespace have queues, under a name of its own."""
    name = f"{namespace}-queues"
    role, binding = yaml.safe_load_all((ROLES / "rbac-queues.yaml").read_text())
    for thing in (role, binding):
        thing["metadata"]["name"] = name
    binding["roleRef"]["name"] = name
    binding["subjects"][0]["namespace"] = namespace
    try:
        for thing in (role, binding):
            plane.api.apply(thing)
        yield
    finally:
        for kind in ("clusterroles", "clusterrolebindings"):
            plane.api.call("DELETE", f"/apis/rbac.authorization.k8s.io/v1/{kind}/{name}")


def token_of(namespace: str, plane: ControlPlane) -> str:
    """Give a token of the service account."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/tiphys/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(plane.api.call("POST", path, request)["status"]["token"])


def be_account(helm: Helm, plane: ControlPlane, token: str = "") -> None:
    """Let the command be nobody but the service account."""
    config = json.loads(plane.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = token or token_of(helm.namespace, plane)
    path = helm.folder / "kubeconfig"
    path.write_text(json.dumps(config))
    helm.configure(str(path))
