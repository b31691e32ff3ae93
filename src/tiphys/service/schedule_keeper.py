"""Runs what is due: the one task that starts workflows of schedules and counts their ends.

``tick`` does all there is to do at the clock's instant and tells when to look again; ``run`` ticks
for good. A workflow and the note that its slot was run are one transaction, so that a crash at any
instant leaves both or neither, and a name that is taken already means that the slot was run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from tiphys.control.host import Host
from tiphys.control.service import Service
from tiphys.control.submit import Submission
from tiphys.engine import event as ev
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import (
    ConflictError,
    ExpressionError,
    NameTakenError,
    NotFoundError,
    SpecError,
    StoreFullError,
    TiphysError,
)
from tiphys.ports import CRON_LABEL
from tiphys.service.schedule_backfill import Backfills
from tiphys.service.schedule_book import Book, Entry
from tiphys.service.schedule_child import child, child_name, ready
from tiphys.service.schedule_plan import is_over, may_run, take_due
from tiphys.service.schedule_state import (
    BACKFILL_LABEL,
    COMPLETED_LABEL,
    LAST_USED,
    SPEC_ERROR,
    SUBMISSION_ERROR,
    Cron,
    Reference,
    zoned_schedules,
)
from tiphys.service.submission import visible
from tiphys.spec.library import Library
from tiphys.store import WorkflowFilter
from tiphys.store.row import FINISHED, UNFINISHED
from tiphys.wire.argo import timestamp

LONGEST_SLEEP = 10.0
"""Seconds; a machine's clock may be set meanwhile."""
_PRUNED_AT_ONCE = 50
_MOST_TOLD = 1000
_KEPT_SUCCEEDED, _KEPT_FAILED = 3, 1
log = logging.getLogger("tiphys.schedules")
change = msgspec.structs.replace


class News(NamedTuple):
    """Something that happened to a workflow of a schedule."""

    key: tuple[str, str]
    reference: Reference
    ended: bool
    phase: str
    backfill: str


