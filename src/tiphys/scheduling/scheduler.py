"""The scheduler: events in, a plan out.

Sans-IO and incremental. It keeps what runs and what waits in step with the events it is told, and
``plan`` decides what starts and what must stop now. It may not look at a clock, and decides the
same from the same events. A round:

1. work whose service level (or patience) is about to run out moves to the front of its queue
   (``deadline``);
2. works for which room was made start, then the head that holds a reservation, if they fit now;
3. queue by queue, lowest share first, work starts as long as it fits and does not delay the head;
   what does not fit is put aside (``line``), the first of it becomes the head (``reservation``);
4. for work that newly waits, room may be made by stopping other work (``stopping``).
"""

from __future__ import annotations

from itertools import count

import msgspec

from tiphys.scheduling.deadline import Deadlines
from tiphys.scheduling.gang import GangBook
from tiphys.scheduling.horizon import Horizon
from tiphys.scheduling.ledger import Account, Ledger
from tiphys.scheduling.line import Lines
from tiphys.scheduling.pending import Batch, Entry, Order, head_order, home_of, turn_of, works_of
from tiphys.scheduling.plan import Plan, Preemption
from tiphys.scheduling.pool import Pools
from tiphys.scheduling.promise import Promises
from tiphys.scheduling.queue import Preempt, Queue, QueueTree
from tiphys.scheduling.reason import NoSuchQueue, Refusal, Unplaceable, Wait
from tiphys.scheduling.reservation import Reservation
from tiphys.scheduling.resource import Resources
from tiphys.scheduling.running import Running
from tiphys.scheduling.slot import Slots
from tiphys.scheduling.stopping import Stopping
from tiphys.scheduling.work import Gang, Work, WorkId

PATIENCE_SECONDS = 3600.0
"""Work that has waited so long moves up, service level or not: nobody starves."""
HEAD_PATIENCE_SECONDS = 60.0
"""How long others may pass a head of which nobody can tell when it will fit."""
BACKFILL_DEPTH = 4
"""How many batches of one shape are asked in a round whether they would delay the head."""


