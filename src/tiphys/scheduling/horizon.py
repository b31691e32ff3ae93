"""When running work is expected to end, and so when room will be there.

A sorted list of expected ends, kept in step with what runs. Work of unknown duration is not in
it: it is never expected to end, which makes every forecast later and never too early.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping

from tiphys.scheduling.ledger import Needs
from tiphys.scheduling.work import WorkId


class Horizon:
    """Expected ends of running work."""

    __slots__ = ("_ends",)

    def __init__(self) -> None:
        self._ends: list[tuple[float, WorkId, Needs]] = []

    def add(self, at: float, work_id: WorkId, needs: Needs) -> None:
        """``work_id`` is expected to end at ``at``."""
        insort(self._ends, (at, work_id, needs))

    def remove(self, at: float, work_id: WorkId) -> None:
        """``work_id``, expected at ``at``, has ended."""
        index = bisect_left(self._ends, (at, work_id))
        if index < len(self._ends) and self._ends[index][1] == work_id:
            del self._ends[index]

    def __iter__(self) -> Iterator[tuple[float, WorkId, Needs]]:
        return iter(self._ends)

    def when(
        self,
        room: Mapping[str, int],
        needs: Needs,
        now: float,
        counts: Callable[[WorkId], bool] | None = None,
    ) -> tuple[float, dict[str, int]] | None:
        """When ``needs`` will fit and what is left over then; None where nobody can tell.

        Work that is overdue is expected to end now. ``counts`` tells whose end makes room; without
        it everybody's does.
        """
        free = dict(room)
        short = {name for name, amount in needs if amount > free.get(name, 0)}
        if not short:
            return now, _left(free, needs)
        wanted = dict(needs)
        for at, work_id, released in self._ends:
            if counts is not None and not counts(work_id):
                continue
            for name, amount in released:
                free[name] = free.get(name, 0) + amount
                if name in short and free[name] >= wanted[name]:
                    short.discard(name)
            if not short:
                return max(at, now), _left(free, needs)
        return None


def _left(free: dict[str, int], needs: Needs) -> dict[str, int]:
    for name, amount in needs:
        free[name] = free.get(name, 0) - amount
    return free
