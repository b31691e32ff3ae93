"""A ``tiphys server`` that is configured for Volcano, and what people ask of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from tests.cluster.helm import Helm, Json
from tests.cluster.rig.api import ApiError
from tests.cluster.rig.plane import ControlPlane
from tiphys.client import Client, calls
from tiphys.client.client import local_server
from tiphys.client.model import Workflow

T = TypeVar("T")
PATIENCE = 120.0
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


class Desk:
    """A client with a connection of its own for each call: a server hangs up on idle ones."""

    def __init__(self, data: Path) -> None:
        self._data = data

    def do(self, call: calls.Call[T]) -> T:
        """Do a call."""
        with Client.of(self._data) as client:
            return client.do(call)


class Deck:
    """A server with a namespace of its own on the cluster; ends and removes what it made."""

    def __init__(self, folder: Path, cluster: ControlPlane, namespace: str) -> None:
        self.helm = Helm(folder, cluster, namespace)
        self.helm.configure(str(cluster.kubeconfig), "log: {format: json}\n")
        self.plane, self.api = cluster, cluster.api
        self.namespace, self.folder = namespace, folder
        self._made: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        meta = {"name": namespace}
        self.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})

    def start(self, **environment: str) -> None:
        """Run the server until it listens."""
        with (self.folder / "server.log").open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tiphys", "server", "--port", "0"],
                env={**self.helm.environment("data"), **environment},
                cwd=self.folder,
                stdout=log,
                stderr=log,
                text=True,
            )
        process = self._process
        self.until(lambda: self._listens() or process.poll() is not None, "the server")
        assert process.poll() is None, self.log

    @property
    def client(self) -> Desk:
        """The server, as a client asks it."""
        return Desk(self.folder / "data")

    def _listens(self) -> bool:
        return (self.folder / "data/http-address").exists() and "ready" in self.log

    @property
    def log(self) -> str:
        """What the server said."""
        return (self.folder / "server.log").read_text()

    def stop(self) -> None:
        """End the server as people do."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def __enter__(self) -> Deck:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        for path in [f"/api/v1/namespaces/{self.namespace}", *self._made]:
            self.forget(path)

    # --- queues and work --------------------------------------------------------------------

    def forget(self, path: str) -> None:
        """Delete an object, if it is there."""
        try:
            self.api.call("DELETE", path)
        except ApiError as error:
            if error.status != 404:
                raise

    def queue(self, word: str, **fields: Any) -> str:
        """Make a queue of Volcano for this test alone; give its name."""
        name = f"{self.namespace}-{word}-{os.urandom(2).hex()}"
        self._made.append(f"{QUEUES}/{name}")
        self.client.do(calls.make_queue(name, scheduler="volcano", **fields))
        return name

    def metrics(self) -> str:
        """Read the numbers."""
        url, token = local_server(self.folder / "data")
        request = urllib.request.Request(
            f"{url}/metrics", headers={"Authorization": f"Bearer {token}"}
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as answer:
            return str(answer.read().decode())

    def said(self, event: str) -> list[Json]:
        """Give the records of one kind of event in the server's log."""
        records = [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]
        return [each for each in records if each.get("event") == event]

    def on_cluster(self, name: str) -> Json:
        """Read a queue from the cluster itself."""
        return self.api.call("GET", f"{QUEUES}/{name}")

    def submit(self, text: str, queue: str = "", priority: int | str = "normal") -> str:
        """Submit a workflow for Volcano; give its id."""
        call = calls.submit(
            "w", "default", text, scheduler="volcano", queue=queue, priority=priority,
            generate_name=True,
        )  # fmt: skip
        return self.client.do(call).id

    def workflow(self, key: str) -> Workflow:
        """Read a workflow."""
        return self.client.do(calls.get_workflow(key))

    def ended(self, key: str) -> Workflow:
        """Wait for a workflow's end."""
        self.until(lambda: self.workflow(key).status in ("succeeded", "failed", "error"), key)
        return self.workflow(key)

    def groups(self) -> list[Json]:
        """List the pod groups."""
        path = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{self.namespace}/podgroups"
        items: list[Json] = self.api.call("GET", path)["items"]
        return items

    def pods(self, workflow: str = "", phase: str = "") -> list[Json]:
        """List pods: of a workflow, in a phase."""
        uid = workflow.removeprefix("wf-")
        return [
            pod
            for pod in self.helm.pods()
            if (not uid or pod["metadata"]["labels"].get("workflow-id") == uid)
            and (not phase or pod["status"].get("phase") == phase)
        ]

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until something holds; fail if it does not come."""
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, f"waited in vain for {what}\n{self.log[-3000:]}"
            time.sleep(0.2)
