"""Does to the cluster what ``plan`` decided. Every action may be done twice, and may come too late.

A conflict or an object that is gone is no error: the news of it is on its way, and leads to another
plan.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from tiphys.errors import ClusterError
from tiphys.kube.client import Client
from tiphys.kueue import label
from tiphys.kueue.layer import Json
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
)
from tiphys.kueue.workload import (
    API,
    Claim,
    Seats,
    placement,
    with_conditions,
    write,
    write_seats,
)

SETTLE = 1.0
"""Seconds between a suspension and the first deleted pod: Argo must have read of it."""
_AT_ONCE = 16
_KEPT = {"Preempted", "NodeFailures"}
"""Evictions after which a Workload waits again by itself; after others Kueue decides."""


class Performer:
    """Writes to one cluster."""

    def __init__(
        self,
        client: Client,
        plural: str,
        flavors: Callable[[], dict[str, Json]],
        clock: Callable[[], float],
    ) -> None:
        self._client, self._plural, self._flavors, self._clock = client, plural, flavors, clock
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def perform(self, owner: Json, actions: list[Action]) -> None:
        """Do everything; what does not fit any more is left to the next plan."""
        async with asyncio.TaskGroup() as group:
            for action in actions:
                group.create_task(self._one(owner, action))

    async def _one(self, owner: Json, action: Action) -> None:
        async with self._room:
            try:
                await self._do(owner, action)
            except ClusterError as error:
                if error.status not in (404, 409):
                    raise

    async def _do(self, owner: Json, action: Action) -> None:
        match action:
            case Make():
                await self._make(owner, action)
            case Reshape(claim, seats, podsets):
                await self._reseat(claim, seats, {"spec": {"podSets": podsets}})
            case Seat(claim, seats):
                await self._reseat(claim, seats, {})
            case Release():
                await self._release(action)
            case HandBack() | Finish() | Ready() | Requeue():
                await self._do_status(action)
            case Kill(pods):
                await self._kill_all(pods)
            case End(ending):
                await self._client.patch(ending.path, ending.patch)
            case Change(patch):
                await self._patch(_path(owner, self._plural), owner, patch)

    async def _do_status(self, action: HandBack | Finish | Ready | Requeue) -> None:
        claim = action.claim
        match action:
            case HandBack():
                await self._patch_status(claim, {"reclaimablePods": action.reclaimable})
            case Finish():
                await self._say(claim, "Finished", "Succeeded", "All pods of the group have ended")
            case Ready():
                await self._say(claim, "PodsReady", "Started", "All pods have started")
            case Requeue():
                await self._requeue(claim)

    # --- Workloads --------------------------------------------------------------------------

    async def _make(self, owner: Json, made: Make) -> None:
        thing = write(owner, made.layer, made.number, made.seats, made.podsets)
        thing["spec"] |= await self._priority(owner)
        namespace = owner["metadata"]["namespace"]
        await self._client.create(f"/apis/{API}/namespaces/{namespace}/workloads", thing)

    async def _priority(self, owner: Json) -> Json:
        name = (owner["metadata"].get("labels") or {}).get(label.PRIORITY)
        if not name:
            return {}
        try:
            found = await self._client.get(f"/apis/{API}/workloadpriorityclasses/{name}")
        except ClusterError as error:
            if error.status != 404:
                raise
            return {}
        kind = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": name}
        return {"priorityClassRef": kind, "priority": int(found["value"])}

    async def _say(self, claim: Claim, kind: str, reason: str, text: str) -> None:
        change = {"type": kind, "status": "True", "reason": reason, "message": text}
        await self._condition(claim, [change], {})

    async def _requeue(self, claim: Claim) -> None:
        why = claim.conditions["Evicted"]
        reason, message = why["reason"], why.get("message", "")
        again = "True" if reason in _KEPT else "False"
        changes = [
            {"type": "Requeued", "status": again, "reason": reason, "message": message},
            {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": message},
        ]
        if claim.is_ready:
            change = {"type": "PodsReady", "status": "False", "reason": "WaitForStart"}
            changes.append({**change, "message": message})
        if claim.conditions.get("Admitted", {}).get("status") == "True":
            text = "The workload has no reservation"
            changes.append(
                {"type": "Admitted", "status": "False", "reason": "NoReservation", "message": text}
            )
        await self._condition(claim, changes, {"admission": None, "reclaimablePods": None})

    async def _condition(self, claim: Claim, changes: list[Json], more: Json) -> None:
        at = instant(self._clock())
        await self._patch_status(claim, {**more, "conditions": with_conditions(claim, changes, at)})

    async def _reseat(self, claim: Claim, seats: Seats, more: Json) -> None:
        notes = {label.LEAVES: write_seats(seats)}
        patch = {"metadata": {"annotations": notes}, **more}
        await self._patch(_path(claim.thing, "workloads"), claim.thing, patch)

    async def _patch_status(self, claim: Claim, status: Json) -> None:
        path = f"{_path(claim.thing, 'workloads')}/status"
        await self._patch(path, claim.thing, {"status": status})

    # --- pods -------------------------------------------------------------------------------

    async def _release(self, given: Release) -> None:
        added = placement(given.claim, given.podset, self._flavors())
        spec, meta = given.pod["spec"], given.pod["metadata"]
        gates = [each for each in spec["schedulingGates"] if each["name"] != label.GATE]
        change: Json = {"schedulingGates": gates or None}
        if added["nodeSelector"]:
            change["nodeSelector"] = added["nodeSelector"]
        tolerations = [*(spec.get("tolerations") or ()), *added["tolerations"]]
        if added["tolerations"]:
            change["tolerations"] = tolerations
        notes = {**added["annotations"], label.WORKLOAD: given.claim.name}
        metadata = {"annotations": notes, "labels": added["labels"]}
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        await self._patch(path, given.pod, {"spec": change, "metadata": metadata})

    async def _kill_all(self, pods: Sequence[Json]) -> None:
        await asyncio.sleep(SETTLE)
        for pod in pods:
            await self._kill(pod)

    async def _kill(self, pod: Json) -> None:
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        if meta.get("finalizers"):
            # Argo's own would keep the pod until its node has ended, which it shall not.
            await self._client.patch(path, {"metadata": {"finalizers": None}})
        await self._client.delete(path, {"preconditions": {"uid": meta["uid"]}})

    async def _patch(self, path: str, seen: Json, patch: Json) -> Any:
        """Change an object, if it is still the one that the plan was made for."""
        version = {"resourceVersion": seen["metadata"]["resourceVersion"]}
        metadata = {**(patch.get("metadata") or {}), **version}
        return await self._client.patch(path, {**patch, "metadata": metadata})


def instant(at: float) -> str:
    """Write an instant as Kubernetes does."""
    return datetime.fromtimestamp(int(at), UTC).isoformat().replace("+00:00", "Z")


def _path(thing: Json, plural: str) -> str:
    meta, version = thing["metadata"], thing["apiVersion"]
    start = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return f"{start}/namespaces/{meta['namespace']}/{plural}/{meta['name']}"
