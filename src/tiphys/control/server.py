"""A host for good (``tiphys server``), and the questions that it answers at its door.

``perform`` has one thing done whether or not a host is up: it asks it, or is one for a moment.
"""

from __future__ import annotations

import asyncio
import signal
from base64 import b64decode, b64encode
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from tiphys.config import Config
from tiphys.control.aftermath import clean_up
from tiphys.control.door import Door, Handler, knock
from tiphys.control.host import Host, hosting
from tiphys.control.queues import queue_handlers
from tiphys.control.service import Retry, Service
from tiphys.control.standby import Follower, keep_leading, lead
from tiphys.control.submit import Overrides
from tiphys.control.turn import Watcher
from tiphys.engine import event as ev
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.scheduling import Scheduler
from tiphys.spec.library import Library
from tiphys.store import WorkflowRow
from tiphys.store.lock import FolderLock

STRATEGIES = {"stop": ev.Shutdown.STOP, "terminate": ev.Shutdown.TERMINATE}


class QueueOffice:
    """What changes of queues need of a host."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.keep, self.forget = host.ledger.keep, host.ledger.forget
        self.queues_changed, self.settle = host.control.queues_changed, host.control.settle
        self.now = host.control.now

    @property
    def scheduler(self) -> Scheduler:
        """Decides what starts."""
        return self._host.control.scheduler

    def runs(self) -> list[Run]:
        """Give the workflows that are under way."""
        return list(self._host.control.runs.values())


class Desk:
    """Takes requests as plain data and has the service do them."""

    def __init__(self, host: Host, service: Service, *, stays: bool = True) -> None:
        self._host, self._service = host, service
        self._stays = stays
        """Whether the host is here to run what is submitted."""

    def handlers(self) -> Mapping[str, Handler]:
        """Give what can be asked for, by name."""
        return {
            "ping": self._ping,
            "explain": self._explain,
            **queue_handlers(self._host.queues, QueueOffice(self._host)),
            "submit": self._submit,
            "stop": self._stop,
            "suspend": self._suspend,
            "resume": self._resume,
            "retry": self._retry,
            "resubmit": self._resubmit,
            "delete": self._delete,
            "wait": self._wait,
        }

    async def _explain(self, request: Mapping[str, Any]) -> Any:
        row = self._host.store.workflow(request["key"], namespace=request.get("namespace", ""))
        return self._host.control.explain(row.uid)

    async def _ping(self, _: Mapping[str, Any]) -> Any:
        return {"live": len(self._host.control.runs), "epoch": self._host.store.epoch}

    async def _submit(self, request: Mapping[str, Any]) -> Any:
        files = [(name, b64decode(body)) for name, body in request["files"]]
        overrides = Overrides(**request.get("overrides", {}))
        rows = await self._service.submit(files, overrides, start=self._stays)
        return [shown(row) for row in rows]

    async def _stop(self, request: Mapping[str, Any]) -> Any:
        row = await self._service.stop(
            request["key"],
            STRATEGIES[request["strategy"]],
            namespace=request.get("namespace", ""),
            message=request.get("message", ""),
        )
        return shown(row)

    async def _suspend(self, request: Mapping[str, Any]) -> Any:
        return shown(await self._service.suspend(**_only(request, "key", "namespace")))

    async def _resume(self, request: Mapping[str, Any]) -> Any:
        wanted = _only(request, "key", "namespace", "node_selector", "parameters", "message")
        return shown(await self._service.resume(**{"parameters": {}, **wanted}))

    async def _retry(self, request: Mapping[str, Any]) -> Any:
        how = Retry(**_only(request, "restart_successful", "node_selector", "parameters"))
        row = await self._service.retry(request["key"], how, namespace=request.get("namespace", ""))
        return shown(row)

    async def _resubmit(self, request: Mapping[str, Any]) -> Any:
        wanted = _only(request, "key", "namespace", "memoized", "parameters")
        row = await self._service.resubmit(**{"memoized": False, "parameters": {}, **wanted})
        return shown(row)

    async def _delete(self, request: Mapping[str, Any]) -> Any:
        return shown(
            await self._service.delete(**_only(request, "key", "namespace", "force", "abandon"))
        )

    async def _wait(self, request: Mapping[str, Any]) -> Any:
        row = self._host.store.workflow(request["key"], namespace=request.get("namespace", ""))
        if row.uid in self._host.control.runs:
            await self._host.control.ended(row.uid)
        return shown(self._host.store.workflow(row.uid))


def _only(request: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: request[name] for name in names if name in request}


def shown(row: WorkflowRow) -> dict[str, Any]:
    """Give a workflow as answers carry it."""
    names = ("uid", "name", "namespace", "phase", "message", "created_at")
    return {name: getattr(row, name) for name in names}


class Quiet:
    """A watcher that only passes notes on."""

    def __init__(self, note: Any = None) -> None:
        self._note = note

    def workflow(self, run: Run) -> None:
        """See nothing."""

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """See nothing."""

    def note(self, text: str) -> None:
        """Pass a note on."""
        if self._note is not None:
            self._note(text)


class Front(Follower, Protocol):
    """What else is open while a host is up, or while one is waited for: the HTTP server."""

    def __call__(self, host: Host, service: Service) -> AbstractAsyncContextManager[None]:
        """Serve as the host's."""


