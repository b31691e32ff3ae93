"""Backfills: the slots of a past (or any) range, run after the fact, a few at a time.

A backfill is a row of the store that says how far it has come. It goes on after a restart, and each
of its slots is run once: the workflow and the step forward are one transaction, and its name is
made of the slot. Policies, conditions and limits of the schedule do not count for it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice

import msgspec

from tiphys.control.host import Host
from tiphys.errors import (
    ConflictError,
    InvalidInputError,
    NameTakenError,
    NotFoundError,
    SpecError,
    StoreFullError,
)
from tiphys.ports import CRON_LABEL
from tiphys.service.schedule_book import Book, Entry
from tiphys.service.schedule_child import Rules, backfill_child_name, child, ready
from tiphys.service.schedule_state import BACKFILL_LABEL, Cron
from tiphys.service.submission import visible
from tiphys.store import ObjectRow, WorkflowFilter
from tiphys.store.row import UNFINISHED
from tiphys.wire.argo import timestamp

KIND = "CronBackfill"
RUNNING, FINISHED, CANCELLED, FAILED = "Running", "Finished", "Cancelled", "Failed"
MOST_SLOTS = 10_000
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,28}[a-z0-9])?")
change = msgspec.structs.replace


class Backfill(msgspec.Struct, frozen=True, kw_only=True):
    """A range of slots to run."""

    name: str
    namespace: str
    schedule: str
    start: float
    end: float
    max_parallel: int = 1
    parameter: str = ""
    """The workflow's parameter that gets the slot's time; "" for none."""
    phase: str = RUNNING
    message: str = ""
    total: int = 0
    done_until: float = 0.0
    """Slots up to here have been started."""
    created_at: float = 0.0
    created_by: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Namespace, schedule and name."""
        return self.namespace, self.schedule, self.name

    def row(self, at: float) -> ObjectRow:
        """Write it for the store."""
        name = f"{self.schedule}/{self.name}"
        body = msgspec.json.encode(self)
        return ObjectRow(kind=KIND, namespace=self.namespace, name=name, body=body, at=at)


