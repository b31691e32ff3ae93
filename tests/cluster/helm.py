"""``tiphys`` as people use it, with a cluster to use; and what the cluster says of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.cluster.rig.plane import ControlPlane

Json = dict[str, Any]
LIMIT = 240.0
CONFIG = """
isolation: process
lingerSeconds: 0.1
kubernetes: {{namespace: {namespace}, kubeconfig: {kubeconfig}, helperImage: "busybox:stable-musl"}}
scheduler: {{volcano: {{enabled: true, presets: false}}}}
"""


class Helm:
    """The command with a data directory and a namespace of its own; ends what it started."""

    def __init__(self, folder: Path, cluster: ControlPlane, namespace: str) -> None:
        self.folder, self.api, self.namespace = folder, cluster.api, namespace
        self.configure(str(cluster.kubeconfig))
        self._processes: list[subprocess.Popen[str]] = []
        self.limit = LIMIT
        """Seconds that a command may take."""

    def configure(self, kubeconfig: str, more: str = "") -> None:
        """Write the settings."""
        text = CONFIG.format(namespace=self.namespace, kubeconfig=kubeconfig)
        (self.folder / "tiphys.yaml").write_text(text + more)

    def __enter__(self) -> Helm:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self._processes:
            if process.poll() is None:
                self.kill(process)
            elif process.stdout is not None and not process.stdout.closed:
                process.communicate()

    def environment(self, data: str) -> dict[str, str]:
        """Give what the command sees."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("TIPHYS_")}
        return {
            **kept,
            "HOME": str(self.folder),
            "TIPHYS_DATA_DIR": str(self.folder / data),
            "TIPHYS_CONFIG": str(self.folder / "tiphys.yaml"),
        }

    def __call__(self, *words: str, data: str = "data") -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [sys.executable, "-m", "tiphys", *words],
            env=self.environment(data),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=self.limit,
            check=False,
        )

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """Start a command and leave it running."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tiphys", *words],
            env=self.environment("data"),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._processes.append(process)
        return process

    def write(self, text: str, name: str = "workflow.yaml") -> str:
        """Write a workflow file."""
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def run(self, text: str, *words: str, scheduler: str = "k8s-native") -> Json:
        """Run a workflow to its end and give it."""
        given = ["run", "--scheduler", scheduler, "-o", "json", *words, self.write(text)]
        done = self(*given, data=scheduler)
        assert done.stdout, done.stderr
        found: Json = json.loads(done.stdout)
        return found

    def get(self, name: str) -> Json:
        """Read a stored workflow."""
        done = self("get", name, "-o", "json")
        assert done.returncode == 0, done.stderr
        found: Json = json.loads(done.stdout)
        return found

    def kill(self, process: subprocess.Popen[str]) -> None:
        """End a process as a power cut would."""
        process.send_signal(signal.SIGKILL)
        process.communicate()

    # --- the cluster ------------------------------------------------------------------------

    def jobs(self) -> list[Json]:
        """List the Jobs."""
        path = f"/apis/batch/v1/namespaces/{self.namespace}/jobs"
        items: list[Json] = self.api.call("GET", path)["items"]
        return items

    def pods(self) -> list[Json]:
        """List the pods."""
        items: list[Json] = self.api.call("GET", f"/api/v1/namespaces/{self.namespace}/pods")[
            "items"
        ]
        return items

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for something in the cluster or the store; fail if it does not come."""
        end = time.monotonic() + LIMIT
        while not holds():
            assert time.monotonic() < end, f"waited in vain for {what}"
            time.sleep(0.2)

    def until_running(self, count: int = 1) -> None:
        """Wait until so many pods run."""
        self.until(
            lambda: sum(pod["status"].get("phase") == "Running" for pod in self.pods()) >= count,
            f"{count} running pods",
        )


def essence(workflow: Json) -> dict[str, Json]:
    """Give what must be the same wherever a workflow runs: by the node's name."""
    name = workflow["metadata"]["name"]
    nodes = workflow["status"]["nodes"].values()
    return {node["name"].replace(name, "W"): _essence_of(node) for node in nodes}


def _essence_of(node: Json) -> Json:
    kept = {key: node.get(key) for key in ("type", "phase", "templateName", "inputs", "message")}
    outputs = dict(node.get("outputs") or {})
    if "artifacts" in outputs:
        outputs["artifacts"] = sorted(each["name"] for each in outputs["artifacts"])
    inputs = dict(kept["inputs"] or {})
    if "artifacts" in inputs:
        inputs["artifacts"] = sorted(each["name"] for each in inputs["artifacts"])
    return {**kept, "inputs": inputs, "outputs": outputs}
