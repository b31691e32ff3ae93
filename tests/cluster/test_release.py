"""The chart as people install it: a real pod with a real image becomes ready, and runs work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.helm import Helm, Json
from tests.cluster.rig.daemon import Daemons
from tests.cluster.rig.image import bring
from tests.cluster.rig.node import Node
from tests.cluster.rig.plane import ControlPlane
from tests.cluster.shipped import Release, recipe

HELLO = """
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: hello-}
spec:
  entrypoint: hello
  templates:
    - name: hello
      container: {image: "busybox:stable-musl", command: [echo, hello from the cluster]}
"""


@pytest.fixture(scope="module")
def shipped(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Bring the image to the node."""
    node = Node(cluster, Daemons(cluster.home))
    bring(node, tmp_path_factory.mktemp("image") / "image.tar", recipe())


@pytest.fixture
def release(
    helm: Helm, cluster: ControlPlane, helm_program: Path, shipped: None, tmp_path: Path
) -> Iterator[Release]:
    made = Release(helm_program, cluster, helm.namespace, tmp_path / "volume")
    yield made
    made.remove()


def test_an_installed_release_becomes_ready_and_runs_a_job(release: Release, helm: Helm) -> None:
    release.upgrade("--wait", "--timeout", "300s")

    words = ("submit", "--scheduler", "k8s-native", "-n", helm.namespace, "--wait", "-")
    done = release.tiphys(*words, text=HELLO)

    assert done.returncode == 0, done.stderr
    logs = release.tiphys("logs", "-n", helm.namespace, done.stdout.strip())
    assert "hello from the cluster" in logs.stdout
    assert len(helm.jobs()) == 1


def test_the_wrong_image_is_corrected_by_the_next_upgrade(release: Release, helm: Helm) -> None:
    release.upgrade(values="image.tag=absent")
    helm.until(lambda: any(map(_waits_for_its_image, helm.pods())), "a pod without its image")

    release.upgrade("--wait", "--timeout", "300s")

    assert release.tiphys("list", "-n", helm.namespace).returncode == 0


def _waits_for_its_image(pod: Json) -> bool:
    states = (each["state"] for each in pod["status"].get("containerStatuses", []))
    return any("Pull" in state.get("waiting", {}).get("reason", "") for state in states)