async def serve(
    data: Path,
    config: Config,
    watcher: Watcher,
    ready: Any = None,
    front: Front | None = None,
    lock: FolderLock | None = None,
) -> None:
    """Be the host of ``data`` until told to end; tasks keep running then."""
    library = Library(namespace=config.namespace)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    ready = _once(ready)
    store = None
    if config.store.url:
        store = await lead(data, config.store.url, stop, front, watcher.note, ready)
        if store is None:
            return
    async with hosting(data, config, library, watcher, lock, store) as host:
        runs = host.recover()
        if runs:
            watcher.note(f"took up {len(runs)} unfinished workflows")
        defaults = config.workflow_defaults.spec if config.workflow_defaults else None
        service = Service(host, defaults)
        door = Door(data, ChainMap(host.handlers, dict(Desk(host, service).handlers())))
        if not host.unread:  # Tasks of a workflow that cannot be read are not nobody's.
            await host.control.keep_only_ours()
        host.start()
        await host.control.settle()
        await clean_up(host)
        await door.open()
        try:
            async with front(host, service) if front else nullcontext():
                ready()
                async with keep_leading(store, stop) if store else nullcontext():
                    await host.until_broken(stop)
        finally:
            await door.close()


def _once(call: Callable[[], None] | None) -> Callable[[], None]:
    calls = [call] if call is not None else []
    return lambda: calls.pop()() if calls else None


async def perform(
    data: Path, config: Config, watcher: Watcher, op: str, arguments: Mapping[str, Any]
) -> Any:
    """Have one thing done: by the host of ``data`` if there is one, else here."""
    caller = knock(data)
    if caller is not None:
        try:
            return await asyncio.to_thread(lambda: caller.ask(op, **arguments))
        finally:
            caller.close()
    return await perform_here(data, config, watcher, op, arguments)


async def perform_here(
    data: Path,
    config: Config,
    watcher: Watcher,
    op: str,
    arguments: Mapping[str, Any],
    lock: FolderLock | None = None,
) -> Any:
    """Have one thing done in this process, as the host of ``data`` for as long as that takes."""
    library = Library(namespace=config.namespace)
    async with hosting(data, config, library, watcher, lock) as host:
        defaults = config.workflow_defaults.spec if config.workflow_defaults else None
        desk = Desk(host, Service(host, defaults), stays=False)
        host.recover(_needed(host, op, arguments))
        host.start()
        await host.control.settle()
        answer = await desk.handlers()[op](arguments)
        if op == "stop":
            await desk.handlers()["wait"]({"key": answer["uid"]})
        return answer


def _needed(host: Host, op: str, arguments: Mapping[str, Any]) -> Sequence[str] | None:
    """Give the workflows that must be taken up for this; None is all."""
    if op in {"submit", "ping"}:
        return ()
    if op == "wait":
        return None
    row = host.store.workflow(arguments["key"], namespace=arguments.get("namespace", ""))
    # Locks are shared: others may hold what this one wants.
    return None if b'"synchronization"' in row.spec else (row.uid,)


def pack_files(files: Sequence[tuple[str, bytes]]) -> list[tuple[str, str]]:
    """Write files as a request can carry them."""
    return [(name, b64encode(body).decode()) for name, body in files]
