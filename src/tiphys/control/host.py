"""One process at the helm of a data directory: store, runtime and loop, opened and closed together.

``tiphys run`` is a host for a while, ``tiphys server`` for good. Whoever else wants something done
while a host is up asks it over its socket (``control.door``); with no host up, a command becomes
one for a moment. So there is one way to do each thing, and one writer.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from tiphys.config import Config
from tiphys.control.artifact import Artifacts
from tiphys.control.loop import Control, Watcher
from tiphys.control.planning import Planning
from tiphys.control.queues import Queues
from tiphys.control.record import Ledger, row_of
from tiphys.control.recover import revive
from tiphys.control.secrets import SecretFolder, secret_values
from tiphys.control.service import stored_library
from tiphys.control.submit import Submission, freeze
from tiphys.engine import event as ev
from tiphys.engine.again import reopen
from tiphys.engine.lifecycle import begin
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import NameTakenError
from tiphys.runtimes.inline import InlineRuntime
from tiphys.runtimes.local import LocalRuntime
from tiphys.runtimes.router import RouterRuntime
from tiphys.scheduling import Resources
from tiphys.scheduling.estimate import KIND as ESTIMATE
from tiphys.spec.library import Library
from tiphys.spec.model import ObjectMeta
from tiphys.spec.parse import Bundle, Parsed
from tiphys.store import ObjectRow, Store, WorkflowRow

MIN_PODS = 8
"""At least so many small tasks run at once, however few cores there are."""
PODS_PER_CORE = 4


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Give the seconds since the epoch."""
        return time.time()  # noqa: TID251 - this is the clock that is handed in