class Keeper:
    """Keeps schedules; sees what becomes of workflows as a watcher of the loop."""

    def __init__(
        self,
        host: Host,
        service: Service,
        book: Book,
        backfills: Backfills,
        note: Callable[[str], None],
    ) -> None:
        self._host, self._service, self._book, self._backfills = host, service, book, backfills
        self._rules, self._note = backfills.rules, note
        self._news: list[News] = []
        self._crowded: set[tuple[str, str]] = set()
        """Schedules whose history may be over its limits."""
        self._told: set[str] = set()
        self._bell = asyncio.Event()
        self.lock = asyncio.Lock()
        """Held while schedules change; whoever changes them takes it."""

    # --- as a watcher of the loop ------------------------------------------------------------

    def workflow(self, run: Run) -> None:
        """See a workflow begin or end."""
        name = run.labels.get(CRON_LABEL)
        if name is None:
            return
        reference = Reference(name=run.name, namespace=run.namespace, uid=run.uid)
        backfill = run.labels.get(BACKFILL_LABEL, "")
        key = (run.namespace, name)
        self._news.append(News(key, reference, run.ended, str(run.phase), backfill))
        self._bell.set()

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """See nothing."""

    def note(self, text: str) -> None:
        """See nothing."""

    # --- the task ---------------------------------------------------------------------------

    def wake(self) -> None:
        """Have it look again at once."""
        self._bell.set()

    async def run(self) -> None:
        """Tick until cancelled; what breaks one tick does not end it."""
        known = False
        while True:
            self._bell.clear()
            try:
                if not known:
                    await self.reconcile()
                    known = True
                wake_at = await self.tick()
            except Exception as error:
                if not isinstance(error, TiphysError):
                    log.exception("a look at the schedules broke down")
                self._tell(f"schedules wait: {error}")
                wake_at = self._host.clock.now() + 1.0
            pause = LONGEST_SLEEP
            if wake_at is not None:
                pause = min(pause, max(0.0, wake_at - self._host.clock.now()))
            try:
                await asyncio.wait_for(self._bell.wait(), pause)
            except TimeoutError:
                continue

    async def reconcile(self) -> None:
        """After a start: learn what became of workflows while nobody looked."""
        async with self.lock:
            for entry in self._book:
                for each in entry.cron.status.active:
                    self._news_of_stored(entry.cron, each)
            wanted = WorkflowFilter(phases=UNFINISHED, label_selector=CRON_LABEL)
            for row in self._host.store.workflows(wanted, limit=-1):
                reference = Reference(name=row.name, namespace=row.namespace, uid=row.uid)
                key = (row.namespace, row.labels[CRON_LABEL])
                backfill = row.labels.get(BACKFILL_LABEL, "")
                self._news.append(News(key, reference, False, row.phase, backfill))
            self._crowded.update(entry.cron.key for entry in self._book)

    def _news_of_stored(self, cron: Cron, reference: Reference) -> None:
        try:
            row = self._host.store.workflow(reference.uid)
        except NotFoundError:
            self._book.save(cron.with_status(cron.status.without(reference.uid)))
            return
        if row.phase in FINISHED:
            self._news.append(News(cron.key, reference, True, row.phase, ""))

    async def tick(self) -> float | None:
        """Do all that is due; give the instant of the next slot."""
        async with self.lock:
            now = self._host.clock.now()
            self._take_news()
            for entry in self._book:
                if entry.is_due(now):
                    await self._attend(entry, now)
            await self._backfills.advance(now)
            await self._host.control.settle()
            for key in list(self._crowded):
                await self._prune(key)
            waking = [entry.wake_at for entry in self._book if entry.wake_at is not None]
            return min(waking, default=None)

    # --- slots ------------------------------------------------------------------------------

    async def _attend(self, entry: Entry, now: float) -> None:
        asleep = entry.cron.spec.suspend or entry.cron.stopped
        for slot in take_due(entry.cron, entry.table, entry.memory, now):
            if asleep:
                continue
            try:
                await self._run(entry, slot, now)
            except StoreFullError:
                entry.memory.seen = min(entry.memory.seen, slot - 1)  # To be tried again.
                raise
            except (TiphysError, msgspec.MsgspecError) as error:
                self._fail(entry.cron, SUBMISSION_ERROR, f"{error}")
        entry.plan()

    async def _run(self, entry: Entry, slot: int, now: float) -> None:
        entry.cron = entry.cron.annotated(LAST_USED, zoned_schedules(entry.cron.spec))
        cron = entry.cron
        if not self._lets(cron, now):
            return
        library = visible(self._host.library, cron.namespace)
        workflow = child(cron, slot, name=child_name(cron.name, slot))
        try:
            submission = await asyncio.to_thread(ready, workflow, library, self._rules)
        except SpecError as error:
            self._fail(cron, SPEC_ERROR, str(error))
            return
        if cron.spec.concurrency_policy == "Replace":
            await self._replace(cron)
        before = entry.cron
        self._start(entry, submission, library, slot)
        try:
            await self._host.control.settle()
        except StoreFullError:
            self._book.save(before)
            raise

    def _lets(self, cron: Cron, now: float) -> bool:
        """Tell whether conditions and policy let a workflow start."""
        try:
            if is_over(cron):
                self._book.save(_completed(cron))
                return False
        except ExpressionError as error:
            self._fail(cron, SPEC_ERROR, f"the stop strategy cannot be evaluated: {error}")
            return False
        try:
            if not may_run(cron, now):
                return False
        except ExpressionError as error:
            self._fail(cron, SUBMISSION_ERROR, f"run policy error: {error}")
            return False
        return not (cron.spec.concurrency_policy == "Forbid" and cron.status.active)

    async def _replace(self, cron: Cron) -> None:
        for each in cron.status.active:
            try:
                await self._service.stop(each.uid, ev.Shutdown.TERMINATE)
            except (NotFoundError, ConflictError):
                continue  # It has ended meanwhile.

    def _start(self, entry: Entry, submission: Submission, library: Library, slot: int) -> None:
        """Submit and note it, with nothing between the two."""
        status = change(entry.cron.status, last_scheduled_time=timestamp(slot), phase="Active")
        try:
            run = self._host.submit(submission, library)
        except NameTakenError:
            self._book.save(entry.cron.with_status(status))  # It was run already.
            return
        reference = Reference(name=run.name, namespace=run.namespace, uid=run.uid)
        status = change(status, active=(*status.active, reference))
        status = status.sound(SUBMISSION_ERROR).sound(SPEC_ERROR)
        self._book.save(entry.cron.with_status(status))

    def _fail(self, cron: Cron, kind: str, message: str) -> None:
        self._tell(f"schedule {cron.name} of {cron.namespace}: {message}")
        self._book.save(cron.with_status(cron.status.told(kind, message)))

    def _tell(self, text: str) -> None:
        if text not in self._told:
            if len(self._told) > _MOST_TOLD:
                self._told.clear()
            self._told.add(text)
            self._note(text)

    # --- what becomes of workflows -----------------------------------------------------------

    def _take_news(self) -> None:
        news, self._news = self._news, []
        for each in news:
            entry = self._book.get(*each.key)
            if each.backfill:
                self._backfills.stir(each.key, each.backfill)
            elif entry is not None:
                self._learn(entry, each)

    def _learn(self, entry: Entry, news: News) -> None:
        status, uid = entry.cron.status, news.reference.uid
        if not news.ended:
            if not status.has_active(uid):
                status = change(status, active=(*status.active, news.reference))
                self._book.save(entry.cron.with_status(status))
            return
        if not status.has_active(uid):
            return
        cron = entry.cron.with_status(status.without(uid).counted(news.phase))
        try:
            cron = _completed(cron) if is_over(cron) else cron
        except ExpressionError as error:
            message = f"the stop strategy cannot be evaluated: {error}"
            cron = cron.with_status(cron.status.told(SPEC_ERROR, message))
        self._book.save(cron)
        entry.memory.look_back = True
        self._crowded.add(cron.key)

    async def _prune(self, key: tuple[str, str]) -> None:
        """Delete the oldest workflows beyond the limits of the history."""
        self._crowded.discard(key)
        entry = self._book.get(*key)
        if entry is None:
            return
        spec = entry.cron.spec
        for phases, limit, usual in (
            (("Succeeded",), spec.successful_jobs_history_limit, _KEPT_SUCCEEDED),
            (("Failed", "Error"), spec.failed_jobs_history_limit, _KEPT_FAILED),
        ):
            kept = usual if limit is None or limit < 0 else limit
            await self._prune_phases(entry.cron, phases, kept)

    async def _prune_phases(self, cron: Cron, phases: tuple[str, ...], kept: int) -> None:
        selector = f"{CRON_LABEL}={cron.name},!{BACKFILL_LABEL}"
        wanted = WorkflowFilter(namespace=cron.namespace, phases=phases, label_selector=selector)
        rows = self._host.store.workflows(wanted, limit=-1)
        rows.sort(key=lambda row: row.finished_at or 0.0, reverse=True)
        for number, row in enumerate(rows[kept:]):
            if number >= _PRUNED_AT_ONCE or row.uid in self._host.control.runs:
                self._crowded.add(cron.key)  # At another tick: this one must not wait for it.
                continue
            try:
                await self._service.delete(row.uid)
            except (ConflictError, NotFoundError) as error:
                self._tell(f"{row.name} stays beyond the history limit: {error}")


def _completed(cron: Cron) -> Cron:
    labels = {**cron.manifest.metadata.labels, COMPLETED_LABEL: "true"}
    stopped = cron.with_status(change(cron.status, phase="Stopped"))
    return stopped.with_meta(labels=labels)
