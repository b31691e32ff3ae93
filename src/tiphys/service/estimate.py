"""How long a workflow will take, told from what ran before in its project.

First by the latest workflows of its kind that succeeded: the store is asked, by an index, whatever
the number of workflows. A first run is told from its templates (``control.foresight``), which knows
them by name and by text; that costs the store nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec

from tiphys.control.host import Host
from tiphys.ports import CRON_LABEL
from tiphys.service.submission import NAME_LABEL
from tiphys.store import WorkflowFilter, WorkflowRow

HISTORY = 20
"""So many earlier workflows of a name tell how long the next will take."""
_DEAR = 0.005
"""Seconds."""
_MOST = 10_000
_LARGE = 32 * 1024
"""Specs beyond this are looked through beside the loop."""


class _Meta(msgspec.Struct, rename="camel"):
    generate_name: str = ""


class _Manifest(msgspec.Struct):
    metadata: _Meta


def kind_of(row: WorkflowRow) -> tuple[str, str] | None:
    """Give the labels and the beginning of the name that workflows like this one have in common:
    of the name that was asked for, of the schedule, or of ``generateName``."""
    for label in (NAME_LABEL, CRON_LABEL):
        if row.labels.get(label):
            return f"{label}={row.labels[label]}", ""
    try:
        beginning = msgspec.json.decode(row.manifest, type=_Manifest).metadata.generate_name
    except msgspec.MsgspecError:
        return None
    return ("", beginning) if beginning else None


class Estimates:
    """Tells durations, and remembers those that were dear to find."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[tuple[str, str, str], tuple[float | None, float]] = {}

    def of(self, row: WorkflowRow) -> float | None:
        """Tell how many seconds a workflow takes: as the latest of its kind that succeeded, else,
        while it is live, as its templates took in other workflows of the project."""
        kind = kind_of(row)
        found = None
        if kind is not None:
            found = self._asked((row.namespace, *kind), self._history)
        if found is None:
            found = self._asked(("", row.uid, ""), self._foreseen)
        return found

    async def tell(self, row: WorkflowRow) -> float | None:
        """Do the same, beside the loop where there is much to look through."""
        if len(row.spec) < _LARGE:
            return self.of(row)
        return await asyncio.to_thread(self.of, row)

    def _asked(
        self, about: tuple[str, str, str], ask: Callable[[str, str, str], float | None]
    ) -> float | None:
        """Ask; an answer that was dear to find is good for a while."""
        known, until = self._known.get(about, (None, 0.0))
        if time.monotonic() < until:
            return known
        begun = time.thread_time()  # Not the clock's: a busy machine is no reason to remember.
        found = ask(*about)
        took = time.thread_time() - begun
        if took > _DEAR:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[about] = (found, time.monotonic() + took * 100)
        return found

    def _foreseen(self, _: str, uid: str, __: str) -> float | None:
        seconds = self._host.control.expected_seconds(uid)
        return None if seconds is None else round(seconds, 3)

    def _history(self, project: str, selector: str, beginning: str) -> float | None:
        wanted = WorkflowFilter(
            namespace=project,
            phases=("Succeeded",),
            label_selector=selector,
            name_contains=beginning,
        )
        rows = self._host.store.workflows(wanted, limit=HISTORY)
        took = sorted(
            row.finished_at - row.started_at
            for row in rows
            if row.finished_at is not None
            and row.started_at is not None
            and row.name.startswith(beginning)
        )
        return round(took[len(took) // 2], 3) if took else None
