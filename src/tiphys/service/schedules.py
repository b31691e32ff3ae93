"""Schedules as people handle them: made, changed, suspended, run at once, filled back.

The parts lie beside: ``schedule_state`` (what is kept), ``schedule_plan`` (which slots are due),
``schedule_keeper`` (the task that runs them), ``schedule_backfill``. Whoever changes a schedule
holds the keeper's lock, and it is on record when the call returns.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import islice

import msgspec

from tiphys.control.host import Host
from tiphys.control.service import Service
from tiphys.control.submit import named, read_files
from tiphys.core.cron import Zone
from tiphys.errors import ConflictError, ExpressionError, Problem, SpecError
from tiphys.service.policy import Policy
from tiphys.service.schedule_backfill import Backfill, Backfills
from tiphys.service.schedule_book import Book, machine_zone
from tiphys.service.schedule_child import Rules, child, ready
from tiphys.service.schedule_keeper import Keeper
from tiphys.service.schedule_plan import is_over, may_run
from tiphys.service.schedule_state import (
    COMPLETED_LABEL,
    SINCE,
    Cron,
    Reference,
    Status,
    zoned_schedules,
)
from tiphys.service.submission import CREATED_BY, visible
from tiphys.spec import model
from tiphys.spec.parse import Bundle, Parsed
from tiphys.spec.validate import validate_cron_workflow
from tiphys.store import WorkflowRow
from tiphys.wire.argo import timestamp

MOST_SHOWN = 1000
change = msgspec.structs.replace


class Schedules:
    """The schedules of a host."""

    def __init__(
        self,
        host: Host,
        service: Service,
        rules: Rules,
        note: Callable[[str], None],
        local: Zone = machine_zone,
    ) -> None:
        self._host, self._rules, self._local = host, rules, local
        self.book = Book(host, note, local)
        self.backfills = Backfills(host, self.book, rules, note)
        self.keeper = Keeper(host, service, self.book, self.backfills, note)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Have schedules kept for a while."""
        self._host.control.show_to(self.keeper)
        task = asyncio.create_task(self.keeper.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    # --- looking ----------------------------------------------------------------------------

    def rows(self, projects: set[str] | None) -> list[Cron]:
        """List the schedules of some projects, or of all, by name."""
        found = [each.cron for each in self.book]
        return sorted(
            (each for each in found if projects is None or each.namespace in projects),
            key=lambda each: each.key,
        )

    def find(self, project: str, name: str) -> Cron:
        """Find one."""
        return self.book.find(project, name).cron

    def next_runs(self, cron: Cron, *, after: float, count: int) -> list[int]:
        """Give the next slots, suspended or not."""
        table = self.book.table(cron)
        slots = table.slots(after, float("inf"), cron.since)
        return list(islice(slots, min(count, MOST_SHOWN)))

    def next_run(self, cron: Cron, now: float) -> int | None:
        """Give the next slot that will be run."""
        if cron.spec.suspend or cron.stopped:
            return None
        return next(iter(self.next_runs(cron, after=now, count=1)), None)

    # --- changing ---------------------------------------------------------------------------

    def read(self, project: str, text: str) -> model.CronWorkflow:
        """Read a text with one CronWorkflow and nothing else; raise SpecError."""
        bundle = read_files([("schedule.yaml", text.encode())])
        if len(bundle.cron_workflows) != 1 or _documents(bundle) != 1:
            raise _wrong("expected one CronWorkflow and nothing else", "schedule_yaml")
        (parsed,) = bundle.cron_workflows
        if parsed.value.metadata.namespace not in {"", project}:
            line, column = parsed.document.place(("metadata", "namespace"))
            message = f"the namespace is not that of the project, {project}"
            raise _wrong(message, "metadata.namespace", line, column)
        self.check(project, parsed)
        return parsed.value

    def check(self, project: str, parsed: Parsed[model.CronWorkflow]) -> None:
        """Raise SpecError with all that is wrong."""
        library = visible(self._host.library, project)
        meta = change(parsed.value.metadata, namespace=project)
        value = change(parsed.value, metadata=meta)
        problems = validate_cron_workflow(value, library, parsed.document)
        errors = [each for each in problems if not each.warning]
        if errors:
            raise SpecError(errors)
        cron = Cron(manifest=value)
        ready(child(cron, 0.0), library, self._rules)
        for path, problem in _condition_problems(cron):
            line, column = parsed.document.place(tuple(path.split(".")))
            raise _wrong(problem, path, line, column)

    async def create(self, project: str, value: model.CronWorkflow, by: str) -> Cron:
        """Keep a new schedule; raise ConflictError where there is one of that name."""
        async with self.keeper.lock:
            meta = named(model.Workflow(metadata=value.metadata), project).metadata
            if self.book.get(project, meta.name) is not None:
                raise ScheduleTakenError(f"there is already a schedule named {meta.name!r}")
            now = self._host.clock.now()
            meta = change(
                meta,
                namespace=project,
                generate_name="",
                uid=str(uuid.uuid4()),
                creation_timestamp=timestamp(now),
                annotations={**meta.annotations, CREATED_BY: by},
            )
            cron = Cron(manifest=change(value, metadata=meta, status=None))
            return await self._keep(cron, before=None)

    async def update(self, project: str, name: str, value: model.CronWorkflow) -> Cron:
        """Put a schedule in the place of its older self; what has become of it stays."""
        async with self.keeper.lock:
            old = self.find(project, name)
            given, kept = value.metadata, old.manifest.metadata
            if given.name not in {"", name}:
                raise _wrong(f"the schedule must be named {name}", "metadata.name")
            if given.resource_version not in {"", kept.resource_version}:
                raise StaleError(f"CronWorkflow {name} was changed since it was read")
            by = kept.annotations.get(CREATED_BY, "")
            meta = change(
                given,
                name=name,
                namespace=project,
                generate_name="",
                uid=kept.uid,
                creation_timestamp=kept.creation_timestamp,
                annotations={**given.annotations, CREATED_BY: by},
            )
            manifest = change(value, metadata=meta, status=None)
            return await self._keep(Cron(manifest=manifest, status=old.status), before=old)

    async def amend(
        self,
        project: str,
        name: str,
        edit: Callable[[model.CronWorkflowSpec], model.CronWorkflowSpec],
    ) -> Cron:
        """Change parts of a schedule's spec."""
        async with self.keeper.lock:
            old = self.find(project, name)
            return await self._keep(old.with_spec(edit(old.spec)), before=old)

    async def suspend(self, project: str, name: str, *, suspend: bool) -> Cron:
        """Let no more workflows start, or let them again."""
        return await self.amend(project, name, lambda spec: change(spec, suspend=suspend))

    async def remove(self, project: str, name: str) -> Cron:
        """Forget a schedule and its backfills; its workflows stay."""
        async with self.keeper.lock:
            cron = self.find(project, name)
            self.backfills.forget(cron)
            self.book.remove(cron)
            await self._host.control.settle()
            return cron

    async def _keep(self, cron: Cron, *, before: Cron | None) -> Cron:
        now = self._host.clock.now()
        if before is None or zoned_schedules(before.spec) != zoned_schedules(cron.spec):
            cron = cron.annotated(SINCE, timestamp(now))
        else:
            since = before.manifest.metadata.annotations.get(SINCE, "")
            cron = cron.annotated(SINCE, since)
        generation = (before.manifest.metadata.generation or 0) + 1 if before else 1
        cron = cron.with_meta(generation=generation, resource_version=str(int(now * 1e6)))
        with suppress(ExpressionError):
            if cron.stopped and not is_over(cron):
                cron = _awake(cron)
        self.book.change(cron)
        await self._host.control.settle()
        self.keeper.wake()
        return cron

    # --- running out of turn -----------------------------------------------------------------

    async def run_now(
        self, project: str, name: str, parameters: Mapping[str, str] | None = None
    ) -> WorkflowRow:
        """Run a schedule's workflow at once; it counts as one of its own."""
        async with self.keeper.lock:
            cron = self.find(project, name)
            library = visible(self._host.library, project)
            workflow = child(cron, self._host.clock.now())
            submission = await asyncio.to_thread(ready, workflow, library, self._rules, parameters)
            run = self._host.submit(submission, library)
            reference = Reference(name=run.name, namespace=run.namespace, uid=run.uid)
            status = change(cron.status, active=(*cron.status.active, reference))
            self.book.save(cron.with_status(status))
            try:
                await self._host.control.settle()
            except BaseException:
                self.book.save(cron)
                raise
            return self._host.store.workflow(run.uid)

    async def backfill(self, wanted: Backfill) -> Backfill:
        """Run the slots of a range."""
        entry = self.book.find(wanted.namespace, wanted.schedule)
        wanted = change(wanted, created_at=self._host.clock.now())
        # Not under the lock: to count thousands of slots takes a while, and others are due.
        total = await asyncio.to_thread(self.backfills.count, entry, wanted)
        async with self.keeper.lock:
            self.book.find(wanted.namespace, wanted.schedule)
            made = self.backfills.add(change(wanted, total=total))
            await self._host.control.settle()
        self.keeper.wake()
        return made

    async def cancel_backfill(self, project: str, name: str, backfill: str) -> Backfill:
        """Start nothing more of a backfill."""
        async with self.keeper.lock:
            found = self.backfills.find(self.find(project, name), backfill)
            cancelled = self.backfills.cancel(found)
            await self._host.control.settle()
            return cancelled


class ScheduleTakenError(ConflictError):
    """A schedule of that name exists in the project."""

    code = "name_taken"


class StaleError(ConflictError):
    """The object was changed since it was read."""

    code = "stale"


def make_schedules(
    host: Host,
    service: Service,
    policy: Policy,
    defaults: model.WorkflowSpec | None,
    note: Callable[[str], None],
) -> Schedules:
    """Give the schedules of a host that is up."""
    return Schedules(host, service, Rules(defaults, policy), note)


def _condition_problems(cron: Cron) -> Iterator[tuple[str, str]]:
    """Try the conditions as they are before the first run and after it; one must do."""
    later = cron.with_status(Status(last_scheduled_time=timestamp(0.0), succeeded=1))
    try:
        may_run(cron, 1.0)
    except ExpressionError as error:
        try:
            may_run(later, 1.0)
        except ExpressionError:
            yield "spec.when", str(error)
    try:
        is_over(later)
    except ExpressionError as error:
        yield "spec.stopStrategy.expression", str(error)


def _awake(cron: Cron) -> Cron:
    """Let a stopped schedule run again: its strategy does not hold any more."""
    labels = {k: v for k, v in cron.manifest.metadata.labels.items() if k != COMPLETED_LABEL}
    return replace(cron, status=change(cron.status, phase="Active")).with_meta(labels=labels)


def _wrong(message: str, path: str, line: int = 0, column: int = 0) -> SpecError:
    problem = Problem(code="invalid_spec", message=message, path=path, line=line, column=column)
    return SpecError([problem])


def _documents(bundle: Bundle) -> int:
    kinds = (
        bundle.workflows,
        bundle.workflow_templates,
        bundle.cluster_workflow_templates,
        bundle.cron_workflows,
        bundle.config_maps,
        bundle.secrets,
        bundle.volume_claims,
        bundle.job_templates,
        bundle.others,
    )
    return sum(len(kind) for kind in kinds)
