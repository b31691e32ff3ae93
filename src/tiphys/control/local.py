"""Workflows of files on this machine, in this process: what ``tiphys run`` does.

The first ``tiphys run`` of a data directory is its host. Another one beside it hands its workflows
over and follows them; should the host end before they do, it takes them up itself.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tiphys.config import Config
from tiphys.control.door import Caller, Door, Handler, knock
from tiphys.control.order import Order
from tiphys.control.standstill import tell_standstill
from tiphys.engine import event as ev
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.errors import Problem, SpecError, StoreLockedError, TiphysError
from tiphys.spec.library import Library
from tiphys.store import Store, WorkflowRow
from tiphys.wire.node import decode_node

if TYPE_CHECKING:
    from tiphys.control.host import Host
    from tiphys.control.turn import Watcher

__all__ = ["Finished", "attend", "run_order"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 5.0
"""Seconds for which a host that does not answer is waited for."""
AGAIN = 0.05
_MOST = 2
"""Interrupts that a workflow is told of."""


class Finished(msgspec.Struct, frozen=True):
    """A workflow that is over."""

    row: WorkflowRow
    nodes: tuple[Node, ...]


async def run_order(order: Order, watcher: Watcher) -> list[Finished]:
    """Run every workflow of an order to its end."""
    for problem in order.warnings:
        watcher.note(f"warning: {problem}")
    loop = asyncio.get_running_loop()
    end: float | None = None
    while True:
        try:
            return await _run_here(order, watcher)
        except StoreLockedError:
            caller = knock(order.options.data)
            # From here on: to get so far may have taken long, and the host no less.
            end = end or loop.time() + PATIENCE
            if caller is None and loop.time() >= end:
                raise
        if caller is not None:
            return await _run_there(order, caller, watcher)
        # It has just begun and does not answer yet, or it is about to end.
        await asyncio.sleep(AGAIN)


async def _run_here(order: Order, onlooker: Watcher) -> list[Finished]:
    data, config = order.options.data, order.config
    opened = asyncio.to_thread(Store.open, data, owner=True, url=config.store.url)
    opening = asyncio.create_task(opened)
    await asyncio.sleep(0)
    # Now that the disk is at work: to load the engine takes longer than to open the store.
    from tiphys.control.host import hosting  # noqa: PLC0415

    store, watcher = await opening, _Own(onlooker)
    async with hosting(data, config, order.library, watcher, store=store) as host:
        _check(order, host, watcher)
        host.keep_secrets(order.library.secrets.values())
        with _Interrupts(host.stop, watcher):
            runs = [host.submit(each, order.library) for each in order.submissions]
            watcher.uids.update(run.uid for run in runs)
            if not config.store.url:
                host.ledger.write_here()
            return await _host(host, runs, watcher)


def _check(order: Order, host: Host, watcher: Watcher) -> None:
    """Refuse queues that do not exist here, and warn of what else does not."""
    from tiphys.control.lack import Stock, lacks  # noqa: PLC0415 - with the engine
    from tiphys.control.queue_check import queue_problems  # noqa: PLC0415

    folder, privileged = host.data / "volumes", order.config.allow_privileged
    stock = Stock(order.library, host.resources, folder, privileged)
    queues = host.control.scheduler.queues.leaves()
    problems: list[Problem] = []
    for number, each in enumerate(order.submissions):
        read, known = partial(order.document, number), host.schedulers
        problems += queue_problems(each.workflow, read, known, queues)
        for problem in lacks(each.workflow, read, stock, known):
            watcher.note(f"warning: {problem}")
    if problems:
        raise SpecError(problems)


async def _host(host: Host, runs: Sequence[Run], watcher: _Own) -> list[Finished]:
    told = tell_standstill(host.control, runs, lambda: watcher.changed, watcher.note)
    standstill = asyncio.create_task(told)
    door = Door(host.data, _Answers(host))
    host.start()
    await door.open()
    try:
        await host.until(runs)
    finally:
        standstill.cancel()
        with suppress(asyncio.CancelledError):
            await standstill
        await door.close()
    return [
        Finished(
            host.store.workflow(run.uid),
            tuple(sorted(run.nodes.values(), key=lambda node: node.ours.seq)),
        )
        for run in runs
    ]


class _Answers(dict[str, Handler]):
    """What is answered at the door; loaded with the first question, as most runs hear none."""

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host

    def __missing__(self, question: str) -> Handler:
        from tiphys.control.server import Desk  # noqa: PLC0415
        from tiphys.control.service import Service  # noqa: PLC0415

        found = Desk(self._host, Service(self._host)).handlers()
        self.update(found)
        return found[question]


async def _run_there(order: Order, caller: Caller, watcher: Watcher) -> list[Finished]:
    """Hand the workflows to the process that is at work here already, and follow them."""
    from tiphys.control.server import pack_files  # noqa: PLC0415 - most runs are alone

    data = order.options.data
    watcher.note("another tiphys is at work in this data directory: it runs this as well")
    arguments = {
        "files": pack_files(order.files),
        "overrides": msgspec.structs.asdict(order.overrides),
    }
    try:
        rows = await asyncio.to_thread(lambda: caller.ask("submit", **arguments))
    finally:
        caller.close()
    return await attend(data, order.config, watcher, [row["uid"] for row in rows])


async def attend(
    data: Path, config: Config, watcher: Watcher, uids: Sequence[str], *, patience: float = 0.0
) -> list[Finished]:
    """Watch stored workflows to their end; where nobody runs them (any more), run them here.

    ``patience``: for how many seconds a server that went away is waited for before that.
    """
    from tiphys.control.follow import follow  # noqa: PLC0415 - most runs are alone
    from tiphys.control.host import hosting  # noqa: PLC0415 - see `_run_here`

    def stop(strategy: ev.Shutdown) -> None:
        caller = knock(data)
        if caller is None:
            return
        for uid in uids:
            with suppress(TiphysError, OSError):
                caller.ask("stop", key=uid, strategy=strategy.value.lower())
        caller.close()

    with Store.open(data, owner=False, url=config.store.url) as store:
        with _Interrupts(stop, watcher):
            lock = await follow(data, store, uids, watcher, patience)
        if lock is None:
            return [_stored(store, uid) for uid in uids]
    own = _Own(watcher)
    own.uids.update(uids)
    async with hosting(data, config, Library(namespace=config.namespace), own, lock) as host:
        with _Interrupts(host.stop, own):
            runs = [run for run in host.recover() if run.uid in own.uids]
            await _host(host, runs, own)
        return [_stored(host.store, uid) for uid in uids]


def _stored(store: Store, uid: str) -> Finished:
    nodes = tuple(decode_node(each.body) for each in store.nodes(uid))
    return Finished(store.workflow(uid), nodes)


class _Own:
    """Shows a watcher only the runs that it asked for: the host may run others besides."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.uids: set[str] = set()
        self.changed = 0.0
        """When one of them last moved, by the loop's clock."""

    def workflow(self, run: Run) -> None:
        """Pass on what concerns a run of ours."""
        if run.uid in self.uids:
            self.changed = asyncio.get_running_loop().time()
            self._watcher.workflow(run)

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        """Pass on what concerns a run of ours."""
        if run.uid in self.uids:
            self.changed = asyncio.get_running_loop().time()
            self._watcher.nodes(run, nodes)

    def note(self, text: str) -> None:
        """Pass a note on."""
        self._watcher.note(text)


class _Interrupts:
    """Ctrl-C: once stops (exit handlers run), twice terminates, three times leaves it as it is."""

    def __init__(self, stop: Callable[[ev.Shutdown], None], watcher: Watcher) -> None:
        self._stop, self._watcher = stop, watcher
        self._count = 0
        self._waiting: asyncio.Task[object] | None = None

    def __enter__(self) -> None:
        """Take the signals."""
        self._waiting = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            with suppress(NotImplementedError, RuntimeError):
                loop.add_signal_handler(number, self._interrupt)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Give the signals back."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            with suppress(NotImplementedError, RuntimeError):
                loop.remove_signal_handler(number)
        if self._count > _MOST and kind is asyncio.CancelledError:
            raise KeyboardInterrupt

    def _interrupt(self) -> None:
        self._count += 1
        if self._count == 1:
            self._watcher.note("stopping: exit handlers still run; once more to terminate")
            self._stop(ev.Shutdown.STOP)
        elif self._count == _MOST:
            self._watcher.note("terminating; once more leaves it to the next tiphys")
            self._stop(ev.Shutdown.TERMINATE)
        elif self._waiting is not None:
            # Its end may be out of reach: a cluster that does not answer.
            self._waiting.cancel()
