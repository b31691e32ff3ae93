"""Workflows of files on this machine, in this process: what ``tiphys run`` does."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tiphys.config import Config, RunOptions
from tiphys.control.host import Host, hosting
from tiphys.control.loop import Control, Watcher
from tiphys.control.submit import Overrides, prepare, read_files
from tiphys.engine import event as ev
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.spec.library import Library
from tiphys.store import WorkflowRow

__all__ = ["Finished", "Watcher", "run_files"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Finished:
    """A workflow that is over."""

    row: WorkflowRow
    nodes: tuple[Node, ...]


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
    defaults = config.workflow_defaults.spec if config.workflow_defaults else None
    submissions = [prepare(parsed, library, overrides, defaults) for parsed in bundle.workflows]
    async with hosting(options.data, config, library, watcher) as host:
        runs = [host.submit(each, library) for each in submissions]
        host.start()
        with _Interrupts(host.control, watcher):
            await host.until(runs)
        return [_finished(host, run) for run in runs]


def _finished(host: Host, run: Run) -> Finished:
    row = host.store.workflow(run.uid)
    return Finished(row, tuple(sorted(run.nodes.values(), key=lambda node: node.ours.seq)))


class _Interrupts:
    """Ctrl-C: once stops (exit handlers run), twice terminates."""

    def __init__(self, control: Control, watcher: Watcher) -> None:
        self._control, self._watcher = control, watcher
        self._count = 0

    def __enter__(self) -> None:
        """Take the signals."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            with suppress(NotImplementedError, RuntimeError):
                loop.add_signal_handler(number, self._interrupt)

    def __exit__(self, *_: object) -> None:
        """Give the signals back."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            with suppress(NotImplementedError, RuntimeError):
                loop.remove_signal_handler(number)

    def _interrupt(self) -> None:
        self._count += 1
        if self._count == 1:
            self._watcher.note("stopping: exit handlers still run; once more to end at once")
            strategy = ev.Shutdown.STOP
        else:
            self._watcher.note("terminating")
            strategy = ev.Shutdown.TERMINATE
        self._control.stop_everything(strategy)
