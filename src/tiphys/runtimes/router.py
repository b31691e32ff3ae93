"""One runtime made of two: each task goes to the one that its template needs.

Processes go to ``LocalRuntime``, requests and the like to ``InlineRuntime``. To the loop it is one
``ports.Runtime`` with one sink.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tiphys.ports import AttemptId, Sink, Task
from tiphys.runtimes.inline import InlineRuntime, is_inline
from tiphys.runtimes.local import LocalRuntime


class RouterRuntime:
    """Sends tasks to the runtime that can run them, and what follows to where they went."""

    def __init__(self, local: LocalRuntime, inline: InlineRuntime) -> None:
        self.name = local.name
        self._local = local
        self._inline = inline
        self._inside: set[AttemptId] = set()
        """Attempts that went to the inline runtime and are not acknowledged."""

    # --- ports.Runtime --------------------------------------------------------------------

    async def open(self, sink: Sink) -> None:
        """Open both."""
        await self._inline.open(sink)
        await self._local.open(sink)

    async def start(self, tasks: Sequence[Task]) -> None:
        """Start each task where it belongs."""
        outside, inside = self._split(tasks)
        if inside:
            await self._inline.start(inside)
        if outside:
            await self._local.start(outside)

    async def attach(self, tasks: Sequence[Task]) -> None:
        """Ask each runtime about its own."""
        outside, inside = self._split(tasks)
        if inside:
            await self._inline.attach(inside)
        if outside:
            await self._local.attach(outside)

    async def stop(self, ids: Sequence[AttemptId], *, grace: float) -> None:
        """End attempts where they run."""
        inside = [name for name in ids if name in self._inside]
        outside = [name for name in ids if name not in self._inside]
        if inside:
            await self._inline.stop(inside, grace=grace)
        if outside:
            await self._local.stop(outside, grace=grace)

    async def keep(self, ids: Sequence[AttemptId]) -> None:
        """End and forget all attempts but these."""
        await self._local.keep(ids)

    async def acknowledge(self, ids: Sequence[AttemptId]) -> None:
        """Let each runtime forget its own."""
        inside = [name for name in ids if name in self._inside]
        outside = [name for name in ids if name not in self._inside]
        self._inside.difference_update(inside)
        if inside:
            await self._inline.acknowledge(inside)
        if outside:
            await self._local.acknowledge(outside)

    async def close(self) -> None:
        """Let go of both."""
        await self._inline.close()
        await self._local.close()

    def _split(self, tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
        inside = [task for task in tasks if is_inline(task.template)]
        self._inside.update(task.id for task in inside)
        return [task for task in tasks if not is_inline(task.template)], inside

    # --- what people ask of the local one -------------------------------------------------

    @property
    def isolation(self) -> str:
        """How processes are kept apart."""
        return self._local.isolation

    @property
    def notice(self) -> str:
        """One line for the person who asks why there is no sandbox."""
        return self._local.notice

    @property
    def executor_pid(self) -> int:
        """The process that runs the tasks; 0 before ``open``."""
        return self._local.executor_pid

    def folder_of(self, task: Task) -> Path:
        """Return where the logs of an attempt lie."""
        return self._local.folder_of(task)
