"""Queues of the embedded scheduler as the API speaks of them: quotas that hold, ids, remarks.

A quota is hard unless the queue says how much it may borrow, or what it is capable of. The queues
themselves, and what they mean, are ``control.queues`` and ``scheduling``; ``service.queue_desk`` is
where callers come.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tiphys.control.host import Host
from tiphys.control.queues import queue_handlers
from tiphys.control.server import QueueOffice
from tiphys.ports import LOCAL
from tiphys.scheduling.queue_file import amounts_dict, queue_dict
from tiphys.scheduling.resource import Resources
from tiphys.service.cabinet import Cabinet
from tiphys.store import ObjectRow

QUEUE_ID = "q-"
NOTE = "QueueNote"
_PLAIN = {
    "priority": "weight",
    "parent": "parent",
    "max_parallel": "maxParallel",
    "reclaimable": "reclaimable",
    "preemption": "preempt",
    "sla_seconds": "slaSeconds",
    "guarantee": "guarantee",
    "capability": "capability",
    "borrowing_limit": "borrowingLimit",
    "lending_limit": "lendingLimit",
}
"""Fields of the API and what they are called in a queue plan."""


class Note(msgspec.Struct, frozen=True):
    """What is kept about a queue besides its definition."""

    description: str = ""
    created_at: float = 0.0


class EmbeddedQueues:
    """Makes, changes and shows queues; a ``service.queue_desk.SchedulerQueues``."""

    scheduler = LOCAL

    def __init__(self, host: Host, cabinet: Cabinet) -> None:
        self._host, self._cabinet = host, cabinet
        self._handlers = queue_handlers(host.queues, QueueOffice(host))
        rows = host.store.objects(NOTE)
        self._notes = {row.name: msgspec.json.decode(row.body, type=Note) for row in rows}

    async def check(self, name: str) -> str:
        """Give the name of a queue that exists; raise NotFoundError for others."""
        return self._host.queues.get(name).name

    async def enter(self, name: str, project: str) -> str:
        """Give the name of a queue: all projects wait in the same ones."""
        return await self.check(name)

    async def make(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make a queue."""
        name = str(given["name"])
        await self._handlers["queue-save"](
            {"queue": {"name": name, **plan_of(given, {})}, "new": True}
        )
        await self._keep(name, Note(str(given.get("description", "")), self._host.clock.now()))
        return await self.show(name)

    async def change(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Change a queue, at once."""
        known = queue_dict(self._host.queues.get(name))
        spec = {**known, **plan_of(given, known)}
        await self._handlers["queue-save"]({"queue": spec, "new": False})
        if "description" in given:
            note = self._notes.get(name, Note())
            await self._keep(name, Note(str(given["description"]), note.created_at))
        return await self.show(name)

    async def _keep(self, name: str, note: Note) -> None:
        self._notes[name] = note
        body = msgspec.json.encode(note)
        at = self._host.clock.now()
        await self._cabinet.save(ObjectRow(kind=NOTE, namespace="", name=name, body=body, at=at))

    async def set_state(self, name: str, state: str) -> dict[str, Any]:
        """Open or close a queue."""
        await self._handlers["queue-state"]({"name": name, "state": state})
        return await self.show(name)

    async def remove(self, name: str) -> None:
        """Remove a queue that nothing is in."""
        await self._handlers["queue-delete"]({"name": name})
        if self._notes.pop(name, None) is not None:
            await self._cabinet.remove(NOTE, "", name)

    async def listed(self) -> list[dict[str, Any]]:
        """Show all queues, parents before their children."""
        return [await self.show(str(each["name"])) for each in self._host.queues.listed()]

    async def show(self, name: str) -> dict[str, Any]:
        """Show a queue as it is defined."""
        shown = self._host.queues.shown(name)
        note = self._notes.get(name, Note())
        found = {field: shown.get(key) for field, key in _PLAIN.items()}
        return {
            "id": QUEUE_ID + name,
            "name": name,
            "description": note.description,
            "scheduler": self.scheduler,
            "status": str(shown["effective"]).lower(),
            "quota": shown.get("deserved", {}),
            **found,
            "reclaimable": shown.get("reclaimable", True),
            "preemption": shown.get("preempt", "Never"),
            "created_at": note.created_at or None,
        }

    async def status(self, name: str) -> dict[str, Any]:
        """Show how full a queue is."""
        scheduler = self._host.control.scheduler
        used = scheduler.used(name)
        most = scheduler.largest(name)
        left = {key: max(0, amount - used.get(key)) for key, amount in most.items}
        shown = await self.show(name)
        return {
            "id": shown["id"],
            "name": name,
            "status": shown["status"],
            "quota": shown["quota"],
            "reserved": shown["guarantee"] or {},
            "allocated": amounts_dict(used),
            "available": amounts_dict(Resources(left)),
        }


def plan_of(given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the fields of the API that were given into those of a queue plan."""
    plan = {_PLAIN[field]: value for field, value in given.items() if field in _PLAIN}
    quota = dict(given.get("quota", {}))
    for resource in ("cpu", "memory"):
        if given.get(f"quota_{resource}") is not None:
            quota[resource] = given[f"quota_{resource}"]
    if not quota:
        return plan
    plan["deserved"] = {**known.get("deserved", {}), **quota}
    if "borrowingLimit" not in plan and "capability" not in plan.keys() | known.keys():
        plan["borrowingLimit"] = {**dict.fromkeys(quota, 0), **known.get("borrowingLimit", {})}
    return plan