class Backfills:
    """All backfills of a host."""

    def __init__(
        self,
        host: Host,
        book: Book,
        rules: Rules,
        note: Callable[[str], None],
    ) -> None:
        self._host, self._book, self.rules = host, book, rules
        self._known: dict[tuple[str, str, str], Backfill] = {}
        self._stirred: set[tuple[str, str, str]] = set()
        """Those that may have room for one more workflow."""
        for row in host.store.objects(KIND):
            try:
                found = msgspec.json.decode(row.body, type=Backfill)
            except msgspec.MsgspecError as error:
                note(f"the backfill {row.name} of {row.namespace} cannot be read: {error}")
                continue
            self._known[found.key] = found
            self._stirred.add(found.key)

    def of(self, cron: Cron) -> list[Backfill]:
        """List those of a schedule, the newest first."""
        found = [each for each in self._known.values() if each.key[:2] == cron.key]
        return sorted(found, key=lambda each: each.created_at, reverse=True)

    def find(self, cron: Cron, name: str) -> Backfill:
        """Find one of a schedule."""
        found = self._known.get((*cron.key, name))
        if found is None:
            raise NotFoundError(f"there is no backfill {name[:200]!r} of {cron.name}")
        return found

    def count(self, entry: Entry, wanted: Backfill) -> int:
        """Count the slots of a range; refuse one that cannot be filled back."""
        if wanted.end < wanted.start:
            raise InvalidInputError("a backfill must not end before it starts")
        if wanted.start < 0 or wanted.end > wanted.created_at:
            raise InvalidInputError("a backfill lies between 1970 and now")
        slots = sum(1 for _ in islice(self._slots(entry, wanted), MOST_SLOTS + 1))
        if slots > MOST_SLOTS:
            raise InvalidInputError(f"a backfill has at most {MOST_SLOTS} slots: take a part of it")
        return slots

    def add(self, wanted: Backfill) -> Backfill:
        """Take one in whose slots are counted; it begins with the next tick."""
        if not _NAME.fullmatch(wanted.name):
            raise InvalidInputError("a backfill's name is 1 to 30 of a-z, 0-9 and '-'")
        if wanted.key in self._known:
            raise ConflictError(f"there is a backfill {wanted.name!r} of {wanted.schedule} already")
        made = change(wanted, phase=RUNNING if wanted.total else FINISHED)
        self._keep(made)
        self._stirred.add(made.key)
        return made

    def cancel(self, backfill: Backfill) -> Backfill:
        """Start nothing more of it; what runs goes on."""
        if backfill.phase != RUNNING:
            raise ConflictError(f"the backfill {backfill.name} has ended ({backfill.phase})")
        return self._keep(change(backfill, phase=CANCELLED))

    def forget(self, cron: Cron) -> None:
        """Forget those of a schedule that goes."""
        for each in self.of(cron):
            del self._known[each.key]
            self._host.ledger.forget(KIND, each.namespace, f"{each.schedule}/{each.name}")

    def stir(self, key: tuple[str, str], name: str) -> None:
        """Note that a workflow of a backfill has begun or ended."""
        self._stirred.add((*key, name))

    async def advance(self, now: float) -> None:
        """Start as many workflows as may run at once."""
        stirred, self._stirred = self._stirred, set()
        for key in stirred:
            backfill = self._known.get(key)
            entry = self._book.get(*key[:2])
            if backfill is not None and entry is not None and backfill.phase == RUNNING:
                try:
                    await self._advance(entry, backfill)
                except BaseException:
                    self._stirred.add(key)
                    raise

    def counts(self, backfill: Backfill) -> dict[str, int]:
        """Count its workflows by phase."""
        return self._host.store.count_by_phase(_workflows(backfill))

    async def _advance(self, entry: Entry, backfill: Backfill) -> None:
        running = self._running(backfill)
        room = max(0, backfill.max_parallel - running)
        slots = list(islice(self._slots(entry, backfill), room))
        if not slots and not running:
            self._keep(change(backfill, phase=FINISHED))
        try:
            for slot in slots:
                await self._start(entry.cron, self.find(entry.cron, backfill.name), slot)
            await self._host.control.settle()
            if slots and not self._running(backfill):
                self._stirred.add(backfill.key)  # Nobody's end will: go on with the next tick.
        except StoreFullError:
            self._keep(backfill)  # Nothing was started; slots that were are known by their names.
            raise

    def _running(self, backfill: Backfill) -> int:
        return self._host.store.count_workflows(_workflows(backfill, UNFINISHED))

    async def _start(self, cron: Cron, backfill: Backfill, slot: int) -> None:
        if backfill.phase != RUNNING:
            return
        name = backfill_child_name(cron.name, backfill.name, slot)
        workflow = child(cron, slot, name=name, backfill=backfill.name)
        library = visible(self._host.library, cron.namespace)
        values = {backfill.parameter: timestamp(slot)} if backfill.parameter else {}
        try:
            submission = await asyncio.to_thread(ready, workflow, library, self.rules, values)
            with suppress(NameTakenError):  # Then it was run already.
                self._host.submit(submission, library)
        except (SpecError, InvalidInputError) as error:
            self._keep(change(backfill, phase=FAILED, message=str(error)[:2000]))
            return
        self._keep(change(backfill, done_until=float(slot)))

    def _slots(self, entry: Entry, backfill: Backfill) -> Iterator[int]:
        begin = max(backfill.start - 1, backfill.done_until)
        return entry.table.slots(begin, backfill.end, backfill.start)

    def _keep(self, backfill: Backfill) -> Backfill:
        self._known[backfill.key] = backfill
        self._host.ledger.keep(backfill.row(self._host.clock.now()))
        return backfill


def _workflows(backfill: Backfill, phases: tuple[str, ...] = ()) -> WorkflowFilter:
    selector = f"{BACKFILL_LABEL}={backfill.name},{CRON_LABEL}={backfill.schedule}"
    return WorkflowFilter(namespace=backfill.namespace, phases=phases, label_selector=selector)
