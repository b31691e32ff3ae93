"""A plan for one workflow whose tasks and durations are known: which task before which.

Pure and offline. Tasks are placed greedily in the order of a priority list (list scheduling).
Several lists are tried: first come first served, the critical path, the work that hangs on a
task; then each plan is turned around, packed from its end, and turned back (forward-backward
improvement), which closes gaps that no single list sees. The best plan found gives the ranks that
``Work.rank`` wants, so a workflow is never planned worse than first come first served.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from tiphys.scheduling.critical_path import ranks
from tiphys.scheduling.ledger import Needs
from tiphys.scheduling.resource import Resources

ROUNDS = 8
"""Turns of forward-backward improvement; more find next to nothing."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A workflow's tasks: who waits for whom, how long they take, what they need."""

    parents: Mapping[str, Sequence[str]]
    seconds: Mapping[str, float]
    needs: Mapping[str, Needs]

    def turned(self) -> Graph:
        """The same graph with time running backwards."""
        children: dict[str, list[str]] = {name: [] for name in self.parents}
        for name, before in self.parents.items():
            for parent in before:
                children[parent].append(name)
        return Graph(children, self.seconds, self.needs)


def best_ranks(graph: Graph, capacity: Resources) -> dict[str, float]:
    """Return ranks for ``Work.rank``: tasks that start earlier in the best plan have larger."""
    starts = best_plan(graph, capacity)
    end = makespan(graph, starts)
    return {name: end - start for name, start in starts.items()}


def best_plan(graph: Graph, capacity: Resources) -> dict[str, float]:
    """Return the start of each task in the best plan that was found."""
    room = dict(capacity.items)
    arrival = {name: float(index) for index, name in enumerate(graph.parents)}
    critical = ranks(graph.parents, graph.seconds)
    hanging = _work_below(graph)
    lists: list[Callable[[str], tuple[float, ...]]] = [
        lambda name: (0.0, arrival[name]),
        lambda name: (-critical[name], arrival[name]),
        lambda name: (-hanging[name], arrival[name]),
    ]
    best: dict[str, float] | None = None
    for index, first_key in enumerate(lists):
        plan = place(graph, room, first_key, fifo=index == 0)
        plan = min((plan, _improved(graph, room, plan)), key=lambda p: makespan(graph, p))
        if best is None or makespan(graph, plan) < makespan(graph, best):
            best = plan
    return best or {}


def makespan(graph: Graph, starts: Mapping[str, float]) -> float:
    """When the last task of a plan ends."""
    return max((start + graph.seconds[name] for name, start in starts.items()), default=0.0)


def place(
    graph: Graph,
    capacity: Mapping[str, int],
    key: Callable[[str], tuple[float, ...]],
    *,
    fifo: bool = False,
) -> dict[str, float]:
    """Place tasks in the order of ``key`` as soon as they are ready and fit.

    With ``fifo`` the time at which a task became ready is compared first.
    """
    state = _Placement(graph, dict(capacity))
    ready = sorted((name for name, count in state.waiting.items() if not count), key=key)
    while ready or state.running:
        ready = state.start(ready)
        if not state.running:
            break  # what is left is larger than the machine
        fresh = sorted(state.advance(), key=key)
        if fifo:
            ready += fresh
        else:
            for name in fresh:
                insort(ready, name, key=key)
    return state.starts


class _Placement:
    """One placement under way."""

    def __init__(self, graph: Graph, room: dict[str, int]) -> None:
        self.graph = graph
        self.room = room
        self.waiting = {name: len(before) for name, before in graph.parents.items()}
        self.children = graph.turned().parents
        self.running: list[tuple[float, str]] = []
        self.starts: dict[str, float] = {}
        self.now = 0.0

    def start(self, ready: list[str]) -> list[str]:
        """Start what fits, in order; return what does not."""
        left: list[str] = []
        failed: set[Needs] = set()
        needs_of = self.graph.needs
        for index, name in enumerate(ready):
            needs = needs_of[name]
            if needs in failed:
                left.append(name)
            elif all(amount <= self.room.get(resource, 0) for resource, amount in needs):
                for resource, amount in needs:
                    self.room[resource] -= amount
                self.starts[name] = self.now
                heappush(self.running, (self.now + self.graph.seconds[name], name))
            else:
                failed.add(needs)
                left.append(name)
                if not self.room.get("cpu", 1):
                    left += ready[index + 1 :]
                    break
        return left

    def advance(self) -> list[str]:
        """Go to the next end; return the tasks that become ready."""
        self.now = self.running[0][0]
        fresh = []
        while self.running and self.running[0][0] <= self.now:
            name = heappop(self.running)[1]
            for resource, amount in self.graph.needs[name]:
                self.room[resource] += amount
            for child in self.children[name]:
                self.waiting[child] -= 1
                if not self.waiting[child]:
                    fresh.append(child)
        return fresh


def _improved(
    graph: Graph, capacity: Mapping[str, int], plan: Mapping[str, float]
) -> dict[str, float]:
    """Pack the plan from its end and again from its start, and keep the best."""
    best = dict(plan)
    turned = graph.turned()
    for _ in range(ROUNDS):
        packed = place(turned, capacity, _latest_first(graph, plan))
        plan = place(graph, capacity, _latest_first(graph, packed))
        if makespan(graph, plan) >= makespan(graph, best):
            break
        best = dict(plan)
    return best


def _latest_first(graph: Graph, plan: Mapping[str, float]) -> Callable[[str], tuple[float, ...]]:
    ends = {name: start + graph.seconds[name] for name, start in plan.items()}
    return lambda name: (-ends[name],)


def _work_below(graph: Graph) -> dict[str, float]:
    """The seconds of all tasks that hang on each task, counted along all paths, with itself."""
    children = graph.turned().parents
    found: dict[str, float] = {}
    depth = ranks(graph.parents, graph.seconds)
    order = sorted(graph.parents, key=lambda name: depth[name])
    for name in order:
        found[name] = graph.seconds[name] + sum(found.get(child, 0.0) for child in children[name])
    return found
