"""Tiphys' own engine on a cluster (``k8s-native``) as an owner of groups.

Pure. The engine puts the gate into its Jobs itself and tells of all leaves of one turn at once, but
their pods are made by the Job controller one after the other. So that a group is whole, gated pods
of a layer are not looked at before each attempt that was told of has one.

An eviction suspends Jobs. For the engine that is an attempt that was stopped to make room: it makes
another, which spends no retry and waits gated in the place of the first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tiphys.kueue import label
from tiphys.kueue.layer import Ending, Json, Leaf, Pause, has_finished, whole_layers
from tiphys.kueue.owner import (
    RELEASED,
    SUSPEND,
    owner_name,
    read_status,
    released,
    wants_suspension,
)

COLLECTION = "/api/v1/configmaps"
ENDED = frozenset({"Succeeded", "Failed", "Error"})


class TiphysEngine:
    """Reads and steers workflows by way of the objects that stand for them."""

    collection = COLLECTION
    kind = ("v1", "ConfigMap")
    pod_label = label.WORKFLOW_UID

    def owner_of(self, pod: Json) -> str:
        """Follow from the labels of our pods."""
        labels = pod["metadata"].get("labels") or {}
        uid = labels.get(label.WORKFLOW_UID)
        return owner_name(labels.get(label.WORKFLOW, ""), uid) if uid else ""

    def owns(self, owner: Json, pod: Json) -> bool:
        """Whether both have the workflow's uid."""
        uid = (owner["metadata"].get("labels") or {}).get(label.WORKFLOW_UID)
        return uid == (pod["metadata"].get("labels") or {}).get(label.WORKFLOW_UID)

    def leaves(self, owner: Json, pods: Sequence[Json]) -> list[Leaf]:
        """Tell the live leaves; those that have ended are in no status."""
        alive = {_attempt_of(pod): pod for pod in pods if not has_finished(pod)}
        begun = {_attempt_of(pod) for pod in pods}
        found: list[Leaf] = []
        unborn: set[str] = set()
        for id_, live in read_status(owner).leaves.items():
            if live.attempt and live.attempt not in begun:
                unborn.add(live.layer)
            pod = alive.get(live.attempt)
            found.append(Leaf(id=id_, layer=live.layer, node=live.attempt, pod=pod))
        return whole_layers(found, unborn)

    def has_ended(self, owner: Json) -> bool:
        """Whether the engine says so."""
        return read_status(owner).phase in ENDED

    def is_suspended(self, owner: Json) -> bool:
        """Whether it stands still, or was told to."""
        return wants_suspension(owner) or read_status(owner).suspended

    def suspension(self, *, on: bool) -> Json:
        """Tell the engine to suspend it, or to let it go on."""
        return {"data": {SUSPEND: "true" if on else "false"}}

    def pauses(self, owner: Json) -> list[Pause]:
        """Find the layers before which a workflow with ``suspendBySteps`` waits or waited."""
        known = released(owner)
        return [
            Pause(
                id=json.dumps(sorted(known | {each.layer})),
                name=each.layer,
                is_open=each.is_open and each.layer not in known,
                is_over=each.is_over,
                podsets=each.podsets,
            )
            for each in read_status(owner).waiting
        ]

    def resumption(self, pause: Pause, at: str) -> Json:
        """Let a layer go."""
        return {"data": {RELEASED: pause.id}}

    def ending(self, owner: Json, leaf: Leaf) -> Ending | None:
        """Suspend the Job of a leaf."""
        assert leaf.pod is not None
        meta = leaf.pod["metadata"]
        name = (meta.get("labels") or {}).get(label.JOB, "")
        path = f"/apis/batch/v1/namespaces/{meta['namespace']}/jobs/{name}"
        return Ending(path, {"spec": {"suspend": True}})

    def reset(self, owner: Json, nodes: Iterable[str]) -> Json:
        """Change nothing: an attempt that was stopped is made again by the engine."""
        return {}


def _attempt_of(pod: Json) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(label.ATTEMPT_ID, ""))
