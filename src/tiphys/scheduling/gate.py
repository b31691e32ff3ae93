"""Where works come in: one by one, a layer together, or inside their workflow's reservation.

Sans-IO, in front of one ``Scheduler``. The control loop opens the gate for each run, submits a
node's facts whenever the engine wants it started, and flushes before it plans: nodes of a layer
that arrived in the same turn become one gang. A layer larger than its queue could ever hold comes
in as the largest gang that fits, the rest one by one: it may not wait for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tiphys.scheduling.admission import Unit, reservation
from tiphys.scheduling.placement import Choice, Facts, held_whole, work_of
from tiphys.scheduling.queue import DEFAULT
from tiphys.scheduling.reason import NoSuchQueue, Refusal
from tiphys.scheduling.resource import NOTHING, Resources
from tiphys.scheduling.scheduler import Scheduler
from tiphys.scheduling.work import Gang, Work, WorkId


class _Guest:
    """A run, and what it has chosen."""

    __slots__ = ("choice", "created_at", "held", "holds_until", "largest")

    def __init__(self, choice: Choice, created_at: float) -> None:
        self.choice = choice
        self.created_at = created_at
        self.largest: Resources = NOTHING
        """The most that one of its works could get."""
        self.held: Work | None = None
        """Its reservation, where it is admitted as a whole."""
        self.holds_until: float | None = None
        """Set while it pauses and keeps its reservation."""


class Gate:
    """Lets the nodes of runs into a scheduler."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._guests: dict[str, _Guest] = {}
        self._layers: dict[tuple[str, str], list[Work]] = {}
        self._gathered: dict[WorkId, tuple[str, str]] = {}
        self._formed = 0
        self._largest: dict[str, Resources] = {}
        """The most that one work of a queue could get, where a template names that queue."""

    # -- runs --------------------------------------------------------------------------------

    def open(
        self, workflow: str, choice: Choice, created_at: float
    ) -> tuple[Refusal | None, tuple[str, ...]]:
        """Take a run in; say what had to be cut down. A refusal means that none of it can start.

        A refused run is known all the same: what of it runs already can be adopted.
        """
        queue = self.queue_for(choice.queue)
        if queue != choice.queue:
            choice = msgspec.structs.replace(choice, queue=queue)
        guest = self._guests[workflow] = _Guest(choice, created_at)
        if choice.queue not in self._scheduler.queues.leaves():
            guest.largest = self._scheduler.capacity
            return NoSuchQueue(choice.queue), ()
        guest.largest = self._scheduler.largest(choice.queue)
        if choice.most is None:
            return None, ()
        held, cut = held_whole(choice.most, guest.largest)
        guest.largest = held
        guest.held = reservation(
            workflow, choice.queue, held, created_at=created_at, priority=choice.priority
        )
        return self._scheduler.reserve(guest.held), cut

    def queue_for(self, queue: str) -> str:
        """The queue in which work of ``queue`` waits.

        Where nobody has set up queues, a file that was written for a cluster is not at fault: the
        one queue that there is takes all work.
        """
        return DEFAULT if self._scheduler.queues.leaves() == (DEFAULT,) else queue

    def __contains__(self, workflow: str) -> bool:
        """Whether the run was taken in."""
        return workflow in self._guests

    def ended(self, workflow: str) -> None:
        """The run is over: nothing is held for it any more."""
        guest = self._guests.pop(workflow, None)
        for key in [key for key in self._layers if key[0] == workflow]:
            for work in self._layers.pop(key):
                del self._gathered[work.id]
        if guest is not None and guest.held is not None:
            self._scheduler.release(workflow)

    def paused(self, workflow: str, now: float) -> None:
        """The run waits for somebody: it gives its reservation back, now or after its time."""
        guest = self._guests.get(workflow)
        if guest is None or guest.held is None:
            return
        if guest.choice.hold_seconds > 0:
            guest.holds_until = now + guest.choice.hold_seconds
        else:
            self._scheduler.release(workflow)

    def resumed(self, workflow: str) -> None:
        """The run goes on: it asks for its maximum again, with its age kept."""
        guest = self._guests.get(workflow)
        if guest is None or guest.held is None:
            return
        guest.holds_until = None
        if not self._scheduler.reserved(workflow):
            self._scheduler.reserve(guest.held)

    def advance(self, now: float) -> None:
        """Give back what paused runs have held long enough."""
        for workflow, guest in self._guests.items():
            if guest.holds_until is not None and guest.holds_until <= now:
                guest.holds_until = None
                self._scheduler.release(workflow)

    def wake_at(self) -> float | None:
        """When ``advance`` and a plan are due without any event."""
        holds = [g.holds_until for g in self._guests.values() if g.holds_until is not None]
        planned = self._scheduler.wake_at()
        return min(holds if planned is None else [*holds, planned], default=None)

    def queues_changed(self) -> None:
        """The queues or the machine changed: what fits is asked anew."""
        self._largest.clear()
        leaves = set(self._scheduler.queues.leaves())
        for guest in self._guests.values():
            if guest.held is None and guest.choice.queue in leaves:
                guest.largest = self._scheduler.largest(guest.choice.queue)

    # -- nodes -------------------------------------------------------------------------------

    def submit(self, facts: Facts) -> tuple[Refusal | None, tuple[str, ...]]:
        """Let a node of an open run wait for its turn; say what had to be cut for it to fit."""
        guest = self._guests[facts.workflow]
        work, cut = self._work(guest, facts)
        if facts.gang is not None:
            self._scheduler.declare(facts.gang)
            return self._scheduler.submit(work), cut
        if guest.choice.unit is Unit.LAYER and facts.layer:
            if work.queue not in self._scheduler.queues.leaves():
                return NoSuchQueue(work.queue), cut
            key = (facts.workflow, facts.layer)
            self._layers.setdefault(key, []).append(work)
            self._gathered[work.id] = key
            return None, cut
        return self._scheduler.submit(work), cut

    def adopt(self, facts: Facts, started_at: float) -> None:
        """Account a node as running already."""
        guest = self._guests[facts.workflow]
        self._scheduler.adopt(self._work(guest, facts)[0], started_at)

    def _work(self, guest: _Guest, facts: Facts) -> tuple[Work, tuple[str, ...]]:
        """Make the node's work; one with a queue of its own fits what that queue has."""
        queue = facts.queue and self.queue_for(facts.queue)
        if queue != facts.queue:
            facts = msgspec.structs.replace(facts, queue=queue)
        if not queue or queue == guest.choice.queue or guest.held is not None:
            return work_of(facts, guest.choice, guest.largest, self._scheduler.capacity)
        largest = self._largest.get(queue)
        if largest is None:
            known = queue in self._scheduler.queues.leaves()
            largest = self._scheduler.largest(queue) if known else facts.requests
            self._largest[queue] = largest
        return work_of(facts, guest.choice, largest, self._scheduler.capacity)

    def withdraw(self, work_id: WorkId) -> None:
        """Forget a node, wherever it is."""
        key = self._gathered.pop(work_id, None)
        if key is None:
            self._scheduler.withdraw(work_id)
        else:
            self._layers[key] = [work for work in self._layers[key] if work.id != work_id]

    def flush(self) -> list[tuple[WorkId, Refusal]]:
        """Send in what arrived as layers since the last time; give those that were refused."""
        if not self._layers:
            return []
        layers, self._layers = self._layers, {}
        self._gathered.clear()
        refused: list[tuple[WorkId, Refusal]] = []
        for (workflow, key), works in layers.items():
            if not works:
                continue  # All of them were withdrawn.
            for work in self._as_gang(workflow, key, works):
                refusal = self._scheduler.submit(work)
                if refusal is not None:
                    refused.append((work.id, refusal))
        return refused

    def _as_gang(self, workflow: str, key: str, works: Sequence[Work]) -> Sequence[Work]:
        """Declare the gang of a layer, and give its works as members."""
        together = self._together(workflow, works)
        if together < 2:
            return works
        # The number keeps a layer that is run again (a retry, a loop) apart.
        self._formed += 1
        name = f"{key}#{self._formed}"
        self._scheduler.declare(Gang(name=name, min_member=together, loose=True))
        return [msgspec.structs.replace(work, group=name) for work in works]

    def _together(self, workflow: str, works: Sequence[Work]) -> int:
        """How many of a layer start as one; works of several queues each start alone."""
        if any(work.queue != works[0].queue for work in works):
            return 1
        queue, guest = works[0].queue, self._guests[workflow]
        return _fitting(works, self._largest.get(queue, guest.largest))


def _fitting(works: Sequence[Work], largest: Resources) -> int:
    """How many of ``works``, in order, fit into ``largest`` at once."""
    room = largest.to_dict()
    for count, work in enumerate(works):
        for name, amount in work.requests.items:
            room[name] = room.get(name, 0) - amount
            if room[name] < 0:
                return count
    return len(works)
