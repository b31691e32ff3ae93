"""What tasks write, while they write it: ``tiphys run --log``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from tiphys.cli.attempt import attempt_folder
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.runtimes.logs import LogLine, LogReader

INTERVAL = 0.1
Emit = Callable[[Node, LogLine], None]


class Tail:
    """Reads the logs of all tasks that run, a few times a second and once more when they ended."""

    def __init__(self, data: Path, emit: Emit) -> None:
        self._data = data
        self._emit = emit
        self._readers: dict[tuple[str, int], tuple[Node, LogReader]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def see(self, run: Run, nodes: Sequence[Node]) -> None:
        """Take in that nodes changed."""
        for node in nodes:
            attempt = node.ours.attempt
            if not attempt:
                continue
            # Attempts are numbered through the whole run.
            key = (run.uid, attempt)
            if key not in self._readers and not node.ended:
                folder = attempt_folder(self._data, run.uid, attempt)
                self._readers[key] = (node, LogReader(folder))
            if node.ended:
                _, reader = self._readers.pop(key, (node, None))
                self._read(node, reader or self._late(run.uid, attempt), final=True)
        if self._timer is None and self._readers:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._tick)

    def _late(self, uid: str, attempt: int) -> LogReader:
        """Open the log of a task that began and ended between two looks."""
        return LogReader(attempt_folder(self._data, uid, attempt))

    def _tick(self) -> None:
        for node, reader in self._readers.values():
            self._read(node, reader, final=False)
        self._timer = None
        if self._readers:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._tick)

    def _read(self, node: Node, reader: LogReader, *, final: bool) -> None:
        for line in reader.read(final=final):
            self._emit(node, line)

    def close(self) -> None:
        """Read what is left."""
        if self._timer is not None:
            self._timer.cancel()
        for node, reader in self._readers.values():
            self._read(node, reader, final=True)
        self._readers.clear()
