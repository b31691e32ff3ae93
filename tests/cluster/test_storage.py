"""Artifacts between pods by way of a real S3 server."""

from __future__ import annotations

import http.client
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.helm import Helm
from tests.cluster.rig.plane import ControlPlane
from tests.cluster.test_access import WORKFLOW
from tests.cluster.test_k8s_native import HEAD

SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: s3}
stringData: {access: AKID, secret: SECRET}
---
"""
CONFIG = """
artifactRepository:
  s3:
    endpoint: ENDPOINT
    bucket: voyage
    insecure: true
    accessKeySecret: {name: s3, key: access}
    secretKeySecret: {name: s3, key: secret}
egress: {allow: [127.0.0.1]}
"""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    module = pytest.importorskip("moto.server", reason="moto is not installed")
    pytest.importorskip("obstore", reason="obstore is not installed")
    server = module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


def ask(endpoint: str, method: str) -> str:
    connection = http.client.HTTPConnection(endpoint, timeout=30)
    try:
        connection.request(method, "/voyage")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def test_files_go_from_pod_to_pod_through_s3(
    helm: Helm, cluster: ControlPlane, endpoint: str
) -> None:
    ask(endpoint, "PUT")
    helm.configure(str(cluster.kubeconfig), CONFIG.replace("ENDPOINT", endpoint))

    workflow = helm.run(SECRET + WORKFLOW)

    assert workflow["status"]["phase"] == "Succeeded", workflow["status"]
    keys = re.findall("<Key>([^<]+)</Key>", ask(endpoint, "GET"))
    assert [key.rpartition("/")[2] for key in keys] == ["a.tgz"]


CLAIMED = """
  entrypoint: main
  volumeClaimTemplates:
  - metadata: {name: work}
    spec:
      accessModes: [ReadWriteOnce]
      storageClassName: CLASS
      resources: {requests: {storage: 1Mi}}
  templates:
  - name: main
    steps:
    - - {name: write, template: do, arguments: {parameters: [{name: c, value: "echo hi > /w/f"}]}}
    - - {name: read, template: do, arguments: {parameters: [{name: c, value: "grep hi /w/f"}]}}
  - name: do
    inputs: {parameters: [{name: c}]}
    container:
      image: "alpine:3.23"
      command: [sh, -c, "{{inputs.parameters.c}}"]
      volumeMounts: [{name: work, mountPath: /w}]
"""


@pytest.fixture
def volume(cluster: ControlPlane, tmp_path: Path) -> Iterator[str]:
    """Give a class of storage with one volume: a folder of the node."""
    name = f"class-{os.urandom(4).hex()}"
    place = tmp_path / "volume"
    place.mkdir(mode=0o777)
    spec = {
        "capacity": {"storage": "1Mi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": name,
        "hostPath": {"path": str(place)},
    }
    cluster.api.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": spec,
        }
    )
    yield name
    cluster.api.call("DELETE", f"/api/v1/persistentvolumes/{name}")


def test_claims_of_a_workflow_go_when_it_has_succeeded(helm: Helm, volume: str) -> None:
    workflow = helm.run(HEAD + CLAIMED.replace("CLASS", volume))

    assert workflow["status"]["phase"] == "Succeeded", workflow["status"]
    path = f"/api/v1/namespaces/{helm.namespace}/persistentvolumeclaims"
    helm.until(lambda: not helm.api.call("GET", path)["items"], "the end of the claim")
