"""What waits for a place: one pod (``Work``) and the groups that start together (``Gang``).

Plain immutable data. The engine's side of the border makes these; the scheduler never looks
behind them. Times are seconds since the epoch, as everywhere past the clock.
"""

from __future__ import annotations

from typing import NewType

import msgspec

from tiphys.scheduling.resource import NOTHING, Resources

WorkId = NewType("WorkId", str)
QueueName = str


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One pod that wants to start."""

    id: WorkId
    requests: Resources = NOTHING
    queue: QueueName = "default"
    priority: int = 10
    workflow: str = ""
    group: str = ""
    """The gang it belongs to; empty for a pod that starts alone."""
    role: str = ""
    """Its task inside the gang, for per-task minimums."""
    created_at: float = 0.0
    """When it began to wait for the first time; a preempted or resumed pod keeps its age."""
    workflow_created_at: float | None = None
    """Age of its workflow, compared before its own; None: its own age stands for it."""
    rank: float = 0.0
    """Seconds from its start to the end of its workflow on the critical path; longer goes first."""
    expected_seconds: float | None = None
    """Its likely duration, where past runs tell."""
    preemptable: bool = True
    may_preempt: bool = True


class Gang(msgspec.Struct, frozen=True, kw_only=True):
    """Works that start together or not at all."""

    name: str
    min_member: int
    min_task_member: tuple[tuple[str, int], ...] = ()
    """Role and least count; ignored where ``min_member`` is below their sum."""
    min_resources: Resources | None = None
    loose: bool = False
    """Only the start is common: whoever leaves before is not missed, and once all run each is on
    its own."""
