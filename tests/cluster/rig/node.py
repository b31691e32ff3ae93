"""One real node: containerd with runc, a bridge for pods, kubelet. Needs root.

Everything has its own folder, socket, network and cgroup, so that it neither sees nor disturbs a
container engine that the machine runs for others. Debian's packages give containerd, runc and the
CNI plugins; they are installed where they are missing and apt is there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.cluster.rig.build import MissingError, say
from tests.cluster.rig.daemon import Daemons, wait_until
from tests.cluster.rig.parts import KUBERNETES
from tests.cluster.rig.plane import ControlPlane, free_port

PACKAGES = {
    "containerd": "containerd",
    "runc": "runc",
    "ip": "iproute2",
    "iptables": "iptables",
    "openssl": "openssl",
    "busybox": "busybox-static",
}
"""Programs that are needed, and the packages that have them."""
CNI_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NAME = "real"
SANDBOX = "tiphys.local/pause:1"


def check_machine() -> None:
    """Raise MissingError, with the reason, where a real node cannot run."""
    if os.geteuid() != 0:
        raise MissingError("a real node needs root: containers, a bridge and cgroups are made")
    if missing := _missing():
        _install(missing)


def _missing() -> list[str]:
    missing = [package for name, package in PACKAGES.items() if not shutil.which(name, path=PATH)]
    if cni_folder() is None:
        missing.append("containernetworking-plugins")
    return missing


def _install(packages: list[str]) -> None:
    apt = shutil.which("apt-get", path=PATH)
    if apt is None:
        raise MissingError(f"missing, and no apt-get to install them: {', '.join(packages)}")
    say(f"installing {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    words = ["install", "--yes", "--quiet", "--no-install-recommends", *packages]
    for arguments in (words, ["update", "--quiet"], words):
        done = subprocess.run(
            [apt, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode == 0 and arguments is words:
            return
    raise MissingError(f"apt-get cannot install {' '.join(packages)}: {done.stderr[-300:].strip()}")


def cni_folder() -> Path | None:
    """Find where the CNI plugins lie."""
    found = (Path(each) for each in CNI_FOLDERS if (Path(each) / "bridge").exists())
    return next(found, None)


class Node:
    """The real node of one cluster."""

    def __init__(self, plane: ControlPlane, daemons: Daemons) -> None:
        self._plane = plane
        self._given = plane.settings
        self._daemons = daemons
        self._home = plane.home
        self.bridge = f"tiphys{plane.settings.number}"
        self.socket = self._home / "containerd.sock"

    def prepare(self) -> None:
        """Make the network and start containerd; images can be brought in afterwards."""
        self._make_network()
        self._write_containerd()
        self._daemons.start(
            "containerd", [_which("containerd"), "--config", self._home / "containerd.toml"]
        )
        wait_until(self._answers, "containerd", 60)

    def start(self) -> None:
        """Start kubelet and wait until the node is ready for pods."""
        self._write_kubelet()
        self._daemons.start(
            "kubelet",
            [
                KUBERNETES.program("kubelet"),
                f"--config={self._home}/kubelet.json",
                f"--kubeconfig={self._plane.kubeconfig}",
                f"--root-dir={self._home}/kubelet",
                f"--cert-dir={self._home}/certs-kubelet",
                f"--hostname-override={NAME}",
                f"--node-ip={self._given.gateway}",
            ],
            env={"PATH": PATH},
        )
        wait_until(self._is_ready, "the node to be Ready", 120)

    def stop(self) -> None:
        """End kubelet, then all containers, then containerd, and take the network away."""
        self._daemons.stop(["kubelet"])
        if self._daemons.is_running("containerd"):
            self._end_containers()
        self._daemons.stop(["containerd"])
        self._unmount()
        for rule in self._rules():
            _run("iptables", *rule[:2], "-D", *rule[2:], check=False)
        _run("ip", "link", "del", self.bridge, check=False)
        _remove_cgroup(f"tiphys{self._given.number}")

    # --- the network ----------------------------------------------------------------------

    def _make_network(self) -> None:
        if not Path(f"/sys/class/net/{self.bridge}").exists():
            _run("ip", "link", "add", self.bridge, "type", "bridge")
        # Else it has the lowest address of its ports: as pods come and go it would change, and
        # others would speak to one that is gone until they ask anew, half a minute later.
        address = f"0a:58:0a:{100 + self._given.number:02x}:00:01"
        _run("ip", "link", "set", self.bridge, "address", address)
        _run("ip", "addr", "replace", f"{self._given.gateway}/16", "dev", self.bridge)
        _run("ip", "link", "set", self.bridge, "up")
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        # The API server listens on loopback alone; pods reach it through the bridge.
        Path(f"/proc/sys/net/ipv4/conf/{self.bridge}/route_localnet").write_text("1")
        for rule in self._rules():
            if _run("iptables", *rule[:2], "-C", *rule[2:], check=False):
                _run("iptables", *rule[:2], "-I", *rule[2:])
        folder = self._home / "cni"
        folder.mkdir(exist_ok=True)
        network = {
            "cniVersion": "0.4.0",
            "name": self.bridge,
            "plugins": [
                {
                    "type": "bridge",
                    "bridge": self.bridge,
                    "isGateway": True,
                    "ipMasq": False,
                    "ipam": {
                        "type": "host-local",
                        "dataDir": str(self._home / "addresses"),
                        "ranges": [[{"subnet": self._given.pods}]],
                        "routes": [{"dst": "0.0.0.0/0"}],
                    },
                },
                {"type": "portmap", "capabilities": {"portMappings": True}},
            ],
        }
        (folder / "10-tiphys.conflist").write_text(json.dumps(network))

    def _rules(self) -> list[list[str]]:
        given = self._given
        to_api = ["-s", given.pods, "-d", f"{given.first_service}/32", "-p", "tcp"]
        to_loopback = ["-j", "DNAT", "--to-destination", f"127.0.0.1:{given.api_port}"]
        return [
            ["-t", "nat", "PREROUTING", *to_api, "--dport", "443", *to_loopback],
            ["-t", "filter", "FORWARD", "-i", self.bridge, "-j", "ACCEPT"],
            ["-t", "filter", "FORWARD", "-o", self.bridge, "-j", "ACCEPT"],
        ]

    # --- containerd -----------------------------------------------------------------------

    def _write_containerd(self) -> None:
        (self._home / "containerd.toml").write_text(
            f"""version = 2
