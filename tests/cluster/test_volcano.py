"""Layers of a workflow as gangs of the real Volcano."""

from __future__ import annotations

import pytest

from tests.cluster.helm import Helm, Json
from tests.cluster.rig.node import NAME
from tests.cluster.rig.plane import ControlPlane
from tests.cluster.test_k8s_native import HEAD

LAYER = (
    HEAD
    + """
  entrypoint: main
  templates:
  - name: main
    steps:
    - - name: work
        template: work
        withSequence: {count: "3"}
  - name: work
    container:
      image: "alpine:3.23"
      command: [sh, -c, "echo hi"]
      resources: {requests: {cpu: CPU}}
"""
)


@pytest.fixture
def crater(helm: Helm, volcano: ControlPlane) -> Helm:
    return helm


def groups(helm: Helm) -> list[Json]:
    path = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{helm.namespace}/podgroups"
    items: list[Json] = helm.api.call("GET", path)["items"]
    return items


def cpu_of_node(helm: Helm) -> int:
    """Tell the thousandths of a processor that the node has."""
    text = helm.api.call("GET", f"/api/v1/nodes/{NAME}")["status"]["allocatable"]["cpu"]
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000


def test_a_layer_that_fits_runs_in_one_group_that_is_gone_afterwards(crater: Helm) -> None:
    workflow = crater.run(LAYER.replace("CPU", "10m"), scheduler="volcano")

    assert workflow["status"]["phase"] == "Succeeded", workflow["status"].get("message")
    pods = crater.pods()
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}
    names = {pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] for pod in pods}
    assert len(names) == 1
    assert names.pop().startswith(f"pg-{workflow['metadata']['uid']}")
    assert groups(crater) == []


def test_a_gang_of_three_with_room_for_two_starts_none(crater: Helm) -> None:
    request = f"{cpu_of_node(crater) * 2 // 5}m"
    words = ["run", "--name", "gang", "--scheduler", "volcano"]
    process = crater.begin(*words, crater.write(LAYER.replace("CPU", request)))
    crater.until(lambda: any(_is_refused(each) for each in groups(crater)), "Volcano's refusal")

    (group,) = groups(crater)
    phases = [pod["status"]["phase"] for pod in crater.pods()]

    assert group["spec"]["minMember"] == 3
    assert "Running" not in phases
    assert "Succeeded" not in phases
    assert crater("terminate", "gang").returncode == 0
    process.communicate(timeout=200)


def _is_refused(group: Json) -> bool:
    conditions = (group.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Unschedulable" for each in conditions)
