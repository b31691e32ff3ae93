"""What no plan can do better: lower bounds of the makespan.

Pure. ``lower_bound`` is the plain one that reports print, of whole workflows together with the
``longest_chain`` of what followed what. ``possible`` asks more: whether any plan
at all could end by a given time. It looks for an interval in which tasks must do more work than the
machine can, however they are moved (energetic reasoning): a task that may not start before ``head``
and must leave ``tail`` seconds for what follows it can be pushed to the left or to the right end of
its window, and the part that lies in the interval in both cases is owed there. "No" is a proof;
"yes" is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiphys.scheduling.critical_path import critical_path, ranks
from tiphys.scheduling.resource import Resources
from tiphys.simulate.task import Task

_MOST_INSTANTS = 64
"""Instants tried as the start and as the end of an interval; fewer only make the proof weaker."""


def lower_bound(tasks: Sequence[Task], capacity: Resources) -> float:
    """The larger of the critical path and the work divided by the capacity."""
    parents = {task.id: task.parents for task in tasks}
    seconds = {task.id: task.seconds for task in tasks}
    bounds = [critical_path(parents, seconds)]
    for name, has in capacity.items:
        work = sum(task.seconds * min(task.requests.get(name), has) for task in tasks)
        if has:
            bounds.append(work / has)
    return max(bounds)


def longest_chain(children: Mapping[str, Sequence[str]], seconds: Mapping[str, float]) -> float:
    """The longest way through a workflow as it went: what follows another must wait for it."""
    waits: Counter[str] = Counter(child for below in children.values() for child in below)
    begins: dict[str, float] = {}
    ready = [name for name in {**children, **seconds} if not waits[name]]
    longest = 0.0
    while ready:
        name = ready.pop()
        ends = begins.get(name, 0.0) + seconds.get(name, 0.0)
        longest = max(longest, ends)
        for child in children.get(name, ()):
            begins[child] = max(begins.get(child, 0.0), ends)
            waits[child] -= 1
            if not waits[child]:
                ready.append(child)
    return longest


def possible(tasks: Sequence[Task], capacity: Resources, makespan: float) -> bool:
    """Tell whether a plan that ends by ``makespan`` could exist; False is a proof."""
    if lower_bound(tasks, capacity) > makespan:
        return False
    for resource, has in capacity.items:
        windows = _windows(tasks, resource, has, makespan)
        if windows and _overfull(windows, has):
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Window:
    """When a task may run, for how long it does, and how much of the resource it holds."""

    opens: float
    closes: float
    seconds: float
    amount: int

    def owed(self, start: float, end: float) -> float:
        """The least work it does between two instants, wherever in its window it runs."""
        pushed_left = self.opens + self.seconds - start
        pushed_right = end - (self.closes - self.seconds)
        return self.amount * max(0.0, min(self.seconds, end - start, pushed_left, pushed_right))


def _windows(tasks: Sequence[Task], resource: str, has: int, makespan: float) -> list[_Window]:
    seconds = {task.id: task.seconds for task in tasks}
    below = ranks({task.id: task.parents for task in tasks}, seconds)
    opens = _earliest(tasks, below)
    return [
        _Window(
            opens[task.id],
            makespan - (below[task.id] - task.seconds),
            task.seconds,
            min(task.requests.get(resource), has),
        )
        for task in tasks
        if task.requests.get(resource)
    ]


def _earliest(tasks: Sequence[Task], below: dict[str, float]) -> dict[str, float]:
    """When each task can start at the earliest: parents have larger ranks, so they come first."""
    by_id = {task.id: task for task in tasks}
    order = _parents_first(tasks, below)
    found: dict[str, float] = {}
    for name in order:
        task = by_id[name]
        ends = (found[parent] + by_id[parent].seconds for parent in task.parents)
        found[name] = max(ends, default=0.0)
    return found


def _parents_first(tasks: Sequence[Task], below: dict[str, float]) -> list[str]:
    """Ranks alone do not order tasks of no length, so ties are broken by depth."""
    parents = {task.id: task.parents for task in tasks}
    depth = ranks(parents, dict.fromkeys(parents, 1.0))
    return sorted(parents, key=lambda name: (-below[name], -depth[name]))


def _overfull(windows: Sequence[_Window], has: int) -> bool:
    """Look for an interval that must hold more work than fits."""
    latest = [window.closes - window.seconds for window in windows]
    soonest = [window.opens + window.seconds for window in windows]
    starts = _some([*(window.opens for window in windows), *latest, *soonest])
    ends = _some([*(window.closes for window in windows), *latest, *soonest])
    for start in starts:
        for end in ends:
            if end - start < 1e-3:
                continue
            if sum(window.owed(start, end) for window in windows) > has * (end - start) * (
                1 + 1e-9
            ):
                return True
    return False


def _some(values: Iterable[float]) -> list[float]:
    """A bounded number of the different values, evenly over their order, the last with them."""
    found = sorted(set(values))
    stride = -(-len(found) // _MOST_INSTANTS)
    return [*found[::stride], found[-1]] if found else []