root = "{self._home}/containerd"
state = "{self._home}/containerd-run"
[grpc]
address = "{self.socket}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{SANDBOX}"
# Without CAP_SYS_RESOURCE runc may not lower a process' OOM score.
restrict_oom_score_adj = true
disable_tcp_service = true
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{cni_folder()}"
conf_dir = "{self._home}/cni"
"""
        )

    def _answers(self) -> bool:
        return self.ctr("version") == 0

    def ctr(self, *words: str) -> int:
        """Run containerd's own client in the namespace of Kubernetes."""
        return _run("ctr", "--address", str(self.socket), "-n", "k8s.io", *words, check=False)

    def _end_containers(self) -> None:
        base = ["ctr", "--address", str(self.socket), "-n", "k8s.io"]
        listed = subprocess.run(
            [_which("ctr"), *base[1:], "tasks", "ls", "-q"],
            capture_output=True,
            text=True,
            check=False,
        )
        for name in listed.stdout.split():
            self.ctr("tasks", "kill", "--signal", "SIGKILL", "--all", name)
        for name in listed.stdout.split():
            self.ctr("tasks", "delete", "--force", name)
            self.ctr("containers", "delete", name)

    def _unmount(self) -> None:
        """Let go of what kubelet and containerd mounted below our folder, and nowhere else."""
        lines = Path("/proc/self/mounts").read_text().splitlines()
        places = [line.split()[1].encode().decode("unicode_escape") for line in lines]
        for place in sorted(places, key=len, reverse=True):
            if place.startswith(f"{self._home}/"):
                _run("umount", "--lazy", place, check=False)

    # --- kubelet --------------------------------------------------------------------------

    def _write_kubelet(self) -> None:
        cgroup = f"/tiphys{self._given.number}"
        _make_cgroup(cgroup)
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self._given.gateway,
            "port": self._given.kubelet_port,
            "healthzPort": free_port(),
            # Reachable from this machine only, by the bridge's address.
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "containerRuntimeEndpoint": f"unix://{self.socket}",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": cgroup,
            "failCgroupV1": False,
            "failSwapOn": False,
            "enforceNodeAllocatable": [],
            "maxPods": 250,
            "resolvConf": "/etc/resolv.conf",
            "clusterDomain": "cluster.local",
            "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%"},
            "imageGCHighThresholdPercent": 100,
            "imageGCLowThresholdPercent": 99,
            "nodeStatusUpdateFrequency": "5s",
            "syncFrequency": "10s",
            "registryPullQPS": 0,
            "eventRecordQPS": 0,
            "podLogsDir": str(self._home / "pod-logs"),
        }
        (self._home / "kubelet.json").write_text(json.dumps(config, indent=1))

    def _is_ready(self) -> bool:
        path = f"/api/v1/nodes/{NAME}"
        if not self._plane.api.answers(path):
            return False
        conditions = self._plane.api.call("GET", path).get("status", {}).get("conditions", [])
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _make_cgroup(path: str) -> None:
    """Make kubelet's own root in every hierarchy (v1) or the one there is (v2)."""
    base = Path("/sys/fs/cgroup")
    if _is_v2():
        (base / path.lstrip("/")).mkdir(exist_ok=True)
        return
    for hierarchy in base.iterdir():
        if hierarchy.is_dir() and not hierarchy.is_symlink():
            with suppress(OSError):
                (hierarchy / path.lstrip("/")).mkdir(exist_ok=True)
    _copy_cpuset(base / "cpuset", path.lstrip("/"))


def _remove_cgroup(name: str) -> None:
    """Remove kubelet's own root again, the innermost group first; groups in use stay."""
    for root in Path("/sys/fs/cgroup").glob(name if _is_v2() else f"*/{name}"):
        for folder, _, _ in os.walk(root, topdown=False):
            with suppress(OSError):
                Path(folder).rmdir()


def _is_v2() -> bool:
    return Path("/sys/fs/cgroup/cgroup.controllers").exists()


def _copy_cpuset(base: Path, name: str) -> None:
    """A new cpuset of cgroup v1 holds no processor until it is told which."""
    for file in ("cpuset.cpus", "cpuset.mems"):
        with suppress(OSError):
            (base / name / file).write_text((base / file).read_text())


def _which(name: str) -> str:
    found = shutil.which(name, path=PATH)
    if found is None:
        raise MissingError(f"{name} is not installed")
    return found


def _run(name: str, *words: str, check: bool = True) -> int:
    done = subprocess.run(
        [_which(name), *words], capture_output=True, text=True, check=False, timeout=120
    )
    if check and done.returncode:
        raise MissingError(f"{name} {' '.join(words)}: {done.stderr.strip()[-300:]}")
    return done.returncode
