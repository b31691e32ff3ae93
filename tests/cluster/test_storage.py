"""Artifacts between pods by way of a real S3 server."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator

import pytest

from tests.cluster.helm import Helm
from tests.cluster.rig.plane import ControlPlane
from tests.cluster.test_access import WORKFLOW

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
