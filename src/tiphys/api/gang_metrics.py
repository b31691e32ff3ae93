"""PodGroups of Volcano as numbers: how many are in which phase, how often that changes.

Counted from what the runtime sees of our own groups. Queues of Volcano are called
``volcano:NAME`` here, as in ids, so that they do not mix with queues of our own scheduler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tiphys.api.exposition import Labels, family
from tiphys.ports import GANG_GONE, VOLCANO, GangChanged

RUNNING = "Running"


def queue_id(change: GangChanged) -> str:
    """Give the name of a group's queue."""
    return f"{VOLCANO}:{change.queue}"


class GangMetrics:
    """Groups that are there, and what has happened to them."""

    def __init__(self) -> None:
        self._phases: dict[str, tuple[str, str]] = {}
        self._changes: Counter[tuple[str, str]] = Counter()
        self._ran: set[str] = set()

    def take(self, change: GangChanged) -> float | None:
        """Note a change; give how long a group waited, the first time that it is known to run."""
        queue = queue_id(change)
        if change.phase != change.was:
            self._changes[queue, change.phase] += 1
        waited = None if change.gang in self._ran else _wait(change)
        if change.phase == GANG_GONE:
            self._phases.pop(change.gang, None)
            self._ran.discard(change.gang)
            return waited
        self._phases[change.gang] = (queue, change.phase)
        if waited is not None:
            self._ran.add(change.gang)
        return waited

    def lines(self) -> Iterator[str]:
        """Write them."""
        there = Counter(self._phases.values())
        yield from family("gauge", "volcano_pod_groups", _labelled(there))
        yield from family("counter", "volcano_pod_group_changes_total", _labelled(self._changes))


def _wait(change: GangChanged) -> float | None:
    """Give how long a group waited for its place; None as long as it has none."""
    began = change.began_at
    if began is None and change.phase == RUNNING:
        began = change.at
    if began is None or change.made_at is None:
        return None
    return max(0.0, began - change.made_at)


def _labelled(counts: Counter[tuple[str, str]]) -> Iterator[tuple[Labels, float]]:
    for (queue, phase), count in counts.items():
        yield (("queue_id", queue), ("phase", phase)), count
