"""How fast the scheduler decides. ``python benchmarks/scheduling.py [--check]``

Five measurements, each with the figure it is held to (``--check`` exits 1 where one is missed):

- fan-out: 10,000 identical works on one machine, each started as others end: at most 20 µs a work;
- one plan over 10,000 waiting pods, 1,000 nodes' worth of capacity, 100 queues: at most 100 ms;
- the price of an event while 1,000 and while 50,000 pods wait: it must not grow with them;
- the price of an event while 5,000 pods of 1,000 different sizes wait;
- decisions a second in a simulation with 100 queues and 8 kinds of work: at least 5,000.

Times are processor time, the best of several rounds: other processes only ever add to them.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from tiphys.scheduling import Queue, QueueTree, Resources, Scheduler, Work, WorkId

GIB = 1 << 30
NODES = Resources(cpu=1000 * 8_000, memory=1000 * 32 * GIB)
"""A thousand nodes of 8 cores and 32 GiB."""


def tree() -> QueueTree:
    """Ten departments of ten queues each."""
    tops = [Queue(name=f"top{i}", weight=1 + i % 3) for i in range(10)]
    leaves = [Queue(name=f"q{i}", parent=f"top{i % 10}", weight=1 + i % 2) for i in range(100)]
    return QueueTree([*tops, *leaves])


def some_work(number: int, chance: random.Random) -> Work:
    """One of eight kinds of work, for one of a hundred queues."""
    cores = chance.choice((1, 1, 2, 2, 3, 4, 6, 8))
    return Work(
        id=WorkId(f"w{number}"),
        queue=f"q{chance.randrange(100)}",
        requests=Resources(cpu=cores * 1000, memory=cores * 2 * GIB),
        priority=chance.choice((1, 10, 100)),
        created_at=float(number),
        expected_seconds=chance.uniform(10, 1000),
    )


def filled(waiting: int) -> Scheduler:
    """A scheduler with so much waiting, and nothing started."""
    chance = random.Random(7)
    scheduler = Scheduler(NODES, tree())
    for number in range(waiting):
        scheduler.submit(some_work(number, chance))
    # A server freezes what it has loaded, too: else the collector walks it again and again.
    gc.collect()
    gc.freeze()
    return scheduler


def best(measure: Callable[[], float], rounds: int) -> float:
    """The best of several rounds, the first one only to warm up."""
    measure()
    return min(measure() for _ in range(rounds))


def fan_out() -> float:
    """Microseconds for each work of a 10,000 fan-out: submit, start and end."""
    scheduler = Scheduler(Resources(cpu=8_000, memory=16 * GIB))
    requests = Resources(cpu=1_000, memory=GIB)
    began = time.process_time()
    for number in range(10_000):
        scheduler.submit(Work(id=WorkId(f"w{number}"), requests=requests))
    running: deque[WorkId] = deque(scheduler.plan(0.0).starts)
    while running:
        scheduler.finished(running.popleft())
        running.extend(scheduler.plan(0.0).starts)
    return (time.process_time() - began) / 10_000 * 1e6


def one_plan() -> float:
    """Milliseconds for one plan over 10,000 waiting pods."""
    scheduler = filled(10_000)
    began = time.process_time()
    scheduler.plan(0.0)
    return (time.process_time() - began) * 1e3


def one_event(waiting: int) -> Callable[[], float]:
    """Microseconds for an end and the plan that follows, while so much waits."""

    def measure() -> float:
        scheduler = filled(waiting + 4_000)
        running = deque(scheduler.plan(0.0).starts)
        began = time.process_time()
        for _ in range(500):
            scheduler.finished(running.popleft())
            running.extend(scheduler.plan(0.0).starts)
        return (time.process_time() - began) / 500 * 1e6

    return measure


def many_sizes() -> float:
    """Microseconds for an end and the plan that follows, with 1,000 kinds of needs."""
    chance = random.Random(3)
    scheduler = Scheduler(Resources(cpu=64_000, memory=256 * GIB), tree())
    sizes = [
        Resources(cpu=chance.randrange(100, 8_000), memory=chance.randrange(1, 16 << 10) << 20)
        for _ in range(1_000)
    ]
    for number in range(5_000):
        scheduler.submit(
            Work(
                id=WorkId(f"w{number}"),
                queue=f"q{chance.randrange(100)}",
                requests=chance.choice(sizes),
                created_at=float(number),
                expected_seconds=chance.uniform(10, 1000),
            )
        )
    running: deque[WorkId] = deque(scheduler.plan(0.0).starts)
    began = time.process_time()
    for _ in range(300):
        scheduler.finished(running.popleft())
        running.extend(scheduler.plan(0.0).starts)
    return (time.process_time() - began) / 300 * 1e6


def sustained() -> float:
    """Decisions a second in a simulation of 20,000 pods."""
    scheduler = filled(20_000)
    chance = random.Random(11)
    ends: list[tuple[float, WorkId]] = []
    now, decided = 0.0, 0
    began = time.process_time()
    while True:
        plan = scheduler.plan(now)
        decided += len(plan.starts)
        for work_id in plan.starts:
            heappush(ends, (now + chance.uniform(10, 1000), work_id))
        if not ends:
            break
        now, ended = heappop(ends)
        scheduler.finished(ended)
    return decided / (time.process_time() - began)


def main(arguments: list[str]) -> int:
    """Measure all, print a line each."""
    few, many = best(one_event(1_000), 3), best(one_event(50_000), 2)
    decisions = max(sustained() for _ in range(2))
    rows = [
        ("fan-out of 10,000", best(fan_out, 3), "µs a work", 20.0, True),
        ("one plan, 10,000 pods, 100 queues", best(one_plan, 5), "ms", 100.0, True),
        ("an event while 1,000 wait", few, "µs", 1_000.0, True),
        ("the same while 50,000 wait", many / few, "times that", 2.0, True),
        ("an event, 1,000 sizes of work", best(many_sizes, 2), "µs", 10_000.0, True),
        ("simulation, 100 queues", decisions, "decisions/s", 5_000.0, False),
    ]
    missed = 0
    for label, value, unit, limit, below in rows:
        good = value <= limit if below else value >= limit
        missed += not good
        sign = "≤" if below else "≥"
        print(f"{'ok  ' if good else 'MISS'} {label:<36}{value:>12,.1f} {unit} ({sign} {limit:g})")
    return 1 if missed and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
