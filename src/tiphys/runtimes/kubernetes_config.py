"""What the configuration says about running nodes on a cluster.

Does without ``from __future__ import annotations``, for the reason that `spec.model.base` gives.
"""

import msgspec


class KubernetesPolicy(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """What pods may be, under ``kubernetes.policy``."""

    namespaces: tuple[str, ...] = ()
    """Names and patterns (``team-*``) of namespaces where anything may be made; none: anywhere."""
    require_limits: tuple[str, ...] = ()
    """Resources for which every container must have a limit."""
    max_limits: dict[str, str] = {}
    """The largest limit of one container, by resource."""
    allow_privileged: bool = False
    allow_host_path: bool = False
    allow_host_network: bool = False
    """Also its processes and its memory: hostPID, hostIPC."""


class KubernetesConfig(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename="camel",
    forbid_unknown_fields=True,
):
    """Settings under ``kubernetes:``."""

    kubeconfig: str = ""
    """A file; else as kubectl finds it, else the service account of our own pod."""
    context: str = ""
    namespace: str = ""
    """Where Jobs are made; else the workflow's own namespace."""
    helper_image: str = "busybox:stable-musl"
    """Has a static ``/bin/busybox``."""
    backoff_limit: int = 3
    """How often a Job replaces a pod that was evicted, preempted or lost with its node."""
    active_deadline_seconds: int = 3600
    """Of tasks that have no deadline of their own; 0 is none."""
    ttl_seconds_after_finished: int = 3600
    """How long a Job stays after its end is on record."""
    policy: KubernetesPolicy = KubernetesPolicy()
