"""A workflow on the cluster while the API server fails in all the ways it has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.faults import Fault, Proxy
from tests.cluster.helm import Helm
from tests.cluster.rig.plane import ControlPlane

WORKFLOW = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: w-}
spec:
  entrypoint: main
  templates:
  - name: main
    steps:
    - - name: work
        template: work
        withSequence: {count: "3"}
    - - {name: last, template: work}
  - name: work
    script: {image: "alpine:3.23", command: [sh], source: "sleep 1; echo said; echo out > /tmp/out"}
    outputs: {parameters: [{name: out, valueFrom: {path: /tmp/out}}]}
"""


@pytest.fixture
def proxy(cluster: ControlPlane, helm: Helm, tmp_path: Path) -> Iterator[Proxy]:
    with Proxy(cluster) as proxy:
        helm.configure(proxy.kubeconfig(tmp_path))
        yield proxy


def is_creation(method: str, target: str) -> bool:
    return method == "POST" and target.endswith("/jobs")


def is_watch(method: str, target: str) -> bool:
    return method == "GET" and "watch=true" in target


def check(helm: Helm) -> None:
    """Run the workflow; every node must have run exactly once."""
    workflow = helm.run(WORKFLOW)
    assert workflow["status"]["phase"] == "Succeeded", workflow["status"].get("message")
    pods = [n for n in workflow["status"]["nodes"].values() if n["type"] == "Pod"]
    assert [n["outputs"]["parameters"][0]["value"] for n in pods] == ["out"] * 4
    assert len(helm.jobs()) == 4
    assert len(helm.pods()) == 4


def test_jobs_whose_creation_went_unanswered_are_not_made_twice(helm: Helm, proxy: Proxy) -> None:
    lost = Fault(is_creation, after=True, times=3)
    proxy.faults = [lost]

    check(helm)

    assert lost.seen == 3


def test_refusals_that_pass_are_waited_for(helm: Helm, proxy: Proxy) -> None:
    busy = Fault(is_creation, status=429, reason="TooManyRequests", retry_after=1, times=2)
    away = Fault(lambda method, target: method == "PATCH", status=503, times=2)
    slow = Fault(is_creation, delay=2.0, times=1)
    broken = Fault(lambda method, target: target.endswith("/log"), status=500, times=2)
    proxy.faults = [busy, away, slow, broken]

    check(helm)

    assert (busy.seen, away.seen, slow.seen) == (2, 2, 1)


def test_watches_that_break_or_expire_lose_nothing(helm: Helm, proxy: Proxy) -> None:
    cut = Fault(is_watch, cut_after=0.7, times=8)
    expired = Fault(is_watch, status=410, reason="Expired", times=2)
    proxy.faults = [Fault(is_watch, cut_after=1.0, times=2), expired, cut]

    check(helm)

    assert expired.seen == 2
    assert cut.seen > 0


def test_an_api_server_that_is_away_for_a_while_loses_nothing(helm: Helm, proxy: Proxy) -> None:
    process = helm.begin(
        "run", "--name", "patient", "--scheduler", "k8s-native", helm.write(WORKFLOW)
    )
    helm.until_running()

    proxy.down = True
    proxy.cut_all()
    helm.until(
        lambda: sum(job["status"].get("succeeded", 0) for job in helm.jobs()) >= 3,
        "the jobs to end unseen",
    )
    proxy.down = False
    process.communicate(timeout=200)

    assert helm.get("patient")["status"]["phase"] == "Succeeded"
    assert len(helm.jobs()) == len(helm.pods()) == 4
