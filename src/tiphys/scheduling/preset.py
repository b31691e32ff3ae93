"""The three classes of queues that ship, and how quotas larger than the machine shrink.

Pure. ``interactive`` is for people who wait: small, guaranteed, first. ``batch`` is for the
night: larger, may use what is free. ``analytics`` is for the heavy work: largest, closed until
somebody opens it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tiphys.scheduling.queue import DEFAULT, ROOT, Preempt, Queue, QueueState, QueueTree
from tiphys.scheduling.resource import NOTHING, Resources, amount_text

_GIB = 1 << 30


def _size(cpu: int, gib: int) -> Resources:
    return Resources(cpu=cpu * 1000, memory=gib * _GIB)


PRESETS: tuple[Queue, ...] = (
    Queue(
        name="interactive",
        priority=100,
        weight=4,
        guarantee=_size(8, 16),
        deserved=_size(8, 16),
        capability=_size(8, 16),
        reclaimable=False,
        preempt=Preempt.LOWER_PRIORITY,
        reclaim=True,
        sla_seconds=120.0,
    ),
    Queue(
        name="batch",
        priority=10,
        weight=2,
        deserved=_size(16, 32),
        preempt=Preempt.LOWER_PRIORITY,
        sla_seconds=1800.0,
    ),
    Queue(
        name="analytics",
        priority=1,
        deserved=_size(32, 64),
        capability=_size(32, 64),
        state=QueueState.CLOSED,
    ),
)


def preset_tree(capacity: Resources, extra: Iterable[Queue] = ()) -> tuple[QueueTree, str]:
    """Return the presets (and ``default``) fitted to the machine, with one warning or none."""
    queues = [Queue(name=DEFAULT), *PRESETS, *extra]
    return fit(QueueTree(queues), capacity)


def fit(tree: QueueTree, capacity: Resources) -> tuple[QueueTree, str]:
    """Scale quotas down where siblings together are promised more than the machine has.

    Guarantees and deserved amounts of siblings shrink by the same factor for each resource, so
    their proportions stay; a capability above the machine is cut. Resources that the machine
    lacks are dropped. The warning names all that was changed, in one sentence.
    """
    changed: list[str] = []
    queues = dict(tree.queues)
    for parent, children in tree.children.items():
        if children:
            limit = capacity if parent == ROOT else _limit(queues[parent], capacity)
            for name in children:
                queues[name] = _scaled(queues[name], [tree.queues[c] for c in children], limit)
                if queues[name] != tree.queues[name]:
                    changed.append(name)
    if not changed:
        return tree, ""
    has = ", ".join(amount_text(name, amount) for name, amount in capacity.items)
    return (
        QueueTree(queues.values()),
        f"quotas of {', '.join(changed)} were scaled down: the machine has {has}",
    )


def _limit(queue: Queue, capacity: Resources) -> Resources:
    return Resources({n: min(a, queue.capability.get(n, a)) for n, a in capacity.items})


def _scaled(queue: Queue, siblings: list[Queue], limit: Resources) -> Queue:
    promised = sum((q.deserved for q in siblings), NOTHING)
    guaranteed = sum((q.guarantee for q in siblings), NOTHING)
    return msgspec.structs.replace(
        queue,
        deserved=_shrunk(queue.deserved, promised, limit),
        guarantee=_shrunk(queue.guarantee, _larger(promised, guaranteed), limit),
        capability=Resources(
            {n: min(a, limit.get(n)) for n, a in queue.capability.items if n in limit}
        ),
    )


def _larger(left: Resources, right: Resources) -> Resources:
    names = {*left, *right}
    return Resources({name: max(left.get(name), right.get(name)) for name in names})


def _shrunk(own: Resources, together: Resources, limit: Resources) -> Resources:
    """Cut ``own`` by the factor by which all together exceed ``limit``."""
    kept: dict[str, int] = {}
    for name, amount in own.items:
        if name in limit:
            total, has = together.get(name), limit.get(name)
            kept[name] = amount * has // total if total > has else amount
    return Resources(kept)
