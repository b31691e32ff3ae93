"""Queues as the API speaks of them: quotas that hold, ids, remarks, and who waits in them.

A quota is hard unless the queue says how much it may borrow, or what it is capable of. The queues
themselves, and what they mean, are ``control.queues`` and ``scheduling``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from tiphys.control.host import Host
from tiphys.control.queues import queue_handlers
from tiphys.control.server import QueueOffice
from tiphys.errors import NotFoundError
from tiphys.scheduling.admission import queue_of
from tiphys.scheduling.queue_file import amounts_dict, queue_dict
from tiphys.scheduling.reason import Starting
from tiphys.scheduling.resource import Resources
from tiphys.service.access import Identity
from tiphys.service.cabinet import Cabinet
from tiphys.store import ObjectRow, WorkflowFilter

PREFIX = "q-"
NOTE = "QueueNote"
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
RUNS, ROWS = 50, 5
"""Of so many workflows so many waiting nodes are listed."""
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


def name_of(key: str) -> str:
    """Give the name of the queue that an id stands for; a plain name will do."""
    return key.removeprefix(PREFIX)


class QueueDesk:
    """Makes, changes and shows queues."""

    def __init__(self, host: Host, cabinet: Cabinet) -> None:
        self._host, self._cabinet = host, cabinet
        self._handlers = queue_handlers(host.queues, QueueOffice(host))
        rows = host.store.objects(NOTE)
        self._notes = {row.name: msgspec.json.decode(row.body, type=Note) for row in rows}

    def check(self, key: str) -> str:
        """Give the name of a queue that exists; raise NotFoundError for others."""
        try:
            return self._host.queues.get(name_of(key)).name
        except NotFoundError:
            raise NotFoundError(f"there is no queue {key[:200]!r}") from None

    async def make(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Make a queue."""
        name = str(given["name"])
        await self._handlers["queue-save"](
            {"queue": {"name": name, **_plan(given, {})}, "new": True}
        )
        await self._keep(name, Note(str(given.get("description", "")), self._host.clock.now()))
        return self.show(name)

    async def change(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Change a queue, at once."""
        known = queue_dict(self._host.queues.get(name))
        spec = {**known, **_plan(given, known)}
        await self._handlers["queue-save"]({"queue": spec, "new": False})
        if "description" in given:
            note = self._notes.get(name, Note())
            await self._keep(name, Note(str(given["description"]), note.created_at))
        return self.show(name)

    async def _keep(self, name: str, note: Note) -> None:
        self._notes[name] = note
        body = msgspec.json.encode(note)
        at = self._host.clock.now()
        await self._cabinet.save(ObjectRow(kind=NOTE, namespace="", name=name, body=body, at=at))

    async def set_state(self, name: str, state: str) -> dict[str, Any]:
        """Open or close a queue."""
        await self._handlers["queue-state"]({"name": name, "state": state})
        return self.show(name)

    async def remove(self, name: str) -> None:
        """Remove a queue that nothing is in."""
        await self._handlers["queue-delete"]({"name": name})
        if self._notes.pop(name, None) is not None:
            await self._cabinet.remove(NOTE, "", name)

    def names(self) -> list[str]:
        """List the queues, parents before their children."""
        return [str(each["name"]) for each in self._host.queues.listed()]

    def show(self, name: str) -> dict[str, Any]:
        """Show a queue as it is defined."""
        shown = self._host.queues.shown(name)
        note = self._notes.get(name, Note())
        found = {field: shown.get(key) for field, key in _PLAIN.items()}
        return {
            "id": PREFIX + name,
            "name": name,
            "description": note.description,
            "scheduler": "local",
            "status": str(shown["effective"]).lower(),
            "quota": shown.get("deserved", {}),
            **found,
            "reclaimable": shown.get("reclaimable", True),
            "preemption": shown.get("preempt", "Never"),
            "created_at": note.created_at or None,
        }

    def status(self, name: str, identity: Identity) -> dict[str, Any]:
        """Show how full a queue is, and who waits in it as far as ``identity`` may know."""
        scheduler = self._host.control.scheduler
        used = scheduler.used(name)
        most = scheduler.largest(name)
        left = {key: max(0, amount - used.get(key)) for key, amount in most.items}
        shown = self.show(name)
        return {
            "id": shown["id"],
            "name": name,
            "status": shown["status"],
            "quota": shown["quota"],
            "reserved": shown["guarantee"] or {},
            "allocated": amounts_dict(used),
            "available": amounts_dict(Resources(left)),
            "waiting": self._waiting(name, identity),
        }

    def stats(self, name: str) -> dict[str, int]:
        """Count the workflows of a queue; may take a while, so call it from a thread."""
        counts = self._host.store.count_by_phase(WorkflowFilter(queue=name))
        return {
            "waiting": counts.get("", 0) + counts.get("Pending", 0),
            "running": counts.get("Running", 0),
            "succeeded": counts.get("Succeeded", 0),
            "failed": counts.get("Failed", 0) + counts.get("Error", 0),
        }

    def _waiting(self, name: str, identity: Identity) -> list[dict[str, Any]]:
        runs = [
            run
            for run in list(self._host.control.runs.values())
            if identity.sees(run.namespace) and queue_of(run.labels, run.annotations) == name
        ]
        found = []
        for run in runs[:RUNS]:
            rows = [row for row in self.explain(run.uid, identity) if _in_line(row)]
            found += [{"workflow": run.uid, **row} for row in rows[:ROWS]]
        return found

    def explain(self, uid: str, identity: Identity) -> list[dict[str, Any]]:
        """Say why nodes of a workflow wait, without naming what ``identity`` must not know of."""
        rows = self._host.control.explain(uid)
        if not identity.project:
            return rows

        def known(match: re.Match[str]) -> str:
            run = self._host.control.runs.get(match[0])
            seen = run is not None and identity.sees(run.namespace)
            return match[0] if seen else "another project's"

        text = _UID.sub(known, msgspec.json.encode(rows).decode())
        plain: list[dict[str, Any]] = msgspec.json.decode(text)
        return plain


def _in_line(row: Mapping[str, Any]) -> bool:
    """Whether a node stands in the queue; one that is let in already only starts."""
    return bool(row["node"]) and row["data"]["type"] != Starting.__name__


def _plan(given: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the fields of the API that were given into those of a queue plan."""
    plan = {_PLAIN[field]: value for field, value in given.items() if field in _PLAIN}
    quota = dict(given.get("quota", {}))
    for resource in ("cpu", "memory"):
        if given.get(f"quota_{resource}") is not None:
            quota[resource] = given[f"quota_{resource}"]
    if not quota:
        return plan
    plan["deserved"] = {**known.get("deserved", {}), **quota}
    if not {"capability", "borrowingLimit"} & (plan.keys() | known.keys()):
        plan["borrowingLimit"] = dict.fromkeys(quota, 0)
    return plan
