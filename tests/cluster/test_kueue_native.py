"""Workflows of our own engine on a cluster, admitted by the real Kueue."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.dock import GPU, Dock, Json, layers
from tests.cluster.helm import Helm
from tiphys.kueue import label
from tiphys.kueue.owner import Status, read_status, write_status
from tiphys.scheduling.admission import MAX_RESOURCES

WAITS = "while [ ! -f /tmp/go ]; do sleep 1; done"


@pytest.fixture
def helm(dock: Dock, tmp_path: Path) -> Iterator[Helm]:
    with Helm(tmp_path, dock.plane, dock.namespace) as helm:
        yield helm


def flow(
    groups: list[int],
    *,
    name: str = "native",
    command: str = "true",
    unit: str = "",
    priority: str = "",
    **more: object,
) -> str:
    """Give a workflow of groups of steps, as many leaves in each."""
    steps = [
        [{"name": f"s{index}", "template": "work", "withSequence": {"count": str(count)}}]
        for index, count in enumerate(groups)
    ]
    work: dict[str, object] = {
        "name": "work",
        "container": {
            "image": "alpine:3.23",
            "command": ["sh", "-c", command],
            "resources": {"requests": {"cpu": "10m", GPU: 1}, "limits": {GPU: 1}},
        },
    }
    if retries := more.pop("retries", None):
        work["retryStrategy"] = {"limit": retries}
    notes = dict(more.pop("notes", {}))  # type: ignore[call-overload]
    labels = {label.QUEUE: "q", **({label.PRIORITY: priority} if priority else {})}
    notes |= {label.UNIT: unit} if unit else {}
    thing = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": name, "labels": labels, "annotations": notes},
        "spec": {
            "entrypoint": "main",
            "templates": [{"name": "main", "steps": steps}, work],
            **more,
        },
    }
    return yaml.safe_dump(thing)


def begin(helm: Helm, text: str, name: str = "native") -> subprocess.Popen[str]:
    """Start a workflow in the background."""
    return helm.begin("run", "--scheduler", "k8s-native", helm.write(text, f"{name}.yaml"))


def phase(helm: Helm, name: str = "native") -> str:
    done = helm("get", name, "-o", "json")
    if done.returncode:
        return ""
    return str(json.loads(done.stdout)["status"].get("phase", ""))


def owner(dock: Dock) -> Json:
    """Give the object that stands for the only workflow."""
    path = f"/api/v1/namespaces/{dock.namespace}/configmaps?labelSelector={label.QUEUE}"
    (found,) = dock.api.call("GET", path)["items"]
    thing: Json = found
    return thing


def test_layers_of_our_own_engine_start_whole_and_where_their_flavor_says(
    dock: Dock, helm: Helm
) -> None:
    place = {"kubernetes.io/os": "linux"}
    toleration = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    dock.queue({GPU: 1}, labels=place, tolerations=[toleration])
    dock.start()
    begin(helm, flow([2, 2]))
    dock.until(lambda: layers(dock.workloads()) == {"native[0]": 2}, "one Workload for two")
    assert len(dock.gated()) == 2
    assert "waits for Kueue" in helm("explain", "native").stdout

    dock.queue({GPU: 2}, labels=place, tolerations=[toleration])
    dock.until(lambda: phase(helm) == "Succeeded", "both layers")

    assert layers(dock.workloads()) == {"native[0]": 2, "native[1]": 2}
    for pod in dock.pods():
        assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}
        assert toleration in pod["spec"]["tolerations"]
    dock.settle(2)


PAUSED = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {name: paused}
spec: {entrypoint: main, templates: [{name: main, suspend: {}}]}
"""


def test_an_end_that_we_died_before_telling_is_told_by_the_next_of_us(
    dock: Dock, helm: Helm
) -> None:
    dock.queue({GPU: 1})
    dock.start()
    begin(helm, flow([1]))
    dock.until(lambda: phase(helm) == "Succeeded", "the workflow")
    dock.settle(1)
    name = owner(dock)["metadata"]["name"]
    lost = {
        "data": write_status(Status("Running")),
        "metadata": {"annotations": {"tiphys.dev/finished-at": None}},
    }
    path = f"/api/v1/namespaces/{dock.namespace}/configmaps/{name}"
    dock.api.call("PATCH", path, lost, "merge-patch+json")

    helm.begin("run", helm.write(PAUSED, "paused.yaml"))

    dock.until(lambda: read_status(owner(dock)).phase == "Succeeded", "the word of its end")
    dock.settle(1)


