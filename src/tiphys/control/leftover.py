"""``jobRetainPolicy: delete``: what a flow's Jobs leave on the disk goes once the flow succeeded.

Logs and working folders go. The record stays: the flow, its Jobs with their states and times, and
what ``tiphys get`` shows of them; so do artifacts, which have rules of their own. A failed flow
keeps everything, as upstream keeps the Jobs of such a flow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.ports import SCHEDULER_LABEL, VOLCANO, Instruction, is_dispatched
from tiphys.store import Store, WorkflowFilter

LABEL = "tiphys.dev/job-retain"
"""On the workflow that a flow became."""
GRACE = 10.0
"""Seconds for those who follow the logs to see their end."""
_STEP = 500
_KIND = "tiphys.dev/kind"


def goes(labels: Mapping[str, str], phase: str) -> bool:
    """Whether the files of a run that has ended go."""
    return labels.get(LABEL) == "delete" and phase == "Succeeded"


def remove_files(data: Path, uids: Iterable[str]) -> None:
    """Remove logs and folders of all attempts of some runs."""
    for uid in uids:
        from shutil import rmtree  # noqa: PLC0415 - large, and most runs keep their files

        rmtree(data / "attempts" / uid, ignore_errors=True)


def clearing(uid: str, name: str, namespace: str, labels: Mapping[str, str]) -> Instruction | None:
    """Give the order to remove what Volcano keeps of a flow or Job; None where there is nothing."""
    if labels.get(SCHEDULER_LABEL) != VOLCANO or _KIND not in labels:
        return None
    return Instruction(uid=uid, name=name, namespace=namespace, verb="delete", scheduler=VOLCANO)


class Leftovers:
    """Removes them for one host; a watcher of its loop."""

    def __init__(
        self,
        data: Path,
        store: Store,
        ended: Callable[[str], Awaitable[None]],
        clear: Callable[[Instruction], None],
    ) -> None:
        """``clear`` puts an order on record (``control.clearance``) and has it performed."""
        self._data, self._store, self._ended, self._clear = data, store, ended, clear
        self._tasks: set[asyncio.Task[None]] = set()

    # --- control.loop.Watcher -------------------------------------------------------------

    def workflow(self, run: Run) -> None:
        """See that a run has ended."""
        labels = run.workflow.metadata.labels
        if run.ended and goes(labels, run.phase):
            self._begin(self._remove(run.uid))
            order = clearing(run.uid, run.name, run.namespace, labels)
            # Volcano's own controller removes the Jobs of flows that it drives.
            if order is not None and not is_dispatched(labels):
                self._clear(order)

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """See nothing."""

    def note(self, text: str) -> None:
        """Hear nothing."""

    # --- of the host ----------------------------------------------------------------------

    def resume(self) -> None:
        """Remove what an earlier host had no time for."""
        if (self._data / "attempts").is_dir():
            self._begin(asyncio.to_thread(self._sweep))

    async def close(self) -> None:
        """Leave the rest to the next host."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _remove(self, uid: str) -> None:
        await self._ended(uid)
        await asyncio.sleep(GRACE)
        await asyncio.to_thread(remove_files, self._data, [uid])

    def _sweep(self) -> None:
        wanted = WorkflowFilter(phases=("Succeeded",), label_selector=f"{LABEL}=delete")
        found = self._store.workflows(wanted, limit=_STEP)
        remove_files(self._data, [row.uid for row in found])
