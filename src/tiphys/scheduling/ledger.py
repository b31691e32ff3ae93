"""The accounts of a queue tree: what each queue uses, may use, and is kept free for it.

Mutable and incremental: charging or releasing costs as much as the path to the root is long,
whatever else runs or waits. The root's limit is the machine.

Volcano's and Kueue's words come down to three numbers for each queue and resource:

- limit: the smaller of capability and deserved + borrowing limit;
- guarantee: the larger of guarantee and deserved − lending limit;
- share: used against deserved, or, where no sibling has a deserved, used against the machine
  divided by weight. The lowest share is served next.

What a queue's guarantee leaves unused, its own or those below it, is its ``reserve``; reserves of
siblings are ``kept`` at the parent and out of reach for everyone else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from tiphys.scheduling.queue import ROOT, Queue, QueueState, QueueTree
from tiphys.scheduling.resource import UNCHARGED, UNLIMITED, Resources
from tiphys.scheduling.work import Work

Needs = tuple[tuple[str, int], ...]
Rank = tuple[int, float, bool, int, float]
"""Priority (negated), share, best effort, turn, index: the smallest is served next."""
FEW_LANES = 32
"""So many lanes of a queue are kept before empty ones are looked for."""


class Account:
    """One queue's numbers. ``path`` leads from itself to the root."""

    __slots__ = (
        "children", "guarantee", "guarded", "home", "index", "kept", "lanes", "limit", "lineage",
        "many_lanes", "missing", "open", "parent", "path", "queue", "ranked", "reserve", "room",
        "share_of", "turn", "used", "wanted", "workflows",
    )  # fmt: skip

    def __init__(self, queue: Queue, parent: Account | None, index: float) -> None:
        self.queue = queue
        self.parent = parent
        self.index = index
        self.home: Account = self
        """The queue itself, for a lane."""
        self.lanes: dict[tuple[str, int], Account] = {}
        """In a fair queue an account for each workflow and priority, to compare their shares."""
        self.many_lanes = FEW_LANES
        self.children: list[Account] = []
        self.path: tuple[Account, ...] = (self, *(parent.path if parent else ()))
        self.lineage: tuple[Account, ...] = self.path[:-1]
        """The path without the root, which has nobody to compare with."""
        self.used: dict[str, int] = {}
        self.wanted: dict[str, int] = {}
        """What waiting work asks for; kept at leaves only."""
        self.limit: dict[str, int] = {}
        self.room: dict[str, int] = {}
        self.guarantee: dict[str, int] = {}
        self.kept: dict[str, int] = {}
        self.reserve: dict[str, int] = {}
        self.guarded = False
        """Whether it or a queue below it has a guarantee."""
        self.missing = UNLIMITED if parent else 0
        self.open = True
        self.share_of: tuple[tuple[str, float], ...] = ()
        """Resource and divisor: the share is the largest quotient."""
        self.turn = 0
        """The number of its latest start, for a lane: of equal shares the longest unserved is next.
        Where works run one by one nobody holds anything when it is decided who is next."""
        self.ranked: Rank | None = None
        """Its rank among its siblings; None: usage has changed since."""
        self.workflows: dict[str, int] = {}
        """Workflows that hold a slot here, with their running works."""

    def reserve_with(self, name: str, amount: int, kept: int) -> int:
        """What must be kept for it once it uses ``amount`` more and ``kept`` is kept below."""
        return max(0, self.guarantee.get(name, 0) - self.used.get(name, 0) - amount, kept)

    def promised(self, name: str) -> int:
        """What is guaranteed to it, used or not."""
        below = sum(child.promised(name) for child in self.children)
        return max(self.guarantee.get(name, 0), below)

    def want(self, needs: Needs, sign: int) -> None:
        """Count waiting work in (1) or out (-1)."""
        wanted = self.wanted
        for name, amount in needs:
            wanted[name] = wanted.get(name, 0) + sign * amount

    def rank(self) -> Rank:
        """Its rank now; the same object as long as nothing changed."""
        ranked = self.ranked
        if ranked is None:
            best_effort = not self.share_of
            share = 1.0 if best_effort else self.share()
            priority = -self.queue.priority
            ranked = self.ranked = (priority, share, best_effort, self.turn, self.index)
        return ranked

    def share(self) -> float:
        """How much of its due the queue uses; Volcano's rules for a due of zero."""
        used = self.used
        top = 0.0
        for name, due in self.share_of:
            amount = used.get(name, 0)
            if amount:
                top = max(top, amount / due if due else 1.0)
        return top


