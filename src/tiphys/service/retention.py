"""What a server forgets in the course of time.

Three rules, each in small steps between which the loop goes on: a workflow's own ``ttlStrategy``,
the ages of the settings (``retention``), and their number. A workflow that has ended may first lose
its logs and working folders and keep its record: that is the archive (``api/argo/archive.py``).

A ``ttlStrategy`` is noted in the store when its workflow begins, so that it holds after a restart.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from tiphys.config import Retention as Settings
from tiphys.control.host import Host
from tiphys.core.duration import parse_age
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import NotFoundError, TiphysError
from tiphys.service.cabinet import Cabinet
from tiphys.spec.model import TTLStrategy
from tiphys.store import ObjectRow, WorkflowFilter, WorkflowRow, WorkflowSummary
from tiphys.store.row import FINISHED

KIND = "Expiry"
CURSOR = "Retention"
EVERY = 30.0
"""Seconds between two looks at what is old."""
STEP = 100
"""Workflows forgotten at a time."""
_FAILED = ("Failed", "Error")


class Retention:
    """Forgets; an onlooker of the loop, and a task of its own."""

    def __init__(
        self, host: Host, cabinet: Cabinet, settings: Settings, note: Callable[[str], None]
    ) -> None:
        self._host, self._cabinet, self._settings, self._note = host, cabinet, settings, note
        self._expiring: dict[str, TTLStrategy] = {
            row.name: msgspec.json.decode(row.body, type=TTLStrategy)
            for row in host.store.objects(KIND)
        }
        self._writing: set[asyncio.Task[None]] = set()
        self._stripped = _stripped_until(host.store.objects(CURSOR))
        """Logs of workflows that ended before are gone already."""
        self._bell = asyncio.Event()
        for run in host.control.runs.values():
            self.workflow(run)
        host.control.show_to(self)

    # --- as an onlooker ---------------------------------------------------------------------

    def workflow(self, run: Run) -> None:
        """Note how long a workflow is to be kept, before it ends."""
        ttl = run.spec.ttl_strategy
        if ttl is None:
            return
        if run.uid not in self._expiring:
            self._expiring[run.uid] = ttl
            self._save(_row(KIND, run.uid, ttl, run.created_at))
        if run.ended:
            self._bell.set()

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """See nothing."""

    def note(self, text: str) -> None:
        """Hear nothing."""

    def _save(self, row: ObjectRow) -> None:
        async def save() -> None:
            with suppress(TiphysError):  # It is noted again when the run is taken up again.
                await self._cabinet.save(row)

        task = asyncio.create_task(save())
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    # --- as a task --------------------------------------------------------------------------

    async def serve(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            self._bell.clear()
            try:
                due = await self.look()
            except TiphysError as error:
                self._note(f"nothing old is forgotten for now: {error}")
                due = None
            wait = EVERY if due is None else min(EVERY, max(0.1, due))
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._bell.wait()

    async def look(self) -> float | None:
        """Forget what is due; give the seconds until the next workflow's own time, if any."""
        now = self._host.clock.now()
        wait = await self._expire(now)
        await self._strip(now)
        if self._settings.succeeded:
            await self._forget_before(now - parse_age(self._settings.succeeded), ("Succeeded",))
        if self._settings.failed:
            await self._forget_before(now - parse_age(self._settings.failed), _FAILED)
        if self._settings.count:
            await self._forget_beyond(self._settings.count)
        return wait

    async def _expire(self, now: float) -> float | None:
        """Forget workflows whose own time has come."""
        soonest: float | None = None
        for uid, ttl in list(self._expiring.items()):
            if uid in self._host.control.runs:
                continue
            try:
                row = await asyncio.to_thread(self._host.store.workflow, uid)
            except NotFoundError:
                await self._drop(uid)
                continue
            due = due_at(row, ttl)
            if due is None:
                continue
            if due > now:
                soonest = due - now if soonest is None else min(soonest, due - now)
            elif await self._forget(row):
                await self._drop(uid)
        return soonest

    async def _drop(self, uid: str) -> None:
        await self._cabinet.remove(KIND, "", uid)
        self._expiring.pop(uid, None)

    async def _strip(self, now: float) -> None:
        """Remove logs and working folders of what ended long ago; the record stays."""
        if not self._settings.logs:
            return
        wanted = WorkflowFilter(finished_before=now - parse_age(self._settings.logs))
        begun = self._stripped
        while rows := await self._oldest(wanted, self._stripped):
            for row in rows:
                folder = self._host.data / "attempts" / row.uid
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            self._stripped = rows[-1].finished_at or self._stripped
        if self._stripped > begun:
            await self._cabinet.save(_row(CURSOR, "logs", self._stripped, now))

    async def _oldest(self, wanted: WorkflowFilter, after: float = 0.0) -> list[WorkflowSummary]:
        wanted = msgspec.structs.replace(wanted, finished_after=after or None)
        store = self._host.store
        return await asyncio.to_thread(store.workflows, wanted, limit=STEP, newest_first=False)

    async def _forget_before(self, at: float, phases: tuple[str, ...]) -> None:
        """Forget what ended before an instant, the oldest first."""
        after = 0.0
        while True:
            rows = await self._oldest(WorkflowFilter(phases=phases, finished_before=at), after)
            for row in rows:
                if not await self._forget(row):
                    after = row.finished_at or after  # What cannot go now is not in the way.
            if len(rows) < STEP:
                return

    async def _forget_beyond(self, count: int) -> None:
        """Forget the oldest ends until ``count`` are left."""
        store = self._host.store
        while True:
            ended = await asyncio.to_thread(store.count_workflows, WorkflowFilter(phases=FINISHED))
            if ended <= count:
                return
            now = self._host.clock.now()
            rows = (await self._oldest(WorkflowFilter(finished_before=now)))[: ended - count]
            gone = [await self._forget(row) for row in rows]
            if not any(gone):
                return

    async def _forget(self, row: WorkflowSummary) -> bool:
        """Forget one workflow as a person would delete it; tell whether it is gone."""
        if row.uid in self._host.control.runs:
            return False  # Its last processes are on their way out.
        try:
            whole = await asyncio.to_thread(self._host.store.workflow, row.uid)
            if whole.phase in FINISHED:  # Somebody may have retried it.
                await self._host.forget(whole)
        except NotFoundError:
            pass
        except TiphysError as error:
            self._note(f"workflow {row.name} is kept longer than it should be: {error}")
            return False
        return True


def due_at(row: WorkflowRow, ttl: TTLStrategy) -> float | None:
    """Tell when a workflow's own time has come; None while it runs, or if it never does.

    As in Argo, the seconds after success or failure win over those after completion, and an error
    is no failure.
    """
    if row.phase not in FINISHED or row.finished_at is None:
        return None
    special = {"Succeeded": ttl.seconds_after_success, "Failed": ttl.seconds_after_failure}
    seconds = special.get(row.phase)
    seconds = ttl.seconds_after_completion if seconds is None else seconds
    return None if seconds is None else row.finished_at + seconds


def _row(kind: str, name: str, value: object, at: float) -> ObjectRow:
    body = msgspec.json.encode(value)
    return ObjectRow(kind=kind, namespace="", name=name, body=body, at=at)


def _stripped_until(rows: Sequence[ObjectRow]) -> float:
    return msgspec.json.decode(rows[0].body, type=float) if rows else 0.0
