"""Queues of the cluster's Volcano as the API speaks of them.

The same words as for the embedded scheduler's, as far as Volcano has them: a quota is what the
queue is due and, unless its capability says otherwise, the most that it gets. Nothing is kept here;
``control.volcano_queues`` asks the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tiphys.control.volcano_queues import VolcanoQueues
from tiphys.errors import InvalidInputError
from tiphys.ports import VOLCANO
from tiphys.scheduling.queue_file import amounts_dict, resources
from tiphys.scheduling.queue_manifest import DESCRIPTION, plan_of
from tiphys.scheduling.resource import Resources
from tiphys.service.queues import QUEUE_ID
from tiphys.service.queues import plan_of as plan_given

Json = dict[str, Any]
WHO_PREEMPTS = "Volcano"
"""Its own configuration says who may preempt whom, for all queues alike."""


class ClusterQueues:
    """Makes, changes and shows queues; a ``service.queue_desk.SchedulerQueues``."""

    scheduler = VOLCANO

    def __init__(self, queues: VolcanoQueues) -> None:
        self._queues = queues

    async def check(self, name: str) -> str:
        """Give the name of a queue that exists; raise NotFoundError for others."""
        return str((await self._queues.get(name))["metadata"]["name"])

    async def listed(self) -> list[Json]:
        """Show all queues, parents before their children."""
        return [_shown(thing) for thing in await self._queues.listed()]

    async def show(self, name: str) -> Json:
        """Show a queue as it is defined."""
        return _shown(await self._queues.get(name))

    async def make(self, given: Mapping[str, Any]) -> Json:
        """Make a queue."""
        plan = {"name": given["name"], **_plan(given, {})}
        return _shown(await self._queues.make(plan, str(given.get("description", ""))))

    async def change(self, name: str, given: Mapping[str, Any]) -> Json:
        """Change a queue, at once."""
        known = plan_of(await self._queues.get(name))
        description = given.get("description")
        return _shown(await self._queues.change(name, _plan(given, known), description))

    async def set_state(self, name: str, state: str) -> Json:
        """Open or close a queue."""
        return _shown(await self._queues.set_state(name, state))

    async def remove(self, name: str) -> None:
        """Remove a queue that nothing is in."""
        await self._queues.remove(name)

    async def status(self, name: str) -> Json:
        """Show how full a queue is, as Volcano reports it."""
        thing = await self._queues.get(name)
        groups = await self._queues.groups(name)
        shown, status = _shown(thing), thing.get("status") or {}
        reserved = (status.get("reservation") or {}).get("resource") or shown["guarantee"] or {}
        used = resources(status.get("allocated") or {})
        most = resources(shown["capability"] or {})
        left = {key: max(0, amount - used.get(key)) for key, amount in most.items}
        return {
            **{key: shown[key] for key in ("id", "name", "status", "quota")},
            "reserved": reserved,
            "allocated": amounts_dict(used),
            "available": amounts_dict(Resources(left)),
            "pod_groups": {phase.lower(): count for phase, count in groups.items()},
        }


def _plan(given: Mapping[str, Any], known: Mapping[str, Any]) -> Json:
    plan = plan_given(given, known)
    if plan.pop("preempt", "Never") != "Never":
        raise InvalidInputError("Volcano's own configuration says who may preempt whom")
    if "borrowing_limit" not in given:
        plan.pop("borrowingLimit", None)  # Said for us, in the words of the embedded scheduler.
    if "deserved" in plan and known.get("capability") == known.get("deserved"):
        plan.setdefault("capability", plan["deserved"])
    return plan


def _shown(thing: Json) -> Json:
    plan, meta = plan_of(thing), thing["metadata"]
    made = meta.get("creationTimestamp")
    return {
        "id": f"{QUEUE_ID}{VOLCANO}:{plan['name']}",
        "name": plan["name"],
        "description": (meta.get("annotations") or {}).get(DESCRIPTION, ""),
        "scheduler": VOLCANO,
        "status": plan["state"].lower(),
        "quota": plan.get("deserved", {}),
        "priority": plan["weight"],
        "parent": plan["parent"],
        "guarantee": plan.get("guarantee"),
        "capability": plan.get("capability"),
        "max_parallel": None,
        "borrowing_limit": None,
        "lending_limit": None,
        "sla_seconds": None,
        "reclaimable": plan["reclaimable"],
        "preemption": WHO_PREEMPTS,
        "created_at": datetime.fromisoformat(made).timestamp() if made else None,
    }
