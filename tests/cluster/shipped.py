"""Tiphys as an image, made of this machine's Python and of what is installed beside the tests.

A stand-in for deploy/Containerfile, which takes a registry and a network: the same settings, the
same command, without tini and git. Installed by the chart as people would.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from tests.cluster.rig.image import Recipe, libraries, python
from tests.cluster.rig.plane import ControlPlane

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy/helm/tiphys"
NAME, TAG = "tiphys.local/tiphys", "tests"
_PLACE = "opt/tiphys"
_COMMAND = '#!/bin/sh\nexec python3 -m tiphys "$@"\n'


def recipe() -> Recipe:
    """Give the image of this checkout."""
    base = python()
    found = {f"{_PLACE}/{place}": path for place, path in _files()}
    found |= libraries([path for path in found.values() if path.suffix == ".so"])
    return replace(
        base,
        names=(f"{NAME}:{TAG}",),
        files={**base.files, **found},
        texts={**base.texts, "usr/local/bin/tiphys": _COMMAND},
        command=("server",),
        entrypoint=("tiphys",),
        environment=(f"PYTHONPATH=/{_PLACE}", "TIPHYS_DATA_DIR=/data", "TIPHYS_HOST=0.0.0.0"),
    )


def _files() -> list[tuple[str, Path]]:
    found = [(str(path.relative_to(ROOT / "src")), path) for path in (ROOT / "src").rglob("*")]
    for each in _needed("tiphys", {}).values():
        if each.name != "tiphys":
            found += [(str(place), Path(str(place.locate()))) for place in each.files or ()]
    return [
        (place, path)
        for place, path in found
        if path.is_file() and "__pycache__" not in place and not place.startswith("..")
    ]


def _needed(name: str, known: dict[str, Distribution]) -> dict[str, Distribution]:
    """Find a distribution and what it requires; what is for other systems is not installed."""
    with suppress(PackageNotFoundError):
        known[name] = distribution(name)
        for line in known[name].requires or ():
            match = re.match(r"[\w.-]+", line)
            if match and "extra ==" not in line and match[0].lower() not in known:
                _needed(match[0].lower(), known)
    return known


class Release:
    """The chart, installed under the name ``tiphys`` in a namespace, with a volume of its own."""

    def __init__(self, program: Path, plane: ControlPlane, namespace: str, folder: Path) -> None:
        self._program, self._plane, self._namespace = program, plane, namespace
        folder.mkdir()
        folder.chmod(0o777)  # As the classes of single-node clusters make theirs.
        self._class = f"by-hand-{namespace}"
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": self._class},
            "spec": {
                "storageClassName": self._class,
                "capacity": {"storage": "10Gi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": str(folder)},
            },
        }
        plane.api.apply(volume)

    def upgrade(self, *words: str, values: str = "") -> str:
        """Install the release or change it; give what was said."""
        given = f"image.repository={NAME},image.tag={TAG},storage.className={self._class}"
        settings = ["--set", f"{given},{values}" if values else given]
        return self._helm("upgrade", "--install", "tiphys", str(CHART), *settings, *words)

    def remove(self) -> None:
        """Uninstall it."""
        self._helm("uninstall", "tiphys", "--ignore-not-found")
        self._plane.api.call("DELETE", f"/api/v1/persistentvolumes/{self._class}")

    def _helm(self, *words: str) -> str:
        place = ["--kubeconfig", str(self._plane.kubeconfig), "--namespace", self._namespace]
        done = subprocess.run(
            [str(self._program), *words, *place],
            capture_output=True,
            text=True,
            check=False,
            timeout=400,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tiphys(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command against the server in its pod."""
        base = f"/api/v1/namespaces/{self._namespace}"
        address = self._plane.api.call("GET", f"{base}/pods/tiphys-0")["status"]["podIP"]
        secret = self._plane.api.call("GET", f"{base}/secrets/tiphys-admin")["data"]["token"]
        kept = {key: value for key, value in os.environ.items() if not key.startswith("TIPHYS_")}
        server = {
            "TIPHYS_SERVER": f"http://{address}:2746",
            "TIPHYS_TOKEN": base64.b64decode(secret).decode(),
            "NO_PROXY": "*",
        }
        return subprocess.run(
            [sys.executable, "-m", "tiphys", *words],
            env=kept | server,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
