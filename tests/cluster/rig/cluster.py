"""A whole cluster: up, down and what it is made of, in one folder.

``up`` can be called again to add what was not asked for at first; ``down`` ends what this folder's
pid files name and nothing else, and removes the folder.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.rig import argo, kueue, kwok, volcano
from tests.cluster.rig.build import build, find_go
from tests.cluster.rig.daemon import Daemons
from tests.cluster.rig.image import bring_images
from tests.cluster.rig.node import Node, check_machine
from tests.cluster.rig.parts import ARGO, BASE, KUEUE, KWOK, VOLCANO, Part
from tests.cluster.rig.plane import ControlPlane


@dataclass(frozen=True, slots=True)
class Wish:
    """What a cluster is to have beyond Kubernetes."""

    argo: bool = False
    volcano: bool = False
    kueue: bool = False
    kwok: int = 0
    """How many nodes that only pretend."""

    def parts(self) -> list[Part]:
        """Give what must be built."""
        wanted = {ARGO: self.argo, VOLCANO: self.volcano, KUEUE: self.kueue, KWOK: self.kwok > 0}
        return [*BASE, *(part for part, is_wanted in wanted.items() if is_wanted)]


class Cluster:
    """One cluster in one folder."""

    def __init__(self, home: Path) -> None:
        self.home = home.resolve()

    @property
    def exists(self) -> bool:
        """Whether ``up`` was called here and ``down`` was not."""
        return (self.home / "settings.json").exists()

    @property
    def kubeconfig(self) -> Path:
        """The administrator's way in."""
        return self.home / "kubeconfig"

    def up(self, wish: Wish) -> None:
        """Build, start and wait for everything; raise MissingError where that cannot be done."""
        check_machine()
        if not all(part.is_built() for part in wish.parts()):
            find_go()
        for part in wish.parts():
            build(part)
        self.home.mkdir(parents=True, exist_ok=True)
        self.home.chmod(0o700)
        daemons = Daemons(self.home)
        plane = ControlPlane(self.home, daemons)
        node = Node(plane, daemons)
        node.prepare()
        plane.start()
        bring_images(node, self.home, argo=wish.argo)
        node.start()
        if wish.kwok:
            kwok.start(plane, daemons, wish.kwok)
        if wish.argo:
            argo.start(plane, daemons)
        if wish.volcano:
            volcano.start(plane, daemons)
        if wish.kueue:
            kueue.start(plane, daemons)

    def down(self) -> None:
        """End everything that was started here, and remove the folder."""
        if not self.exists:
            return
        daemons = Daemons(self.home)
        plane = ControlPlane(self.home, daemons)
        below = ("kubelet", "containerd", "etcd", "kube-apiserver")
        daemons.stop([name for name in daemons.names() if name not in below])
        Node(plane, daemons).stop()
        daemons.stop(["kube-apiserver", "etcd"], grace=2)
        shutil.rmtree(self.home, ignore_errors=True)

    def status(self) -> dict[str, bool]:
        """Tell for each process that was started whether it runs."""
        daemons = Daemons(self.home)
        return {name: daemons.is_running(name) for name in daemons.names()}
