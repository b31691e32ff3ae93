"""Nodes and pods that only pretend, by the thousand: KWOK.

Its nodes carry a taint, so that nothing lands on them that does not ask for it. What they pretend
is said in ``STAGES``: a pod that is placed runs at once, and has succeeded at the next look.
"""

from __future__ import annotations

from pathlib import Path

from tests.cluster.rig.daemon import Daemons, wait_until
from tests.cluster.rig.parts import KWOK
from tests.cluster.rig.plane import ControlPlane

TAINT = "kwok.x-k8s.io/node"
LABEL = {"type": "kwok"}
_ANNOTATION = {TAINT: "fake"}
_ALIVE = "{key: .metadata.deletionTimestamp, operator: DoesNotExist}"
STAGES = f"""
apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options: {{podPlayStageParallelism: 16, nodePlayStageParallelism: 4, nodeLeaseParallelism: 4}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: node-ready}}
spec:
  resourceRef: {{apiGroup: v1, kind: Node}}
  selector:
    matchExpressions:
    - key: '.status.conditions.[] | select( .type == "Ready" ) | .status'
      operator: NotIn
      values: ["True"]
  next:
    statusTemplate: |
      phase: Running
      conditions:
      - {{type: Ready, status: "True", reason: Pretended, lastHeartbeatTime: {{{{ Now | Quote }}}},
         lastTransitionTime: {{{{ Now | Quote }}}}}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: pod-runs}}
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  selector:
    matchExpressions:
    - {_ALIVE}
    - {{key: .status.phase, operator: In, values: [Pending]}}
  next:
    statusTemplate: |
      {{{{ $now := Now | Quote }}}}
      phase: Running
      startTime: {{{{ $now }}}}
      conditions:
      - {{type: Ready, status: "True", lastTransitionTime: {{{{ $now }}}}}}
      initContainerStatuses:
      {{{{ range .spec.initContainers }}}}
      - name: {{{{ .name }}}}
        image: {{{{ .image | Quote }}}}
        ready: true
        restartCount: 0
        state:
          terminated: {{exitCode: 0, startedAt: {{{{ $now }}}}, finishedAt: {{{{ $now }}}}}}
      {{{{ end }}}}
      containerStatuses:
      {{{{ range .spec.containers }}}}
      - name: {{{{ .name }}}}
        image: {{{{ .image | Quote }}}}
        ready: true
        restartCount: 0
        state: {{running: {{startedAt: {{{{ $now }}}}}}}}
      {{{{ end }}}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: pod-succeeds}}
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  selector:
    matchExpressions:
    - {_ALIVE}
    - {{key: .status.phase, operator: In, values: [Running]}}
  next:
    statusTemplate: |
      {{{{ $now := Now | Quote }}}}
      phase: Succeeded
      containerStatuses:
      {{{{ range .spec.containers }}}}
      - name: {{{{ .name }}}}
        image: {{{{ .image | Quote }}}}
        ready: false
        restartCount: 0
        state:
          terminated: {{exitCode: 0, startedAt: {{{{ $now }}}}, finishedAt: {{{{ $now }}}}}}
      {{{{ end }}}}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {{name: pod-goes}}
spec:
  resourceRef: {{apiGroup: v1, kind: Pod}}
  selector:
    matchExpressions:
    - {{key: .metadata.deletionTimestamp, operator: Exists}}
  next: {{delete: true}}
"""


def start(plane: ControlPlane, daemons: Daemons, count: int) -> None:
    """Have ``count`` pretended nodes."""
    stages = Path(plane.home) / "kwok.yaml"
    stages.write_text(STAGES)
    daemons.start(
        "kwok",
        [
            KWOK.program("kwok"),
            f"--config={stages}",
            f"--kubeconfig={plane.kubeconfig}",
            f"--manage-nodes-with-annotation-selector={TAINT}=fake",
            "--node-lease-duration-seconds=120",
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
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": _ANNOTATION, "labels": LABEL | labels},
        "spec": {"taints": [{"key": TAINT, "value": "fake", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "1000"},
            "capacity": {"cpu": "64", "memory": "256Gi", "pods": "1000"},
        },
    }
