"""Groups of pods with an owner: what an engine has to tell so that Kueue can admit its layers.

Pure. A *leaf* is a task that runs as a pod, with all its attempts; a *layer* is the leaves that one
event makes ready (docs/adr/0010-layers.md). ``kueue/argo.py`` and ``kueue/tiphys.py`` are two
engines; others need the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Protocol

from tiphys.kueue.label import GATE, MODE, NODE_ID, UNIT

Json = dict[str, Any]
NO_NODE = "pod/"
"""Begins the id of a leaf that stands for a pod without a node, such as Argo's agent."""


class Unit(StrEnum):
    """What Kueue admits at once."""

    LAYER = "layer"
    WORKFLOW = "workflow"
    POD = "pod"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One task, whatever the number of its attempts."""

    id: str
    layer: str
    ended: bool = False
    """Whether no further attempt will come."""
    node: str = ""
    """The attempt that the pod belongs to."""
    pod: Json | None = None
    """The pod of its present attempt, as long as that has not ended."""

    @property
    def is_gated(self) -> bool:
        """Whether its pod waits for us."""
        return self.pod is not None and is_gated(self.pod)

    @property
    def has_started(self) -> bool:
        """Whether its containers run."""
        return self.pod is not None and (self.pod.get("status") or {}).get("phase") == "Running"

    @property
    def is_active(self) -> bool:
        """Whether its pod may use what was reserved."""
        return self.pod is not None and not is_gated(self.pod)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A place in a workflow at which it waits until the layer behind it is admitted."""

    id: str
    name: str
    is_open: bool
    """Whether it still waits."""
    is_over: bool
    """Whether all that came after it, up to the next pause, has ended."""
    podsets: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class Ending:
    """A change of some object that ends a leaf's pod, after which its engine runs it again."""

    path: str
    patch: Json


class Engine(Protocol):
    """A workflow manager: how its objects are read and what is written into them."""

    @property
    def collection(self) -> str:
        """Give the API path of all owners, without a namespace."""
        ...

    @property
    def kind(self) -> tuple[str, str]:
        """Give the apiVersion and the kind of the owners."""
        ...

    @property
    def pod_label(self) -> str:
        """Name a label that all pods of the engine have."""
        ...

    def owner_of(self, pod: Json) -> str:
        """Name the owner of a pod; "" where it has none."""
        ...

    def owns(self, owner: Json, pod: Json) -> bool:
        """Whether a pod of an owner's name is that owner's, not one of an earlier namesake."""
        ...

    def leaves(self, owner: Json, pods: Sequence[Json]) -> list[Leaf]:
        """Tell the leaves whose pods the owner's own status knows."""
        ...

    def has_ended(self, owner: Json) -> bool:
        """Whether nothing of it will start any more."""
        ...

    def is_suspended(self, owner: Json) -> bool:
        """Whether it makes no new pods at present."""
        ...

    def suspension(self, *, on: bool) -> Json:
        """Give the merge patch that suspends the owner, or lets it go on."""
        ...

    def pauses(self, owner: Json) -> list[Pause]:
        """Tell the pauses that were put into a workflow, as far as it has come to them."""
        ...

    def resumption(self, pause: Pause, at: str) -> Json:
        """Give the merge patch that ends a pause."""
        ...

    def ending(self, owner: Json, leaf: Leaf) -> Ending | None:
        """Give what ends a leaf's pod so that the engine runs the leaf again by itself.

        None, where that takes three steps: suspend the owner, delete its pods, ``reset``.
        """
        ...

    def reset(self, owner: Json, nodes: Iterable[str]) -> Json:
        """Give the merge patch after which pods of ``nodes`` are made again, as if never run."""
        ...


def whole_layers(leaves: Iterable[Leaf], unborn: Collection[str]) -> list[Leaf]:
    """Hide gated pods of layers that are not whole yet: some of their pods are still to be seen."""
    return [
        replace(leaf, pod=None) if leaf.layer in unborn and leaf.is_gated else leaf
        for leaf in leaves
    ]


def is_gated(pod: Mapping[str, Any]) -> bool:
    """Whether a pod waits for us."""
    gates = (pod.get("spec") or {}).get("schedulingGates") or ()
    return any(gate.get("name") == GATE for gate in gates)


def node_of(pod: Mapping[str, Any]) -> str:
    """Give the id of the node that a pod is an attempt of."""
    meta = pod["metadata"]
    node = (meta.get("annotations") or {}).get(NODE_ID)
    return str(node) if node else f"{NO_NODE}{meta['name']}"


def has_finished(pod: Mapping[str, Any]) -> bool:
    """Whether a pod's containers have all ended for good."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def waits_in_pauses(owner: Mapping[str, Any]) -> bool:
    """Whether a workflow waits before its pods are made, in steps of its own."""
    return (owner["metadata"].get("annotations") or {}).get(MODE) == "suspend"


def unit_of(owner: Mapping[str, Any]) -> Unit:
    """Read the unit that a workflow asks for; what is no unit counts as a layer."""
    asked = (owner["metadata"].get("annotations") or {}).get(UNIT, "")
    return Unit(asked) if asked in set(Unit) else Unit.LAYER
