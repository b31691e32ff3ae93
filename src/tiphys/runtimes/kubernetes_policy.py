"""What a pod may be, decided on the pod as it would be made: after every default and patch. Pure.

``deploy/kubernetes/policy.yaml`` says the same to the API server, for the pods of everybody; here
it is said before anything is asked of the cluster, with all reasons at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from tiphys.core.quantity import parse_quantity
from tiphys.errors import InvalidInputError, RuntimeFailure
from tiphys.runtimes.kubernetes_config import KubernetesPolicy

Json = Mapping[str, Any]


def check_pod(pod: Json, namespace: str, policy: KubernetesPolicy) -> None:
    """Raise RuntimeFailure with everything about a pod that is not allowed."""
    found = list(refusals(pod, namespace, policy))
    if found:
        raise RuntimeFailure(f"policy_denied: {'; '.join(found)} (kubernetes.policy)")


def refusals(pod: Json, namespace: str, policy: KubernetesPolicy) -> Iterator[str]:
    """Say what a pod's spec has that is not allowed."""
    if not allows_namespace(namespace, policy):
        yield f"namespace {namespace} is not one of {', '.join(policy.namespaces)}"
    if not policy.allow_host_network:
        for name in ("hostNetwork", "hostPID", "hostIPC"):
            if pod.get(name):
                yield f"{name} is not allowed"
    if not policy.allow_host_path:
        for volume in pod.get("volumes") or ():
            if volume.get("hostPath"):
                yield f"volume {volume['name']} is a hostPath"
    for container in (*(pod.get("initContainers") or ()), *(pod.get("containers") or ())):
        yield from _refusals_of(container, policy)


def allows_namespace(namespace: str, policy: KubernetesPolicy) -> bool:
    """Tell whether anything may be made in a namespace."""
    return not policy.namespaces or any(fnmatchcase(namespace, each) for each in policy.namespaces)


def _refusals_of(container: Json, policy: KubernetesPolicy) -> Iterator[str]:
    name = container["name"]
    if not policy.allow_privileged and (container.get("securityContext") or {}).get("privileged"):
        yield f"container {name} is privileged"
    limits = (container.get("resources") or {}).get("limits") or {}
    for resource in policy.require_limits:
        if resource not in limits:
            yield f"container {name} has no limit for {resource}"
    for resource, most in policy.max_limits.items():
        if resource in limits and _exceeds(limits[resource], most):
            yield f"container {name} may use {limits[resource]} {resource}, more than {most}"


def _exceeds(amount: object, most: str) -> bool:
    try:
        return parse_quantity(str(amount)) > parse_quantity(most)
    except InvalidInputError as error:
        raise RuntimeFailure(f"resources: {error}") from error
