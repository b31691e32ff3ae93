"""Why a work waits, found when somebody asks.

Pure: reads the lines and the books, changes nothing. A member of a gang gets the gang's reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from tiphys.scheduling.gang import GangBook
from tiphys.scheduling.horizon import Horizon
from tiphys.scheduling.ledger import Account, Ledger
from tiphys.scheduling.line import STRICT_ORDER, WORKFLOW_SLOT, Lines, Obstacle
from tiphys.scheduling.pending import Entry
from tiphys.scheduling.pool import Pool
from tiphys.scheduling.promise import Promises
from tiphys.scheduling.reason import (
    BehindOthers,
    GangIncomplete,
    GangShort,
    GuaranteeOfOthers,
    NoCapacity,
    NoSuchQueueAnyMore,
    PoolFull,
    QueueLimit,
    QueueNotOpen,
    Reason,
    ReservedForHead,
    Wait,
    WaitingForVictims,
    WorkflowLimit,
    WorkflowNotAdmitted,
)
from tiphys.scheduling.reservation import Reservation
from tiphys.scheduling.running import Running
from tiphys.scheduling.work import Work, WorkId


def incomplete(work: Work, gangs: GangBook) -> Wait:
    """Why a member of a gang waits that is not in line at all."""
    gang = gangs.gangs.get(work.group)
    if gang is None:
        return Wait(NoSuchQueueAnyMore(work.queue))
    present = len(gangs.waiting.get(work.group, {}))
    return Wait(GangIncomplete(gang.name, gang.min_member, present))


def inside(work: Work, pool: Pool, held_up: Wait | None) -> Wait:
    """Why a work of a workflow that is admitted as a whole waits: perhaps its reservation does."""
    if not pool.admitted:
        if held_up is None:
            return Wait(WorkflowNotAdmitted(work.workflow))
        return Wait(WorkflowNotAdmitted(work.workflow, held_up.text), held_up.expected_start)
    for name, amount in work.requests.items:
        if amount > pool.room.get(name, 0):
            return Wait(PoolFull(work.workflow, name, amount, pool.room.get(name, 0)))
    return Wait(BehindOthers(0))


class View(msgspec.Struct, frozen=True):
    """All that an answer is read from."""

    lines: Lines
    ledger: Ledger
    head: Reservation | None
    promises: Promises
    horizon: Horizon
    running: Mapping[WorkId, Running]


def why(entry: Entry, view: View, now: float | None) -> Wait:
    """Why ``entry`` waits, and from when on it may start."""
    assert entry.batch is not None
    ahead = [
        other
        for batch in view.lines.of_queue(entry.batch.account)
        for order, other in batch.heap
        if other.alive and order < entry.order
    ]
    reason = _reason(entry, ahead, view, now)
    if now is None or isinstance(reason, QueueNotOpen):
        return Wait(reason)  # Nobody can tell when somebody will open it.
    return Wait(reason, _expected_start(entry, ahead, view, now))


def _reason(entry: Entry, ahead: Sequence[Entry], view: View, now: float | None) -> Reason:
    assert entry.batch is not None
    stopping = view.promises.victims_of(entry)
    if stopping:
        return WaitingForVictims(stopping)
    blocked = view.lines.blocked(entry.batch)
    if blocked is not None and blocked[1] != STRICT_ORDER:
        return _blocked(entry, blocked, view.ledger)
    room = view.ledger.root.room
    promised = view.promises.forbids(entry, room)
    if promised is not None:
        owner = next(iter(view.promises))
        return ReservedForHead(owner.works[0].id, promised)
    if view.head is not None and view.head.entry is not entry and now is not None:
        kept = view.head.allows(entry, view.horizon, room, now)
        if kept is not None:
            return ReservedForHead(view.head.entry.works[0].id, kept)
    return BehindOthers(len(ahead))


def _blocked(entry: Entry, blocked: Obstacle, ledger: Ledger) -> Reason:
    account, name, guaranteed = blocked
    queue = account.queue
    if not account.open or not name:
        return QueueNotOpen(queue.name, ledger.tree.effective_state(queue.name).value)
    if name == WORKFLOW_SLOT:
        return WorkflowLimit(queue.name, queue.max_parallel or 0)
    asked = dict(entry.needs)[name]
    free = account.room.get(name, account.missing)
    if guaranteed:
        return GuaranteeOfOthers(name, asked, free, account.kept.get(name, 0))
    if entry.gang and account is ledger.root:
        return _gang_short(entry, name, free)
    if account is ledger.root:
        return NoCapacity(name, asked, free)
    return QueueLimit(queue.name, name, asked, account.used.get(name, 0), account.limit[name])


def _gang_short(entry: Entry, name: str, free: int) -> Reason:
    """How many members would find room, counting one after the other."""
    placeable = 0
    for work in entry.works:
        free -= work.requests.get(name)
        if free < 0:
            break
        placeable += 1
    return GangShort(entry.gang, len(entry.works), placeable)


def _expected_start(entry: Entry, ahead: Sequence[Entry], view: View, now: float) -> float | None:
    """When it may start: once what runs makes room, after the work that stands before it.

    An estimate for people: room is looked for on the machine and below the limits of the queue and
    those above it, and the work ahead is spread evenly over as much as these let it use.
    """
    assert entry.batch is not None
    path = entry.batch.account.path
    start = now
    for account in path:
        room = {name: account.room.get(name, account.missing) for name, _ in entry.needs}
        released = None if account is view.ledger.root else _inside(account, view.running)
        found = view.horizon.when(room, entry.needs, now, released)
        if found is None:
            return None
        start = max(start, found[0])
    busy: dict[str, float] = {}
    for other in ahead:
        for name, amount in other.needs:
            busy[name] = busy.get(name, 0.0) + amount * (other.seconds or 0.0)
    usable = {
        name: min((each.limit[name] for each in path if name in each.limit), default=0)
        for name in busy
    }
    parts = [amount / usable[name] for name, amount in busy.items() if usable[name] > 0]
    return start + max(parts, default=0.0)


def _inside(account: Account, running: Mapping[WorkId, Running]) -> Callable[[WorkId], bool]:
    """Tell of running work whether its end makes room below the limit of ``account``."""

    def counts(work_id: WorkId) -> bool:
        found = running.get(work_id)
        return found is not None and account in found.account.path

    return counts
