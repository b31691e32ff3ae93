"""Definitions of queues: a tree of limits and shares.

Plain immutable data, checked once on entry. Two families of words are kept side by side, as users
know them: Volcano's (weight, capability, deserved, guarantee) and Kueue's (borrowing and lending
limits, where ``deserved`` is the nominal quota). ``ledger`` turns them into numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from tiphys.errors import InvalidInputError
from tiphys.scheduling.resource import NOTHING, Resources

ROOT = "root"
DEFAULT = "default"


class QueueState(StrEnum):
    """Whether a queue starts work: closing ones let running work end."""

    OPEN = "Open"
    CLOSING = "Closing"
    CLOSED = "Closed"


class Preempt(StrEnum):
    """Whom a queue's waiting work may stop inside its own queue."""

    NEVER = "Never"
    LOWER_PRIORITY = "LowerPriority"
    LOWER_OR_NEWER = "LowerOrNewerEqualPriority"


class Queue(msgspec.Struct, frozen=True, kw_only=True):
    """One queue. Absent limits do not limit."""

    name: str
    parent: str = ROOT
    weight: int = 1
    priority: int = 0
    """Compared before shares; a higher one is served first and reclaimed from last."""
    capability: Resources = NOTHING
    deserved: Resources = NOTHING
    guarantee: Resources = NOTHING
    borrowing_limit: Resources | None = None
    """How far above ``deserved`` it may go; None: as far as there is room."""
    lending_limit: Resources | None = None
    """How much of an unused ``deserved`` others may use; None: all of it."""
    reclaimable: bool = True
    max_parallel: int | None = None
    """How many workflows may run in it at once."""
    state: QueueState = QueueState.OPEN
    preempt: Preempt = Preempt.NEVER
    reclaim: bool = False
    """Whether its waiting work may stop work of queues that use more than they are due."""
    sla_seconds: float | None = None
    """Work should start within so many seconds of its arrival."""
    strict: bool = False
    """Whether work that does not fit blocks what stands behind it (strict FIFO)."""
    fair: bool = False
    """Whether its workflows take turns by dominant share (DRF), instead of the oldest first."""


class QueueTree:
    """All queues, checked: parents exist, no cycles, limits in order."""

    __slots__ = ("children", "queues")

    def __init__(self, queues: Iterable[Queue]) -> None:
        self.queues: dict[str, Queue] = {}
        for queue in queues:
            if queue.name in self.queues or not queue.name:
                raise InvalidInputError(f"queue {queue.name!r} is defined twice or has no name")
            self.queues[queue.name] = queue
        self.queues.setdefault(ROOT, Queue(name=ROOT, parent=""))
        self.children: dict[str, tuple[str, ...]] = _children(self.queues)
        for queue in self.queues.values():
            _check(queue)
        self._check_reachable()

    @classmethod
    def default(cls) -> QueueTree:
        """One queue that may use everything."""
        return cls([Queue(name=DEFAULT)])

    def leaves(self) -> tuple[str, ...]:
        """The queues that take work, in order of definition."""
        return tuple(name for name in self.queues if not self.children[name] and name != ROOT)

    def path(self, name: str) -> tuple[str, ...]:
        """The queue, its parent, and so on up to the root."""
        steps = [name]
        while steps[-1] != ROOT:
            steps.append(self.queues[steps[-1]].parent)
        return tuple(steps)

    def replaced(self, queue: Queue) -> QueueTree:
        """Return the tree with ``queue`` added or changed."""
        return QueueTree({**self.queues, queue.name: queue}.values())

    def without(self, name: str) -> QueueTree:
        """Return the tree without the queue ``name``."""
        return QueueTree(queue for queue in self.queues.values() if queue.name != name)

    def effective_state(self, name: str) -> QueueState:
        """A queue is as open as the least open of those above it."""
        states = {self.queues[step].state for step in self.path(name)}
        for state in (QueueState.CLOSED, QueueState.CLOSING):
            if state in states:
                return state
        return QueueState.OPEN

    def _check_reachable(self) -> None:
        seen: set[str] = set()
        stack = [ROOT]
        while stack:
            name = stack.pop()
            seen.add(name)
            stack.extend(self.children[name])
        lost = sorted(set(self.queues) - seen)
        if lost:
            raise InvalidInputError(f"queues are their own ancestors: {', '.join(lost)}")


def settled(state: QueueState, live: int) -> QueueState:
    """A closing queue is closed once nothing is left in it."""
    return QueueState.CLOSED if state is QueueState.CLOSING and not live else state


def _children(queues: Mapping[str, Queue]) -> dict[str, tuple[str, ...]]:
    children: dict[str, list[str]] = {name: [] for name in queues}
    for queue in queues.values():
        if queue.name == ROOT:
            continue
        if queue.parent not in children:
            raise InvalidInputError(f"queue {queue.name}: no parent queue {queue.parent}")
        children[queue.parent].append(queue.name)
    return {name: tuple(names) for name, names in children.items()}


def _check(queue: Queue) -> None:
    if queue.weight < 1:
        raise InvalidInputError(f"queue {queue.name}: weight {queue.weight} is below 1")
    if queue.strict and queue.fair:
        raise InvalidInputError(f"queue {queue.name}: strict and fair exclude each other")
    for name, amount in queue.guarantee.items:
        if amount > queue.deserved.get(name, amount):
            raise InvalidInputError(f"queue {queue.name}: guarantee of {name} exceeds deserved")
    for name, amount in (*queue.guarantee.items, *queue.deserved.items):
        if amount > queue.capability.get(name, amount):
            raise InvalidInputError(
                f"queue {queue.name}: guarantee or deserved of {name} exceeds capability"
            )
