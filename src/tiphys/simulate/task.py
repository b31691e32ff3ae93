"""What a simulation runs: tasks with durations, and workflow traces as such tasks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tiphys.errors import InvalidInputError
from tiphys.scheduling.critical_path import ranks
from tiphys.scheduling.estimate import History
from tiphys.scheduling.list_plan import Graph, best_ranks
from tiphys.scheduling.resource import Resources, clamp

MEMORY_STEP = 64 << 20
MOST_PLANNED = 5_000
"""Tasks of a workflow that is planned ahead; planning takes more than linear time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One pod of a simulated workflow."""

    id: str
    seconds: float
    requests: Resources
    parents: tuple[str, ...] = ()
    workflow: str = ""
    template: str = ""
    queue: str = "default"
    priority: int = 10
    arrives_at: float = 0.0
    """When its workflow was submitted."""
    rank: float = 0.0
    expected_seconds: float | None = None
    gang: str = ""


def read_trace(path: Path, *, queue: str = "default", arrives_at: float = 0.0) -> list[Task]:
    """Read a recorded workflow execution; durations are taken as known."""
    try:
        trace = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(trace, dict):
            raise TypeError("an object is expected")
        tasks = [_task(trace, entry, queue, arrives_at) for entry in trace["tasks"]]
    except OSError as error:
        raise InvalidInputError(f"{path}: {error.strerror or error}") from error
    except KeyError as error:
        raise InvalidInputError(f"{path}: not a workflow trace (no {error})") from error
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{path}: not a workflow trace ({error})") from error
    return ranked(tasks)


def _task(trace: Mapping[str, Any], entry: Mapping[str, Any], queue: str, at: float) -> Task:
    amounts = {"cpu": int(float(entry.get("cores") or 1) * 1000)}
    if entry.get("memory_bytes"):
        # People ask in round numbers; what was measured is rounded up to such a request.
        amounts["memory"] = -(-int(entry["memory_bytes"]) // MEMORY_STEP) * MEMORY_STEP
    seconds = float(entry["seconds"])
    if not (math.isfinite(seconds) and seconds >= 0 and amounts["cpu"] >= 0):
        raise ValueError(f"{entry['id']}: seconds and cores cannot be less than nothing")
    name = str(trace["name"])
    return Task(
        id=f"{name}/{entry['id']}",
        seconds=seconds,
        requests=Resources(amounts),
        parents=tuple(f"{name}/{parent}" for parent in entry["parents"]),
        workflow=name,
        template=template_of(str(entry["category"])),
        queue=queue,
        arrives_at=at,
        expected_seconds=seconds,
    )


def template_of(category: str) -> str:
    """The template behind a task's category.

    Traces number their tasks (``blastall_ID000002``), and some say the name twice and add what it
    worked on (``fast2bfq_fast2bfq_HEP2_1_ID0000002``).
    """
    stem, _, number = category.rpartition("_ID")
    name = stem if stem and number.isdigit() else category
    first, _, rest = name.partition("_")
    return first if rest.startswith(f"{first}_") or rest == first else name


def ranked(tasks: Sequence[Task]) -> list[Task]:
    """Give each task its rank on the critical path, by the durations that are expected."""
    known = {task.id for task in tasks}
    parents = {task.id: [p for p in task.parents if p in known] for task in tasks}
    seconds = {task.id: task.expected_seconds or 0.0 for task in tasks}
    found = ranks(parents, seconds)
    return [replace(task, rank=found[task.id]) for task in tasks]


def planned(tasks: Sequence[Task], capacity: Resources) -> list[Task]:
    """Rank each workflow's tasks by the best plan found for it alone on the machine.

    Tasks without an expected duration, and very large workflows, keep the critical path.
    """
    by_workflow: dict[str, list[Task]] = {}
    for task in tasks:
        by_workflow.setdefault(task.workflow, []).append(task)
    found: dict[str, float] = {}
    for members in by_workflow.values():
        if len(members) <= MOST_PLANNED and all(t.expected_seconds is not None for t in members):
            graph = Graph(
                {task.id: task.parents for task in members},
                {task.id: task.expected_seconds or 0.0 for task in members},
                {task.id: clamp(task.requests, capacity)[0].items for task in members},
            )
            found |= best_ranks(graph, capacity)
        else:
            found |= {task.id: task.rank for task in ranked(members)}
    return [replace(task, rank=found[task.id]) for task in tasks]


def estimated(tasks: Sequence[Task], history: History) -> list[Task]:
    """Expect of each task what the history of its template says, not what will happen."""
    guessed = []
    for task in tasks:
        expected = history.expect(task.template)
        guessed.append(replace(task, expected_seconds=expected.seconds if expected else None))
    return ranked(guessed)