class HostResources:
    """Config maps and secrets, as runtimes ask for them: of the library, then of the disk."""

    def __init__(self, secrets: SecretFolder) -> None:
        self.secrets = secrets
        self.library = Library()

    def config_map(self, namespace: str, name: str) -> Mapping[str, str] | None:
        """Return the data of a config map."""
        found = self.library.config_maps.get((namespace, name))
        return None if found is None else found.data

    def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Return the data of a secret, decoded."""
        found = secret_values(self.library, namespace, name)
        return self.secrets.load(namespace, name) if found is None else found


def machine_capacity(config: Config) -> Resources:
    """Give what tasks may ask for together."""
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Resources(
        cpu=config.capacity.cpu_millis or cores * 1000,
        memory=config.capacity.memory_bytes or memory,
        pods=max(MIN_PODS, PODS_PER_CORE * cores),
    )


class Host:
    """Everything that runs workflows, in this process."""

    def __init__(
        self,
        data: Path,
        store: Store,
        ledger: Ledger,
        control: Control,
        *,
        resources: HostResources,
        queues: Queues,
    ) -> None:
        self.data = data
        self.unread = 0
        """How many unfinished workflows could not be read when they were to be taken up."""
        self.queues = queues
        self._resources = resources
        self.store = store
        self.control = control
        self.clock = SystemClock()
        self._ledger = ledger
        self._loop: asyncio.Task[None] | None = None

    @property
    def ledger(self) -> Ledger:
        """What the loop puts on record."""
        return self._ledger

    @property
    def library(self) -> Library:
        """What workflows may refer to."""
        return self._resources.library

    def start(self) -> None:
        """Let the loop turn."""
        self._loop = asyncio.create_task(self.control.serve())

    def submit(
        self,
        submission: Submission,
        library: Library,
        *,
        nodes: Sequence[Node] = (),
        start: bool = True,
    ) -> Run:
        """Take a workflow in; it is durable after the next turn. ``nodes`` are done already."""
        if self.control.full is not None:
            raise self.control.full
        self._check_name(submission.workflow.metadata)
        now = self.clock.now()
        run = begin(
            submission.workflow, submission.spec, library, uid=str(uuid.uuid4()), created_at=now
        )
        self._ledger.submit(
            row_of(
                run,
                manifest=submission.workflow,
                library=freeze(library),
                source=submission.source,
            )
        )
        self.control.add(run)
        if nodes:
            reopen(run, nodes, now=now)
        if start:
            self.control.send(run.uid, ev.RunStarted(at=now))
        return run

    def _check_name(self, meta: ObjectMeta) -> None:
        """Refuse a name that is in use before anything is put on record."""
        live = any(
            (run.name, run.namespace) == (meta.name, meta.namespace)
            for run in self.control.runs.values()
        )
        if live or self.store.name_taken(meta.name, meta.namespace):
            raise NameTakenError(meta.name, meta.namespace, uid="")

    def take_up(self, run: Run) -> None:
        """Go on with a run that was made from stored nodes."""
        self.control.add(run)
        self.control.take(run)
        self.control.send(run.uid, ev.RunStarted(at=self.clock.now()))

    def keep(self, bundle: Bundle, library: Library) -> None:
        """Keep templates, config maps and secrets of a submission for later ones."""
        self._resources.library = library
        kept: list[tuple[str, Parsed[Any]]] = [
            *(("WorkflowTemplate", each) for each in bundle.workflow_templates),
            *(("ClusterWorkflowTemplate", each) for each in bundle.cluster_workflow_templates),
            *(("ConfigMap", each) for each in bundle.config_maps),
        ]
        for kind, each in kept:
            meta = each.value.metadata
            namespace = "" if kind.startswith("Cluster") else meta.namespace or library.namespace
            self._ledger.keep(
                ObjectRow(
                    kind=kind,
                    namespace=namespace,
                    name=meta.name,
                    body=msgspec.json.encode(each.value),
                    at=self.clock.now(),
                )
            )
        for secret in bundle.secrets:
            meta = secret.value.metadata
            self._resources.secrets.save(secret.value, meta.namespace or library.namespace)

    async def forget(self, row: WorkflowRow) -> None:
        """Remove a workflow that has ended, its logs and folders with it."""
        self._ledger.delete(row.uid)
        await self.control.settle()
        await self._ledger.sweep()
        await asyncio.to_thread(shutil.rmtree, self.data / "attempts" / row.uid, ignore_errors=True)

    def recover(self, uids: Sequence[str] | None = None) -> list[Run]:
        """Take up the workflows that an earlier process left unfinished (all, or those named)."""
        rows = [row for row in self.store.unfinished() if uids is None or row.uid in uids]
        runs = [revive(self.store, row, self.control, self._ledger) for row in rows]
        self.unread = sum(run is None for run in runs)
        return [run for run in runs if run is not None]

    async def until(self, runs: Sequence[Run]) -> None:
        """Wait until these runs are over; raise what broke the loop, if anything does."""

        async def wait() -> None:
            for run in runs:
                await self.control.ended(run.uid)

        assert self._loop is not None
        waits = asyncio.create_task(wait())
        await asyncio.wait({waits, self._loop}, return_when=asyncio.FIRST_COMPLETED)
        if self._loop.done():
            waits.cancel()
            self._loop.result()

    async def until_broken(self, stop: asyncio.Event) -> None:
        """Wait until told to stop; raise what broke the loop, if anything does."""
        assert self._loop is not None
        told = asyncio.create_task(stop.wait())
        await asyncio.wait({told, self._loop}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        if self._loop.done():
            self._loop.result()

    async def close(self) -> None:
        """Stop turning and let go; tasks keep running."""
        if self._loop is not None:
            self._loop.cancel()
            with suppress(asyncio.CancelledError):
                await self._loop
        await self.control.close()


@asynccontextmanager
async def hosting(
    data: Path, config: Config, library: Library, watcher: Watcher
) -> AsyncIterator[Host]:
    """Be the host of ``data``. Raises StoreLockedError where another process is."""
    store = await asyncio.to_thread(Store.open, data, owner=True)
    ledger = Ledger(store)
    try:
        resources = HostResources(SecretFolder(data / "secrets"))
        resources.library = library = _with_stored(store, library)
        artifacts = Artifacts(data, config, resources)
        local = LocalRuntime(
            data,
            config=config.local(),
            resources=resources,
            artifacts=artifacts,
            epoch=store.epoch,
        )
        inline = InlineRuntime(
            resources=resources, artifacts=artifacts, allow=config.egress.get("allow", ())
        )
        runtime = RouterRuntime(local, inline)
        capacity = machine_capacity(config)
        queues = Queues(store, config.queue_list(), capacity)
        tree, warning = queues.tree()
        if warning:
            watcher.note(warning)
        control = Control(
            ledger=ledger,
            runtime=runtime,
            planning=Planning(capacity, tree, store.objects(ESTIMATE)),
            clock=SystemClock(),
            watcher=watcher,
        )
        host = Host(data, store, ledger, control, resources=resources, queues=queues)
        await control.open()
        if local.notice:
            watcher.note(local.notice)
        try:
            yield host
        finally:
            await host.close()
    finally:
        ledger.close()


def _with_stored(store: Store, library: Library) -> Library:
    """Put what earlier submissions left behind under ``library``."""
    stored = stored_library(store.objects(), library.namespace)
    return replace(
        library,
        workflow_templates={**stored.workflow_templates, **library.workflow_templates},
        cluster_workflow_templates={
            **stored.cluster_workflow_templates,
            **library.cluster_workflow_templates,
        },
        config_maps={**stored.config_maps, **library.config_maps},
    )
