"""Workloads: how a group of leaves is written for Kueue, and what one that exists says.

Pure. The annotation ``tiphys.dev/kueue-leaves`` names the leaves of each podSet; it is written
together with the podSets, so that there is never half a group.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tiphys.core.name import fnv1a32
from tiphys.kueue import label
from tiphys.kueue.layer import Json, Leaf
from tiphys.kueue.shape import Shape, merge, shape_of

API = "kueue.x-k8s.io/v1beta2"
PODSETS = 8
"""How many podSets a Workload may have, where the cluster's definition does not say."""
WHOLE = "*"
"""The layer of a Workload that stands for a whole workflow."""
_NAME_LENGTH = 40
_MESSAGE = 1024
_LARGE = 64 * 1024
"""Characters of an annotation that is written plainly: all of an object have 256 Ki together."""

Seats = dict[str, list[str]]
"""Leaves by podSet."""


@dataclass(frozen=True)
class Claim:
    """A Workload of ours, as it is in the cluster."""

    thing: Json = field(repr=False)

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.thing["metadata"]["name"])

    @property
    def layer(self) -> str:
        """The layer that it asks quota for."""
        return str(self._annotations.get(label.LAYER, ""))

    @property
    def number(self) -> int:
        """Which one of its layer it is."""
        return int(self._annotations.get(label.NUMBER, "0"))

    @property
    def _annotations(self) -> Mapping[str, str]:
        return self.thing["metadata"].get("annotations") or {}

    @cached_property
    def seats(self) -> Seats:
        """The leaves by podSet."""
        return read_seats(self._annotations.get(label.LEAVES, "{}"))

    @cached_property
    def conditions(self) -> dict[str, Json]:
        """Its conditions by type."""
        return {each["type"]: each for each in self._status.get("conditions") or ()}

    @property
    def _status(self) -> Json:
        return self.thing.get("status") or {}

    def _is(self, condition: str) -> bool:
        return self.conditions.get(condition, {}).get("status") == "True"

    @property
    def is_reserved(self) -> bool:
        """Whether quota is set aside for it: from now on its podSets are fixed."""
        return self._is("QuotaReserved")

    @property
    def is_admitted(self) -> bool:
        """Whether its pods may run."""
        return self._is("Admitted") and not self._is("Evicted")

    @property
    def is_evicted(self) -> bool:
        """Whether its pods must end, and its quota be given back."""
        return self.is_reserved and self._is("Evicted")

    @property
    def is_ready(self) -> bool:
        """Whether it was said that all its pods have started."""
        return self._is("PodsReady")

    @property
    def is_finished(self) -> bool:
        """Whether it is over."""
        return self._is("Finished")

    @cached_property
    def counts(self) -> dict[str, int]:
        """The pods of each podSet."""
        return {each["name"]: int(each["count"]) for each in self.thing["spec"]["podSets"]}

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The shape of each podSet."""
        sets = self.thing["spec"]["podSets"]
        return {each["name"]: shape_of(each["template"]["spec"]) for each in sets}

    @cached_property
    def reclaimed(self) -> dict[str, int]:
        """How many pods of each podSet were handed back."""
        given = self._status.get("reclaimablePods") or ()
        return {each["name"]: int(each["count"]) for each in given}

    def flavors(self, podset: str) -> list[str]:
        """Give the flavors that a podSet was assigned."""
        return sorted({*self._assignment(podset).get("flavors", {}).values()})

    def _assignment(self, podset: str) -> Json:
        given = (self._status.get("admission") or {}).get("podSetAssignments") or ()
        return next((each for each in given if each["name"] == podset), {})

    def updates(self, podset: str) -> list[Json]:
        """Give what admission checks want to have changed in a podSet's pods."""
        checks = self._status.get("admissionChecks") or ()
        every = (update for check in checks for update in check.get("podSetUpdates") or ())
        return [update for update in every if update["name"] == podset]


def write_seats(seats: Seats) -> str:
    """Write an annotation, packed where it would be too large for one."""
    text = json.dumps(seats, separators=(",", ":"))
    if len(text) <= _LARGE:
        return text
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def read_seats(text: str) -> Seats:
    """Read the annotation."""
    if not text.startswith("{"):
        text = gzip.decompress(base64.b64decode(text)).decode()
    found: Seats = json.loads(text)
    return found


