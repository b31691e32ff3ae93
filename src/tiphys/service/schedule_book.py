"""All cron workflows of a host, in memory as they are on record.

The host is the one owner of its store, so this is the truth; every change goes to the ledger of the
loop and is durable with its next commit, together with a workflow that was submitted in the same
breath. Only the event loop's thread changes anything here; others may look.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from tiphys.control.host import Host
from tiphys.core.cron import Zone
from tiphys.errors import InvalidInputError, NotFoundError
from tiphys.service.schedule_plan import Memory, Timetable, timetable
from tiphys.service.schedule_state import KIND, Cron, read_row, write_row


def machine_zone(unix: int) -> int:
    """Give the offset of the machine's own zone: schedules that name none are in it."""
    return time.localtime(unix).tm_gmtoff


@dataclass(slots=True)
class Entry:
    """A cron workflow, and what is known beside it."""

    cron: Cron
    table: Timetable
    memory: Memory
    wake_at: float | None = None
    """The next slot; None for never."""

    def plan(self) -> None:
        """Find the next slot."""
        asleep = self.cron.stopped or self.cron.spec.suspend
        begin = max(self.memory.seen, self.cron.since)
        self.wake_at = None if asleep else self.table.next(begin, self.cron.since)

    def is_due(self, now: float) -> bool:
        """Tell whether there is anything to look at."""
        return self.memory.look_back or (self.wake_at is not None and self.wake_at <= now)


class Book:
    """The cron workflows, by namespace and name."""

    def __init__(self, host: Host, note: Callable[[str], None], local: Zone = machine_zone) -> None:
        self._host, self._note, self._local = host, note, local
        self._entries: dict[tuple[str, str], Entry] = {}
        for row in host.store.objects(KIND):
            try:
                cron = read_row(row)
                self._entries[cron.key] = self._entry(cron)
            except (msgspec.MsgspecError, InvalidInputError) as error:
                note(f"the schedule {row.name} of {row.namespace} cannot be read: {error}")

    def __iter__(self) -> Iterator[Entry]:
        """Give all, in a list of its own."""
        return iter(list(self._entries.values()))

    def get(self, namespace: str, name: str) -> Entry | None:
        """Give one, or None."""
        return self._entries.get((namespace, name))

    def find(self, namespace: str, name: str) -> Entry:
        """Give one; raise NotFoundError."""
        found = self.get(namespace, name)
        if found is None:
            raise NotFoundError(f"there is no schedule {name[:200]!r}")
        return found

    def table(self, cron: Cron) -> Timetable:
        """Read the schedules of a cron workflow."""
        return timetable(cron.spec, self._local)

    def save(self, cron: Cron) -> None:
        """Put the state of a known one, or of a new one, on record."""
        entry = self._entries.get(cron.key)
        if entry is None:
            entry = self._entries[cron.key] = self._entry(cron)
        entry.cron = cron
        entry.plan()
        self._host.ledger.keep(write_row(cron, self._host.clock.now()))

    def change(self, cron: Cron) -> None:
        """Put what a person changed on record; slots are looked for anew."""
        table = self.table(cron)  # Raises before anything is changed.
        self.save(cron)
        entry = self._entries[cron.key]
        entry.table, entry.memory.look_back = table, True
        entry.plan()

    def remove(self, cron: Cron) -> None:
        """Forget one."""
        del self._entries[cron.key]
        self._host.ledger.forget(KIND, *cron.key)

    def _entry(self, cron: Cron) -> Entry:
        entry = Entry(cron, self.table(cron), Memory(self._host.clock.now()))
        entry.plan()
        return entry
