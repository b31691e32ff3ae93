"""One process at the helm of a data directory: store, runtime and loop, opened and closed together.

``tiphys run`` is a host for a while, ``tiphys server`` for good. Whoever else wants something done
while a host is up asks it over its socket (``control.door``); with no host up, a command becomes
one for a moment. So there is one way to do each thing, and one writer.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from tiphys.config import Config, SchedulerSettings
from tiphys.control.abroad import Abroad
from tiphys.control.artifact import Artifacts
from tiphys.control.choice import FELL_BACK, choose, classed
from tiphys.control.claims import Claims
from tiphys.control.clearance import Clearings
from tiphys.control.cluster_queue import ClusterQueues
from tiphys.control.door import Handler
from tiphys.control.flowchoice import DRIVEN, settle_controller
from tiphys.control.garbage import Garbage
from tiphys.control.kept import stored_library
from tiphys.control.leftover import Leftovers, clearing, remove_files
from tiphys.control.loop import Control
from tiphys.control.planning import Planning
from tiphys.control.queues import Queues
from tiphys.control.record import Ledger, row_of
from tiphys.control.secrets import SecretFolder, secret_values
from tiphys.control.submit import Submission, freeze
from tiphys.control.turn import Watcher
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import begin
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import NameTakenError
from tiphys.ports import VOLCANO, Dispatcher, Runtime
from tiphys.runtimes.local import LocalRuntime
from tiphys.runtimes.router import ClusterRuntime, RouterRuntime
from tiphys.scheduling import Resources
from tiphys.scheduling.estimate import KIND as ESTIMATE
from tiphys.spec.library import Library
from tiphys.spec.model import ObjectMeta, Secret
from tiphys.spec.parse import Bundle, Parsed
from tiphys.store import EventRow, ObjectRow, Store, WorkflowRow
from tiphys.store.lock import FolderLock

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
        ledger: Ledger,
        control: Control,
        *,
        resources: HostResources,
        queues: Queues,
        garbage: Garbage,
    ) -> None:
        self.data = data
        self.schedulers = SchedulerSettings()
        """Where workflows run that name no place, and which places there are."""
        self.cluster_namespace = ""
        """Where things are made on a cluster; else in the workflow's own namespace."""
        self.garbage = garbage
        self.unread = 0
        """How many unfinished workflows could not be read when they were to be taken up."""
        self.queues = queues
        self.handlers: dict[str, Handler] = {}
        """What is answered at the door besides the usual: parts above ``control`` add theirs."""
        self._resources = resources
        self.store = ledger.store
        self.control = control
        self.clock = SystemClock()
        self._ledger = ledger
        self.clearings = Clearings(ledger, control, self.clock, ledger.say)
        self._leftovers = Leftovers(data, ledger.store, control.ended, self.clearings.order)
        control.show_to(self._leftovers)
        self.sweep: Callable[[Sequence[str], Sequence[str]], Awaitable[None]] = _sweep_nothing
        """Ends attempts on clusters but those given, in some namespaces."""
        self.cluster_queues: ClusterQueues | None = None
        self.claims: Claims | None = None
        self._loop: asyncio.Task[None] | None = None

    @property
    def ledger(self) -> Ledger:
        """What the loop puts on record."""
        return self._ledger

    @property
    def library(self) -> Library:
        """What workflows may refer to."""
        return self._resources.library

    @property
    def resources(self) -> HostResources:
        """The config maps and secrets that tasks get."""
        return self._resources

    def start(self) -> None:
        """Let the loop turn."""
        self._loop = asyncio.create_task(self.control.serve())
        self.garbage.resume(lambda row, abandon: self.forget(row, abandon=abandon))
        self._leftovers.resume()
        if self.cluster_queues is not None:
            self.cluster_queues.resume(self.store, self.control.runs)

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
        workflow, fallen = choose(submission.workflow, self.schedulers)
        workflow, driven = settle_controller(workflow, self.cluster_namespace)
        spec = classed(submission.spec, workflow, self.schedulers)
        run = begin(workflow, spec, library, uid=str(uuid.uuid4()), created_at=now)
        row = row_of(run, manifest=workflow, library=freeze(library), source=submission.source)
        self._ledger.submit(row)
        if fallen:
            self.control.tell(run, FELL_BACK, fallen)
        if driven:
            self._ledger.note(EventRow(uid=run.uid, at=now, kind=DRIVEN, text=driven))
        self.garbage.promise(row, at=now)
        self.clearings.promise(row)
        self.control.add(run)
        if nodes:
            from tiphys.engine.again import reopen  # noqa: PLC0415 - few are run once more

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
            *(("JobTemplate", each) for each in bundle.job_templates),
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
        self.keep_secrets(secret.value for secret in bundle.secrets)

    def keep_secrets(self, secrets: Iterable[Secret]) -> None:
        """Keep secrets: tasks that outlive this process need them, and so does the deletion of
        their artifacts."""
        for secret in secrets:
            namespace = secret.metadata.namespace or self.library.namespace
            self._resources.secrets.save(secret, namespace)

    async def forget(self, row: WorkflowRow, *, abandon: bool = False) -> None:
        """Remove a workflow that has ended, its logs, folders and collected artifacts with it.

        Raises ConflictError where artifacts that must go cannot; ``abandon`` leaves them behind.
        """
        await self.garbage.release(row, abandon=abandon, at=self.clock.now())
        self.garbage.drop(row.uid)
        order = clearing(row.uid, row.name, row.namespace, row.labels)
        if order is not None:
            self.clearings.order(order)
        self._ledger.delete(row.uid)
        await self.control.settle()
        await self._ledger.sweep()
        await asyncio.to_thread(remove_files, self.data, [row.uid])

    def recover(self, uids: Sequence[str] | None = None) -> list[Run]:
        """Take up the workflows that an earlier process left unfinished (all, or those named)."""
        from tiphys.control.recover import revive  # noqa: PLC0415 - not for a run of its own

        rows = [row for row in self.store.unfinished() if uids is None or row.uid in uids]
        runs = [revive(self.store, row, self.control, self._ledger) for row in rows]
        self.unread = sum(run is None for run in runs)
        return [run for run in runs if run is not None]

    def stop(self, strategy: ev.Shutdown) -> None:
        """Ask all runs to end, and leave the garbage of those that have ended for later."""
        self.control.stop_everything(strategy)
        self.garbage.hurry()

    async def until(self, runs: Sequence[Run]) -> None:
        """Wait until these runs are over; raise what broke the loop, if anything does."""

        async def wait() -> None:
            for run in runs:
                await self.control.ended(run.uid)
                await self.garbage.finished(run.uid)

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
            await self._leftovers.close()
            if self.claims is not None:
                await self.claims.close()
            await self.clearings.close()
            await self.garbage.close()
            self._loop.cancel()
            with suppress(asyncio.CancelledError):
                await self._loop
        await self.control.close()
        if self.cluster_queues is not None:
            await self.cluster_queues.close()


