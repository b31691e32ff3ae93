"""Who changed what, for good. Kept among the events that belong to no workflow."""

from __future__ import annotations

from typing import Any

import msgspec

from tiphys.core.clock import Clock
from tiphys.service.access import Identity
from tiphys.service.cabinet import Cabinet
from tiphys.store import EventRow, Store, WorkflowSummary

KIND = "audit"
SOURCE = "source"
"""The kind of the event that keeps the text of a submission."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One change."""

    actor: str
    token: str
    action: str
    project: str = ""
    object: str = ""


class Audit:
    """Writes and lists the changes."""

    def __init__(self, store: Store, cabinet: Cabinet, clock: Clock) -> None:
        self._store, self._cabinet, self._clock = store, cabinet, clock

    async def note(
        self, identity: Identity, action: str, *, project: str = "", subject: str = ""
    ) -> None:
        """Put a change on record that concerns no workflow."""
        await self._cabinet.save(events=(self._row(identity, action, project, subject),))

    async def note_workflow(
        self, identity: Identity, action: str, row: WorkflowSummary, *, source: str = ""
    ) -> None:
        """Put a change of a workflow on record: here, and beside it as long as it exists."""
        rows = [self._row(identity, action, row.namespace, f"workflow {row.name} {row.uid}")]
        about = f"{action} by {identity.name}"
        rows.append(EventRow(uid=row.uid, at=self._clock.now(), kind=KIND, text=about))
        if source:
            rows.append(EventRow(uid=row.uid, at=self._clock.now(), kind=SOURCE, text=source))
        await self._cabinet.save(events=tuple(rows))

    def _row(self, identity: Identity, action: str, project: str, subject: str) -> EventRow:
        entry = Entry(
            actor=identity.name,
            token=identity.token,
            action=action,
            project=project,
            object=subject[:500],
        )
        text = msgspec.json.encode(entry).decode()
        return EventRow(uid="", at=self._clock.now(), kind=KIND, text=text)

    def entries(
        self, identity: Identity, *, after: int, limit: int, before: int | None = None
    ) -> list[dict[str, Any]]:
        """List changes that ``identity`` may see behind number ``after``.

        Given ``before``, those before that number instead, the latest first.
        """
        found: list[dict[str, Any]] = []
        bound = after if before is None else before
        while len(found) < limit:
            rows = self._rows(bound, limit, latest=before is not None)
            seen = [entry for row in rows if (entry := _shown(row, identity)) is not None]
            found += seen
            if len(rows) < limit:
                break
            bound = rows[-1].number
        return found[:limit]

    def _rows(self, bound: int, limit: int, *, latest: bool) -> list[EventRow]:
        if latest:
            return self._store.latest_events("", before=bound, limit=limit)
        return self._store.events("", after=bound, limit=limit)


def _shown(row: EventRow, identity: Identity) -> dict[str, Any] | None:
    if row.kind != KIND:
        return None
    entry = msgspec.json.decode(row.text, type=Entry)
    if not identity.sees(entry.project):
        return None
    return {"number": row.number, "at": row.at, **msgspec.structs.asdict(entry)}
