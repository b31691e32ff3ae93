"""Who is in the queues: workflows of which something runs or waits there.

Pure: reads what a scheduler holds. A workflow has a queue of its own (``Guest.home``), and single
nodes may wait in others, so it can be in several queues at once, and in one both run and wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from tiphys.scheduling.queue import DEFAULT
from tiphys.scheduling.scheduler import Scheduler
from tiphys.scheduling.work import Work

_NOBODY: frozenset[str] = frozenset()


class Guest(msgspec.Struct, frozen=True):
    """A workflow that has not ended and uses queues of the scheduler."""

    workflow: str
    home: str
    """The queue of all its nodes that name none."""
    begun: bool = True


class Occupancy:
    """Workflows by queue, at one moment."""

    __slots__ = ("_running", "_waiting")

    def __init__(self, scheduler: Scheduler, guests: Iterable[Guest]) -> None:
        known = {guest.workflow: guest for guest in guests}
        self._running = _by_queue(scheduler.running_works(), known)
        self._waiting = _by_queue(scheduler.waiting_works(), known)
        busy = set[str]().union(*self._running.values(), *self._waiting.values())
        alone = scheduler.queues.leaves() == (DEFAULT,)
        for guest in known.values():
            if guest.workflow not in busy:
                # It pauses, or waits for something other than its turn: a lock, say.
                side = self._running if guest.begun else self._waiting
                side.setdefault(DEFAULT if alone else guest.home, set()).add(guest.workflow)

    def running(self, queue: str) -> int:
        """Count the workflows that hold something of a queue, or pause in it."""
        return len(self._running.get(queue, _NOBODY))

    def waiting(self, queue: str) -> int:
        """Count the workflows of which something waits in a queue."""
        return len(self._waiting.get(queue, _NOBODY))

    def present(self, queue: str) -> frozenset[str]:
        """Give all of these."""
        return _NOBODY.union(self._running.get(queue, ()), self._waiting.get(queue, ()))


def _by_queue(works: Iterable[Work], known: Mapping[str, Guest]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for work in works:
        if work.workflow in known:
            found.setdefault(work.queue, set()).add(work.workflow)
    return found
