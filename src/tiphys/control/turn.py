"""What the loop hands around: one turn's gatherings, the attempts under way, and who looks on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from tiphys.engine import command as cm
from tiphys.engine import event as ev
from tiphys.engine.node import Node, Phase
from tiphys.engine.run import Run
from tiphys.ports import (
    AttemptId,
    GangChanged,
    Task,
    TaskEnded,
    TaskProgressed,
    TaskReady,
    TaskSeen,
    TaskStarted,
)
from tiphys.scheduling import Plan


class Watcher(Protocol):
    """Sees what happens, after it is on record."""

    def workflow(self, run: Run) -> None:
        """A run began, or its own fields changed."""

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """Nodes changed."""

    def note(self, text: str) -> None:
        """Something that a person should know."""


class Observer(Protocol):
    """Told of decisions and turns, for numbers and logs."""

    def planned(self, plan: Plan, now: float) -> None:
        """Works start or must stop; called before it is on record."""

    def turned(self, commit: float, turn: float) -> None:
        """A turn is over: the seconds that its commit took, and all of it."""

    def ganged(self, change: GangChanged, run: Run | None) -> None:
        """A PodGroup has changed; the run is None where it is over."""


class Turn(msgspec.Struct):
    """What one turn of the loop gathers before it commits."""

    starts: list[Task] = msgspec.field(default_factory=list)
    attaches: list[Task] = msgspec.field(default_factory=list)
    stops: list[AttemptId] = msgspec.field(default_factory=list)
    ended: list[AttemptId] = msgspec.field(default_factory=list)
    changed: dict[str, tuple[Run, dict[str, Node]]] = msgspec.field(default_factory=dict)
    headers: dict[str, Run] = msgspec.field(default_factory=dict)
    removed: list[tuple[str, str]] = msgspec.field(default_factory=list)
    idle: set[str] = msgspec.field(default_factory=set)
    """Runs that have an attempt less."""


class Attempt(msgspec.Struct):
    """One start of one node, waiting or running."""

    run: Run
    command: cm.StartNode
    running: bool = False
    preempted: str = ""
    """Why it is being stopped to make room."""


def event_of(
    result: TaskStarted | TaskReady | TaskProgressed | TaskSeen, attempt: Attempt
) -> ev.Event:
    """Turn news of a task that goes on into an event of its run."""
    node, number = attempt.command.node, attempt.command.attempt
    match result:
        case TaskStarted():
            return ev.NodeStarted(
                at=result.at, node=node, attempt=number, host=result.host, ip=result.ip
            )
        case TaskReady():
            return ev.NodeReady(at=result.at, node=node, attempt=number, ip=result.ip)
        case TaskProgressed():
            progress = result.progress
            return ev.NodeProgressed(at=result.at, node=node, attempt=number, progress=progress)
        case TaskSeen():
            return ev.JobSeen(
                at=result.at,
                node=node,
                attempt=number,
                phase=result.phase,
                retries=result.retries,
                message=result.message,
                pods=result.pods,
                history=result.history,
            )


def end_of(result: TaskEnded, node: str, attempt: int) -> ev.NodeEnded:
    """Turn the end of a task into an event of its run."""
    return ev.NodeEnded(
        at=result.at,
        node=node,
        attempt=attempt,
        phase=str(Phase(result.phase)),
        message=result.message,
        outputs=result.outputs,
        containers=tuple(
            ev.ContainerEnded(
                name=each.name,
                phase=each.phase,
                message=each.message,
                started_at=each.started_at,
                finished_at=each.finished_at,
            )
            for each in result.containers
        ),
        cpu_seconds=result.usage.cpu_seconds,
        memory_bytes=result.usage.memory_bytes,
    )
