"""Whose turn it is: the queue tree as heaps, lowest share first.

At each level of the tree the child that is served next is the one with urgent work, then the
highest priority, then the lowest share; Volcano re-ranks after each start, and so does this. A
changed queue gets a new entry and its old one goes stale, so a change costs as much as the path
to the root is long and not as much as there are queues.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from tiphys.scheduling.ledger import Account
from tiphys.scheduling.pending import Leaf

Rank = tuple[int, int, float, bool, int, int]


class Seat:
    """An account's place among its siblings."""

    __slots__ = ("account", "active", "children", "heap", "leaf", "parent", "version")

    def __init__(self, account: Account, parent: Seat | None) -> None:
        self.account = account
        self.parent = parent
        self.children = [Seat(child, self) for child in account.children]
        self.leaf = None if self.children or parent is None else Leaf(account)
        self.heap: list[tuple[Rank, Seat]] = []
        self.version = 0
        self.active = False

    def urgent(self) -> int:
        """0 where the next work below is urgent, else 1."""
        if self.leaf is not None:
            batch = self.leaf.first()
            return batch.queued[0] if batch is not None and batch.queued is not None else 1
        child = self.top()
        return child.urgent() if child is not None else 1

    def top(self) -> Seat | None:
        """Return the child to serve next, None where none has work."""
        if len(self.children) == 1:
            only = self.children[0]
            return only if only.active else None
        heap = self.heap
        while heap:
            rank, child = heap[0]
            if child.active and rank[-1] == child.version:
                return child
            heappop(heap)
        return None

    def enter(self) -> None:
        """Stand in line under the parent with today's numbers."""
        parent = self.parent
        if parent is None or len(parent.children) == 1:
            return
        self.version += 1
        queue = self.account.queue
        best_effort = not self.account.share_of
        share = 1.0 if best_effort else self.account.share()
        rank = (
            self.urgent(), -queue.priority, share, best_effort, self.account.index, self.version
        )  # fmt: skip
        heappush(parent.heap, (rank, self))
        if len(parent.heap) > 16 + 4 * len(parent.children):
            parent.heap = [pair for pair in parent.heap if pair[0][-1] == pair[1].version]
            heapify(parent.heap)


class Turn:
    """Chooses the leaf that is served next."""

    __slots__ = ("leaves", "root")

    def __init__(self, root: Account) -> None:
        self.root = Seat(root, None)
        self.leaves: dict[str, Seat] = {}
        self._collect(self.root)

    def activate(self, seat: Seat) -> None:
        """``seat`` has something ready (or its first work changed)."""
        step: Seat | None = seat
        while step is not None:
            step.active = True
            step.enter()
            step = step.parent

    def changed(self, seat: Seat) -> None:
        """The usage of ``seat`` and of all above it has changed."""
        step: Seat | None = seat
        while step is not None:
            if step.active:
                step.enter()
            step = step.parent

    def pick(self) -> Seat | None:
        """Return the leaf to serve next, None where nothing is ready."""
        while self.root.active:
            seat = self.root
            while seat.leaf is None:
                child = seat.top()
                if child is None:
                    break
                seat = child
            if seat.leaf is not None and seat.leaf.first() is not None:
                return seat
            seat.active = False
        return None

    def _collect(self, seat: Seat) -> None:
        if seat.leaf is not None:
            self.leaves[seat.account.queue.name] = seat
        for child in seat.children:
            self._collect(child)
