"""The lines of waiting work over a whole queue tree, and where work that does not fit is parked.

Incremental: a batch that does not fit is parked at the account whose limit stands in its way and
comes back only when something is released there. A shape (a vector of needs) that no longer fits
the machine is closed for everyone until a release opens it; when all shapes in line are closed
there is nothing to decide, however much waits.
"""

from __future__ import annotations

from tiphys.scheduling.ledger import Account, Ledger, Needs, obstacle
from tiphys.scheduling.pending import Batch, Entry
from tiphys.scheduling.turn import Seat, Turn

WORKFLOW_SLOT = "workflows"
"""Named as what stands in the way where a queue runs as many workflows as it may."""
Obstacle = tuple[Account, str, bool]
"""The account, the resource (empty: the queue is not open), whether only guarantees forbid it."""


class Lines:
    """Everything that waits."""

    __slots__ = ("_closed", "_ledger", "_parked", "_shapes", "turn")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.turn = Turn(ledger.root)
        self._parked: dict[Account, dict[Needs, dict[Batch, None]]] = {}
        self._shapes: dict[Needs, int] = {}
        self._closed: set[Needs] = set()

    def seat_of(self, batch: Batch) -> Seat:
        """The leaf in which ``batch`` waits."""
        return self.turn.leaves[batch.leaf.account.queue.name]

    def quiet(self) -> bool:
        """Whether nothing in line can fit."""
        return self._shapes.keys() <= self._closed

    def blocked(self, seat: Seat, batch: Batch) -> Obstacle | None:
        """What keeps the batch's entries from starting."""
        account = seat.account
        if not account.open:
            return account, "", False
        if batch.workflow:
            full = _full_of_workflows(account, batch.workflow)
            if full is not None:
                return full, WORKFLOW_SLOT, False
        return obstacle(account.path, batch.needs)

    def enter(self, seat: Seat, entry: Entry, workflow: str) -> Batch:
        """Let ``entry`` wait in the leaf of ``seat``."""
        leaf = seat.leaf
        assert leaf is not None
        batch = leaf.batch(entry.needs, workflow)
        batch.push(entry)
        if batch.parked is None:
            self._into_line(seat, batch, urgent=entry.order[0] == 0)
        return batch

    def drop(self, entry: Entry) -> None:
        """Forget a waiting entry."""
        batch = entry.batch
        assert batch is not None
        batch.discard(entry)
        if batch.live == 0:
            self._empty(batch)

    def take(self, batch: Batch) -> Entry:
        """Remove and return the batch's best entry."""
        entry = batch.pop()
        if batch.live == 0:
            self._empty(batch)
        return entry

    def park(self, seat: Seat, batch: Batch, blocked: Obstacle) -> None:
        """Put the leaf's first batch aside until room is made where it is blocked."""
        leaf = seat.leaf
        assert leaf is not None
        leaf.take_out(batch)
        if leaf.account.queue.strict:
            leaf.held_by = batch
        self._out_of_line(batch)
        batch.parked = blocked[0]
        self._parked.setdefault(blocked[0], {}).setdefault(batch.needs, {})[batch] = None

    def close(self, needs: Needs) -> None:
        """Nothing of this shape fits the machine any more."""
        self._closed.add(needs)

    def released(self, path: tuple[Account, ...]) -> None:
        """Something was released along ``path``: shapes may open, parked batches may fit."""
        room = self._ledger.root.room
        if self._closed:
            self._closed = {needs for needs in self._closed if not _fits(room, 0, needs)}
        for account in path:
            parked = self._parked.get(account)
            if parked:
                for needs in [n for n in parked if _fits(account.room, account.missing, n)]:
                    self._wake(parked.pop(needs))

    def parked_at(self, account: Account) -> list[Batch]:
        """Batches that wait for room at ``account``."""
        return [batch for batches in self._parked.get(account, {}).values() for batch in batches]

    def slot_freed(self, account: Account) -> None:
        """A workflow ended in ``account``: whoever waits there for a slot may come."""
        for batches in self._parked.pop(account, {}).values():
            self._wake(batches)

    def _wake(self, batches: dict[Batch, None]) -> None:
        for batch in batches:
            batch.parked = None
            if batch.leaf.held_by is batch:
                batch.leaf.held_by = None
            seat = self.seat_of(batch)
            if batch.live:
                self._into_line(seat, batch, urgent=False)
            elif seat.leaf is not None and seat.leaf.ready and not seat.active:
                self.turn.activate(seat)

    def _into_line(self, seat: Seat, batch: Batch, *, urgent: bool) -> None:
        leaf = seat.leaf
        assert leaf is not None
        if not batch.in_line:
            batch.in_line = True
            self._shapes[batch.needs] = self._shapes.get(batch.needs, 0) + 1
        leaf.wake(batch)
        if urgent or not seat.active:
            self.turn.activate(seat)

    def _empty(self, batch: Batch) -> None:
        """The batch's last entry has left."""
        if batch.in_line:
            self._out_of_line(batch)
        leaf = batch.leaf
        if leaf.held_by is batch:
            leaf.held_by = None
            self.turn.activate(self.seat_of(batch))
        if batch.workflow:
            # Batches of one workflow would pile up for ever.
            leaf.batches.pop((batch.needs, batch.workflow), None)
            if batch.parked is not None:
                self._parked.get(batch.parked, {}).get(batch.needs, {}).pop(batch, None)

    def _out_of_line(self, batch: Batch) -> None:
        batch.in_line = False
        left = self._shapes[batch.needs] - 1
        if left:
            self._shapes[batch.needs] = left
        else:
            del self._shapes[batch.needs]


def _fits(room: dict[str, int], missing: int, needs: Needs) -> bool:
    for name, amount in needs:  # noqa: SIM110 - a loop is twice as fast here, and this is hot
        if amount > room.get(name, missing):
            return False
    return True


def _full_of_workflows(account: Account, workflow: str) -> Account | None:
    for step in account.path:
        most = step.queue.max_parallel
        if most is not None and workflow not in step.workflows and len(step.workflows) >= most:
            return step
    return None
