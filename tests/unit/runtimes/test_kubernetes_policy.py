"""The rules for pods, as Tiphys keeps them itself; the API server's are tested on a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from tiphys.errors import RuntimeFailure
from tiphys.runtimes.kubernetes_config import KubernetesPolicy
from tiphys.runtimes.kubernetes_policy import check_pod, refusals

PLAIN: dict[str, Any] = {"containers": [{"name": "main"}]}
OPEN = KubernetesPolicy(allow_privileged=True, allow_host_path=True, allow_host_network=True)
BOLD: dict[str, Any] = {
    "hostNetwork": True,
    "hostIPC": True,
    "volumes": [{"name": "etc", "hostPath": {"path": "/etc"}}, {"name": "tmp", "emptyDir": {}}],
    "initContainers": [{"name": "first", "securityContext": {"privileged": True}}],
    "containers": [{"name": "main", "securityContext": {"runAsUser": 0}}],
}


def test_a_plain_pod_is_allowed_anywhere() -> None:
    assert list(refusals(PLAIN, "any", KubernetesPolicy())) == []


def test_everything_that_is_not_allowed_is_told_at_once() -> None:
    assert list(refusals(BOLD, "any", KubernetesPolicy())) == [
        "hostNetwork is not allowed",
        "hostIPC is not allowed",
        "volume etc is a hostPath",
        "container first is privileged",
    ]


def test_what_the_configuration_allows_is_allowed() -> None:
    assert list(refusals(BOLD, "any", OPEN)) == []


@pytest.mark.parametrize(("namespace", "fits"), [("batch", True), ("team-a", True), ("b", False)])
def test_namespaces_are_names_and_patterns(namespace: str, fits: bool) -> None:
    policy = KubernetesPolicy(namespaces=("batch", "team-*"))

    assert (not list(refusals(PLAIN, namespace, policy))) == fits


def test_limits_are_required_and_bounded() -> None:
    policy = KubernetesPolicy(require_limits=("cpu", "memory"), max_limits={"memory": "1Gi"})
    pod = {"containers": [{"name": "main", "resources": {"limits": {"memory": "1025Mi"}}}]}

    assert list(refusals(pod, "any", policy)) == [
        "container main has no limit for cpu",
        "container main may use 1025Mi memory, more than 1Gi",
    ]


def test_a_refused_pod_is_a_failure_with_its_code() -> None:
    with pytest.raises(RuntimeFailure, match=r"^policy_denied: hostNetwork is not allowed;"):
        check_pod(BOLD, "any", KubernetesPolicy())
