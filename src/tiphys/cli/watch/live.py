"""The live tree: what runs, what failed and what is left, on one screen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from tiphys.cli.failure import visible
from tiphys.cli.text import Paint, printable
from tiphys.cli.watch.board import Board, lay_out
from tiphys.cli.watch.frame import footer, row_lines
from tiphys.cli.watch.screen import Screen
from tiphys.cli.watch.summary import summary_lines
from tiphys.cli.watch.tail import Tail
from tiphys.engine.node import Node
from tiphys.engine.run import Run
from tiphys.executor.clock import now
from tiphys.runtimes.logs import LogLine

if TYPE_CHECKING:
    from tiphys.control.local import Finished

INTERVAL = 0.1
_MARGIN = 3
"""Rows that the tree leaves free: the footer, the cursor, and one for the prompt above."""
_LOG_COLOURS = ("cyan", "green", "yellow", "blue", "magenta")


class LiveWatch:
    """Paints the tree ten times a second, on the loop's own thread: nothing to lock."""

    def __init__(self, out: TextIO, log: TextIO | None, paint: Paint, data: Path) -> None:
        self._screen = Screen(out)
        self._out = out
        self._log = log
        self._tail = Tail(data, self._log_line) if log else None
        self._paint = paint
        self._data = data
        self._board = Board()
        self._above: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._began: float | None = None
        self._ticks = 0

    def __enter__(self) -> Self:
        self._screen.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._tail:
            self._tail.close()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._began is not None:
            self._paint_now(final=True)
        self._screen.close()

    def workflow(self, run: Run) -> None:
        self._board.see_run(run)
        self._wake()

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        self._board.see_nodes(run, nodes)
        if self._tail:
            self._tail.see(run, nodes)
        self._wake()

    def _log_line(self, node: Node, line: LogLine) -> None:
        assert self._log is not None
        if self._log.isatty():
            colour = _LOG_COLOURS[sum(node.name.encode()) % len(_LOG_COLOURS)]
            name = self._paint(f"{visible(node.name)}:", colour)
            self._above.append(f"{name} {printable(line.text)}")
        else:
            self._log.write(f"{node.name}: {line.text}\n")

    def note(self, text: str) -> None:
        self._above.append(self._paint(visible(text), "yellow"))
        if self._began is None:
            self._flush_notes()
        else:
            self._wake()

    def summarize(self, finished: Sequence[Finished]) -> None:
        for each in finished:
            nodes = list(each.nodes)
            lines = summary_lines(each.row, nodes, self._data, self._paint, head=False)
            self._out.write("".join(f"{line}\n" for line in lines))
        self._out.flush()

    def _flush_notes(self) -> None:
        self._out.write("".join(f"{line}\n" for line in self._above))
        self._out.flush()
        self._above.clear()

    def _wake(self) -> None:
        if self._timer is None:
            self._began = self._began or now()
            self._timer = asyncio.get_running_loop().call_later(INTERVAL / 4, self._tick)

    def _tick(self) -> None:
        self._paint_now()
        self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._tick)

    def _paint_now(self, *, final: bool = False) -> None:
        self._ticks += 1
        at = now()
        columns, height = self._screen.size()
        rows = lay_out(self._board.root, max(3, height - _MARGIN))
        lines = row_lines(rows, at=at, tick=self._ticks, columns=columns, paint=self._paint)
        if not final:
            elapsed = at - (self._began or at)
            lines.append(footer(self._board, elapsed, columns, self._paint))
        above, self._above = self._above, []
        self._screen.paint(lines, above)
