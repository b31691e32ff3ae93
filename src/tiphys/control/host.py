"""One process at the helm of a data directory: store, runtime and loop, opened and closed together.

``tiphys run`` is a host for a while, ``tiphys server`` for good. Whoever else wants something done
while a host is up asks it over its socket (``control.door``); with no host up, a command becomes one for
a moment. So there is one way to do each thing, and one writer.
"""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tiphys.config import Config
from tiphys.control.loop import Control, Watcher
from tiphys.control.record import Ledger, row_of
from tiphys.control.recover import revive
from tiphys.control.submit import Submission, freeze
from tiphys.engine import event as ev
from tiphys.engine.lifecycle import begin
from tiphys.engine.run import Run
from tiphys.runtimes.local import LocalRuntime
from tiphys.runtimes.staging import ArtifactStore
from tiphys.scheduling import Resources
from tiphys.spec.library import Library
from tiphys.store import Store

MIN_PODS = 8
"""At least so many small tasks run at once, however few cores there are."""
PODS_PER_CORE = 4


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


class Host:
    """Everything that runs workflows, in this process."""

    def __init__(
        self, store: Store, ledger: Ledger, control: Control, runtime: LocalRuntime
    ) -> None:
        self.store = store
        self.control = control
        self.clock = SystemClock()
        self.runtime = runtime
        self._ledger = ledger
        self._loop: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Let the loop turn."""
        self._loop = asyncio.create_task(self.control.serve())

    def submit(self, submission: Submission, library: Library) -> Run:
        """Take a workflow in; it is durable after the next turn."""
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
        self.control.send(run.uid, ev.RunStarted(at=now))
        return run

    def recover(self, uids: Sequence[str] | None = None) -> list[Run]:
        """Take up the workflows that an earlier process left unfinished (all, or those named)."""
        rows = [row for row in self.store.unfinished() if uids is None or row.uid in uids]
        return [run for row in rows if (run := revive(self.store, row, self.control, self._ledger))]

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
            clock=SystemClock(),
            watcher=watcher,
        )
        host = Host(store, ledger, control, runtime)
        await control.open()
        if runtime.notice:
            watcher.note(runtime.notice)
        try:
            yield host
        finally:
            await host.close()
    finally:
        ledger.close()


def _repositories(data: Path, config: Config, resources: LibraryResources) -> ArtifactStore:
    from tiphys.artifacts import Repositories  # noqa: PLC0415 - slow to load, often not needed

    def secret(namespace: str, name: str, key: str) -> bytes:
        return (resources.secret(namespace, name) or {})[key]

    return Repositories(root=data / "artifacts", config=config.artifact_config(), secrets=secret)