def workload_name(owner: Json, layer: str, number: int) -> str:
    """Name a Workload after its workflow, layer and number, so that it cannot be made twice."""
    meta = owner["metadata"]
    start = str(meta["name"])[:_NAME_LENGTH].rstrip("-.")
    digest = fnv1a32(f"{meta['uid']} {layer}")
    return f"{start}-{digest:08x}-{number}"


def arrange(leaves: Iterable[Leaf], most: int) -> list[tuple[Seats, list[Json]]]:
    """Give the podSets for leaves with pods: one Workload's, or more where places are too many."""
    shapes = {leaf.id: shape_of(leaf.pod["spec"]) for leaf in leaves if leaf.pod is not None}
    targets = merge(set(shapes.values()), most)
    seats: dict[Shape, list[str]] = {}
    for id_, shape in sorted(shapes.items()):
        seats.setdefault(targets[shape], []).append(id_)
    ordered = sorted(seats, key=lambda shape: shape.name)
    parts = [ordered[start : start + most] for start in range(0, len(ordered), most)]
    return [({s.name: seats[s] for s in part}, _podsets(part, seats)) for part in parts]


def _podsets(shapes: Sequence[Shape], seats: Mapping[Shape, Sequence[str]]) -> list[Json]:
    return [{"name": s.name, "count": len(seats[s]), "template": s.write()} for s in shapes]


def fold(podsets: Sequence[Json], most: int) -> list[Json]:
    """Give podSets that were written before there were pods, as few as a Workload may have."""
    shapes = {each["name"]: shape_of(each["template"]["spec"]) for each in podsets}
    targets = merge(set(shapes.values()), most)
    counts: dict[Shape, int] = {}
    for each in podsets:
        target = targets[shapes[each["name"]]]
        counts[target] = counts.get(target, 0) + int(each["count"])
    return [{"name": s.name, "count": n, "template": s.write()} for s, n in counts.items()]


def write(owner: Json, layer: str, number: int, seats: Seats, podsets: list[Json]) -> Json:
    """Give the Workload of a group; its priority is looked up by whoever makes it."""
    meta = owner["metadata"]
    labels = meta.get("labels") or {}
    spec: Json = {"queueName": labels.get(label.QUEUE, ""), "podSets": podsets, "active": True}
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": False,
    }
    return {
        "apiVersion": API,
        "kind": "Workload",
        "metadata": {
            "name": workload_name(owner, layer, number),
            "namespace": meta["namespace"],
            "labels": {label.OWNER: meta["uid"]},
            "annotations": {
                label.LAYER: layer,
                label.NUMBER: str(number),
                label.LEAVES: write_seats(seats),
            },
            "ownerReferences": [reference],
        },
        "spec": spec,
    }


def placement(claim: Claim, podset: str, flavors: Mapping[str, Json]) -> Json:
    """Give what the assigned flavors and the admission checks add to a pod of a podSet."""
    found: Json = {"nodeSelector": {}, "tolerations": [], "labels": {}, "annotations": {}}
    for name in claim.flavors(podset):
        spec = (flavors.get(name) or {}).get("spec") or {}
        found["nodeSelector"] |= spec.get("nodeLabels") or {}
        found["tolerations"] += spec.get("tolerations") or []
    for update in claim.updates(podset):
        for key in ("nodeSelector", "labels", "annotations"):
            found[key] |= update.get(key) or {}
        found["tolerations"] += update.get("tolerations") or []
    return found


def handed_back(claim: Claim, live: Mapping[str, Sequence[str]]) -> list[Json]:
    """Give ``reclaimablePods``: the slots that no leaf holds any more; never less than before."""
    free = {
        name: max(count - len(live.get(name, ())), claim.reclaimed.get(name, 0))
        for name, count in claim.counts.items()
    }
    return [{"name": name, "count": count} for name, count in free.items() if count]


def with_conditions(claim: Claim, changes: Sequence[Json], at: str) -> list[Json]:
    """Give a Workload's conditions with some set anew."""
    found = {name: dict(each) for name, each in claim.conditions.items()}
    for change in changes:
        old = found.get(change["type"], {})
        moved = at if old.get("status") != change["status"] else old.get("lastTransitionTime", at)
        generation = claim.thing["metadata"].get("generation", 1)
        text = str(change.get("message", ""))[:_MESSAGE]
        found[change["type"]] = {
            **change,
            "message": text,
            "lastTransitionTime": moved,
            "observedGeneration": generation,
        }
    return list(found.values())
