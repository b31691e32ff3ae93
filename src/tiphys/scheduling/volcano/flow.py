"""The life of a Volcano job flow: its phase, which jobs are due, and whether its graph is sound.

Pure functions. They follow the upstream controller, its traps included: an aborted job leaves the
flow running for ever, Failed is final, and a name listed twice can never complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum


class FlowPhase(StrEnum):
    """Phases of a job flow."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEED = "Succeed"
    FAILED = "Failed"
    TERMINATING = "Terminating"


def next_phase(
    phase: FlowPhase, *, flows: int, running: int = 0, completed: int = 0, failed: int = 0,
    terminated: int = 0,
) -> FlowPhase:  # fmt: skip
    """The phase that follows from the counts of the flow's jobs."""
    if phase not in (FlowPhase.PENDING, FlowPhase.RUNNING):
        return phase
    if failed or terminated:
        return FlowPhase.FAILED
    if phase is FlowPhase.PENDING:
        return FlowPhase.RUNNING if running or completed else FlowPhase.PENDING
    return FlowPhase.SUCCEED if completed == flows and flows else FlowPhase.RUNNING


def due_jobs(edges: Mapping[str, Sequence[str]], states: Mapping[str, str]) -> tuple[str, ...]:
    """Jobs that do not exist yet and whose targets are all completed."""
    return tuple(
        name
        for name, targets in edges.items()
        if name not in states and all(states.get(target) == "Completed" for target in targets)
    )


def check_graph(edges: Mapping[str, Sequence[str]]) -> str:
    """Say what is wrong with the graph; empty where nothing is."""
    for targets in edges.values():
        if any(target not in edges for target in targets):
            return "vertex is not defined"
    done: set[str] = set()
    while len(done) < len(edges):
        free = [n for n, targets in edges.items() if n not in done and done.issuperset(targets)]
        if not free:
            return "not DAG"
        done.update(free)
    return ""
