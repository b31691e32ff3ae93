"""Plain lines, one for each change: for pipes, files and build servers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from tiphys.cli.failure import visible
from tiphys.cli.text import Paint, clock
from tiphys.engine.node import FULFILLED, Node, NodeType, Phase
from tiphys.engine.run import Run
from tiphys.executor.clock import now

if TYPE_CHECKING:
    from tiphys.cli.watch.tail import Tail
    from tiphys.control.local import Finished
    from tiphys.runtimes.logs import LogLine

LEAVES = frozenset(
    {NodeType.POD, NodeType.CONTAINER, NodeType.HTTP, NodeType.PLUGIN, NodeType.SUSPEND}
)
"""Nodes that do something themselves; the others only hold them together."""


class PlainWatch:
    """Writes ``time name phase message``; ``quiet`` leaves out all but notes."""

    def __init__(
        self, notes: TextIO, log: TextIO | None, paint: Paint, data: Path, *, quiet: bool = False
    ) -> None:
        self._notes = notes
        self._log = log
        self._tail = self._open_tail(data) if log else None
        self._paint = paint
        self._data = data
        self._quiet = quiet
        self._told: dict[str, str] = {}

    def _open_tail(self, data: Path) -> Tail:
        from tiphys.cli.watch.tail import Tail  # noqa: PLC0415 - only for --log

        return Tail(data, self._log_line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._tail:
            self._tail.close()

    def workflow(self, run: Run) -> None:
        # Its end is told by the summary, after its last node.
        if run.phase and not run.ended and self._told.get(run.uid) != run.phase:
            self._told[run.uid] = run.phase
            at = run.started_at or run.created_at
            self._write([_line(at, run.name, run.phase, run.message)])

    def nodes(self, run: Run, nodes: Sequence[Node]) -> None:
        if self._tail:
            self._tail.see(run, nodes)
        if self._quiet:
            return
        lines = []
        for node in nodes:
            if not _worth_telling(node) or self._told.get(node.id) == node.phase:
                continue
            if node.name == run.name and node.phase is not Phase.ERROR:
                # The workflow's own lines say the same.
                continue
            if node.ended:
                self._told.pop(node.id, None)
            else:
                self._told[node.id] = node.phase
            at = (node.finished_at if node.ended else node.ours.began_at) or run.now
            lines.append(_line(at, node.name, node.phase, node.message))
        self._write(lines)

    def _log_line(self, node: Node, line: LogLine) -> None:
        assert self._log is not None
        self._log.write(f"{node.name}: {line.text}\n")
        self._log.flush()

    def note(self, text: str) -> None:
        self._notes.write(f"{clock(now())} {visible(text)}\n")
        self._notes.flush()

    def summarize(self, finished: Sequence[Finished]) -> None:
        told = [x for x in finished if not (self._quiet and x.row.phase == "Succeeded")]
        if told:
            from tiphys.cli.watch.summary import summary_lines  # noqa: PLC0415 - not if quiet

            for each in told:
                lines = summary_lines(each.row, list(each.nodes), self._data, self._paint)
                self._notes.write("".join(f"{line}\n" for line in lines))
        self._notes.flush()

    def _write(self, lines: Sequence[str]) -> None:
        if lines and not self._quiet:
            self._notes.write("".join(f"{line}\n" for line in lines))
            self._notes.flush()


def _worth_telling(node: Node) -> bool:
    """Leaves when they run and end, and whatever was passed over or went wrong."""
    if node.phase is Phase.PENDING:
        return False
    return node.type in LEAVES or (node.phase in FULFILLED and node.phase is not Phase.SUCCEEDED)


def _line(at: float, name: str, phase: str, message: str) -> str:
    return visible(f"{clock(at)} {name} {phase}{f' {message}' if message else ''}")
