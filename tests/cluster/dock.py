"""A namespace with queues of the real Kueue, workflows of the real Argo, and our controller."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.rig.kueue import LABEL
from tests.cluster.rig.plane import ControlPlane
from tiphys.kueue import label
from tiphys.kueue.layer import is_gated

Json = dict[str, Any]
GPU = "example.com/gpu"
LIMIT = 240.0
_KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


class Dock:
    """One namespace with one ClusterQueue of its own; ends what it started."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane, self.api, self.folder = plane, plane.api, folder
        self.namespace = f"k-{os.urandom(4).hex()}"
        self._made: list[str] = []
        self._processes: list[subprocess.Popen[str]] = []
        meta = {"name": self.namespace, "labels": {LABEL: "managed"}}
        self.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        self._let_node_have_gpus()

    # --- Kueue ------------------------------------------------------------------------------

    def apply(self, kind: str, name: str, spec: Json | None, more: Json | None = None) -> None:
        """Create or change an object of Kueue."""
        scope = f"/namespaces/{self.namespace}" if kind == "LocalQueue" else ""
        path = f"{_KUEUE}{scope}/{_plural(kind)}/{name}"
        thing: Json = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": kind,
            "metadata": {"name": name},
            **({"spec": spec} if spec is not None else {}),
            **(more or {}),
        }
        query = "?fieldManager=test&force=true"
        self.api.call("PATCH", path + query, thing, "apply-patch+yaml")
        if path not in self._made:
            self._made.insert(0, path)

    def queue(self, quota: dict[str, int | str], *, name: str = "q", **more: Any) -> None:
        """Make a ClusterQueue with a quota, and a LocalQueue ``name`` before it."""
        whole = f"{self.namespace}-{name}"
        flavor, labels = more.pop("flavor", whole), more.pop("labels", {})
        place = {"nodeLabels": labels, "tolerations": more.pop("tolerations", [])}
        self.apply("ResourceFlavor", flavor, {k: v for k, v in place.items() if v})
        covered = {"cpu": "100", "memory": "100Gi", **{k: str(v) for k, v in quota.items()}}
        resources = [{"name": k, "nominalQuota": v} for k, v in covered.items()]
        group = {
            "coveredResources": list(covered),
            "flavors": [{"name": flavor, "resources": resources}],
        }
        spec = {"namespaceSelector": {}, "resourceGroups": [group], **more}
        self.apply("ClusterQueue", whole, spec)
        self.apply("LocalQueue", name, {"clusterQueue": whole})

    def workloads(self) -> list[Json]:
        """List the Workloads."""
        path = f"{_KUEUE}/namespaces/{self.namespace}/workloads"
        items: list[Json] = self.api.call("GET", path)["items"]
        return items

    def usage(self, name: str = "q", resource: str = GPU) -> str:
        """Tell how much of a resource the ClusterQueue has reserved."""
        found = self._taken(f"{_KUEUE}/clusterqueues/{self.namespace}-{name}")
        return found.get(("flavorsReservation", resource), "0")

    def _taken(self, path: str) -> dict[tuple[str, str], str]:
        """Give what is reserved and used of a ClusterQueue, where that is not nothing."""
        status = self.api.call("GET", path).get("status") or {}
        return {
            (kind, each["name"]): str(each["total"])
            for kind in ("flavorsReservation", "flavorsUsage")
            for flavor in status.get(kind) or ()
            for each in flavor["resources"]
            if str(each["total"]) != "0"
        }

    def settle(self, count: int) -> None:
        """Wait until all is over; see that there were so many Workloads and nothing is left."""
        self.until(lambda: all(is_true(w, "Finished") for w in self.workloads()), "their end")
        self.until(lambda: not any(map(self._taken, self._queues())), "the return of all quota")
        self.until(lambda: not self.waiting(), "the end of all that waits at a gate")
        found = self.workloads()
        assert len(found) == len({_purpose(each) for each in found}) == count, self._story()

    def _queues(self) -> list[str]:
        """Give the ClusterQueues behind the LocalQueues of the namespace, whoever made them."""
        path = f"{_KUEUE}/namespaces/{self.namespace}/localqueues"
        found = {each["spec"]["clusterQueue"] for each in self.api.call("GET", path)["items"]}
        assert found, "there is no queue that could leak"
        return [f"{_KUEUE}/clusterqueues/{name}" for name in sorted(found)]

    def _let_node_have_gpus(self) -> None:
        for node in self.api.call("GET", "/api/v1/nodes")["items"]:
            path = f"/api/v1/nodes/{node['metadata']['name']}/status"
            patch = {"status": {"capacity": {GPU: "500"}}}
            self.api.call("PATCH", path, patch, "merge-patch+json")

    # --- our controller ---------------------------------------------------------------------

    def start(self, kubeconfig: Path | None = None, until: str = "ready") -> None:
        """Run a controller until it is ready, or says something else."""
        words = ["kueue", "controller", "-v", "--namespace", self.namespace]
        words += ["--kubeconfig", str(kubeconfig or self.plane.kubeconfig)]
        words += ["--listen", "127.0.0.1:0", "--url", "https://127.0.0.1:0/"]
        path = self.folder / "controller.log"
        with path.open("a") as log:
            mark = log.tell()
            process = subprocess.Popen(
                [sys.executable, "-m", "tiphys", *words], stdout=log, stderr=log, text=True
            )
        self._processes.append(process)
        self.until(lambda: until in path.read_text()[mark:] or process.poll(), "the controller")
        assert process.poll() is None, self.log

    def kill(self) -> None:
        """End the oldest controller as a power cut would."""
        if self._processes:
            process = self._processes.pop(0)
            process.kill()
            process.wait()

    @property
    def log(self) -> str:
        """What the controller said."""
        return (self.folder / "controller.log").read_text()

    # --- Argo -------------------------------------------------------------------------------

    def submit(
        self,
        text: str,
        unit: str = "",
        queue: str = "q",
        notes: Json | None = None,
        priority: str = "",
    ) -> str:
        """Make a workflow with the one label; give its name."""
        thing = yaml.safe_load(text)
        meta = thing.setdefault("metadata", {})
        meta.setdefault("labels", {})[label.QUEUE] = queue
        if priority:
            meta["labels"][label.PRIORITY] = priority
        meta.setdefault("annotations", {}).update(notes or {})
        if unit:
            meta["annotations"][label.UNIT] = unit
        thing["spec"].setdefault("serviceAccountName", "default")
        made = self.api.call("POST", self._workflows, thing)
        return str(made["metadata"]["name"])

    @property
    def _workflows(self) -> str:
        return f"/apis/argoproj.io/v1alpha1/namespaces/{self.namespace}/workflows"

    def workflow(self, name: str) -> Json:
        """Read a workflow."""
        return self.api.call("GET", f"{self._workflows}/{name}")

    def terminate(self, name: str) -> None:
        """End a workflow as ``argo terminate`` does."""
        change = {"spec": {"shutdown": "Terminate"}}
        self.api.call("PATCH", f"{self._workflows}/{name}", change, "merge-patch+json")

    def phase(self, name: str) -> str:
        """Give a workflow's phase."""
        return str((self.workflow(name).get("status") or {}).get("phase") or "")

    def pods(self, workflow: str = "") -> list[Json]:
        """List the pods."""
        query = f"?labelSelector={label.WORKFLOW}={workflow}" if workflow else ""
        path = f"/api/v1/namespaces/{self.namespace}/pods{query}"
        items: list[Json] = self.api.call("GET", path)["items"]
        return items

    def gated(self) -> list[Json]:
        """Give the pods that wait."""
        return [pod for pod in self.pods() if is_gated(pod)]

    def waiting(self) -> list[Json]:
        """Give the pods that wait at a gate, ours or Kueue's."""
        return [pod for pod in self.pods() if pod["spec"].get("schedulingGates")]

    def ungated(self) -> list[Json]:
        """Give the pods that were let go and have not ended."""
        return [
            pod
            for pod in self.pods()
            if not pod["spec"].get("schedulingGates")
            and pod["status"]["phase"] in ("Pending", "Running")
        ]

    # --- waiting ----------------------------------------------------------------------------

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until something holds."""
        end = time.monotonic() + LIMIT
        while not holds():
            assert time.monotonic() < end, f"waited in vain for {what}\n{self._story()}"
            time.sleep(0.3)

    def _story(self) -> str:
        conditions = {
            w["metadata"]["name"]: [
                f"{c['type']}={c['status']} {c.get('message', '')[:120]}"
                for c in (w.get("status") or {}).get("conditions") or ()
            ]
            for w in self.workloads()
        }
        return f"{conditions}\n{self.log[-3000:]}"

    def close(self) -> None:
        """End the controllers and remove everything."""
        while self._processes:
            self.kill()
        paths = [f"{_WEBHOOKS}/argo.kueue.tiphys.dev.{self.namespace}"]
        for path in [*paths, *self._made, f"/api/v1/namespaces/{self.namespace}"]:
            try:
                self.api.call("DELETE", path)
            except Exception as error:
                sys.stderr.write(f"{path}: {error}\n")


def is_true(workload: Json, condition: str) -> bool:
    """Whether a condition of a Workload holds."""
    found = (workload.get("status") or {}).get("conditions") or ()
    return any(each["type"] == condition and each["status"] == "True" for each in found)


def _purpose(workload: Json) -> tuple[str, ...]:
    """Tell what a Workload is for: one layer of a workflow, or what Kueue itself looks after."""
    notes = workload["metadata"].get("annotations") or {}
    (owner,) = workload["metadata"]["ownerReferences"]
    return owner["uid"], notes.get(label.LAYER, ""), notes.get(label.NUMBER, "")


def layers(workloads: Sequence[Json]) -> dict[str, int]:
    """Give how many pods each Workload asks for, by layer."""
    return {
        w["metadata"]["annotations"][label.LAYER]: sum(p["count"] for p in w["spec"]["podSets"])
        for w in workloads
    }


def _plural(kind: str) -> str:
    return {"WorkloadPriorityClass": "workloadpriorityclasses"}.get(kind, f"{kind.lower()}s")
