"""What is known only at run time, admitted by the real Kueue: run by Argo and by our own engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.dock import GPU, Dock, Json, layers
from tests.cluster.helm import Helm
from tiphys.kube.access import read_kubeconfig
from tiphys.kube.execute import execute
from tiphys.kueue import label

NAME = "fan"
WAITS = "until [ -f /tmp/go ]; do sleep 0.2; done"
LIMITS: Json = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "limits"},
    "data": {"two": "2"},
}
TEXT = f"""
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{name: {NAME}, labels: {{{label.QUEUE}: q}}}}
spec:
  serviceAccountName: default
  entrypoint: main
  templates:
  - name: main
    steps:
    - - {{name: list, template: list}}
    - - name: all
        template: work
        arguments: {{parameters: [{{name: number, value: "{{{{item}}}}"}}]}}
        withParam: "{{{{steps.list.outputs.result}}}}"
    - - name: some
        template: locked
        withParam: "{{{{steps.list.outputs.result}}}}"
  - name: list
    script: {{image: "alpine:3.23", command: [sh], source: "echo [1,2,3]"}}
  - name: work
    inputs: {{parameters: [{{name: number}}]}}
    retryStrategy: {{limit: "1"}}
    container: &container
      image: alpine:3.23
      command: [sh, -c]
      args: ["[ {{{{inputs.parameters.number}}}} != 2 ] || ([ {{{{retries}}}} = 1 ] && {WAITS})"]
      resources: {{requests: {{cpu: 10m, {GPU}: 1}}, limits: {{{GPU}: 1}}}}
  - name: locked
    synchronization: {{semaphores: [{{configMapKeyRef: {{name: limits, key: two}}}}]}}
    container: {{<<: *container, args: ["sleep 1"]}}
"""


@pytest.fixture
def helm(dock: Dock, tmp_path: Path) -> Iterator[Helm]:
    with Helm(tmp_path, dock.plane, dock.namespace) as helm:
        yield helm


def run_by_argo(dock: Dock, helm: Helm) -> Callable[[], str]:
    path = f"/api/v1/namespaces/{dock.namespace}/configmaps"
    labels = {"workflows.argoproj.io/configmap-type": "Parameter"}
    dock.api.call("POST", path, {**LIMITS, "metadata": {"name": "limits", "labels": labels}})
    dock.submit(TEXT)
    return lambda: dock.phase(NAME)


def run_by_us(dock: Dock, helm: Helm) -> Callable[[], str]:
    files = helm.write(yaml.safe_dump(LIMITS), "limits.yaml"), helm.write(TEXT)
    process = helm.begin("run", "--scheduler", "k8s-native", *files)

    def phase() -> str:
        code = process.poll()
        return "Running" if code is None else "Failed" if code else "Succeeded"

    return phase


@pytest.mark.parametrize("run", [run_by_argo, run_by_us])
def test_a_loop_over_an_output_is_one_layer_and_a_semaphore_locks_nobody_out(
    dock: Dock, helm: Helm, run: Callable[[Dock, Helm], Callable[[], str]]
) -> None:
    dock.queue({GPU: 2})
    dock.start()
    phase = run(dock, helm)
    expected = {f"{NAME}[0]": 1, f"{NAME}[1]": 3}
    dock.until(
        lambda: layers(dock.workloads()) == expected or phase() == "Failed",
        "one Workload for all of the list",
    )
    assert layers(dock.workloads()) == expected
    assert len(dock.gated()) == 3

    dock.queue({GPU: 3})
    # Two have ended and given their quota back when the third is tried again, in its old place.
    dock.until(lambda: given_back(dock) == [2] and len(tried_again(dock)) == 1, "another attempt")
    assert layers(dock.workloads()) == expected
    let_go(dock)
    dock.until(lambda: phase() not in ("", "Running"), "its end")

    assert phase() == "Succeeded"
    assert most_at_once(dock) <= 2
    assert set(layers(dock.workloads())) == {*expected, f"{NAME}[2]"}
    dock.settle(len(dock.workloads()))


def given_back(dock: Dock) -> list[int]:
    """Give the counts of pods that the loop's Workload needs no more."""
    found = [w for w in dock.workloads() if layers([w]).keys() == {f"{NAME}[1]"}]
    return [n["count"] for w in found for n in (w.get("status") or {}).get("reclaimablePods") or ()]


def tried_again(dock: Dock) -> list[str]:
    """Give the paths of the pods of second attempts whose containers run."""
    return [
        f"/api/v1/namespaces/{dock.namespace}/pods/{pod['metadata']['name']}"
        for pod in dock.pods()
        if node_name(pod).endswith(")(1)") and any("running" in c["state"] for c in mains(pod))
    ]


def node_name(pod: Json) -> str:
    return str(pod["metadata"]["annotations"]["workflows.argoproj.io/node-name"])


def mains(pod: Json) -> list[Json]:
    found = pod["status"].get("containerStatuses") or []
    return [each for each in found if each["name"] == "main"]


def let_go(dock: Dock) -> None:
    """End the one that waits."""
    (pod,) = tried_again(dock)
    access = read_kubeconfig(dock.plane.kubeconfig)
    asyncio.run(execute(access, pod, ["touch", "/tmp/go"], container="main"))


def most_at_once(dock: Dock) -> int:
    """Count the pods under the lock that ran at the same time."""
    ends = [
        main["state"]["terminated"]
        for pod in dock.pods()
        if ".some" in node_name(pod)
        for main in mains(pod)
    ]
    spans = [(str(end["startedAt"]), str(end["finishedAt"])) for end in ends]
    assert len(spans) == 3
    return max(sum(a <= begun < b for a, b in spans) for begun, _ in spans)
