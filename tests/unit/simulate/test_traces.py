"""Quality on recorded workflows: close to what is possible, never worse than first come first."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tiphys.scheduling import Resources
from tiphys.scheduling.estimate import History
from tiphys.simulate.bound import lower_bound, possible
from tiphys.simulate.run import run
from tiphys.simulate.task import Task, estimated, planned, read_trace

TRACES = sorted((Path(__file__).parents[4] / "shared" / "traces").glob("*.json"))
CASES = [(path, cores) for path in TRACES for cores in (16, 64, 256)]
pytestmark = pytest.mark.skipif(not TRACES, reason="the shared traces are not here")


def machine(cores: int) -> Resources:
    return Resources(cpu=cores * 1000, memory=cores * (8 << 30))


def first_come_first_served(tasks: list[Task]) -> list[Task]:
    return [replace(task, rank=0.0, expected_seconds=None) for task in tasks]


@pytest.mark.parametrize(("path", "cores"), CASES, ids=[f"{p.stem}-{c}" for p, c in CASES])
def test_the_makespan_is_within_a_tenth_of_the_bound_or_nobody_can_be(
    path: Path, cores: int
) -> None:
    tasks, capacity = read_trace(path), machine(cores)
    limit = 1.10 * lower_bound(tasks, capacity)

    outcome = run(planned(tasks, capacity), capacity)

    assert not outcome.stuck
    if outcome.makespan > limit:
        # Whole waves, or serial heads and tails: then it is within a tenth of the proven best.
        assert not possible(tasks, capacity, limit)
        assert not possible(tasks, capacity, outcome.makespan / 1.10)


@pytest.mark.parametrize(("path", "cores"), CASES, ids=[f"{p.stem}-{c}" for p, c in CASES])
def test_a_plan_is_never_worse_than_first_come_first_served(path: Path, cores: int) -> None:
    tasks, capacity = read_trace(path), machine(cores)

    outcome = run(planned(tasks, capacity), capacity)

    assert outcome.makespan <= run(first_come_first_served(tasks), capacity).makespan + 1e-6


@pytest.mark.parametrize("path", TRACES, ids=[path.stem for path in TRACES])
def test_learnt_durations_foretell_the_next_run(path: Path) -> None:
    """Learn from every other run of a template, foretell the rest, measure the error."""
    history, seen, rest = History(), Counter[str](), list[Task]()
    for task in read_trace(path):
        seen[task.template] += 1
        if seen[task.template] % 2:
            history.observe(task.template, task.seconds)
        else:
            rest.append(task)

    foretold = {task.id: task.expected_seconds or 0.0 for task in estimated(rest, history)}
    errors = sorted(abs(foretold[t.id] - t.seconds) / max(t.seconds, 1.0) for t in rest)
    total = sum(foretold.values()) / sum(task.seconds for task in rest)

    assert errors[len(errors) // 2] < 0.40
    assert 0.75 < total < 1.25
