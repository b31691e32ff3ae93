"""The lines of waiting work over a whole queue tree, and where work that does not fit is parked.

Incremental: a shape (a vector of needs) that no longer fits the machine is closed for everyone
until a release opens it; a batch that does not fit its queue is parked at the account whose limit
stands in its way and comes back when something is released there. When all shapes in line are
closed there is nothing to decide, however much waits.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable
from heapq import heapify, heappop, heapreplace

from tiphys.scheduling.ledger import Account, Ledger, Needs, obstacle
from tiphys.scheduling.pending import Batch, Entry
from tiphys.scheduling.shape import Key, Shape

WORKFLOW_SLOT = "workflows"
"""Named as what stands in the way where a queue runs as many workflows as it may."""
STRICT_ORDER = "order"
"""Named as what stands in the way where a strict queue's first work does not fit."""
FEW_SHAPES = 64
"""So many shapes without work are kept: most kinds of needs come again."""
MOST_RELEASES = 512
"""Releases that closed shapes can catch up with; more, and they look at everything."""
Obstacle = tuple[Account, str, bool]
"""The account, the resource (empty: the queue is not open), whether only guarantees forbid it."""


class Lines:
    """Everything that waits."""

    __slots__ = (
        "_batches", "_closed", "_idle", "_ledger", "_open", "_parked", "_race", "_releases",
        "_shapes", "_stepped_back", "_trimmed",
    )  # fmt: skip

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._shapes: dict[Needs, Shape] = {}
        self._open: dict[Needs, Shape] = {}
        """Shapes that may fit and may have work in line."""
        self._closed: list[tuple[int, int, Shape]] = []
        """Shapes that do not fit, by what they need of cpu: a release looks at few of them."""
        self._releases: list[Account] = []
        """Where something was released of late, for shapes that were closed then."""
        self._trimmed = 0
        """How many releases were forgotten at the front of that list."""
        self._idle = 0
        """Shapes without work, about."""
        self._race: list[tuple[Key, int, Shape]] | None = None
        """Open shapes by their choices; None: something moved ahead since."""
        self._stepped_back = False
        """Whether anything had to step back behind the head."""
        self._batches: dict[Account, dict[tuple[Needs, str], Batch]] = {}
        self._parked: dict[Account, dict[Batch, None]] = {}

    def quiet(self) -> bool:
        """Whether nothing in line can fit."""
        return not self._open

    def next(self) -> Batch | None:
        """Return the batch to serve next, None where nothing in line can fit."""
        if len(self._open) == 1:
            (alone,) = self._open.values()
            if not alone.closed and (only := alone.only()) is not None:
                return only
        race = self._race
        if race is None:
            race = self._race = self._line_up()
        while race:
            key, serial, shape = race[0]
            # Starts only move shapes back, so a key that is out of date is corrected here.
            choice = None if shape.closed else shape.choice()
            if choice is None:
                heappop(race)
                self._open.pop(shape.needs, None)
            elif choice.key is not key:
                heapreplace(race, (choice.key, serial, shape))
            else:
                return choice.batch
        return None

    def _line_up(self) -> list[tuple[Key, int, Shape]]:
        race = [
            (choice.key, serial, shape)
            for serial, shape in enumerate(self._open.values())
            if (choice := shape.choice()) is not None
        ]
        heapify(race)
        return race

    def blocked(self, batch: Batch) -> Obstacle | None:
        """What keeps the batch's entries from starting."""
        account = batch.account
        if not account.open:
            return account, "", False
        if batch.workflow:
            full = _full_of_workflows(account, batch.workflow)
            if full is not None:
                return full, WORKFLOW_SLOT, False
        if account.queue.strict and not self._is_first(batch):
            return account, STRICT_ORDER, False
        return obstacle(account.path, batch.needs)

    def enter(self, account: Account, entry: Entry, workflow: str) -> Batch:
        """Let ``entry`` wait in the queue of ``account``."""
        self._race = None
        batches = self._batches.setdefault(account, {})
        key = (entry.needs, workflow)
        batch = batches.get(key)
        if batch is None:
            batch = batches[key] = Batch(account, entry.needs, workflow)
            self._shape(entry.needs).kinds += 1
        fresh = batch.live == 0
        batch.push(entry)
        urgent = entry.order[0] == 0
        if batch.parked is not None:
            if urgent or batch.heap[0][1] is entry:
                self._unpark(batch, urgent=urgent)
        elif fresh:
            self._into_line(batch, urgent=urgent)
        elif urgent or batch.heap[0][1] is entry:
            self._shapes[entry.needs].touch(batch, urgent=urgent)
        return batch

    def drop(self, entry: Entry) -> None:
        """Forget a waiting entry."""
        batch = entry.batch
        assert batch is not None
        was_first = batch.head() is entry
        batch.discard(entry)
        if was_first or batch.live == 0:
            self._lost_head(batch)

    def take(self, batch: Batch) -> Entry:
        """Remove and return the batch's best entry."""
        entry = batch.pop()
        self._lost_head(batch)
        return entry

    def park(self, batch: Batch, where: Account) -> None:
        """Put a batch aside until room is made at ``where``."""
        self._shapes[batch.needs].remove(batch)
        batch.parked = where
        self._parked.setdefault(where, {})[batch] = None

    def refuse(self, batch: Batch, most: int) -> None:
        """The batch must step back behind the head; after ``most`` such, its shape does."""
        self._stepped_back = True
        shape = self._shapes[batch.needs]
        shape.refused += 1
        if shape.refused >= most:
            self.close(batch.needs)
        else:
            self.park(batch, self._ledger.root)

    def close(self, needs: Needs) -> None:
        """Nothing of this shape can start until something is released."""
        shape = self._shapes[needs]
        self._open.pop(needs, None)
        if not shape.closed:
            shape.closed = True
            shape.closed_at = self._trimmed + len(self._releases)
            insort(self._closed, (shape.cpu, shape.serial, shape))

    def released(self, path: tuple[Account, ...]) -> None:
        """Something was released along ``path``: shapes may open, parked batches may fit."""
        self._race = None
        leaf = path[0]
        for shape in self._open.values():
            shape.sink(leaf)
        if self._closed:
            if leaf.lineage:
                self._note(leaf)
            self._open_fitting()
        for account in path:
            parked = self._parked.get(account)
            if parked:
                fitting = [b for b in parked if _fits(account.room, account.missing, b.needs)]
                for batch in fitting:
                    self._unpark(batch, urgent=False)

    def _note(self, leaf: Account) -> None:
        """Closed shapes look at a release when they open again, not at each one."""
        self._releases.append(leaf)
        if len(self._releases) > MOST_RELEASES:
            half = MOST_RELEASES // 2
            del self._releases[:half]
            self._trimmed += half

    def _open_fitting(self) -> None:
        """Open the shapes that the machine has room for now."""
        room = self._ledger.root.room
        end = bisect_right(self._closed, room.get("cpu", 0), key=_cpu)
        left = []
        for item in self._closed[:end]:
            if _fits(room, 0, item[2].needs):
                self._reopen(item[2])
            else:
                left.append(item)
        if len(left) < end:
            self._closed[:end] = left

    def _catch_up(self, shape: Shape) -> None:
        """Tell a closed shape what was released since it was last told."""
        seen = shape.closed_at - self._trimmed
        shape.closed_at = self._trimmed + len(self._releases)
        if seen < 0 or len(self._releases) - seen > len(shape):
            shape.restand()
            return
        for leaf in dict.fromkeys(self._releases[seen:]):
            shape.sink(leaf)

    def head_gone(self) -> None:
        """The reservation is gone: what had to step back for it may come."""
        if self._stepped_back:
            self._stepped_back = False
            self.released((self._ledger.root,))

    def slot_freed(self, account: Account) -> None:
        """Something other than room changed at ``account``: whoever waits there may come."""
        for batch in list(self._parked.get(account, ())):
            self._unpark(batch, urgent=False)

    def waiting_for_machine(self) -> list[Batch]:
        """Batches that wait only for the machine: parked there, or of a closed shape."""
        found = list(self._parked.get(self._ledger.root, ()))
        for _, _, shape in self._closed:
            self._catch_up(shape)
            if (choice := shape.choice()) is not None:
                found.append(choice.batch)
        return found

    def foremost(self, account: Account) -> list[Batch]:
        """Batches of a queue that wait for their turn or the machine, the first of it among them.

        Of a fair queue only the lane whose turn it is in each shape: there may be many lanes.
        """
        home, root = account.home, self._ledger.root
        if not home.lanes:
            return [b for b in self.of_lane(home) if b.parked is None or b.parked is root]
        found = [batch for batch in self._parked.get(root, ()) if batch.account.home is home]
        for shape in self._shapes.values():
            if shape.closed:
                self._catch_up(shape)
            if (batch := shape.first_of(home)) is not None:
                found.append(batch)
        return found

    def of_queue(self, account: Account) -> Iterable[Batch]:
        """All batches of the queue that ``account`` is, or is a lane of."""
        home = account.home
        if not home.lanes:
            return self.of_lane(home)
        lanes = (home, *home.lanes.values())
        return [batch for lane in lanes for batch in self.of_lane(lane)]

    def of_lane(self, account: Account) -> Iterable[Batch]:
        """The batches of this very account."""
        return self._batches.get(account, {}).values()

    def sweep(self, home: Account) -> None:
        """Drop the lanes of a queue in which nothing waits or runs."""
        for key, lane in list(home.lanes.items()):
            if not any(lane.used.values()) and not self._batches.get(lane):
                del home.lanes[key]
                self._batches.pop(lane, None)
                self._parked.pop(lane, None)
                for shape in self._shapes.values():
                    shape.forget(lane)

    def _reopen(self, shape: Shape) -> None:
        """Let a shape that fits again take part; the caller takes it off the list."""
        self._catch_up(shape)
        shape.closed = False
        shape.refused = 0
        if shape.root.active:
            self._open[shape.needs] = shape

    def _unpark(self, batch: Batch, *, urgent: bool) -> None:
        assert batch.parked is not None
        self._race = None
        del self._parked[batch.parked][batch]
        batch.parked = None
        if batch.live:
            head = batch.head()
            self._into_line(batch, urgent=urgent or (head is not None and head.order[0] == 0))

    def _into_line(self, batch: Batch, *, urgent: bool) -> None:
        shape = self._shape(batch.needs)
        shape.add(batch, urgent=urgent)
        if not shape.closed:
            self._open[batch.needs] = shape

    def _shape(self, needs: Needs) -> Shape:
        shape = self._shapes.get(needs)
        if shape is None:
            if self._idle > FEW_SHAPES and 2 * self._idle > len(self._shapes):
                self._drop_idle()
            shape = self._shapes[needs] = Shape(needs, self._ledger.root)
        return shape

    def _drop_idle(self) -> None:
        """Kinds of needs come and go; those that nobody has any more are not kept."""
        self._shapes = {needs: shape for needs, shape in self._shapes.items() if shape.kinds}
        self._closed = [item for item in self._closed if item[2].kinds]
        self._open = {needs: shape for needs, shape in self._open.items() if shape.kinds}
        self._idle = 0

    def _lost_head(self, batch: Batch) -> None:
        account = batch.account
        if batch.live == 0:
            if batch.parked is not None:
                del self._parked[batch.parked][batch]
                batch.parked = None
            else:
                self._shapes[batch.needs].remove(batch)
            # Kinds of work come and go; what is empty is not kept.
            del self._batches[account][batch.needs, batch.workflow]
            shape = self._shapes[batch.needs]
            shape.kinds -= 1
            if not shape.kinds:
                self._idle += 1
        elif batch.parked is None:
            self._shapes[batch.needs].started()
        if account.queue.strict:
            self.slot_freed(account)

    def _is_first(self, batch: Batch) -> bool:
        mine = batch.head()
        return mine is not None and all(
            (head := other.head()) is None or head.order >= mine.order
            for other in self._batches[batch.account].values()
        )


def _cpu(item: tuple[int, int, Shape]) -> int:
    return item[0]


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
