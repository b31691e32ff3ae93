"""The control plane: etcd, API server, controller manager, scheduler, on loopback.

The API server makes its own certificate; one token is the administrator's and every component's.
Durability is switched off, as nothing here outlives a test.
"""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.cluster.rig.api import Api
from tests.cluster.rig.daemon import Daemons, wait_until
from tests.cluster.rig.parts import ETCD, KUBERNETES


@dataclass(frozen=True, slots=True)
class Settings:
    """What one cluster was given when it was made: kept, so that later commands find it."""

    number: int
    """Its own networks are made of it: pods 10.<100 + number>.0.0/16."""
    api_port: int
    etcd_port: int
    etcd_peer_port: int
    kubelet_port: int
    token: str

    @property
    def gateway(self) -> str:
        """The node's address: on the pods' bridge, reachable from this machine alone."""
        return f"10.{100 + self.number}.0.1"

    @property
    def pods(self) -> str:
        """The network of pods."""
        return f"10.{100 + self.number}.0.0/16"

    @property
    def services(self) -> str:
        """The network of services."""
        return f"10.{180 + self.number}.0.0/24"

    @property
    def first_service(self) -> str:
        """Where pods expect the API server."""
        return f"10.{180 + self.number}.0.1"

    @property
    def server(self) -> str:
        """The API server's address on loopback."""
        return f"https://127.0.0.1:{self.api_port}"


class ControlPlane:
    """One control plane in one folder."""

    def __init__(self, home: Path, daemons: Daemons) -> None:
        self.home = home
        self._daemons = daemons
        self.settings = _settings(home)
        self.kubeconfig = home / "kubeconfig"
        self.authority = home / "certs" / "apiserver.crt"
        self.api = Api(self.settings.server, self.settings.token, self.authority)

    def start(self) -> None:
        """Start what does not run, and wait until the API server is ready."""
        self._write_secrets()
        self._start_etcd()
        self._start_api_server()
        wait_until(self._is_ready, "the API server", 120)
        self._write_kubeconfig()
        for name in ("kube-controller-manager", "kube-scheduler"):
            self._start_controller(name)
        wait_until(
            lambda: self.api.answers("/api/v1/namespaces/default/serviceaccounts/default"),
            "the default service account",
            60,
        )

    def _is_ready(self) -> bool:
        return self.authority.exists() and self.api.answers("/readyz")

    def _write_secrets(self) -> None:
        tokens = self.home / "tokens.csv"
        tokens.write_text(f'{self.settings.token},admin,admin,"system:masters"\n')
        tokens.chmod(0o600)
        key, public = self.home / "sa.key", self.home / "sa.pub"
        if not public.exists():
            _openssl("genrsa", "-out", str(key), "2048")
            _openssl("rsa", "-in", str(key), "-pubout", "-out", str(public))

    def _start_etcd(self) -> None:
        own, peer = self.settings.etcd_port, self.settings.etcd_peer_port
        self._daemons.start(
            "etcd",
            [
                ETCD.program("etcd"),
                f"--data-dir={self.home}/etcd",
                "--unsafe-no-fsync",
                f"--listen-client-urls=http://127.0.0.1:{own}",
                f"--advertise-client-urls=http://127.0.0.1:{own}",
                f"--listen-peer-urls=http://127.0.0.1:{peer}",
                f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                f"--initial-cluster=default=http://127.0.0.1:{peer}",
                "--log-level=error",
            ],
        )

    def _start_api_server(self) -> None:
        given = self.settings
        self._daemons.start(
            "kube-apiserver",
            [
                KUBERNETES.program("kube-apiserver"),
                f"--etcd-servers=http://127.0.0.1:{given.etcd_port}",
                "--bind-address=127.0.0.1",
                f"--secure-port={given.api_port}",
                f"--advertise-address={given.gateway}",
                f"--cert-dir={self.home}/certs",
                "--authorization-mode=Node,RBAC",
                f"--token-auth-file={self.home}/tokens.csv",
                f"--service-cluster-ip-range={given.services}",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={self.home}/sa.pub",
                f"--service-account-signing-key-file={self.home}/sa.key",
                "--kubelet-preferred-address-types=InternalIP",
                "--allow-privileged",
                "--profiling=false",
            ],
        )

    def _start_controller(self, name: str) -> None:
        more = []
        if name == "kube-controller-manager":
            more = [
                f"--service-account-private-key-file={self.home}/sa.key",
                f"--root-ca-file={self.authority}",
                "--concurrent-job-syncs=20",
                "--kube-api-qps=200",
                "--kube-api-burst=400",
            ]
        else:
            more = ["--kube-api-qps=500", "--kube-api-burst=1000"]
        self._daemons.start(
            name,
            [
                KUBERNETES.program(name),
                f"--kubeconfig={self.kubeconfig}",
                f"--authentication-kubeconfig={self.kubeconfig}",
                f"--authorization-kubeconfig={self.kubeconfig}",
                "--leader-elect=false",
                "--bind-address=127.0.0.1",
                f"--secure-port={free_port()}",
                f"--cert-dir={self.home}/certs-{name}",
                *more,
            ],
        )

    def _write_kubeconfig(self) -> None:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "tiphys",
                    "cluster": {
                        "server": self.settings.server,
                        "certificate-authority": str(self.authority),
                    },
                }
            ],
            "users": [{"name": "admin", "user": {"token": self.settings.token}}],
            "contexts": [{"name": "tiphys", "context": {"cluster": "tiphys", "user": "admin"}}],
            "current-context": "tiphys",
        }
        self.kubeconfig.write_text(json.dumps(config, indent=1) + "\n")  # JSON is YAML.
        self.kubeconfig.chmod(0o600)


def _settings(home: Path) -> Settings:
    path = home / "settings.json"
    if path.exists():
        return Settings(**json.loads(path.read_text()))
    made = Settings(
        number=_free_number(),
        api_port=free_port(),
        etcd_port=free_port(),
        etcd_peer_port=free_port(),
        kubelet_port=free_port(),
        token=secrets.token_hex(16),
    )
    home.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(made)))
    path.chmod(0o600)
    return made


def _free_number() -> int:
    """Find a number that no other cluster of this machine uses for its bridge."""
    for number in range(1, 60):
        if not Path(f"/sys/class/net/tiphys{number}").exists():
            return number
    return 60


def free_port() -> int:
    """Find a port of loopback that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)
