"""Room that is being made: waiting work for which running work was told to stop.

What is promised is kept from everyone else until its owner starts. Several promises may be open at
once; each names its victims, so that people can be told what a work waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tiphys.scheduling.pending import Entry
from tiphys.scheduling.work import WorkId


class Promises:
    """Who was promised room, and whose end they wait for."""

    __slots__ = ("_by_victim", "_victims", "kept")

    def __init__(self) -> None:
        self._victims: dict[Entry, set[WorkId]] = {}
        self._by_victim: dict[WorkId, Entry] = {}
        self.kept: dict[str, int] = {}
        """All that is promised, by resource."""

    def __bool__(self) -> bool:
        return bool(self._victims)

    def __contains__(self, entry: Entry) -> bool:
        return entry in self._victims

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._victims))

    def add(self, entry: Entry, victims: Iterable[WorkId]) -> None:
        """Promise ``entry`` what it needs, once ``victims`` have ended."""
        self._victims[entry] = set(victims)
        for victim in self._victims[entry]:
            self._by_victim[victim] = entry
        self._count(entry, 1)

    def remove(self, entry: Entry) -> None:
        """The promise is kept, or void."""
        for victim in self._victims.pop(entry):
            self._by_victim.pop(victim, None)
        self._count(entry, -1)

    def replace(self, entry: Entry, successor: Entry) -> None:
        """``successor`` stands where ``entry`` stood."""
        victims = self._victims[entry]
        self.remove(entry)
        self.add(successor, victims)

    def ended(self, work_id: WorkId) -> None:
        """A victim has ended."""
        entry = self._by_victim.pop(work_id, None)
        if entry is not None:
            self._victims[entry].discard(work_id)

    def victims_of(self, entry: Entry) -> tuple[WorkId, ...]:
        """Whose end ``entry`` still waits for."""
        return tuple(sorted(self._victims.get(entry, ())))

    def forbids(self, entry: Entry, room: Mapping[str, int]) -> str | None:
        """Say which resource ``entry`` must leave to others; None where it may start."""
        own = dict(entry.needs) if entry in self._victims else {}
        for name, amount in entry.needs:
            kept = self.kept.get(name, 0) - own.get(name, 0)
            if kept > 0 and amount > room.get(name, 0) - kept:
                return name
        return None

    def _count(self, entry: Entry, sign: int) -> None:
        for name, amount in entry.needs:
            self.kept[name] = self.kept.get(name, 0) + sign * amount
