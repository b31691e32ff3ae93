"""Queues of the cluster's Volcano as the API speaks of them.

A quota is what the queue is due and, unless its capability says otherwise, the most that it gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiphys.control.volcano_queues import VolcanoQueues
from tiphys.errors import InvalidInputError
from tiphys.ports import VOLCANO
from tiphys.scheduling.queue_file import amounts_dict, resources
from tiphys.scheduling.queue_manifest import plan_of
from tiphys.service.cluster_queues import ClusterQueues, fullness
from tiphys.service.queues import plan_of as plan_given

Json = dict[str, Any]
WHO_PREEMPTS = "Volcano"
"""Its own configuration says who may preempt whom, for all queues alike."""


class QueuesOfVolcano(ClusterQueues[VolcanoQueues]):
    """Makes, changes and shows queues; a ``service.queue_desk.SchedulerQueues``."""

    scheduler = VOLCANO

    def plan(self, given: Mapping[str, Any], known: Json | None) -> Json:
        """Give what changes: the rest of a queue stays as it is."""
        before = plan_of(known) if known else {}
        plan = plan_given(given, before)
        if plan.pop("preempt", "Never") != "Never":
            raise InvalidInputError("Volcano's own configuration says who may preempt whom")
        if "borrowing_limit" not in given:
            plan.pop("borrowingLimit", None)  # Said for us, in the words of the embedded scheduler.
        if "deserved" in plan and before.get("capability") == before.get("deserved"):
            plan.setdefault("capability", plan["deserved"])
        return plan

    def shown(self, thing: Json) -> Json:
        """Show a queue."""
        return {**self.described(thing, plan_of(thing)), "preemption": WHO_PREEMPTS}

    async def status(self, name: str) -> Json:
        """Show how full a queue is, as Volcano reports it."""
        thing = await self._queues.get(name)
        groups = await self._queues.groups(name)
        shown, status = self.shown(thing), thing.get("status") or {}
        reserved = (status.get("reservation") or {}).get("resource") or shown["guarantee"] or {}
        used = resources(status.get("allocated") or {})
        return {
            **fullness(shown, resources(shown["capability"] or {}), used),
            "reserved": reserved,
            "allocated": amounts_dict(used),
            "pod_groups": {phase.lower(): count for phase, count in groups.items()},
        }
