"""The queues of a cluster's Kueue: listed, made, changed, opened, closed, removed.

A queue is a ClusterQueue; whoever submits from a namespace needs a LocalQueue there, which has the
same name. Both are made together, in further namespaces when the first work comes from there. The
flavor and the cohort that a queue needs are made where they are absent; a cohort of ours goes with
its last queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiphys.control.queue_access import PATIENCE, QueueAccess, described_change
from tiphys.errors import ClusterError, ConflictError, InvalidInputError, NotFoundError
from tiphys.runtimes.kubernetes_config import KubernetesConfig
from tiphys.scheduling.kueue_manifest import (
    API,
    STOP,
    cohort_manifest,
    flavor_manifest,
    local_manifest,
    manifest_of,
    plan_of,
    spec_of,
    usage_of,
)
from tiphys.scheduling.queue import ROOT
from tiphys.scheduling.queue_file import amounts_dict
from tiphys.scheduling.queue_manifest import DESCRIPTION

Json = dict[str, Any]
_BASE = f"/apis/{API}"
QUEUES, FLAVORS, COHORTS = (
    f"{_BASE}/{each}" for each in ("clusterqueues", "resourceflavors", "cohorts")
)
MANAGER = {"app.kubernetes.io/managed-by": "tiphys"}
"""The label of what is made here, and goes again."""
_ours = ",".join(f"{key}={value}" for key, value in MANAGER.items())


class KueueQueues(QueueAccess):
    """Queues of one cluster."""

    whose, path = "Kueue", QUEUES

    def __init__(self, config: KubernetesConfig, namespace: str) -> None:
        super().__init__(config)
        self._namespace = config.namespace or namespace

    # --- looking ----------------------------------------------------------------------------

    async def listed(self) -> list[Json]:
        """List all queues, those of a cohort together."""
        items = [item for item in await self._queues() if _is_there(item)]
        return sorted(items, key=lambda item: (plan_of(item)["parent"], item["metadata"]["name"]))

    async def get(self, name: str) -> Json:
        """Read a queue; one that Kueue is about to remove is gone."""
        found = await super().get(name)
        if not _is_there(found):
            raise NotFoundError(f"Kueue has no queue {name!r}")
        return found

    async def enter(self, name: str, project: str) -> str:
        """Give the name of the queue in which work of a project waits; raise NotFoundError.

        That is a LocalQueue of its namespace, whoever made it; where there is none, and the queue
        is one that we have made, there is one now.
        """
        self._check_name(name)
        namespace = self._config.namespace or project
        try:
            found = await self.client.get(f"{_local(namespace)}/{name}", patience=PATIENCE)
        except ClusterError as error:
            if error.status != 404:
                raise
        else:
            return str(found["metadata"]["name"])
        if not _is_ours(await self.get(name)):
            raise NotFoundError(f"namespace {namespace} has no LocalQueue {name[:200]!r}")
        await self._ensure(_local(namespace), local_manifest(name, namespace))
        return name

    # --- changing ---------------------------------------------------------------------------

    async def make(self, plan: Mapping[str, Any], description: str = "") -> Json:
        """Make a queue with all that it needs; one of its name must not be there."""
        name = str(plan["name"])
        thing = _marked(manifest_of(name, spec_of(plan), description))
        await self._provide(plan)
        made = await self._create(thing)
        try:
            await self._open_to(name, self._namespace)
        except Exception:
            await self._delete(name)
            await self._leave(plan_of(made)["parent"])
            raise
        return made

    async def _open_to(self, name: str, namespace: str) -> None:
        try:
            found = await self._ensure(_local(namespace), local_manifest(name, namespace))
        except ClusterError as error:
            if error.status != 404:
                raise
            raise InvalidInputError(f"the cluster has no namespace {namespace}") from error
        if found["spec"].get("clusterQueue") != name:
            other = f"namespace {namespace} has a LocalQueue {name} of another queue"
            raise ConflictError(f"{other}: take another name")

    async def change(
        self, name: str, plan: Mapping[str, Any], description: str | None = None
    ) -> Json:
        """Have a queue say what a whole plan does."""
        found = await self.get(name)
        spec = spec_of(plan, found["spec"])
        await self._provide(plan)
        changed = await self._patch(name, described_change(spec, DESCRIPTION, description))
        if plan_of(found)["parent"] != plan_of(changed)["parent"]:
            await self._leave(plan_of(found)["parent"])
        return changed

    async def save(self, plan: Mapping[str, Any], *, new: bool) -> Json:
        """Have a queue be what a plan says, its state too; ``new`` refuses one that is there."""
        name, state = str(plan["name"]), plan.get("state")
        said = {key: value for key, value in plan.items() if key != "state"}
        try:
            found = None if new else await self.get(name)
        except NotFoundError:
            found = None
        found = await (self.make(said) if found is None else self.change(name, said))
        if state is None or plan_of(found)["state"] == state:
            return found
        return await self.set_state(name, "Open" if state == "Open" else "Closed")

    async def set_state(self, name: str, state: str) -> Json:
        """Let work in, or let nothing new in: what is admitted goes on."""
        await self.get(name)
        return await self._patch(name, {"spec": {"stopPolicy": STOP[state]}})

    async def remove(self, name: str) -> None:
        """Remove a queue that has no work, and its LocalQueues that we have made."""
        found = await self.get(name)
        status = found.get("status") or {}
        live = status.get("pendingWorkloads", 0) + status.get("reservingWorkloads", 0)
        if live:
            raise ConflictError(f"queue {name} has {live} workloads")
        await self._delete(name)
        for local in await self._locals(name):
            await self._forget(f"{_local(local['metadata']['namespace'])}/{name}")
        await self._leave(plan_of(found)["parent"])

    def described(self, thing: Json) -> Json:
        """Give a queue as ``tiphys queue`` shows it; who waits are workloads, whoever made them."""
        plan, status = plan_of(thing), thing.get("status") or {}
        return {
            **plan,
            "effective": plan["state"],
            "source": "kueue",
            "used": amounts_dict(usage_of(thing, "flavorsReservation")),
            "workflows": {
                "waiting": status.get("pendingWorkloads", 0),
                "running": status.get("admittedWorkloads", 0),
            },
        }

    async def _locals(self, name: str) -> list[Json]:
        """List our LocalQueues of a queue: everywhere, or where we may look."""
        query = {"labelSelector": _ours}
        try:
            found = await self.client.get(f"{_BASE}/localqueues", query, patience=PATIENCE)
        except ClusterError as error:
            if error.status != 403:
                raise
            found = await self.client.get(_local(self._namespace), query, patience=PATIENCE)
        return [each for each in found.get("items") or () if each["metadata"]["name"] == name]

    # --- what a queue needs -----------------------------------------------------------------

    async def _provide(self, plan: Mapping[str, Any]) -> None:
        parent = plan.get("parent", ROOT)
        try:
            await self._ensure(FLAVORS, flavor_manifest())
            if parent != ROOT:
                await self._ensure(COHORTS, cohort_manifest(parent))
        except ClusterError as error:
            raise self._told(error, "" if error.status == 404 else str(plan["name"])) from error

    async def _ensure(self, collection: str, thing: Json) -> Json:
        """Make an object unless it is there; give the one that is."""
        name = thing["metadata"]["name"]
        try:
            return await self.client.create(collection, _marked(thing), patience=PATIENCE)
        except ClusterError as error:
            if error.reason != "AlreadyExists":
                raise
        return await self.client.get(f"{collection}/{name}", patience=PATIENCE)

    async def _leave(self, cohort: str) -> None:
        """Remove a cohort that we have made, and nobody is in."""
        if cohort == ROOT or any(plan_of(each)["parent"] == cohort for each in await self.listed()):
            return
        path = f"{COHORTS}/{cohort}"
        try:
            found = await self.client.get(path, patience=PATIENCE)
        except ClusterError as error:
            if error.status == 404:
                return
            raise
        if _is_ours(found):
            await self._forget(path)

    async def _forget(self, path: str) -> None:
        try:
            await self.client.delete(path, patience=PATIENCE)
        except ClusterError as error:
            if error.status != 404:
                raise


def _local(namespace: str) -> str:
    return f"{_BASE}/namespaces/{namespace}/localqueues"


def _marked(thing: Json) -> Json:
    return {**thing, "metadata": {**thing["metadata"], "labels": dict(MANAGER)}}


def _is_ours(thing: Json) -> bool:
    return MANAGER.items() <= (thing["metadata"].get("labels") or {}).items()


def _is_there(thing: Json) -> bool:
    return "deletionTimestamp" not in thing["metadata"]
