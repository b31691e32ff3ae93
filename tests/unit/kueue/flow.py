"""Workflows with a status as Argo writes it, their pods, and a Kueue that does as told."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from typing import Any

from tiphys.kueue import label
from tiphys.kueue.argo import ArgoEngine
from tiphys.kueue.plan import (
    Action,
    Change,
    End,
    Finish,
    HandBack,
    Kill,
    Make,
    Ready,
    Release,
    Requeue,
    Reshape,
    Seat,
    View,
    plan,
)
from tiphys.kueue.workload import Claim, write

Json = dict[str, Any]
ENGINE = ArgoEngine()


class Flow:
    """One workflow in a cluster of its own."""

    def __init__(self, name: str = "flow", unit: str = "", notes: Json | None = None) -> None:
        annotations = {**({label.UNIT: unit} if unit else {}), **(notes or {})}
        self.owner: Json = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": "u-1",
                "labels": {label.QUEUE: "user-queue"},
                "annotations": annotations,
            },
            "spec": {},
            "status": {"phase": "Running", "nodes": {}},
        }
        self.pods: dict[str, Json] = {}
        self.workloads: dict[str, Json] = {}
        self.most = 8

    @property
    def nodes(self) -> dict[str, Json]:
        found: dict[str, Json] = self.owner["status"]["nodes"]
        return found

    # --- Argo -------------------------------------------------------------------------------

    def node(self, name: str, kind: str, above: str = "", parents: Sequence[str] = ()) -> Json:
        """Add a node below a boundary, as a child of others."""
        node = {
            "id": name,
            "name": name,
            "type": kind,
            "phase": "Pending" if kind == "Pod" else "Running",
        }
        if above:
            node["boundaryID"] = above
        for parent in parents or ([above] if above else []):
            self.nodes[parent].setdefault("children", []).append(name)
        self.nodes[name] = node
        return node

    def leaf(
        self, name: str, above: str = "", parents: Sequence[str] = (), **requests: str
    ) -> None:
        """Add a node with a gated pod."""
        self.node(name, "Pod", above, parents)
        self.pod(name, **requests)

    def pod(self, name: str, **requests: str) -> None:
        """Make the pod of a node."""
        container = {"name": "main", "resources": {"requests": requests or {"cpu": "1"}}}
        self.pods[name] = {
            "metadata": {
                "name": name,
                "namespace": "default",
                "annotations": {label.NODE_ID: name},
                "labels": {label.WORKFLOW: self.owner["metadata"]["name"]},
            },
            "spec": {"containers": [container], "schedulingGates": [{"name": label.GATE}]},
        }

    def end(self, name: str, phase: str = "Succeeded") -> None:
        """Have a node end, and its pod."""
        self.nodes[name]["phase"] = phase
        self.pods.pop(name, None)

    # --- us ---------------------------------------------------------------------------------

    def plan(self) -> list[Action]:
        """Ask what is to be done."""
        claims = [Claim(thing) for thing in copy.deepcopy(list(self.workloads.values()))]
        view = View(owner=self.owner, pods=list(self.pods.values()), claims=claims, most=self.most)
        return plan(ENGINE, view)

    def settle(self) -> list[Action]:
        """Do all that is to be done until nothing is left."""
        done: list[Action] = []
        for _ in range(50):
            actions = self.plan()
            if not actions:
                return done
            for action in actions:
                self.perform(action)
            done += actions
        raise AssertionError(f"it never settles: {actions}")

    def perform(self, action: Action) -> None:
        """Do to this cluster what the controller does to a real one."""
        match action:
            case Make(layer, number, seats, podsets):
                thing = write(self.owner, layer, number, seats, podsets)
                assert thing["metadata"]["name"] not in self.workloads
                self.workloads[thing["metadata"]["name"]] = thing
            case Release(claim, _, pod):
                mine = self.pods[pod["metadata"]["name"]]
                mine["spec"]["schedulingGates"] = []
                mine["metadata"]["annotations"][label.WORKLOAD] = claim.name
            case Kill(pods):
                for pod in pods:
                    self.pods.pop(pod["metadata"]["name"])
            case Change(patch):
                merge(self.owner, patch)
            case End():
                raise AssertionError("Argo has no way of its own to end a pod")
            case _:
                self._write(self.workloads[action.claim.name], action)

    def _write(
        self, thing: Json, action: Reshape | Seat | HandBack | Finish | Ready | Requeue
    ) -> None:
        match action:
            case Reshape(claim, seats, podsets):
                assert not claim.is_reserved
                thing["spec"]["podSets"] = podsets
                thing["metadata"]["annotations"][label.LEAVES] = json.dumps(seats)
            case Seat(_, seats):
                thing["metadata"]["annotations"][label.LEAVES] = json.dumps(seats)
            case HandBack(claim, reclaimable):
                assert all(r["count"] >= claim.reclaimed.get(r["name"], 0) for r in reclaimable)
                thing.setdefault("status", {})["reclaimablePods"] = reclaimable
            case Finish(claim):
                self.condition(claim.name, Finished=True)
            case Ready(claim):
                self.condition(claim.name, PodsReady=True)
            case Requeue(claim):
                self.condition(claim.name, QuotaReserved=False, Admitted=False, PodsReady=False)
                thing["status"].pop("reclaimablePods", None)

    # --- Kueue ------------------------------------------------------------------------------

    def condition(self, name: str, **conditions: bool) -> None:
        """Set conditions of a Workload."""
        status = self.workloads[name].setdefault("status", {})
        found = {each["type"]: each for each in status.get("conditions", ())}
        for kind, holds in conditions.items():
            found[kind] = {"type": kind, "status": str(holds), "reason": "Preempted"}
        status["conditions"] = list(found.values())

    def admit(self, name: str = "") -> None:
        """Admit one Workload, or all."""
        for each in [name] if name else list(self.workloads):
            self.condition(each, QuotaReserved=True, Admitted=True, Evicted=False)

    def evict(self, name: str) -> None:
        """Evict a Workload."""
        self.condition(name, Evicted=True)

    # --- what there is ----------------------------------------------------------------------

    def claims(self) -> list[Claim]:
        """Give the Workloads."""
        return [Claim(thing) for thing in self.workloads.values()]

    def running(self) -> set[str]:
        """Give the pods without a gate."""
        return {name for name, pod in self.pods.items() if not pod["spec"]["schedulingGates"]}

    def asked(self) -> dict[str, int]:
        """Give how many pods each Workload that is not over asks for, by layer and number."""
        return {
            f"{claim.layer} #{claim.number}": sum(claim.counts.values())
            for claim in self.claims()
            if not claim.is_finished
        }


def merge(thing: Json, patch: Json) -> None:
    """Apply a JSON merge patch."""
    for key, value in patch.items():
        if value is None:
            thing.pop(key, None)
        elif isinstance(value, dict):
            inner = thing.setdefault(key, {})
            merge(inner, value)
        else:
            thing[key] = copy.deepcopy(value)