class Scheduler:
    """Decides what starts on one pool of capacity."""

    def __init__(
        self,
        capacity: Resources,
        queues: QueueTree | None = None,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        head_patience_seconds: float = HEAD_PATIENCE_SECONDS,
    ) -> None:
        self._patience = patience_seconds
        self._head_patience = head_patience_seconds
        self._arrivals = count()
        self._turns = count(1)
        self._waiting: dict[WorkId, Entry | Work] = {}
        self._running: dict[WorkId, Running] = {}
        self._gangs = GangBook()
        self._units: dict[str, Entry] = {}
        self._pools = Pools()
        self._build(queues or QueueTree.default(), capacity)

    def _build(self, tree: QueueTree, capacity: Resources) -> None:
        self._ledger = Ledger(tree, capacity)
        self._lines = Lines(self._ledger)
        self._leaves = {name: self._ledger.accounts[name] for name in tree.leaves()}
        self._horizon = Horizon()
        self._head: Reservation | None = None
        self._promises = Promises()
        self._stopping = Stopping(self._ledger, self._running, self._promises, self._gangs)
        self._hopeful: dict[Batch, None] = {}
        self._slots = Slots(self._leaves, self._lines.slot_freed)
        self._deadlines = Deadlines(self._patience)
        self._weighs = any(queue.reclaim for queue in tree.queues.values())
        """Whether what waits is counted: only reclaim by weight asks for it."""

    # -- what others may ask -----------------------------------------------------------------

    @property
    def capacity(self) -> Resources:
        """All there is."""
        return self._ledger.capacity

    @property
    def queues(self) -> QueueTree:
        """The queue tree as it is now."""
        return self._ledger.tree

    def used(self, queue: str = "root") -> Resources:
        """What the queue's running work holds."""
        return Resources({n: a for n, a in self._ledger.accounts[queue].used.items() if a})

    def largest(self, queue: str) -> Resources:
        """The most that one work of the queue could ever get, were the machine idle."""
        return self._ledger.largest(queue)

    def running(self) -> tuple[WorkId, ...]:
        """Works that hold capacity, in order of start; reservations of workflows are not works."""
        pools = self._pools.by_workflow.values()
        held = {pool.reservation.id for pool in pools}
        return (*(w for w in self._running if w not in held), *self._pools.works())

    def running_works(self) -> list[Work]:
        """What holds capacity, as it was submitted: works, and reservations of workflows."""
        return [running.work for running in self._running.values()]

    def waiting(self) -> tuple[WorkId, ...]:
        """Works that wait."""
        return tuple(self._waiting)

    def waiting_works(self) -> list[Work]:
        """The same, as they were submitted."""
        return works_of(self._waiting.values())

    def waiting_gangs(self) -> frozenset[str]:
        """Gangs of which members wait."""
        return frozenset(self._gangs.waiting)

    def work(self, work_id: WorkId) -> Work | None:
        """A work that holds capacity of its own, as it was submitted."""
        found = self._running.get(work_id)
        return found.work if found is not None else None

    def started_at(self, work_id: WorkId) -> float:
        """When a work began to hold its capacity."""
        return self._running[work_id].started_at

    def wake_at(self) -> float | None:
        """When a plan may differ without any event; None where only events matter."""
        return self._deadlines.next()

    # -- events ------------------------------------------------------------------------------

    def submit(self, work: Work) -> Refusal | None:
        """Let ``work`` wait for its turn; a work that could never start is refused as data."""
        pool = self._pools.by_workflow.get(work.workflow) if self._pools.by_workflow else None
        if pool is not None and work is not pool.reservation:
            excess = pool.too_large(work.requests.items)
            if excess is not None:
                return Unplaceable(*excess)
            self._pools.add(pool, work, self._order(work))
            return None
        account = self._leaves.get(work.queue)
        if account is None:
            return NoSuchQueue(work.queue)
        needs = work.requests.items
        limit = self._ledger.root.limit
        for name, amount in needs:
            if amount > limit.get(name, 0):
                return Unplaceable(name, amount, limit.get(name, 0))
        if work.group and not self._gangs.formed(work.group):
            self._gangs.add(work)
            self._waiting[work.id] = work
            self._form(work.group, account)
        else:
            self._enter(account, Entry((work,), needs, self._order(work)))
        return None

    def reserve(self, reservation: Work) -> Refusal | None:
        """Admit a workflow as a whole: ``requests`` is the most it will ever hold at once.

        ``Plan.admitted`` names it once that is held; from now on its works run inside.
        """
        held = msgspec.structs.replace(reservation, preemptable=False)
        self._pools.open(held)
        refusal = self.submit(held)
        if refusal is not None:
            self._pools.close(held.workflow)
        return refusal

    def reserved(self, workflow: str) -> bool:
        """Whether a workflow holds its maximum as a whole, or waits for it."""
        return workflow in self._pools.by_workflow

    def release(self, workflow: str) -> None:
        """Give a workflow's reservation back: it ended, or it pauses. Its running works stay."""
        found = self._pools.close(workflow)
        if found is None:
            return
        pool, waiting = found
        self.withdraw(pool.reservation.id)
        for work in pool.running.values():
            self.adopt(work, pool.started[work.id])
        for work in waiting:
            self.submit(work)

    def declare(self, gang: Gang) -> None:
        """Make a gang known before its members are submitted."""
        self._gangs.declare(gang)

    def adopt(self, work: Work, started_at: float) -> None:
        """Account ``work`` as running already: it was started before this scheduler was made.

        Work of a queue that is gone is counted against the machine alone. A workflow that is
        admitted as a whole and has running work was admitted before, and holds its maximum.
        """
        pool = self._pools.by_workflow.get(work.workflow)
        if pool is not None and work is not pool.reservation:
            if not pool.admitted:
                self.withdraw(pool.reservation.id)
                self.adopt(pool.reservation, started_at)
                self._pools.admit(work.workflow)
            self._pools.adopt(pool, work, started_at)
            return
        account = self._lane(self._leaves.get(work.queue) or self._ledger.root, work)
        self._slots.came(account, work)
        self._run(account, work, started_at)
        if work.group:
            self._gangs.start((work,))

    def withdraw(self, work_id: WorkId) -> None:
        """Forget a work, waiting or running; unknown ones are no error."""
        if self._pools.drop(work_id):
            return
        waiting = self._waiting.pop(work_id, None)
        if waiting is None:
            self.finished(work_id)
        elif isinstance(waiting, Work):
            self._gangs.left(waiting)
            if waiting.group in self._gangs.gangs and waiting.queue in self._leaves:
                self._form(waiting.group, self._leaves[waiting.queue])
        elif waiting.gang:
            self._break_up(waiting, work_id)
        else:
            self._drop(waiting)
            if waiting.works[0].group:
                self._gangs.remove(waiting.works[0])

    def finished(self, work_id: WorkId) -> None:
        """Release what a running work held; unknown ones are no error."""
        if self._pools.by_workflow and self._pools.drop(work_id):
            return
        running = self._running.pop(work_id, None)
        if running is None:
            return
        if running.work.group:
            self._gangs.remove(running.work)
        if running.ends_at is not None:
            self._horizon.remove(running.ends_at, work_id)
        path = running.account.path
        self._ledger.release(path, running.needs)
        self._promises.ended(work_id)
        self._lines.released(path)
        self._slots.left(running.account, running.work)

    def started(self, work_id: WorkId, at: float) -> None:
        """Correct when a running work really began."""
        running = self._running.get(work_id)
        if running is None:
            return
        if running.ends_at is not None:
            self._horizon.remove(running.ends_at, work_id)
            running.ends_at = at + (running.work.expected_seconds or 0.0)
            self._horizon.add(running.ends_at, work_id, running.needs)
        running.started_at = at

    def queue_changed(self, queue: Queue) -> None:
        """Add a queue or change one."""
        self._rebuild(self._ledger.tree.replaced(queue), self._ledger.capacity)

    def queues_changed(self, tree: QueueTree) -> None:
        """Replace all queues; works of queues that are gone keep running, or wait in vain."""
        self._rebuild(tree, self._ledger.capacity)

    def capacity_changed(self, capacity: Resources) -> None:
        """The machine has grown or shrunk; what runs is not touched."""
        self._rebuild(self._ledger.tree, capacity)

    # -- the plan ----------------------------------------------------------------------------

    def plan(self, now: float) -> Plan:
        """Decide what starts and stops now; starts are accounted as running on return."""
        starts: list[WorkId] = []
        for entry in self._deadlines.due(now):
            self._move_up(entry)
        if self._promises:
            self._keep_promises(now, starts)
        if self._head is not None:
            self._start_head(now, starts)
        if not self._lines.quiet():
            self._fill(now, starts)
        preempts = self._make_room(starts) if self._hopeful else ()
        if self._pools.by_workflow:
            return self._with_pools(now, starts, preempts)
        return Plan(tuple(starts), preempts)

    def _with_pools(
        self, now: float, starts: list[WorkId], preempts: tuple[Preemption, ...]
    ) -> Plan:
        """Turn started reservations into admitted workflows, and start what waits inside."""
        held = {p.reservation.id: name for name, p in self._pools.by_workflow.items()}
        admitted = tuple(held[work_id] for work_id in starts if work_id in held)
        for workflow in admitted:
            self._pools.admit(workflow)
        works = [work_id for work_id in starts if work_id not in held]
        return Plan((*works, *self._pools.start(now)), preempts, admitted)

    def _fill(self, now: float, starts: list[WorkId]) -> None:
        """Start what fits, queue by queue, until nothing in line can fit."""
        lines, root = self._lines, self._ledger.root
        while (batch := lines.next()) is not None:
            blocked = lines.blocked(batch)
            if blocked is None:
                if (self._head is None and not self._promises) or self._may_start(batch, now):
                    self._start(batch.account, lines.take(batch), now, starts)
                else:
                    lines.refuse(batch, BACKFILL_DEPTH)
            elif blocked[0] is root and not blocked[2]:
                self._want_head(batch, now)
                lines.close(batch.needs)
                if lines.quiet():
                    return
            else:
                lines.park(batch, blocked[0])

    def _start(self, account: Account, entry: Entry, now: float, starts: list[WorkId]) -> None:
        entry.alive = False
        if self._weighs:
            account.home.want(entry.needs, -1)
        if self._head is not None:
            self._head.took(entry, now)
        for work in entry.works:
            del self._waiting[work.id]
            starts.append(work.id)
            self._run(account, work, now)
        if entry.works[0].group:
            self._started_gang(entry)

    def _run(self, account: Account, work: Work, at: float) -> None:
        needs = work.requests.items
        running = Running(work, account, needs, at)
        self._running[work.id] = running
        if running.ends_at is not None:
            self._horizon.add(running.ends_at, work.id, needs)
        if account.home is not account:
            account.turn = next(self._turns)
        self._ledger.charge(account.path, needs)
        self._slots.took(account, work)

    # -- the head ----------------------------------------------------------------------------

    def _want_head(self, batch: Batch, now: float) -> None:
        """The batch does not fit the machine: its first entry may become the head."""
        entry = batch.head()
        head = self._head
        if entry is None or entry in self._promises:
            return
        if head is None or not head.entry.alive or entry.order[:2] < head.entry.order[:2]:
            self._head = Reservation(entry, now, self._head_patience)

    def _start_head(self, now: float, starts: list[WorkId]) -> None:
        head = self._head
        assert head is not None
        if not head.entry.alive or head.entry.batch is None:
            self._next_head(now)
            return
        head.new_round()
        head.entry = entry = self._foremost(head.entry)
        assert entry.batch is not None
        account = entry.batch.account
        if self._promises and self._promises.forbids(entry, self._ledger.root.room):
            return
        if self._lines.blocked(entry.batch) is None:
            self._head = None
            self._lines.drop(entry)
            self._start(account, entry, now, starts)
            self._next_head(now)

    def _foremost(self, entry: Entry) -> Entry:
        """The head stands for its queue: whoever is now before it takes its place."""
        assert entry.batch is not None
        heads = [batch.head() for batch in self._lines.foremost(entry.batch.account)]
        return min((entry, *filter(None, heads)), key=turn_of)

    def _next_head(self, now: float) -> None:
        """The head is gone: the best of what is parked at the machine follows."""
        self._head = None
        self._lines.head_gone()
        heads = [entry for b in self._lines.waiting_for_machine() if (entry := b.head())]
        best = min(heads, key=lambda entry: entry.order, default=None)
        if best is not None:
            home = home_of(best)
            best = min((each for each in heads if home_of(each) is home), key=turn_of)
            self._head = Reservation(best, now, self._head_patience)

    def _may_start(self, batch: Batch, now: float) -> bool:
        """Whether the batch's first entry takes no room from the head, nor what is promised."""
        entry, room = batch.head(), self._ledger.root.room
        assert entry is not None
        if self._promises.forbids(entry, room) is not None:
            return False
        return self._head is None or self._head.allows(entry, self._horizon, room, now) is None

    # -- moving up ---------------------------------------------------------------------------

    def _move_up(self, entry: Entry) -> None:
        """Work whose time is running out goes to the front of its queue."""
        if entry.batch is None or entry.order[0] == 0:
            return
        account, workflow = entry.batch.account, entry.batch.workflow
        self._lines.drop(entry)
        urgent = Entry(entry.works, entry.needs, (0, *entry.order[1:]), entry.gang)
        for work in entry.works:
            self._waiting[work.id] = urgent
        if entry.gang:
            self._units[entry.gang] = urgent
        if self._head is not None and self._head.entry is entry:
            self._head.entry = urgent
        if entry in self._promises:
            self._promises.replace(entry, urgent)
        batch = self._lines.enter(account, urgent, workflow)
        if account.queue.sla_seconds is not None:
            self._hopeful[batch] = None

    # -- making room -------------------------------------------------------------------------

    def _keep_promises(self, now: float, starts: list[WorkId]) -> None:
        """Start works for which room was made, once it is there."""
        for entry in self._promises:
            batch = entry.batch
            if not entry.alive or batch is None:
                self._promises.remove(entry)
                continue
            if self._lines.blocked(batch) is None:
                self._promises.remove(entry)
                self._lines.drop(entry)
                self._start(batch.account, entry, now, starts)
            elif not self._promises.victims_of(entry):
                # All have ended, and still it does not fit: things have changed, ask again.
                self._promises.remove(entry)
                self._hopeful[batch] = None

    def _make_room(self, starts: list[WorkId]) -> tuple[Preemption, ...]:
        """Stop running work for works that newly wait, as far as a rule allows."""
        hopeful, self._hopeful = sorted(self._hopeful, key=head_order), {}
        found, failed = self._stopping.make_room(hopeful, set(starts))
        if starts:
            # What has just started is never stopped in the same breath, but may be next time.
            self._hopeful.update(dict.fromkeys(failed))
        return found

    # -- lines -------------------------------------------------------------------------------

    def _order(self, work: Work) -> Order:
        age = work.created_at if work.workflow_created_at is None else work.workflow_created_at
        return (1, -work.priority, age, -work.rank, work.created_at, next(self._arrivals))

    def _lane(self, account: Account, work: Work) -> Account:
        return self._ledger.lane(account, work, self._lines.sweep)

    def _enter(self, home: Account, entry: Entry) -> None:
        work = entry.works[0]
        account = self._lane(home, work) if home.queue.fair else home
        workflow = (work.workflow or work.id) if work.queue in self._slots.queues else ""
        batch = self._lines.enter(account, entry, workflow)
        if self._weighs:
            home.want(entry.needs, 1)
        for member in entry.works:
            self._waiting[member.id] = entry
            self._slots.came(account, member)
        self._deadlines.add(account, entry, len(self._waiting))
        queue = account.queue
        if queue.preempt is not Preempt.NEVER or queue.reclaim:
            self._hopeful[batch] = None

    def _drop(self, entry: Entry) -> None:
        assert entry.batch is not None
        account = entry.batch.account
        self._lines.drop(entry)
        if self._weighs:
            account.home.want(entry.needs, -1)
        for work in entry.works:
            self._slots.left(account, work)

    # -- gangs -------------------------------------------------------------------------------

    def _form(self, name: str, account: Account) -> None:
        """Put a gang in line as one entry once enough members are here."""
        if name in self._units:
            return
        members = self._gangs.unit(name)
        if members is None:
            return
        total = sum((work.requests for work in members), Resources()).items
        entry = Entry(members, total, min(self._order(work) for work in members), name)
        self._units[name] = entry
        self._enter(account, entry)

    def _started_gang(self, entry: Entry) -> None:
        """The gang runs; members beyond its minimum go on alone."""
        self._gangs.start(entry.works)
        if not entry.gang:
            return
        del self._units[entry.gang]
        for work in list(self._gangs.waiting.get(entry.gang, {}).values()):
            account = self._leaves[work.queue]
            self._enter(account, Entry((work,), work.requests.items, self._order(work)))
        self._gangs.part(entry.gang)

    def _break_up(self, unit: Entry, leaver: WorkId) -> None:
        """A member of a waiting gang leaves; the others may still be enough."""
        self._drop(unit)
        del self._units[unit.gang]
        for work in unit.works:
            if work.id == leaver:
                self._gangs.left(work)
            else:
                self._waiting[work.id] = work
        if unit.gang in self._gangs.gangs:
            self._form(unit.gang, self._leaves[unit.works[0].queue])

    # -- changes of the frame ----------------------------------------------------------------

    def _rebuild(self, tree: QueueTree, capacity: Resources) -> None:
        """Make everything anew; costs as much as there is, and is rare."""
        waiting = list(self._waiting.values())
        running = list(self._running.values())
        self._waiting, self._running = {}, {}
        self._units = {}
        self._build(tree, capacity)
        for old in running:
            account = self._lane(self._leaves.get(old.work.queue) or self._ledger.root, old.work)
            self._slots.came(account, old.work)
            self._run(account, old.work, old.started_at)
            self._running[old.work.id].stopping = old.stopping
        for work in works_of(waiting):
            account_now = self._leaves.get(work.queue)
            if work.group and not self._gangs.formed(work.group):
                self._waiting[work.id] = work
                if account_now is not None:
                    self._form(work.group, account_now)
            elif account_now is not None:
                self._enter(account_now, Entry((work,), work.requests.items, self._order(work)))
            else:
                self._waiting[work.id] = work

    # -- explain -----------------------------------------------------------------------------

    def reason(self, work_id: WorkId, now: float | None = None) -> Wait | None:
        """Say why a work waits; None where it does not wait."""
        from tiphys.scheduling import explain  # noqa: PLC0415 - only for who asks

        pool = self._pools.pool_of(work_id)
        if pool is not None:
            inside = pool.waiting.get(work_id)
            if inside is None:
                return None
            held_up = None if pool.admitted else self.reason(pool.reservation.id, now)
            return explain.inside(inside, pool, held_up)
        waiting = self._waiting.get(work_id)
        if waiting is None:
            return None
        if isinstance(waiting, Work):
            return explain.incomplete(waiting, self._gangs)
        ahead, runs = (self._head, self._promises), (self._horizon, self._running)
        view = explain.View(self._lines, self._ledger, *ahead, *runs)
        return explain.why(waiting, view, now)
