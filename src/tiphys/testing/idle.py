"""A runtime that does nothing: every task succeeds as soon as it is started.

What is left of a run is Tiphys' own work: the loop, the engine, the scheduler and the store.
"""

from __future__ import annotations

from collections.abc import Sequence

from tiphys.core.clock import Clock
from tiphys.ports import AttemptId, Sink, Task, TaskEnded, TaskStarted


class IdleRuntime:
    """Runs nothing, and says that it went well."""

    def __init__(self, clock: Clock) -> None:
        self.name = "idle"
        self.started = 0
        """How many tasks it was given."""
        self._clock = clock
        self._sink: Sink | None = None

    async def open(self, sink: Sink) -> None:
        """Take the sink."""
        self._sink = sink

    async def start(self, tasks: Sequence[Task]) -> None:
        """Report each task as begun and done."""
        assert self._sink is not None
        self.started += len(tasks)
        at = self._clock.now()
        for task in tasks:
            begun = TaskStarted(id=task.id, at=at)
            self._sink([begun, TaskEnded(id=task.id, at=at, phase="Succeeded")])

    async def attach(self, tasks: Sequence[Task]) -> None:
        """Nothing was ever under way: start."""
        await self.start(tasks)

    async def stop(self, ids: Sequence[AttemptId], *, grace: float) -> None:
        """Nothing runs."""

    async def acknowledge(self, ids: Sequence[AttemptId]) -> None:
        """Nothing is kept."""

    async def keep(self, ids: Sequence[AttemptId]) -> None:
        """Nothing is there to be kept."""

    async def close(self) -> None:
        """Let go of the sink."""
        self._sink = None
