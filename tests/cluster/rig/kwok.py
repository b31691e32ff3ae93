"""Nodes and pods that only pretend, by the thousand: KWOK.

Its nodes carry a taint, so that nothing lands on them that does not ask for it.
"""

from __future__ import annotations

from tests.cluster.rig.daemon import Daemons, wait_until
from tests.cluster.rig.parts import KWOK
from tests.cluster.rig.plane import ControlPlane

TAINT = "kwok.x-k8s.io/node"
_ANNOTATION = {TAINT: "fake"}


def start(plane: ControlPlane, daemons: Daemons, count: int) -> None:
    """Have ``count`` pretended nodes."""
    daemons.start(
        "kwok",
        [
            KWOK.program("kwok"),
            f"--kubeconfig={plane.kubeconfig}",
            f"--manage-nodes-with-annotation-selector={TAINT}=fake",
            "--node-lease-duration-seconds=120",
            "--server-address=127.0.0.1:0",
        ],
    )
    for number in range(count):
        plane.api.apply(_node(f"kwok-{number}"))
    wait_until(lambda: _ready(plane) >= count, f"{count} KWOK nodes", 120)


def _ready(plane: ControlPlane) -> int:
    nodes = plane.api.call("GET", "/api/v1/nodes?labelSelector=type%3Dkwok")["items"]
    return sum(
        any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"]["conditions"])
        for node in nodes
        if "conditions" in node.get("status", {})
    )


def _node(name: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": _ANNOTATION,
            "labels": {"type": "kwok", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
        },
        "spec": {"taints": [{"key": TAINT, "value": "fake", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "1000"},
            "capacity": {"cpu": "64", "memory": "256Gi", "pods": "1000"},
        },
    }
