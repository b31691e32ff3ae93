"""Why tasks that were let in have not started, as the places say where they are to run.

The scheduler knows why work is not let in (``control.explain``). What comes after, a PodGroup that
Volcano cannot place, an image that cannot be pulled, the runtime tells by events; the latest of
them is kept here until the task starts or ends. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from tiphys.engine.run import Run
from tiphys.ports import AttemptId, GangChanged, TaskWaits
from tiphys.scheduling.reason import GangUnplaced, Reason, Starting, text
from tiphys.store import EventRow

KIND = "PodGroup"
"""The kind of the event that tells what became of a group."""
_WAITING = ("Pending", "Inqueue", "Unknown")


class Waits:
    """The latest reason of each attempt."""

    def __init__(self) -> None:
        self._reasons: dict[AttemptId, Reason] = {}

    def take(self, event: TaskWaits | GangChanged) -> EventRow | None:
        """Note why tasks wait; give what is to be put on record, if it is new."""
        if isinstance(event, TaskWaits):
            self._note(event.id, event.reason)
            return None
        waits = event.phase in _WAITING
        reason = GangUnplaced(event.gang, event.queue, event.size, event.phase, event.why)
        for member in event.members:
            self._note(member, reason if waits else None)
        if not (event.news and event.workflow_uid):
            return None
        return EventRow(uid=event.workflow_uid, at=event.at, kind=KIND, text=_said(event))

    def _note(self, attempt: AttemptId, reason: Reason | None) -> None:
        if reason is None:
            self._reasons.pop(attempt, None)
        else:
            self._reasons[attempt] = reason

    def forget(self, attempt: AttemptId) -> None:
        """It has started, or will not."""
        self._reasons.pop(attempt, None)

    def told(
        self, run: Run, rows: list[dict[str, Any]], attempt_id: Callable[[Run, int], AttemptId]
    ) -> list[dict[str, Any]]:
        """Give rows of ``explain`` with what is known of nodes that are starting."""
        return [self._told(run, row, attempt_id) for row in rows] if self._reasons else rows

    def _told(
        self, run: Run, row: dict[str, Any], attempt_id: Callable[[Run, int], AttemptId]
    ) -> dict[str, Any]:
        node = run.nodes.get(row["node"])
        if node is None or row["data"]["type"] != Starting.__name__:
            return row
        reason = self._reasons.get(attempt_id(run, node.ours.attempt))
        if reason is None:
            return row
        return {**row, "text": text(reason), "data": msgspec.to_builtins(reason)}


def _said(event: GangChanged) -> str:
    was = f"{event.was} → " if event.was else ""
    why = f": {event.why}" if event.why else ""
    return f"{event.gang} of {event.size} in queue {event.queue}: {was}{event.phase}{why}"
