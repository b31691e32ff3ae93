"""Gangs: which members must start together, and when there are enough of them.

Pure functions and a small collector. A gang waits until ``min_member`` members and each task's
minimum are present; those members then form one entry that starts whole or not at all. Members
beyond the minimum start one by one afterwards, as there is room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from tiphys.scheduling.work import Gang, Work, WorkId


def task_minimums(gang: Gang) -> dict[str, int]:
    """Per-task minimums that hold: none where the gang's own minimum is below their sum."""
    minimums = {role: least for role, least in gang.min_task_member if least > 0}
    return minimums if gang.min_member >= sum(minimums.values()) else {}


def ready(gang: Gang, placed: Mapping[str, int]) -> bool:
    """Whether ``placed`` members by role satisfy the gang."""
    if sum(placed.values()) < gang.min_member:
        return False
    return all(placed.get(role, 0) >= least for role, least in task_minimums(gang).items())


def choose_members(gang: Gang, members: Sequence[Work]) -> tuple[Work, ...] | None:
    """Choose the members that start together, None where too few are present.

    Each task's minimum is filled first, the rest by order; the result keeps the given order.
    """
    wanted = Counter(task_minimums(gang))
    chosen: dict[WorkId, Work] = {}
    for work in members:
        if wanted[work.role] > 0:
            wanted[work.role] -= 1
            chosen[work.id] = work
    if +wanted:
        return None
    for work in members:
        if len(chosen) >= gang.min_member:
            break
        chosen[work.id] = work
    if len(chosen) < gang.min_member:
        return None
    return tuple(work for work in members if work.id in chosen)


class GangBook:
    """Declared gangs and the members that wait in them."""

    __slots__ = ("gangs", "running", "waiting")

    def __init__(self) -> None:
        self.gangs: dict[str, Gang] = {}
        self.waiting: dict[str, dict[WorkId, Work]] = {}
        self.running: dict[str, dict[WorkId, Work]] = {}

    def declare(self, gang: Gang) -> None:
        """Make ``gang`` known; works name it in ``group``."""
        self.gangs[gang.name] = gang

    def formed(self, name: str) -> bool:
        """Whether the gang runs already, so that further members start alone."""
        gang = self.gangs.get(name)
        if gang is None:
            return True
        roles = Counter(work.role for work in self.running.get(name, {}).values())
        return bool(roles) and ready(gang, roles)

    def unit(self, name: str) -> tuple[Work, ...] | None:
        """Return the members that would start together now, None where too few are present."""
        waiting = list(self.waiting.get(name, {}).values())
        running = self.running.get(name, {}).values()
        if not running:
            return choose_members(self.gangs[name], waiting)
        return choose_members(_rest(self.gangs[name], running), waiting)

    def add(self, work: Work) -> None:
        """Note that ``work`` waits."""
        self.waiting.setdefault(work.group, {})[work.id] = work

    def start(self, works: Iterable[Work]) -> None:
        """Note that ``works`` run."""
        for work in works:
            self.waiting.get(work.group, {}).pop(work.id, None)
            self.running.setdefault(work.group, {})[work.id] = work

    def left(self, work: Work) -> None:
        """A waiting member leaves; a loose gang is content with one less."""
        gang = self.gangs.get(work.group)
        if gang is not None and gang.loose:
            least = max(1, gang.min_member - 1)
            self.gangs[gang.name] = msgspec.structs.replace(gang, min_member=least)
        self.remove(work)

    def part(self, name: str) -> None:
        """The gang runs: where it is loose its members are on their own from now on."""
        gang = self.gangs.get(name)
        if gang is not None and gang.loose:
            del self.gangs[name]

    def remove(self, work: Work) -> None:
        """Forget ``work``; a gang without members is forgotten with its last one."""
        for side in (self.waiting, self.running):
            members = side.get(work.group)
            if members is not None:
                members.pop(work.id, None)
                if not members:
                    del side[work.group]
        if work.group not in self.waiting and work.group not in self.running:
            self.gangs.pop(work.group, None)


def _rest(gang: Gang, running: Iterable[Work]) -> Gang:
    """The gang that is still missing once some members run (others were stopped)."""
    have = Counter(work.role for work in running)
    minimums = tuple(
        (role, max(0, least - have[role])) for role, least in task_minimums(gang).items()
    )
    missing = max(gang.min_member - have.total(), sum(least for _, least in minimums))
    return Gang(name=gang.name, min_member=missing, min_task_member=minimums)