def test_a_preempted_layer_of_our_engine_waits_again_without_spending_retries(
    dock: Dock, helm: Helm
) -> None:
    high = f"{dock.namespace}-high"
    dock.apply("WorkloadPriorityClass", high, None, {"value": 1000})
    dock.queue({GPU: 2}, preemption={"withinClusterQueue": "LowerPriority"})
    dock.start()
    begin(helm, flow([2], command=WAITS, retries="3"))
    helm.until_running(2)
    first = {pod["metadata"]["uid"] for pod in dock.pods()}

    begin(helm, flow([2], name="urgent", priority=high), "urgent")
    dock.until(lambda: phase(helm, "urgent") == "Succeeded", "the layer of high priority")
    dock.until(lambda: again(dock, first) == 2, "the preempted layer, once more")

    nodes = [n for n in helm.get("native")["status"]["nodes"].values() if n["type"] == "Pod"]
    assert [node["name"].rpartition("(")[2] for node in nodes] == ["0)", "0)"]
    assert {node["phase"] for node in nodes} <= {"Pending", "Running"}
    assert len(dock.workloads()) == 2
    helm("terminate", "native")
    dock.until(lambda: phase(helm) == "Failed", "its end")
    dock.settle(2)


def again(dock: Dock, before: set[str]) -> int:
    pods = [pod for pod in dock.pods() if pod["metadata"]["uid"] not in before]
    return sum(
        pod["status"]["phase"] == "Running"
        and pod["metadata"]["labels"][label.WORKFLOW] == "native"
        for pod in pods
    )


def test_a_workflow_of_our_engine_as_unit_waits_suspended_and_outlives_us(
    dock: Dock, helm: Helm
) -> None:
    dock.queue({GPU: 1})
    dock.start()
    needs = {MAX_RESOURCES: json.dumps({GPU: 2})}
    process = begin(helm, flow([2, 2], unit="workflow", notes=needs))
    dock.until(lambda: len(dock.workloads()) == 1, "its Workload")
    dock.until(lambda: helm.get("native")["spec"].get("suspend"), "its suspension")
    dock.until(lambda: owner(dock)["data"].get("held") == "true", "its word on it")

    helm.kill(process)
    dock.queue({GPU: 2})
    dock.until(lambda: owner(dock)["data"]["suspend"] == "false", "its admission")
    helm.begin("wait", "native")
    dock.until(lambda: phase(helm) == "Succeeded", "its end")

    dock.settle(1)


def test_pods_of_our_engine_are_admitted_one_by_one_where_that_is_the_unit(
    dock: Dock, helm: Helm
) -> None:
    dock.queue({GPU: 3})
    dock.start()
    begin(helm, flow([4], command=WAITS, unit="pod"))

    helm.until_running(3)
    dock.until(lambda: len(dock.workloads()) == 4, "a Workload for each")

    assert len(dock.pods()) == 3
    dock.queue({GPU: 4})
    helm.until_running(4)
    assert len(dock.workloads()) == 4
    helm("terminate", "native")
    dock.until(lambda: phase(helm) == "Failed", "its end")
    # The Jobs are deleted, and Kueue's Workloads are theirs.
    dock.until(lambda: not dock.workloads(), "the end of all Workloads")
    dock.settle(0)


def test_a_workflow_that_is_suspended_by_steps_is_released_layer_by_layer(
    dock: Dock, helm: Helm
) -> None:
    dock.queue({GPU: 1})
    dock.start()
    begin(helm, flow([2, 2], suspendBySteps=True))
    dock.until(lambda: layers(dock.workloads()) == {"native[0]": 2}, "the first Workload")
    assert helm.jobs() == []

    dock.queue({GPU: 2})
    dock.until(lambda: phase(helm) == "Succeeded", "both layers")

    assert layers(dock.workloads()) == {"native[0]": 2, "native[1]": 2}
    dock.settle(2)
