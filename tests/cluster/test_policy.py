"""The rules for pods: the API server and Tiphys decide the same about the same rendered pods."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from tests.cluster.helm import Helm
from tests.cluster.rig.api import ApiError
from tests.cluster.rig.daemon import wait_until
from tests.cluster.rig.plane import ControlPlane
from tests.cluster.test_k8s_native import HEAD, node
from tiphys.ports import Task
from tiphys.runtimes.config import LocalConfig
from tiphys.runtimes.kubernetes_config import KubernetesConfig, KubernetesPolicy
from tiphys.runtimes.kubernetes_job import Clerk, Order
from tiphys.runtimes.kubernetes_policy import refusals
from tiphys.spec import model

DEPLOY = Path(__file__).resolve().parents[2] / "deploy/kubernetes"
POLICY = KubernetesPolicy(
    require_limits=("cpu", "memory"), max_limits={"cpu": "2", "memory": "1Gi"}
)
LIMITS = {
    "requireLimits": ",".join(POLICY.require_limits),
    "maxCpu": POLICY.max_limits["cpu"],
    "maxMemory": POLICY.max_limits["memory"],
}
MODEST: dict[str, Any] = {"limits": {"cpu": "500m", "memory": "64Mi"}}
CASES: dict[str, dict[str, Any]] = {
    "modest": {},
    "at the limit": {"resources": {"limits": {"cpu": "2000m", "memory": "1024Mi"}}},
    "privileged": {"securityContext": {"privileged": True}},
    "no limits": {"resources": {}},
    "no memory limit": {"resources": {"limits": {"cpu": "1"}}},
    "too much memory": {"resources": {"limits": {"cpu": "1", "memory": "1.5Gi"}}},
    "too many cpus": {"resources": {"limits": {"cpu": "2001m", "memory": "1Mi"}}},
    "hostPath": {"volumeMounts": [{"name": "etc", "mountPath": "/mnt"}]},
}
PATCHES = {
    "patched to hostNetwork": "hostNetwork: true",
    "patched to hostPID": "hostPID: true",
    "patched to privileged": "containers: [{name: main, securityContext: {privileged: true}}]",
    "patched to more": "containers: [{name: main, resources: {limits: {cpu: '64'}}}]",
}
ALLOWED = {"modest", "at the limit"}


def rendered(name: str, namespace: str) -> dict[str, Any]:
    """Give the final pod of a case, as a Job would make it."""
    given = {
        "image": "alpine:3.23",
        "command": ["true"],
        "resources": MODEST,
        **CASES.get(name, {}),
    }
    template = msgspec.convert(
        {
            "name": "main",
            "container": given,
            "podSpecPatch": PATCHES.get(name, ""),
            "volumes": [{"name": "etc", "hostPath": {"path": "/etc"}}],
        },
        model.Template,
    )
    task = Task(
        id="u.1",
        workflow="w",
        namespace=namespace,
        workflow_uid="u",
        node_id="w",
        node_name="w",
        template=template,
        scheduler="k8s-native",
    )
    clerk = Clerk("me", KubernetesConfig(), LocalConfig())
    job = clerk.write(Order(task=task, template=template, files="x"))
    made: dict[str, Any] = copy.deepcopy(job["spec"]["template"])
    made |= {"apiVersion": "v1", "kind": "Pod"}
    made["metadata"]["name"] = "case"
    return made


@dataclass(frozen=True)
class Rules:
    """The shipped rules in force, for two namespaces of this test and nobody else."""

    plane: ControlPlane
    namespace: str
    other: str
    """Where no workflows may run."""

    def refusal(self, pod: dict[str, Any], namespace: str) -> str:
        """Give why the API server refuses a pod; "" where it does not."""
        try:
            self.plane.api.call("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)
        except ApiError as error:
            if error.status not in (403, 422):
                raise
            return str(error)
        return ""


@pytest.fixture(scope="module")
def rules(cluster: ControlPlane) -> Iterator[Rules]:
    cluster.api.apply(ANCHOR)
    cluster.api.apply(ANCHORED)
    mark = os.urandom(4).hex()
    found = Rules(cluster, f"t-policy-{mark}", f"t-other-{mark}")
    made = []
    for name, labels in ((found.namespace, {"tiphys.dev/workflows": "allowed"}), (found.other, {})):
        meta = {"name": name, "labels": labels}
        cluster.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        made.append(f"/api/v1/namespaces/{name}")
    limits = yaml.safe_load((DEPLOY / "policy-limits.yaml").read_text())
    limits["metadata"]["namespace"] = found.namespace
    limits["data"] |= LIMITS
    cluster.api.apply(limits)
    for thing in yaml.safe_load_all((DEPLOY / "policy.yaml").read_text()):
        made.append(_put(cluster, thing, mark, [found.namespace, found.other]))
    pods = [rendered(name, found.namespace) for name in ("privileged", "modest")]
    wait_until(lambda: bool(found.refusal(pods[0], found.namespace)), "the rules for pods", 120)
    wait_until(lambda: bool(found.refusal(pods[1], found.other)), "the rule for namespaces", 120)
    # Its config map is read a moment later: until then nothing at all is let in.
    wait_until(lambda: not found.refusal(pods[1], found.namespace), "the limits", 120)
    yield found
    for path in reversed(made):
        cluster.api.call("DELETE", path)


# An API server that lost its last policy with config maps as parameters finds none of them any more
# (1.34): so one that says nothing is made first, and stays.
ANCHOR: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "tiphys-test-anchor"},
    "spec": {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["bindings"],
                }
            ]
        },
        "validations": [{"expression": "true"}],
    },
}
ANCHORED: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "tiphys-test-anchor"},
    "spec": {
        "policyName": "tiphys-test-anchor",
        "paramRef": {"name": "none", "parameterNotFoundAction": "Allow"},
        "validationActions": ["Deny"],
    },
}


def _put(cluster: ControlPlane, thing: dict[str, Any], mark: str, only: list[str]) -> str:
    """Make a policy or a binding under a name of its own, for a few namespaces."""
    thing["metadata"]["name"] += f"-{mark}"
    if thing["kind"].endswith("Binding"):
        thing["spec"]["policyName"] += f"-{mark}"
        selector = (
            thing["spec"].setdefault("matchResources", {}).setdefault("namespaceSelector", {})
        )
        names = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": only}
        selector["matchExpressions"] = [names]
    cluster.api.apply(thing)
    return f"{cluster.api.path_of(thing)}/{thing['metadata']['name']}"


@pytest.mark.parametrize("name", [*CASES, *PATCHES])
def test_the_api_server_refuses_what_tiphys_refuses(rules: Rules, name: str) -> None:
    pod = rendered(name, rules.namespace)

    there = rules.refusal(pod, rules.namespace)

    here = list(refusals(pod["spec"], rules.namespace, POLICY))
    assert (not there, not here) == (name in ALLOWED, name in ALLOWED), (there, here)


def test_pods_of_workflows_belong_into_namespaces_for_them(rules: Rules) -> None:
    pod = rendered("modest", rules.other)

    assert "is not for workflows" in rules.refusal(pod, rules.other)


def test_a_node_whose_pod_is_not_allowed_says_why_and_makes_no_job(
    helm: Helm, cluster: ControlPlane
) -> None:
    text = (
        HEAD
        + """
  entrypoint: main
  podSpecPatch: '{"hostNetwork": true}'
  templates:
  - name: main
    container:
      {image: "alpine:3.23", command: ["true"], securityContext: {privileged: true}}
"""
    )

    workflow = helm.run(text)

    (only,) = workflow["status"]["nodes"].values()
    assert only["phase"] == "Error"
    assert node(workflow, only["displayName"])["message"] == (
        "policy_denied: hostNetwork is not allowed; container main is privileged"
        " (kubernetes.policy)"
    )
    assert helm.jobs() == []
