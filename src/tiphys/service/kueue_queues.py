"""Queues of the cluster's Kueue as the API speaks of them.

A quota is the nominal one. It is hard unless the queue has a parent, a cohort, and says how much it
may borrow there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tiphys.control.kueue_queues import KueueQueues
from tiphys.ports import KUEUE
from tiphys.scheduling.kueue_manifest import plan_of, usage_of
from tiphys.scheduling.queue import ROOT
from tiphys.scheduling.queue_file import amounts_dict, resources
from tiphys.service.cluster_queues import ClusterQueues, fullness
from tiphys.service.queues import plan_of as plan_given

Json = dict[str, Any]
_COUNTS = {
    "waiting": "pendingWorkloads",
    "reserving": "reservingWorkloads",
    "running": "admittedWorkloads",
}


class QueuesOfKueue(ClusterQueues[KueueQueues]):
    """Makes, changes and shows queues; a ``service.queue_desk.SchedulerQueues``."""

    scheduler = KUEUE

    def plan(self, given: Mapping[str, Any], known: Json | None) -> Json:
        """Give the whole of a queue, with what changes."""
        before = plan_of(known) if known else {}
        before.pop("state", None)
        plan = {**before, **plan_given(given, before)}
        alone = plan.get("parent", ROOT) == ROOT
        if "borrowing_limit" not in given:
            plan["borrowingLimit"] = {} if alone else _unsaid_limits(plan, before)
        if alone and "lending_limit" not in given:
            plan.pop("lendingLimit", None)  # There is nobody to lend to any more.
        return plan

    def shown(self, thing: Json) -> Json:
        """Show a queue."""
        return self.described(thing, plan_of(thing))

    async def enter(self, name: str, project: str) -> str:
        """Give the name of the LocalQueue that work of a project waits in."""
        return await self._queues.enter(name, project)

    async def status(self, name: str) -> Json:
        """Show how full a queue is, as Kueue reports it.

        Available is what is left of its own quota; what it can borrow comes on top.
        """
        thing = await self._queues.get(name)
        shown, status = self.shown(thing), thing.get("status") or {}
        taken = usage_of(thing, "flavorsReservation")
        return {
            **fullness(shown, resources(shown["quota"]), taken),
            "reserved": amounts_dict(taken),
            "allocated": amounts_dict(usage_of(thing, "flavorsUsage")),
            "workloads": {word: status.get(key, 0) for word, key in _COUNTS.items()},
        }


def _unsaid_limits(plan: Json, before: Json) -> Json:
    """Give what may be borrowed where that is not said: as before, and nothing of what is new."""
    was_alone = before.get("parent", ROOT) == ROOT
    known = {} if was_alone else before.get("deserved", {})
    new = plan.get("deserved", {}).keys() - known.keys()
    return {**dict.fromkeys(new, 0), **before.get("borrowingLimit", {})}