@asynccontextmanager
async def hosting(
    data: Path,
    config: Config,
    library: Library,
    watcher: Watcher,
    lock: FolderLock | None = None,
    store: Store | None = None,
) -> AsyncIterator[Host]:
    """Be the host of ``data``. Raises StoreLockedError where another process is.

    A ``store`` that is open already belongs to the host from now on, and so does a ``lock``.
    """
    if store is None:
        url = config.store.url
        store = await asyncio.to_thread(Store.open, data, owner=True, lock=lock, url=url)
    ledger = Ledger(store)
    try:
        resources = HostResources(SecretFolder(data / "secrets"))
        resources.library = _with_stored(store, library)
        artifacts = Artifacts(data, config, resources)
        runtime = _make_runtime(data, config, resources, artifacts, store.epoch)
        abroad = Abroad(partial(_make_dispatcher, data, config))
        control, queues = _make_control(config, ledger, runtime, abroad, watcher)
        garbage = Garbage(store, ledger, artifacts, settle=control.settle, note=watcher.note)
        control.show_to(garbage)
        host = Host(data, ledger, control, resources=resources, queues=queues, garbage=garbage)
        abroad.cleared, host.sweep = host.clearings.hear, runtime.sweep
        _join_cluster(host, config, watcher)
        await asyncio.to_thread(artifacts.sweep, host.clock.now())
        await control.open()
        if runtime.notice:
            watcher.note(runtime.notice)
        try:
            yield host
        finally:
            await host.close()
    finally:
        ledger.close()


