"""Schedules on a real host with real tasks; only the clock that they go by is set by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tiphys.config import Config
from tiphys.control.host import Host, hosting
from tiphys.control.server import Quiet
from tiphys.control.service import Service
from tiphys.control.submit import Overrides
from tiphys.core.clock import ManualClock
from tiphys.core.cron import utc
from tiphys.engine.event import Shutdown
from tiphys.errors import ConflictError, InvalidInputError, SpecError
from tiphys.ports import CRON_LABEL
from tiphys.service.schedule_backfill import Backfill
from tiphys.service.schedule_child import Rules
from tiphys.service.schedule_state import BACKFILL_LABEL, SCHEDULED_TIME, Cron
from tiphys.service.schedules import Schedules
from tiphys.spec.library import Library
from tiphys.spec.parse import Bundle
from tiphys.store import WorkflowFilter, WorkflowSummary

NOON = int(datetime(2026, 11, 15, 12, tzinfo=UTC).timestamp())
HOUR = 3600
PATIENCE = 120


def text(script: str = "true", name: str = "tock", **spec: Any) -> str:
    template = {"name": "main", "container": {"image": "any", "command": ["sh", "-c", script]}}
    body = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "CronWorkflow",
        "metadata": {"name": name},
        "spec": {
            "schedules": ["0 * * * *"],
            "workflowSpec": {"entrypoint": "main", "templates": [template]},
            **spec,
        },
    }
    return msgspec.json.encode(body).decode()


@dataclass
class Kept:
    """A host whose schedules are kept by hand."""

    host: Host
    service: Service
    schedules: Schedules
    clock: ManualClock

    async def create(self, body: str) -> Cron:
        value = self.schedules.read("default", body)
        return await self.schedules.create("default", value, "somebody")

    async def tick(self, at: float | None = None) -> None:
        if at is not None:
            self.clock.at = at
        await self.schedules.keeper.tick()

    @property
    def cron(self) -> Cron:
        return self.schedules.find("default", "tock")

    def workflows(self, **wanted: Any) -> list[WorkflowSummary]:
        selector = f"{CRON_LABEL}=tock"
        chosen = WorkflowFilter(label_selector=selector, **wanted)
        return self.host.store.workflows(chosen, limit=-1, newest_first=False)

    def names(self) -> list[str]:
        return [row.name for row in self.workflows()]

    async def all_ended(self) -> None:
        async with asyncio.timeout(PATIENCE):
            for uid in list(self.host.control.runs):
                await self.host.control.ended(uid)

    async def terminate_all(self) -> None:
        for row in self.workflows(phases=("", "Pending", "Running")):
            await self.service.stop(row.uid, Shutdown.TERMINATE)
        await self.all_ended()


@asynccontextmanager
async def kept(folder: Path, at: float) -> AsyncIterator[Kept]:
    config = Config(isolation="process", linger_seconds=0.2)
    notes: list[str] = []
    library = Library(namespace=config.namespace)
    async with hosting(folder, config, library, Quiet(notes.append)) as host:
        host.recover()
        host.start()
        clock = ManualClock(at)
        host.clock = clock  # type: ignore[assignment]
        service = Service(host)
        schedules = Schedules(host, service, Rules(None, config), notes.append, utc)
        host.control.show_to(schedules.keeper)
        await schedules.keeper.reconcile()
        await host.control.settle()
        yield Kept(host, service, schedules, clock)


def run(folder: Path, at: float, test: Any) -> None:
    async def inside() -> None:
        async with kept(folder, at) as world:
            await test(world)

    asyncio.run(inside())


def test_a_slot_starts_a_workflow_once_and_counts_its_end(tmp_path: Path) -> None:
    async def test(world: Kept) -> None:
        await world.create(text())
        await world.tick()
        assert world.names() == []

        await world.tick(NOON)
        (row,) = world.workflows()
        assert row.name == f"tock-{NOON}"
        assert row.annotations[SCHEDULED_TIME] == "2026-11-15T12:00:00Z"
        assert world.cron.status.last_scheduled_time == "2026-11-15T12:00:00Z"

        await world.all_ended()
        await world.tick(NOON + 1)
        await world.tick(NOON + HOUR - 1)
        assert len(world.names()) == 1
        assert (world.cron.status.succeeded, world.cron.status.active) == (1, ())

    run(tmp_path, NOON - 60, test)


def test_an_end_that_nobody_saw_is_counted_after_a_restart(tmp_path: Path) -> None:
    async def first(world: Kept) -> None:
        await world.create(text("exit 3"))
        await world.tick(NOON)
        await world.all_ended()  # No tick sees it.
        assert len(world.cron.status.active) == 1

    async def second(world: Kept) -> None:
        await world.tick()
        assert (world.cron.status.failed, world.cron.status.active) == (1, ())
        assert world.names() == [f"tock-{NOON}"]

    run(tmp_path, NOON - 60, first)
    run(tmp_path, NOON + 1, second)


def test_a_slot_missed_while_no_server_was_up_is_run_within_its_deadline(tmp_path: Path) -> None:
    async def first(world: Kept) -> None:
        await world.create(text(startingDeadlineSeconds=600))

    async def second(world: Kept) -> None:
        await world.tick()
        assert world.names() == [f"tock-{NOON + HOUR}"]
        await world.all_ended()
        await world.tick(NOON + HOUR + 500)
        assert len(world.names()) == 1

    async def too_late(world: Kept) -> None:
        await world.tick()
        assert world.names() == [f"tock-{NOON + HOUR}"]

    run(tmp_path, NOON - 60, first)
    run(tmp_path, NOON + HOUR + 300, second)
    run(tmp_path, NOON + 2 * HOUR + 600, too_late)


def test_a_workflow_of_the_slots_name_means_that_it_was_run(tmp_path: Path) -> None:
    async def test(world: Kept) -> None:
        cron = await world.create(text(startingDeadlineSeconds=600))
        await world.tick(NOON)
        await world.all_ended()
        forgotten = msgspec.structs.replace(world.cron.status, last_scheduled_time=None)
        world.schedules.book.save(cron.with_status(forgotten))

        entry = world.schedules.book.find("default", "tock")
        entry.memory.seen, entry.memory.look_back = NOON - 60, True
        await world.tick(NOON + 5)

        assert world.names() == [f"tock-{NOON}"]
        assert world.cron.last_scheduled == NOON

    run(tmp_path, NOON - 60, test)


def test_forbid_waits_for_the_end_and_then_runs_what_is_within_its_deadline(
    tmp_path: Path,
) -> None:
    async def test(world: Kept) -> None:
        body = text("sleep 1000", concurrencyPolicy="Forbid", startingDeadlineSeconds=600)
        await world.create(body)
        await world.tick(NOON)
        await world.tick(NOON + HOUR)
        assert world.names() == [f"tock-{NOON}"]

        await world.terminate_all()
        await world.tick(NOON + HOUR + 60)
        assert world.names()[-1] == f"tock-{NOON + HOUR}"
        await world.terminate_all()

    run(tmp_path, NOON - 60, test)


def test_replace_ends_what_runs(tmp_path: Path) -> None:
    async def test(world: Kept) -> None:
        await world.create(text("sleep 1000", concurrencyPolicy="Replace"))
        await world.tick(NOON)
        (first,) = world.workflows()
        await world.tick(NOON + HOUR)

        async with asyncio.timeout(PATIENCE):
            await world.host.control.ended(first.uid)
        await world.tick(NOON + HOUR + 1)
        assert [each.name for each in world.cron.status.active] == [f"tock-{NOON + HOUR}"]
        await world.terminate_all()

    run(tmp_path, NOON - 60, test)


def test_workflows_run_side_by_side_unless_told_otherwise(tmp_path: Path) -> None:
    async def test(world: Kept) -> None:
        await world.create(text("sleep 1000"))
        await world.tick(NOON)
        await world.tick(NOON + HOUR)

        assert len(world.cron.status.active) == 2
        await world.terminate_all()

    run(tmp_path, NOON - 60, test)


def test_a_suspended_schedule_starts_nothing_until_it_is_resumed(tmp_path: Path) -> None:
    async def test(world: Kept) -> None:
        await world.create(text())
        await world.schedules.suspend("default", "tock", suspend=True)
        await world.tick(NOON)
        await world.schedules.suspend("default", "tock", suspend=False)
        await world.tick(NOON + 5)
        assert world.names() == []

        await world.tick(NOON + HOUR)
        assert world.names() == [f"tock-{NOON + HOUR}"]
        await world.all_ended()

    run(tmp_path, NOON - 60, test)


def test_a_stop_strategy_ends_a_schedule_and_a_change_wakes_it(tmp_path: Path) -> None:
    async def test(world: Kept) -> None:
        stop = {"expression": "cronworkflow.failed >= 2"}
        body = text("exit 1", stopStrategy=stop)
        await world.create(body)
        for number in range(3):
            await world.tick(NOON + number * HOUR)
            await world.all_ended()
            await world.tick()

        assert world.cron.status.phase == "Stopped"
        assert world.cron.manifest.metadata.labels == {
            "cronworkflows.argoproj.io/completed": "true"
        }
        assert world.cron.status.failed == 2

        value = world.schedules.read("default", body.replace(">= 2", ">= 3"))
        await world.schedules.update("default", "tock", value)
        await world.tick(NOON + 9 * HOUR)
        assert world.cron.last_scheduled == NOON + 9 * HOUR
        await world.all_ended()

    run(tmp_path, NOON - 60, test)


def test_when_holds_a_schedule_back(tmp_path: Path) -> None:
    async def test(world: Kept) -> None:
        last = "cronworkflow.lastScheduledTime"
        when = f"{{{{= {last} == nil || (now() - {last}).Seconds() > 5400 }}}}"
        await world.create(text(when=when))
        for number in range(3):
            await world.tick(NOON + number * HOUR)
            await world.all_ended()

        assert world.names() == [f"tock-{NOON}", f"tock-{NOON + 2 * HOUR}"]

    run(tmp_path, NOON - 60, test)


def test_the_history_keeps_the_latest(tmp_path: Path) -> None:
    async def test(world: Kept) -> None:
        await world.create(text(successfulJobsHistoryLimit=2))
        for number in range(5):
            await world.tick(NOON + number * HOUR)
            await world.all_ended()
            await world.tick()

        assert world.names() == [f"tock-{NOON + number * HOUR}" for number in (3, 4)]
        assert world.cron.status.succeeded == 5

    run(tmp_path, NOON - 60, test)


def test_a_template_that_is_missing_is_told_and_found_again(tmp_path: Path) -> None:
    template = b"""
