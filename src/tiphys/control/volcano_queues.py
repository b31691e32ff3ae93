"""The queues of a cluster's Volcano: listed, made, changed, opened, closed, removed.

Holds nothing: the cluster has the truth, and whoever else changes queues there is seen at once.
``tiphys queue`` and the API stand on this; what they show of it is theirs. Opening and closing are
Volcano's own business: it is asked by a Command, as its own tool does.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any

from tiphys.control.queue_access import PATIENCE, QueueAccess, described_change
from tiphys.errors import ClusterError, ConflictError, NotFoundError
from tiphys.scheduling.queue import DEFAULT, ROOT
from tiphys.scheduling.queue_manifest import (
    API,
    DESCRIPTION,
    UNSAID,
    change_of,
    manifest_of,
    plan_of,
    preset_manifests,
    spec_of,
)

Json = dict[str, Any]
QUEUES = f"/apis/{API}/queues"
_COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"
_ACTIONS = {"Open": "OpenQueue", "Closed": "CloseQueue"}
_ENOUGH = {"Open": ("Open",), "Closed": ("Closed", "Closing")}
_LOOK = 0.2
_AGAIN = 15
"""Looks between two orders."""
_PHASES = ("Pending", "Inqueue", "Running", "Unknown", "Completed")


class VolcanoQueues(QueueAccess):
    """Queues of one cluster."""

    whose, path = "Volcano", QUEUES

    # --- looking ----------------------------------------------------------------------------

    async def listed(self) -> list[Json]:
        """List all queues, parents before their children, without the root."""
        items = await self._queues()
        below: dict[str, list[Json]] = {}
        for item in items:
            below.setdefault(plan_of(item)["parent"], []).append(item)
        found: list[Json] = []
        stack = list(reversed(below.get(ROOT, [])))
        while stack:
            found.append(stack.pop())
            stack += reversed(below.get(found[-1]["metadata"]["name"], []))
        return found

    async def groups(self, name: str) -> Counter[str]:
        """Count the pod groups of a queue by phase; empty where we may not look at all of them.

        Volcano's status has fields for these numbers, and its controller leaves them empty.
        """
        try:
            items = await self._all(f"/apis/{API}/podgroups")
        except ClusterError as error:
            if error.status == 403:
                return Counter()
            raise self._told(error, name) from error
        own = [item for item in items if (item["spec"].get("queue") or DEFAULT) == name]
        phases = Counter((item.get("status") or {}).get("phase") or "Pending" for item in own)
        return Counter({phase: phases[phase] for phase in _PHASES})

    async def groups_of(self, namespace: str, selector: str) -> list[Json]:
        """List pod groups by their labels; in all namespaces where none is named."""
        place = f"/namespaces/{namespace}" if namespace else ""
        query = {"labelSelector": selector}
        path = f"/apis/{API}{place}/podgroups"
        found = await self.client.get(path, query, patience=PATIENCE)
        return found.get("items") or []

    # --- changing ---------------------------------------------------------------------------

    async def make(self, plan: Mapping[str, Any], description: str = "") -> Json:
        """Make a queue; one of its name must not be there."""
        name = str(plan["name"])
        return await self._create(manifest_of(name, spec_of(plan), description))

    async def change(
        self, name: str, plan: Mapping[str, Any], description: str | None = None
    ) -> Json:
        """Change what is given; the rest stays as it is."""
        spec = change_of(await self.get(name), spec_of(plan))
        return await self._patch(name, described_change(spec, DESCRIPTION, description))

    async def save(self, plan: Mapping[str, Any], *, new: bool) -> Json:
        """Have a queue be what a plan says, its state too; ``new`` refuses one that is there."""
        name, state = str(plan["name"]), plan.get("state")
        try:
            found = None if new else await self.get(name)
        except NotFoundError:
            found = None
        if found is None:
            found = await self.make(plan)
        else:
            preset = plan_of(manifest_of(name, spec_of({"preset": plan.get("preset")})))
            unsaid = {key: preset.get(key, value) for key, value in UNSAID.items()}
            given = {key: value for key, value in plan.items() if key != "preset"}
            found = await self.change(name, {**unsaid, **given})
        if state is None or _state(found) == state:
            return found
        return await self.set_state(name, "Open" if state == "Open" else "Closed")

    async def set_state(self, name: str, state: str) -> Json:
        """Have Volcano open or close a queue, and wait until it has.

        It is asked again where it took the order and nothing came of it: another of its workers may
        write over the new state the one that it had read before.
        """
        order = ""
        for look in range(int(PATIENCE / _LOOK)):
            found = await self.get(name)
            if _state(found) in _ENOUGH[state]:
                return found
            try:
                if not order or (look % _AGAIN == 0 and await self._is_taken(order)):
                    order = await self._order(found, state)
            except ClusterError as error:
                raise self._told(error, name) from error
            await asyncio.sleep(_LOOK)
        raise ConflictError(f"Volcano has not made queue {name} {state.lower()}: is it running?")

    async def _order(self, queue: Json, state: str) -> str:
        name = queue["metadata"]["name"]
        owner = {"apiVersion": API, "kind": "Queue", "name": name, "uid": queue["metadata"]["uid"]}
        command = {
            "apiVersion": "bus.volcano.sh/v1alpha1",
            "kind": "Command",
            "metadata": {
                "generateName": f"{name}-{state.lower()}-",
                "namespace": "default",
                "ownerReferences": [owner],
            },
            "target": owner,
            "action": _ACTIONS[state],
        }
        made = await self.client.create(_COMMANDS, command, patience=PATIENCE)
        return str(made["metadata"]["name"])

    async def _is_taken(self, order: str) -> bool:
        """Whether Volcano has taken an order; no, where we may not look."""
        try:
            await self.client.get(f"{_COMMANDS}/{order}", patience=PATIENCE)
        except ClusterError as error:
            if error.status not in (403, 404):
                raise
            return error.status == 404
        return False

    async def remove(self, name: str) -> None:
        """Remove a queue that has neither work nor queues below it."""
        if name in (DEFAULT, ROOT):
            raise ConflictError(f"queue {name} is Volcano's own and cannot be deleted")
        await self.get(name)
        groups = await self.groups(name)
        live = groups.total() - groups["Completed"]
        if live:
            raise ConflictError(f"queue {name} has {live} pod groups")
        children = [
            item["metadata"]["name"]
            for item in await self.listed()
            if plan_of(item)["parent"] == name
        ]
        if children:
            raise ConflictError(f"queue {name} has queues below it: {', '.join(children)}")
        await self._delete(name)

    def described(self, thing: Json) -> Json:
        """Give a queue as ``tiphys queue`` shows it."""
        plan = plan_of(thing)
        status = thing.get("status") or {}
        return {
            **plan,
            "effective": plan["state"],
            "source": "volcano",
            "used": status.get("allocated") or {},
        }

    async def ensure_presets(self) -> list[str]:
        """Make the queues and priority classes that ship where they are absent; tell which.

        What is there already is never altered, whatever it says. A default priority class counts
        only if the cluster has no other: two of them would contradict each other.
        """
        made = []
        for thing in preset_manifests():
            if thing.get("globalDefault") and await self._has_default():
                thing["globalDefault"] = False
            collection = await self.client.path_of(thing, "")
            try:
                await self.client.create(collection, thing, patience=PATIENCE)
            except ClusterError as error:
                if error.reason != "AlreadyExists":
                    raise
            else:
                made.append(f"{thing['kind']} {thing['metadata']['name']}")
        return made

    async def _has_default(self) -> bool:
        items = await self._all("/apis/scheduling.k8s.io/v1/priorityclasses")
        return any(item.get("globalDefault") for item in items)


def _state(thing: Json) -> str:
    return str(plan_of(thing)["state"])