def _make_runtime(
    data: Path, config: Config, resources: HostResources, artifacts: Artifacts, epoch: int
) -> RouterRuntime:
    """Give what runs nodes: here, and on clusters where any are for one."""
    local = LocalRuntime(
        data, config=config.local(), resources=resources, artifacts=artifacts, epoch=epoch
    )
    inline = partial(_make_inline, config, resources, artifacts)
    cluster = partial(_make_cluster, data, config, artifacts)
    return RouterRuntime(local, inline, cluster, partial(_make_volcano, data, config))


def _make_control(
    config: Config, ledger: Ledger, runtime: RouterRuntime, abroad: Abroad, watcher: Watcher
) -> tuple[Control, Queues]:
    """Give the loop, and the queues that it starts with."""
    store, capacity = ledger.store, machine_capacity(config)
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
        abroad=abroad,
    )
    control.moved = store.moved
    return control, queues


def _join_cluster(host: Host, config: Config, watcher: Watcher) -> None:
    """Let a host do its part on a cluster, if there is one."""
    control = host.control
    host.schedulers = config.scheduler
    host.cluster_namespace = config.kubernetes.namespace
    host.cluster_queues = ClusterQueues(
        host.data, config.kubernetes, control.send, host.clock.now, watcher.note
    )
    control.show_to(host.cluster_queues)
    host.claims = Claims(config.kubernetes, control.ended, watcher.note)
    control.show_to(host.claims)


async def _sweep_nothing(_: Sequence[str], __: Sequence[str]) -> None:
    """End nothing: there is no cluster."""


def _make_inline(config: Config, resources: HostResources, artifacts: Artifacts) -> Runtime:
    """Give the runtime of nodes that need no process; loaded only where there are some."""
    from tiphys.runtimes.inline import InlineRuntime  # noqa: PLC0415

    allow = config.egress.get("allow", ())
    return InlineRuntime(resources=resources, artifacts=artifacts, allow=allow)


def _make_cluster(data: Path, config: Config, artifacts: Artifacts) -> ClusterRuntime:
    """Give the runtime of workflows for a cluster; loaded only where there is one."""
    from tiphys.runtimes.kubernetes import KubernetesRuntime  # noqa: PLC0415

    return KubernetesRuntime(
        data, config=config.kubernetes, local=config.local(), artifacts=artifacts
    )


def _make_volcano(data: Path, config: Config) -> ClusterRuntime:
    """Give the runtime of Jobs that are Volcano's own; loaded only where there are some."""
    from tiphys.runtimes.volcano_runtime import VolcanoRuntime  # noqa: PLC0415

    return VolcanoRuntime(data, config=config.kubernetes, local=config.local())


def _make_dispatcher(data: Path, config: Config, scheduler: str) -> Dispatcher:
    """Give what hands workflows to a controller of a cluster: Argo's, or Volcano's for flows."""
    if scheduler == VOLCANO:
        from tiphys.dispatch.volcano import VolcanoDispatcher  # noqa: PLC0415

        return VolcanoDispatcher(data, config.kubernetes)
    from tiphys.dispatch.argo import ArgoDispatcher  # noqa: PLC0415

    return ArgoDispatcher(data, config.kubernetes)


def _with_stored(store: Store, library: Library) -> Library:
    """Put what earlier submissions left behind under ``library``."""
    stored = stored_library(store.objects(), library.namespace)
    return msgspec.structs.replace(
        library,
        workflow_templates={**stored.workflow_templates, **library.workflow_templates},
        cluster_workflow_templates={
            **stored.cluster_workflow_templates,
            **library.cluster_workflow_templates,
        },
        job_templates={**stored.job_templates, **library.job_templates},
        config_maps={**stored.config_maps, **library.config_maps},
    )
