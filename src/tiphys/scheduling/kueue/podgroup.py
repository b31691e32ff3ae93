"""Groups of plain pods as one workload: when it exists, what it asks for, when it is done.

Pure functions over the pods of one group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MOST_POD_SETS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """What of a pod decides its group."""

    name: str
    requests: tuple[tuple[str, float], ...] = ()
    total_count: int = 1
    created_at: float = 0.0
    phase: str = "Pending"
    retriable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A workload made from a group, or why there is none."""

    counts: tuple[int, ...] = ()
    """Pods of each shape, the most frequent first."""
    quota: Mapping[str, float] = field(default_factory=dict)
    surplus: tuple[str, ...] = ()
    """Pods beyond the total, the newest ones: they are deleted."""
    problem: str = ""


def compose(pods: Sequence[Pod], *, fast_admission: bool = False) -> Composed:
    """Make the workload of a group from its living pods."""
    totals = {pod.total_count for pod in pods}
    if len(totals) != 1:
        return Composed(problem="mismatched total-count")
    wanted = totals.pop()
    alive = sorted(
        (pod for pod in pods if pod.phase != "Failed"), key=lambda pod: (pod.created_at, pod.name)
    )
    if fast_admission and alive and len(alive) < wanted:
        return Composed(counts=(wanted,), quota=_sum([(alive[0].requests, wanted)]))
    if len(alive) < wanted:
        return Composed(problem="ErrWorkloadCompose")
    kept, surplus = alive[:wanted], alive[wanted:]
    shapes = Counter(pod.requests for pod in kept)
    if len(shapes) > MOST_POD_SETS:
        return Composed(problem=f"more than {MOST_POD_SETS} podsets")
    return Composed(
        counts=tuple(sorted(shapes.values(), reverse=True)),
        quota=_sum(list(shapes.items())),
        surplus=tuple(pod.name for pod in surplus),
    )


def reclaimable(pods: Sequence[Pod]) -> int:
    """Pods whose quota is given back: those that succeeded."""
    return sum(pod.phase == "Succeeded" for pod in pods)


def finished(pods: Sequence[Pod], *, total_count: int) -> bool:
    """Whether the group is over: all succeeded, or no pod runs and none may be replaced."""
    succeeded = sum(pod.phase == "Succeeded" for pod in pods)
    if succeeded >= total_count:
        return True
    ended = all(pod.phase in ("Succeeded", "Failed") for pod in pods)
    return ended and any(not pod.retriable for pod in pods)


def _sum(shapes: Sequence[tuple[tuple[tuple[str, float], ...], int]]) -> dict[str, float]:
    quota: dict[str, float] = {}
    for requests, count in shapes:
        for name, amount in requests:
            quota[name] = quota.get(name, 0) + amount * count
    return quota