apiVersion: argoproj.io/v1alpha1
kind: WorkflowTemplate
metadata: {name: used}
spec:
  entrypoint: main
  templates: [{name: main, container: {image: any, command: ["true"]}}]
"""

    async def test(world: Kept) -> None:
        reference = {"workflowTemplateRef": {"name": "used"}}
        with pytest.raises(SpecError, match="used"):
            world.schedules.read("default", text(workflowSpec=reference))
        await world.service.submit([("t.yaml", template)], Overrides())
        await world.create(text(workflowSpec=reference))
        known = world.host.library
        world.host.keep(Bundle(), Library())  # As if it had been removed.
        await world.tick(NOON)
        (condition,) = world.cron.status.conditions
        assert (condition.type, world.names()) == ("SpecError", [])

        world.host.keep(Bundle(), known)
        await world.tick(NOON + HOUR)
        await world.all_ended()
        assert (world.cron.status.conditions, len(world.names())) == ((), 1)

    run(tmp_path, NOON - 60, test)


def test_a_backfill_runs_each_slot_once_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    wanted = Backfill(
        name="past",
        namespace="default",
        schedule="tock",
        start=NOON - 5 * HOUR,
        end=NOON - 1,
        max_parallel=2,
    )
    slots = [NOON - number * HOUR for number in (5, 4, 3, 2, 1)]

    async def first(world: Kept) -> None:
        await world.create(text("true", successfulJobsHistoryLimit=0))
        made = await world.schedules.backfill(wanted)
        assert made.total == 5
        await world.tick()
        assert world.names() == [f"tock-past-{slot}" for slot in slots[:2]]

    async def second(world: Kept) -> None:
        for _ in range(4):
            await world.all_ended()
            await world.tick()
        rows = world.workflows()
        assert [row.name for row in rows] == [f"tock-past-{slot}" for slot in slots]
        assert {row.labels[BACKFILL_LABEL] for row in rows} == {"past"}
        (ended,) = world.schedules.backfills.of(world.cron)
        assert ended.phase == "Finished"
        assert (world.cron.status.succeeded, world.cron.status.active) == (0, ())

    run(tmp_path, NOON + 1, first)
    run(tmp_path, NOON + 2, second)


def test_what_cannot_be_filled_back_is_refused(tmp_path: Path) -> None:
    async def test(world: Kept) -> None:
        await world.create(text())
        wanted = Backfill(name="x", namespace="default", schedule="tock", start=0.0, end=NOON)
        with pytest.raises(InvalidInputError, match="at most 10000"):
            await world.schedules.backfill(wanted)
        change = msgspec.structs.replace
        with pytest.raises(InvalidInputError, match="before it starts"):
            await world.schedules.backfill(change(wanted, start=NOON, end=0.0))
        good = change(wanted, start=NOON - HOUR)
        await world.schedules.backfill(good)
        with pytest.raises(ConflictError, match="already"):
            await world.schedules.backfill(good)
        await world.schedules.cancel_backfill("default", "tock", "x")
        await world.tick()
        assert world.names() == []

    run(tmp_path, NOON + 1, test)


def test_a_schedule_that_is_removed_leaves_its_workflows(tmp_path: Path) -> None:
    async def test(world: Kept) -> None:
        await world.create(text())
        row = await world.schedules.run_now("default", "tock")
        await world.all_ended()
        await world.tick()
        assert world.cron.status.succeeded == 1

        await world.schedules.remove("default", "tock")
        await world.tick(NOON + HOUR)
        assert world.names() == [row.name]

    run(tmp_path, NOON - 60, test)
