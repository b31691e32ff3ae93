"""Queues of a cluster as the API speaks of them, whoever schedules there.

The same words as for the embedded scheduler's, as far as the other one has them. Nothing is kept
here; ``control.volcano_queues`` and ``control.kueue_queues`` ask the cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from tiphys.control.door import Handler
from tiphys.control.queue_access import PlannedQueues, perform
from tiphys.control.queues import OPS
from tiphys.scheduling.queue_file import amounts_dict
from tiphys.scheduling.queue_manifest import DESCRIPTION
from tiphys.scheduling.resource import Resources
from tiphys.service.queues import QUEUE_ID

Json = dict[str, Any]


class Access(PlannedQueues, Protocol):
    """What is asked of a cluster's queues."""

    async def make(self, plan: Mapping[str, Any], description: str = "") -> Json:
        """Make a queue."""

    async def change(
        self, name: str, plan: Mapping[str, Any], description: str | None = None
    ) -> Json:
        """Change a queue."""


Q = TypeVar("Q", bound=Access)


class ClusterQueues(ABC, Generic[Q]):
    """Makes, changes and shows queues; a ``service.queue_desk.SchedulerQueues`` less its status."""

    scheduler = ""

    def __init__(self, queues: Q) -> None:
        self._queues = queues

    @abstractmethod
    def plan(self, given: Mapping[str, Any], known: Json | None) -> Json:
        """Turn what the API was given into a queue plan; ``known`` is the queue as it is."""

    @abstractmethod
    def shown(self, thing: Json) -> Json:
        """Show a queue."""

    def handlers(self) -> Mapping[str, Handler]:
        """Give what is answered at the door to ``tiphys queue --scheduler``."""

        def handler(op: str) -> Handler:
            async def handle(request: Mapping[str, Any]) -> Any:
                return await perform(self._queues, op, request)

            return handle

        return {f"{self.scheduler}-{op}": handler(op) for op in OPS}

    async def check(self, name: str) -> str:
        """Give the name of a queue that exists; raise NotFoundError for others."""
        return str((await self._queues.get(name))["metadata"]["name"])

    async def enter(self, name: str, project: str) -> str:
        """Give the name of the queue that work of a project waits in."""
        return await self.check(name)

    async def listed(self) -> list[Json]:
        """Show all queues, parents before their children."""
        return [self.shown(thing) for thing in await self._queues.listed()]

    async def show(self, name: str) -> Json:
        """Show a queue as it is defined."""
        return self.shown(await self._queues.get(name))

    async def make(self, given: Mapping[str, Any]) -> Json:
        """Make a queue."""
        plan = {"name": given["name"], **self.plan(given, None)}
        return self.shown(await self._queues.make(plan, str(given.get("description", ""))))

    async def change(self, name: str, given: Mapping[str, Any]) -> Json:
        """Change a queue, at once."""
        plan = self.plan(given, await self._queues.get(name))
        return self.shown(await self._queues.change(name, plan, given.get("description")))

    async def set_state(self, name: str, state: str) -> Json:
        """Open or close a queue."""
        return self.shown(await self._queues.set_state(name, state))

    async def remove(self, name: str) -> None:
        """Remove a queue that nothing is in."""
        await self._queues.remove(name)

    def described(self, thing: Json, plan: Json) -> Json:
        """Give what is shown alike of all queues; what a scheduler has no words for is None."""
        name, meta = plan["name"], thing["metadata"]
        made = meta.get("creationTimestamp")
        return {
            "id": f"{QUEUE_ID}{self.scheduler}:{name}",
            "name": name,
            "description": (meta.get("annotations") or {}).get(DESCRIPTION, ""),
            "scheduler": self.scheduler,
            "status": plan["state"].lower(),
            "quota": plan.get("deserved", {}),
            "priority": plan["weight"],
            "parent": plan["parent"],
            "guarantee": plan.get("guarantee"),
            "capability": plan.get("capability"),
            "max_parallel": None,
            "borrowing_limit": plan.get("borrowingLimit"),
            "lending_limit": plan.get("lendingLimit"),
            "sla_seconds": None,
            "reclaimable": plan.get("reclaimable", True),
            "preemption": plan.get("preempt"),
            "created_at": datetime.fromisoformat(made).timestamp() if made else None,
        }


def fullness(shown: Json, most: Resources, taken: Resources) -> Json:
    """Give the head of a status, and what is left where so much of the most is taken."""
    left = {key: max(0, amount - taken.get(key)) for key, amount in most.items}
    head = {key: shown[key] for key in ("id", "name", "status", "quota")}
    return {**head, "available": amounts_dict(Resources(left))}
