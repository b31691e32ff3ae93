"""Workflows on this machine, in this process: what ``tiphys run`` does."""

from __future__ import annotations

import asyncio
import os
import signal
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tiphys.config import Config, RunOptions
from tiphys.control.loop import Control, Watcher
from tiphys.control.record import Ledger, row_of
from tiphys.control.submit import Overrides, Submission, freeze, prepare, read_files
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import begin
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.runtimes.local import LocalRuntime
from tiphys.runtimes.staging import ArtifactStore
from tiphys.scheduling import Resources
from tiphys.spec.library import Library
from tiphys.store import Store
from tiphys.store.row import WorkflowRow

__all__ = ["Finished", "Watcher", "run_files"]

MIN_PODS = 8
"""At least so many small tasks run at once, however few cores there are."""
PODS_PER_CORE = 4


@dataclass(frozen=True, slots=True)
class Finished:
    """A workflow that is over."""

    row: WorkflowRow
    nodes: tuple[Node, ...]


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Give the seconds since the epoch."""
        return time.time()  # noqa: TID251 - this is the clock that is handed in


class LibraryResources:
    """Config maps and secrets of a library, as runtimes ask for them."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def config_map(self, namespace: str, name: str) -> Mapping[str, str] | None:
        """Return the data of a config map."""
        found = self._library.config_maps.get((namespace, name))
        return None if found is None else found.data

    def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Return the data of a secret, decoded."""
        found = self._library.secrets.get((namespace, name))
        if found is None:
            return None
        names = (*found.data, *found.string_data)
        values = {key: self._library.secret_value(name, key, namespace=namespace) for key in names}
        return {key: value for key, value in values.items() if value is not None}


def machine_capacity(config: Config) -> Resources:
    """Give what tasks may ask for together."""
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Resources(
        cpu=config.capacity.cpu_millis or cores * 1000,
        memory=config.capacity.memory_bytes or memory,
        pods=max(MIN_PODS, PODS_PER_CORE * cores),
    )


async def run_files(
    files: Sequence[tuple[str, bytes]],
    *,
    parameters: Mapping[str, str],
    config: Config,
    watcher: Watcher,
    options: RunOptions,
) -> list[Finished]:
    """Run every workflow of ``files`` to its end.

    Raises SpecError before anything is stored, StoreLockedError where another process is at work.
    """
    bundle = read_files(files)
    for problem in bundle.problems:
        watcher.note(f"warning: {problem}")
    library = Library.of(bundle, namespace=config.namespace)
    overrides = Overrides(
        parameters=parameters,
        name=options.name,
        entrypoint=options.entrypoint,
        labels=options.labels,
    )
    defaults = config.workflow_defaults
    submissions = [
        prepare(parsed, library, overrides, defaults.spec if defaults else None)
        for parsed in bundle.workflows
    ]
    store = await asyncio.to_thread(Store.open, options.data, owner=True)
    ledger = Ledger(store)
    try:
        return await _run(submissions, library, config, watcher, options.data, ledger, store)
    finally:
        ledger.close()


async def _run(
    submissions: Iterable[Submission],
    library: Library,
    config: Config,
    watcher: Watcher,
    data: Path,
    ledger: Ledger,
    store: Store,
) -> list[Finished]:
    clock = SystemClock()
    resources = LibraryResources(library)
    runtime = LocalRuntime(
        data,
        config=config.local(),
        resources=resources,
        artifacts=_repositories(data, config, resources),
        epoch=store.epoch,
    )
    control = Control(
        ledger=ledger,
        runtime=runtime,
        capacity=machine_capacity(config),
        clock=clock,
        watcher=watcher,
    )
    await control.open()
    if runtime.notice:
        watcher.note(runtime.notice)
    runs = [_submit(each, library, control, ledger, clock) for each in submissions]
    loop_task = asyncio.create_task(control.serve())
    interrupts = _Interrupts(control, watcher)
    try:
        await _all_ended(control, runs, loop_task)
    finally:
        interrupts.close()
        loop_task.cancel()
        with suppress(asyncio.CancelledError):
            await loop_task
        await control.close()
    return [_finished(store, run) for run in runs]


def _repositories(data: Path, config: Config, resources: LibraryResources) -> ArtifactStore:
    from tiphys.artifacts import Repositories  # noqa: PLC0415 - slow to load, often not needed

    def secret(namespace: str, name: str, key: str) -> bytes:
        return (resources.secret(namespace, name) or {})[key]

    return Repositories(root=data / "artifacts", config=config.artifact_config(), secrets=secret)


async def _all_ended(control: Control, runs: Sequence[Run], loop_task: asyncio.Task[None]) -> None:
    """Wait for the runs, or for the loop to break."""

    async def wait() -> None:
        for run in runs:
            await control.ended(run.uid)

    waits = asyncio.create_task(wait())
    done, _ = await asyncio.wait({waits, loop_task}, return_when=asyncio.FIRST_COMPLETED)
    if loop_task in done:
        waits.cancel()
        loop_task.result()


def _submit(
    submission: Submission,
    library: Library,
    control: Control,
    ledger: Ledger,
    clock: SystemClock,
) -> Run:
    now = clock.now()
    run = begin(
        submission.workflow, submission.spec, library, uid=str(uuid.uuid4()), created_at=now
    )
    ledger.submit(
        row_of(
            run,
            manifest=submission.workflow,
            library=freeze(library),
            source=submission.source,
        )
    )
    control.add(run)
    control.send(run.uid, ev.RunStarted(at=now))
    return run


def _finished(store: Store, run: Run) -> Finished:
    row = store.workflow(run.uid)
    nodes = sorted(run.nodes.values(), key=lambda node: node.ours.seq)
    return Finished(row, tuple(nodes))


class _Interrupts:
    """Ctrl-C: once stops (exit handlers run), twice terminates."""

    def __init__(self, control: Control, watcher: Watcher) -> None:
        self._control, self._watcher = control, watcher
        self._count = 0
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError):
                loop.add_signal_handler(number, self._interrupt)

    @property
    def happened(self) -> bool:
        """Whether anybody interrupted."""
        return self._count > 0

    def _interrupt(self) -> None:
        self._count += 1
        if self._count == 1:
            self._watcher.note("stopping: exit handlers still run; once more to end at once")
            strategy = ev.Shutdown.STOP
        else:
            self._watcher.note("terminating")
            strategy = ev.Shutdown.TERMINATE
        self._control.stop_everything(strategy, lambda _: "")

    def close(self) -> None:
        """Give the signals back."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError):
                loop.remove_signal_handler(number)
