"""Whose turn it is among the queues that wait for the same needs.

A shape is one vector of needs with the queues that have such work in line, as heaps over the
queue tree: at each level urgent work first, then the highest priority, then the lowest share.
Ranks are kept lazily. A start only raises shares, so an entry that is out of date stands too far
ahead and is corrected when it comes up; a release lowers them, so it must be told (``sink``).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from itertools import count

from tiphys.scheduling.ledger import Account, Needs, Rank
from tiphys.scheduling.pending import Batch, Order

Key = tuple[object, ...]
"""Urgency, the ranks from the top down, the order of the head: compares batches of all queues."""
_serial = count()
"""Breaks ties inside heaps; never decides anything, as ranks end in the account's index."""


class Place:
    """An account's place in one shape: a leaf with batches, or a branch with children."""

    __slots__ = ("account", "active", "batches", "children", "heap", "parent", "urgent")

    def __init__(self, account: Account, parent: Place | None) -> None:
        self.account = account
        self.parent = parent
        self.active = False
        self.urgent = False
        self.children = 0
        self.heap: list[tuple[bool, Rank, int, Place]] = []
        self.batches: list[Batch] = []
        """In line, in no order: there is more than one only where workflows are limited."""

    def top(self) -> Place | None:
        """Return the child to serve next, None where none has work in line."""
        heap = self.heap
        if self.children == 1 and heap:
            only = heap[0][3]
            return only if only.active else None
        while heap:
            calm, rank, serial, child = heap[0]
            if not child.active:
                heappop(heap)
                continue
            account = child.account
            now = account.ranked or account.rank()
            if rank is now and calm is not child.urgent:
                return child
            heapreplace(heap, (not child.urgent, now, serial, child))
            if rank == now and calm is not child.urgent:
                return child
        return None

    def best(self) -> tuple[Order, Batch] | None:
        """Return the leaf's best batch in line, with its head's order."""
        if len(self.batches) == 1:
            only = self.batches[0]
            first = only.head()
            return None if first is None else (first.order, only)
        found: tuple[Order, Batch] | None = None
        for batch in self.batches:
            head = batch.head()
            if head is not None and (found is None or head.order < found[0]):
                found = (head.order, batch)
        return found


class Choice:
    """The best batch of a shape, and what that depends on."""

    __slots__ = ("_lineage", "_ranks", "batch", "key")

    def __init__(self, place: Place, order: Order, batch: Batch) -> None:
        self.batch = batch
        self._lineage = lineage = place.account.lineage
        self._ranks = ranks = tuple([a.ranked or a.rank() for a in lineage])
        self.key: Key = (order[0], *ranks[::-1], order)

    def holds(self) -> bool:
        """Whether nothing on its path has changed since."""
        for account, rank in zip(self._lineage, self._ranks, strict=True):
            if account.ranked is not rank:
                return False
        return True


class Shape:
    """All queues with work of the same needs in line."""

    __slots__ = (
        "_choice", "_places", "closed", "closed_at", "cpu", "kinds", "needs", "refused", "root",
        "serial",
    )  # fmt: skip

    def __init__(self, needs: Needs, root: Account) -> None:
        self.needs = needs
        self.root = Place(root, None)
        self._places: dict[Account, Place] = {root: self.root}
        self._choice: Choice | None = None
        self.serial = next(_serial)
        self.cpu = dict(needs).get("cpu", 0)
        self.kinds = 0
        """Batches of this shape, in line or parked."""
        self.closed = False
        """Does not fit the machine, until something is released."""
        self.closed_at = 0
        """The number of releases it knows of, while it is closed."""
        self.refused = 0
        """How often in this round its work had to step back behind the head."""

    def add(self, batch: Batch, *, urgent: bool) -> None:
        """Put ``batch`` in line."""
        place = self._place(batch.account)
        place.batches.append(batch)
        self.touch(batch, urgent=urgent)

    def touch(self, batch: Batch, *, urgent: bool = False) -> None:
        """The head of ``batch`` changed; it stands where its account stands."""
        self._choice = None
        step: Place | None = self._places[batch.account]
        while step is not None:
            if not step.active or (urgent and not step.urgent):
                step.urgent = urgent or (step.active and step.urgent)
                step.active = True
                self._stand(step)
            step = step.parent

    def remove(self, batch: Batch) -> None:
        """Take ``batch`` out of line."""
        self._choice = None
        place = self._places[batch.account]
        place.batches.remove(batch)
        if not place.batches:
            place.active = False

    def started(self) -> None:
        """The chosen batch has lost its head."""
        self._choice = None

    def __len__(self) -> int:
        """How many accounts have, or had, work of this shape."""
        return len(self._places)

    def restand(self) -> None:
        """Usage may have fallen anywhere: let all stand anew."""
        self._choice = None
        for place in self._places.values():
            if place.active:
                self._stand(place)

    def sink(self, leaf: Account) -> None:
        """Usage fell from ``leaf`` to the root: these may now stand further ahead."""
        places = self._places
        for account in leaf.lineage:
            place = places.get(account)
            if place is not None and place.active:
                self._choice = None
                self._stand(place)

    def forget(self, account: Account) -> None:
        """A lane without work is gone for good."""
        place = self._places.pop(account, None)
        if place is None:
            return
        parent = place.parent
        assert parent is not None
        parent.children -= 1
        parent.heap = [item for item in parent.heap if item[3] is not place]
        heapify(parent.heap)

    def choice(self) -> Choice | None:
        """The batch to serve next, None where nothing is in line."""
        known = self._choice
        if known is not None and known.holds():
            return known
        self._choice = self._choose()
        return self._choice

    def only(self) -> Batch | None:
        """The one batch in line, where there are no others: whose turn it is need not be asked."""
        place = self.root
        while place.active and place.children == 1 and place.heap:
            place = place.heap[0][3]
        if place.active and not place.children and len(place.batches) == 1:
            only = place.batches[0]
            return only if only.head() is not None else None  # That also drops its ghosts.
        return None

    def first_of(self, home: Account) -> Batch | None:
        """The batch of a fair queue to serve next, None where it has nothing in line."""
        place = self._places.get(home)
        while place is not None and (lane := place.top()) is not None:
            found = lane.best()
            if found is not None:
                return found[1]
            lane.active = False
        return None

    def _choose(self) -> Choice | None:
        while self.root.active:
            place = self.root
            while not place.batches:
                child = place.top()
                if child is None:
                    break
                place = child
            found = place.best() if place.batches else None
            if found is not None:
                return Choice(place, *found)
            place.active = False
        return None

    def _place(self, account: Account) -> Place:
        place = self._places.get(account)
        if place is None:
            assert account.parent is not None
            parent = self._place(account.parent)
            parent.children += 1
            if parent.children == 2:
                # As an only child the other's rank did not matter; now it does.
                parent.heap = [
                    (not old.urgent, old.account.rank(), serial, old)
                    for _, _, serial, old in parent.heap[:1]
                ]
            place = self._places[account] = Place(account, parent)
        return place

    def _stand(self, place: Place) -> None:
        parent = place.parent
        if parent is None or (parent.children == 1 and parent.heap):
            return  # an only child always stands first
        entry = (not place.urgent, place.account.rank(), next(_serial), place)
        heappush(parent.heap, entry)
        if len(parent.heap) > 16 + 4 * parent.children:
            seen: dict[Account, tuple[bool, Rank, int, Place]] = {}
            for item in parent.heap:
                child = item[3]
                if child.active:
                    seen[child.account] = (
                        not child.urgent, child.account.rank(), item[2], child
                    )  # fmt: skip
            parent.heap = list(seen.values())
            heapify(parent.heap)
