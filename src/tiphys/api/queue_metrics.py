"""How full the queues are, as numbers: depth, the longest wait, gangs, and quotas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tiphys.api.exposition import Labels, family
from tiphys.scheduling import Queue, Resources, Scheduler


def queue_lines(scheduler: Scheduler, now: float) -> Iterator[str]:
    """Write what each queue holds; CPU comes in thousandths, memory in bytes."""
    leaves = list(scheduler.queues.leaves())
    depth = dict.fromkeys(leaves, 0)
    oldest = dict.fromkeys(leaves, 0.0)
    gangs: dict[str, set[str]] = {name: set() for name in leaves}
    for work in scheduler.waiting_works():
        if work.queue not in depth:
            continue
        depth[work.queue] += 1
        oldest[work.queue] = max(oldest[work.queue], now - work.created_at)
        if work.group:
            gangs[work.queue].add(work.group)
    yield from family("gauge", "queue_depth", _by_queue(depth))
    yield from family("gauge", "queue_pending_seconds", _by_queue(oldest))
    levels = {name: scheduler.queues.queues[name].sla_seconds for name in leaves}
    promised = {name: seconds for name, seconds in levels.items() if seconds is not None}
    yield from family("gauge", "queue_sla_seconds", _by_queue(promised))
    counted = {name: len(found) for name, found in gangs.items()}
    yield from family("gauge", "queue_gangs_waiting", _by_queue(counted))
    yield from _quotas(scheduler)


def _quotas(scheduler: Scheduler) -> Iterator[str]:
    tree = scheduler.queues.queues
    used = {name: scheduler.used(name) for name in tree}
    quotas = {name: _quota(queue) for name, queue in tree.items()}
    yield from family("gauge", "queue_used", _by_resource(used))
    yield from family("gauge", "queue_quota", _by_resource(quotas))
    yield from family("gauge", "queue_quota_used_ratio", _shares(used, quotas))


def _quota(queue: Queue) -> Resources:
    """Give what a queue is due; of resources of which that is not said, the most it may use."""
    return Resources({**dict(queue.capability.items), **dict(queue.deserved.items)})


def _by_queue(values: Mapping[str, float]) -> Iterator[tuple[Labels, float]]:
    for name, value in values.items():
        yield (("queue_id", name),), value


def _by_resource(queues: Mapping[str, Resources]) -> Iterator[tuple[Labels, float]]:
    for name, amounts in queues.items():
        for resource, amount in amounts.items:
            yield (("queue_id", name), ("resource", resource)), amount


def _shares(
    used: Mapping[str, Resources], quotas: Mapping[str, Resources]
) -> Iterator[tuple[Labels, float]]:
    """Give how much of each quota is in use; more than 1 where a queue borrows."""
    for name, quota in quotas.items():
        for resource, amount in quota.items:
            if amount:
                labels = (("queue_id", name), ("resource", resource))
                yield labels, used[name].get(resource) / amount
