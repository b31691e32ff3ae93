"""What is shipped to be installed is taken by a real API server: the chart and plain manifests."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.helm import Helm
from tests.cluster.rig.parts import KUBERNETES
from tests.cluster.rig.plane import ControlPlane

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
EVERYTHING = (
    "policy.enabled=true,policy.requireLimits={cpu,memory},monitoring.enabled=true,"
    "monitoring.volcano=true,monitoring.dashboards=true,allowedHosts={tiphys.example.org},"
    "storage.className=fast,manageQueues=true,imagePullSecrets[0].name=pull,nodeSelector.disk=ssd"
)
OPERATOR = "monitoring.coreos.com/v1"


def rendered(program: Path, namespace: str, values: str = "") -> list[Any]:
    command = [str(program), "template", "voyage", str(DEPLOY / "helm/tiphys"), "-n", namespace]
    command += ["--kube-version", KUBERNETES.version]
    command += ["--set", values] if values else []
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return [thing for thing in yaml.safe_load_all(done.stdout) if thing]


def would_take(cluster: ControlPlane, things: list[Any]) -> Iterator[str]:
    """Have the API server check objects without making them; give their kinds."""
    for thing in things:
        path = f"{cluster.api.path_of(thing)}/{thing['metadata']['name']}"
        query = "?dryRun=All&fieldManager=test&force=true&fieldValidation=Strict"
        cluster.api.call("PATCH", path + query, thing, "apply-patch+yaml")
        yield thing["kind"]


def test_a_release_with_nothing_set_is_taken(
    helm: Helm, cluster: ControlPlane, helm_program: Path
) -> None:
    things = rendered(helm_program, helm.namespace)

    kinds = list(would_take(cluster, things))

    assert {"StatefulSet", "Service", "ConfigMap", "Secret", "Role"} <= set(kinds)
    accounts = {t["metadata"]["name"] for t in things if t["kind"] == "ServiceAccount"}
    assert accounts == {"voyage-tiphys", "argo-workflow"}


def test_a_release_with_everything_set_is_taken(
    helm: Helm, cluster: ControlPlane, helm_program: Path
) -> None:
    things = rendered(helm_program, helm.namespace, EVERYTHING)

    # Prometheus' operator is not part of the test cluster.
    own = [thing for thing in things if thing["apiVersion"] != OPERATOR]
    kinds = list(would_take(cluster, own))

    assert kinds.count("ValidatingAdmissionPolicy") == 2
    assert kinds.count("ClusterRoleBinding") == 1
    monitors = [thing for thing in things if thing["apiVersion"] == OPERATOR]
    assert {thing["metadata"]["namespace"] for thing in monitors} == {
        helm.namespace,
        "volcano-system",
    }


@pytest.mark.parametrize("name", ["rbac", "server", "policy-limits"])
def test_the_plain_manifests_are_taken(helm: Helm, cluster: ControlPlane, name: str) -> None:
    things = list(yaml.safe_load_all((DEPLOY / f"kubernetes/{name}.yaml").read_text()))
    for thing in things:
        thing["metadata"]["namespace"] = helm.namespace

    assert list(would_take(cluster, things))


def test_the_queues_for_kueue_are_taken(helm: Helm, kueue: ControlPlane) -> None:
    things = list(yaml.safe_load_all((DEPLOY / "kueue-queues.yaml").read_text()))
    for thing in things:
        if thing["kind"] == "LocalQueue":
            thing["metadata"]["namespace"] = helm.namespace

    kinds = list(would_take(kueue, things))

    assert kinds.count("ClusterQueue") == kinds.count("LocalQueue") == 3