class Ledger:
    """All accounts of a tree on a machine of ``capacity``."""

    __slots__ = ("accounts", "capacity", "root", "tree")

    def __init__(self, tree: QueueTree, capacity: Resources) -> None:
        self.tree = tree
        self.capacity = capacity
        self.accounts: dict[str, Account] = {}
        self.root = self._add(ROOT, None)
        self._set_numbers(self.root)

    def leaf(self, name: str) -> Account | None:
        """Return the account that takes work, None where there is none."""
        account = self.accounts.get(name)
        return None if account is None or account.children or account is self.root else account

    def largest(self, name: str) -> Resources:
        """The most that one work of the queue ``name`` could ever get, were all idle."""
        most = self.capacity.to_dict()
        below: Account | None = None
        for account in self.accounts[name].path:
            for resource, amount in account.limit.items():
                others = sum(c.promised(resource) for c in account.children if c is not below)
                most[resource] = min(most.get(resource, 0), max(0, amount - others))
            below = account
        return Resources(most)

    def lane(self, home: Account, work: Work, sweep: Callable[[Account], None]) -> Account:
        """Where ``work`` of the queue ``home`` is counted: its workflow's lane in a fair queue.

        ``sweep`` is asked to drop lanes that nobody needs, whenever there are many.
        """
        if not home.queue.fair:
            return home
        key = (work.workflow, work.priority)
        found = home.lanes.get(key)
        if found is None:
            if len(home.lanes) >= home.many_lanes:
                sweep(home)
                home.many_lanes = max(FEW_LANES, 2 * len(home.lanes))
            age = work.created_at if work.workflow_created_at is None else work.workflow_created_at
            # Named as its queue, with all of its rules; only the order is its own.
            queue = msgspec.structs.replace(home.queue, priority=work.priority, max_parallel=None)
            found = home.lanes[key] = Account(queue, home, age)
            found.home = home
            found.open = home.open
            found.share_of = tuple(
                (name, float(total)) for name, total in self.capacity.items if name not in UNCHARGED
            )
        return found

    def charge(self, path: Sequence[Account], needs: Needs) -> None:
        """Count ``needs`` as used along ``path``."""
        for account in path:
            account.ranked = None
            used, room = account.used, account.room
            for name, amount in needs:
                used[name] = used.get(name, 0) + amount
                if name in room:
                    room[name] -= amount
            if account.guarded:
                _settle(account, needs)

    def release(self, path: Sequence[Account], needs: Needs) -> None:
        """Take ``needs`` off again."""
        for account in path:
            account.ranked = None
            used, room = account.used, account.room
            for name, amount in needs:
                used[name] -= amount
                if name in room:
                    room[name] += amount
            if account.guarded:
                _settle(account, needs)

    def _add(self, name: str, parent: Account | None) -> Account:
        account = Account(self.tree.queues[name], parent, len(self.accounts))
        self.accounts[name] = account
        for child in self.tree.children[name]:
            account.children.append(self._add(child, account))
        return account

    def _set_numbers(self, account: Account) -> None:
        """Compute limits and guarantees bottom-up; usage starts at zero."""
        for child in account.children:
            self._set_numbers(child)
        account.open = self.tree.effective_state(account.queue.name) is QueueState.OPEN
        account.limit = (
            dict(self.capacity.items) if account is self.root else limit_of(account.queue)
        )
        account.room = dict(account.limit)
        account.guarantee = _guarantee_of(account)
        account.guarded = bool(account.guarantee) or any(c.guarded for c in account.children)
        _settle(account, [(name, 0) for name in {*account.guarantee, *account.kept}])
        self._set_shares(account)

    def _set_shares(self, parent: Account) -> None:
        if len(parent.children) < 2:
            return  # nobody to compare with
        configured = any(child.queue.deserved.items for child in parent.children)
        for child in parent.children:
            if configured:
                deserved = child.queue.deserved
                child.share_of = tuple((name, float(due)) for name, due in deserved.items)
            else:
                weight = child.queue.weight
                child.share_of = tuple(
                    (name, float(total * weight)) for name, total in self.capacity.items
                )


def limit_of(queue: Queue) -> dict[str, int]:
    """The hard cap: capability, or deserved + borrowing limit where that is less."""
    limit = queue.capability.to_dict()
    if queue.borrowing_limit is not None:
        for name, extra in queue.borrowing_limit.items:
            most = queue.deserved.get(name) + extra
            limit[name] = min(limit.get(name, most), most)
    return limit


def _guarantee_of(account: Account) -> dict[str, int]:
    queue = account.queue
    kept = {name: amount for name, amount in queue.guarantee.items if amount}
    if queue.lending_limit is not None:
        for name, lent in queue.lending_limit.items:
            own = queue.deserved.get(name) - lent
            if own > kept.get(name, 0):
                kept[name] = own
    return {} if account.parent is None else kept


def _settle(account: Account, needs: Iterable[tuple[str, int]]) -> None:
    """Bring the account's reserve, and what its parent keeps for it, up to date."""
    parent = account.parent
    if parent is None:
        return
    for name, _ in needs:
        before = account.reserve.get(name, 0)
        after = account.reserve_with(name, 0, account.kept.get(name, 0))
        if after != before:
            account.reserve[name] = after
            parent.kept[name] = parent.kept.get(name, 0) + after - before


def obstacle(path: Sequence[Account], needs: Needs) -> tuple[Account, str, bool] | None:
    """Find what keeps ``needs`` from starting in the queue at the head of ``path``.

    Gives the account, the resource, and whether only guarantees of others stand in the way.
    """
    for account in path:
        room, missing = account.room, account.missing
        for name, amount in needs:
            if amount > room.get(name, missing):
                return account, name, False
    return _guarantee_in_the_way(path, needs) if path[-1].guarded else None


def _guarantee_in_the_way(
    path: Sequence[Account], needs: Needs
) -> tuple[Account, str, bool] | None:
    """Find an account where what others are guaranteed would no longer be free."""
    for name, amount in needs:
        below: Account | None = None
        reserve = 0
        for account in path:
            kept = before = account.kept.get(name, 0)
            if below is not None:
                kept += reserve - below.reserve.get(name, 0)
            free = account.room.get(name, account.missing)
            # Where more is guaranteed than there is, nobody may make it worse.
            if free - amount - kept < min(0, free - before):
                return account, name, True
            reserve = account.reserve_with(name, amount, kept)
            below = account
    return None
