"""Kueue's controller with its webhooks, outside of the cluster.

While it is down its webhooks would block every pod: they look only at namespaces that carry the
label ``kueue: managed``.
"""

from __future__ import annotations

import base64
import re
import shutil
import socket
import subprocess
from functools import partial
from pathlib import Path

from tests.cluster.rig.daemon import Daemons, wait_until
from tests.cluster.rig.parts import KUEUE
from tests.cluster.rig.plane import ControlPlane, free_port

NAMESPACE = "kueue-system"
LABEL = "kueue"
METRICS = Path("/etc/kueue/metrics/certs")
_SERVICE = re.compile(r"( *)service:\n(?:\1  (?:name|namespace): .*\n)*\1  path: (\S+)\n")
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"


def start(plane: ControlPlane, daemons: Daemons) -> None:
    """Install the definitions, run the controller, then let the API server ask its webhooks."""
    if daemons.is_running("kueue"):
        return  # Its webhooks listen where they did.
    plane.api.apply_definitions(KUEUE.home / "manifests/config/components/crd/bases")
    for version in ("v1beta1", "v1beta2"):
        path = f"/apis/kueue.x-k8s.io/{version}/workloads"
        wait_until(partial(plane.api.answers, path), "Kueue's definitions", 60)
    # Discovery follows a moment later, and the controller looks there only once.
    wait_until(partial(_is_discovered, plane), "Kueue's kinds", 60)
    plane.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    folder = plane.home / "kueue"
    _make_certificate(folder)
    _place_metrics_certificate(folder)
    port = free_port()
    health = free_port()
    (folder / "config.yaml").write_text(_config(folder, port, health))
    daemons.start(
        "kueue",
        [
            KUEUE.program("kueue"),
            f"--config={folder}/config.yaml",
            "--feature-gates=VisibilityOnDemand=false",
        ],
        env={"KUBECONFIG": str(plane.kubeconfig), "POD_NAMESPACE": NAMESPACE},
    )
    wait_until(lambda: _listens(port), "Kueue's webhooks", 90)
    _install_webhooks(plane, folder, port)


def _is_discovered(plane: ControlPlane) -> bool:
    found = plane.api.call("GET", "/apis/kueue.x-k8s.io/v1beta2").get("resources", [])
    names = {each["name"] for each in found}
    return names >= {"workloads", "clusterqueues", "localqueues", "cohorts", "topologies"}


def _config(folder: Path, port: int, health: int) -> str:
    return f"""apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: {NAMESPACE}
health: {{healthProbeBindAddress: "127.0.0.1:{health}"}}
metrics: {{bindAddress: "0"}}
webhook: {{host: 127.0.0.1, port: {port}, certDir: "{folder}"}}
leaderElection: {{leaderElect: false}}
internalCertManagement: {{enable: false}}
clientConnection: {{qps: 200, burst: 400}}
managedJobsNamespaceSelector:
  matchLabels: {{{LABEL}: managed}}
integrations:
  frameworks: [batch/job, pod]
"""


def _make_certificate(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    if (folder / "tls.crt").exists():
        return
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=kueue"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1"]
    words += ["-keyout", f"{folder}/tls.key", "-out", f"{folder}/tls.crt"]
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def _place_metrics_certificate(folder: Path) -> None:
    """Put a certificate where Kueue wants one even if it serves no metrics; the path is fixed."""
    METRICS.mkdir(parents=True, exist_ok=True)
    for name in ("tls.crt", "tls.key"):
        if not (METRICS / name).exists():
            shutil.copy(folder / name, METRICS / name)


def _install_webhooks(plane: ControlPlane, folder: Path, port: int) -> None:
    bundle = base64.b64encode((folder / "tls.crt").read_bytes()).decode()
    text = (KUEUE.home / "manifests/config/components/webhook/manifests.yaml").read_text()
    for document in text.split("\n---\n"):
        kind = re.search(r"^kind: (\S+)$", document, re.MULTILINE)
        name = re.search(r"^  name: (\S+)$", document, re.MULTILINE)
        if kind is None or name is None:
            continue
        collection = f"{_ADMISSION}/{kind[1].lower()}s"
        plane.api.apply_text(collection, name[1], _to_loopback(document, port, bundle).encode())


def _to_loopback(document: str, port: int, bundle: str) -> str:
    """Have the API server call a port of this machine in place of a service."""
    replaced = _SERVICE.sub(rf"\1url: https://127.0.0.1:{port}\2\n\1caBundle: {bundle}\n", document)
    first, *webhooks = re.split(r"(?m)^(?=- admissionReviewVersions:)", replaced)
    return first + "".join(_narrowed(webhook) for webhook in webhooks)


def _narrowed(webhook: str) -> str:
    """Have a webhook over other people's kinds look only at the namespaces of the tests."""
    if "    - kueue.x-k8s.io\n" in webhook:
        return webhook
    return f"{webhook.rstrip()}\n  namespaceSelector: {{matchLabels: {{{LABEL}: managed}}}}\n"


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
