"""Making room: choosing running work to stop for works that wait, and keeping book of promises.

The books are put where they will be once all open promises are kept, victims are chosen on them
one newcomer after the other, and the books are put back. So several newcomers never count on the
same room. Who may stop whom is decided in ``victims``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tiphys.scheduling.gang import GangBook
from tiphys.scheduling.ledger import Ledger, obstacle
from tiphys.scheduling.pending import Batch, Entry
from tiphys.scheduling.plan import Preemption, Rule
from tiphys.scheduling.promise import Promises
from tiphys.scheduling.running import Running
from tiphys.scheduling.work import WorkId

if TYPE_CHECKING:
    from tiphys.scheduling import victims

MOST_NEWCOMERS = 32
"""Works of one kind for which room is made in one round."""
Undo = list[Callable[[], None]]


class Stopping:
    """Stops running work for waiting work."""

    __slots__ = ("_gangs", "_ledger", "_promises", "_running")

    def __init__(
        self,
        ledger: Ledger,
        running: Mapping[WorkId, Running],
        promises: Promises,
        gangs: GangBook,
    ) -> None:
        self._ledger = ledger
        self._running = running
        self._promises = promises
        self._gangs = gangs

    def make_room(
        self, batches: Sequence[Batch], fresh: set[WorkId]
    ) -> tuple[tuple[Preemption, ...], list[Batch]]:
        """Choose victims for the first works of ``batches``; give also whom no rule helps.

        ``fresh`` has started in this very round and is left alone.
        """
        found: list[Preemption] = []
        failed: list[Batch] = []
        undo = self._as_promised()
        running = self._units(fresh)
        for batch in batches:
            for entry in batch.first(MOST_NEWCOMERS):
                if entry in self._promises:
                    continue
                if obstacle(batch.account.path, entry.needs) is None:
                    break  # it waits for something else than room
                chosen = self._choose(batch, entry, running)
                if chosen is None:
                    failed.append(batch)
                    break
                found += self._stop(entry, *chosen)
                gone = {runner.work.id for runner in chosen[0]}
                running = [unit for unit in running if unit.first.work.id not in gone]
                undo += self._shift(entry, chosen[0])
        for step in reversed(undo):
            step()
        return tuple(found), failed

    def _choose(
        self, batch: Batch, entry: Entry, running: Sequence[victims.Unit]
    ) -> tuple[tuple[victims.Runner, ...], Rule] | None:
        from tiphys.scheduling import victims  # noqa: PLC0415 - only where work is stopped

        newcomer = victims.Newcomer(
            entry.works[0], batch.account.home, entry.needs, urgent=entry.order[0] == 0
        )
        return victims.choose(self._ledger, newcomer, running)

    def _stop(
        self, entry: Entry, chosen: tuple[victims.Runner, ...], rule: Rule
    ) -> list[Preemption]:
        ids = [runner.work.id for runner in chosen]
        for work_id in ids:
            self._running[work_id].stopping = True
        self._promises.add(entry, ids)
        return [Preemption(work_id, entry.works[0].id, rule) for work_id in ids]

    def _units(self, fresh: set[WorkId]) -> list[victims.Unit]:
        from tiphys.scheduling import victims  # noqa: PLC0415 - only where work is stopped

        runners = (
            victims.Runner(running.work, running.account.home, running.needs, running.started_at)
            for work_id, running in self._running.items()
            if running.work.preemptable and not running.stopping and work_id not in fresh
        )
        return victims.units(runners, self._gangs.gangs)

    def _as_promised(self) -> Undo:
        """Put the books where they will be once all promises are kept; give the way back."""
        undo: Undo = []
        for entry in self._promises:
            if entry.alive and entry.batch is not None:
                stopped = [self._running[v] for v in self._promises.victims_of(entry)]
                undo += self._shift(entry, stopped)
        return undo

    def _shift(self, entry: Entry, stopped: Iterable[Running | victims.Runner]) -> Undo:
        """Book ``stopped`` out and ``entry`` in; give the way back."""
        assert entry.batch is not None
        ledger, path = self._ledger, entry.batch.account.path
        undo: Undo = []
        for item in stopped:
            ledger.release(item.account.path, item.needs)
            undo.append(partial(ledger.charge, item.account.path, item.needs))
        ledger.charge(path, entry.needs)
        undo.append(partial(ledger.release, path, entry.needs))
        return undo
