"""The words and colours of the live tree. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from tiphys.cli.failure import visible
from tiphys.cli.symbol import phase_colour, symbol
from tiphys.cli.text import Paint, bar, cut, live_duration, pad, width
from tiphys.cli.watch.board import Board, Branch, Row
from tiphys.engine.node import Node, NodeType, Phase

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PHASES = {
    "failed": "Failed",
    "running": "Running",
    "waiting": "Pending",
    "done": "Succeeded",
    "passed": "Skipped",
}
_WORDS = ("running", "waiting", "failed", "done", "passed")
_DURATION = 7
_MANY = 2
"""From so many children on a row tells how many of them are over."""


def row_lines(
    rows: Sequence[Row], *, at: float, tick: int, columns: int, paint: Paint
) -> list[str]:
    """Write each row: its place in the tree, sign, name, time, and what there is to say."""
    lefts = [_left(row, tick, paint) for row in rows]
    named = [width(left) for left, row in zip(lefts, rows, strict=True) if not row.hidden]
    column = min(max(named, default=0), columns * 3 // 5)
    lines = []
    for row, left in zip(rows, lefts, strict=True):
        if row.hidden:
            lines.append(left)
            continue
        time = paint(f"{_duration(row.branch, at):>{_DURATION}}", "grey")
        lines.append(
            f"{pad(cut(left, column), column)} {time}  {_detail(row.branch, paint)}".rstrip()
        )
    return lines


def _left(row: Row, tick: int, paint: Paint) -> str:
    guide = paint(row.guide, "grey")
    if row.hidden:
        return guide + paint(f"… {row.hidden} more: {_left_out(row)}", "grey")
    branch = row.branch
    phase = _phase(branch)
    sign = _SPINNER[tick % len(_SPINNER)] if phase == "Running" else symbol(phase)
    label = visible(branch.label)
    if branch.run is not None:
        label = paint(label, "bold")
    elif branch.state == "passed":
        label = paint(label, "grey")
    return f"{guide}{paint(sign, phase_colour(phase))} {label}"


def _left_out(row: Row) -> str:
    counts = {state: row.branch.count(state) for state in _WORDS}
    for child in row.shown:
        counts[child.state] -= 1
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count > 0)


def _phase(branch: Branch) -> str:
    if branch.run is not None:
        return branch.run.phase or "Pending"
    if branch.node is not None:
        return branch.node.phase
    return _PHASES[branch.state]


def _duration(branch: Branch, at: float) -> str:
    if branch.run is not None:
        return _between(branch.run.started_at, branch.run.finished_at, at)
    node = branch.node
    if node is None or node.phase in {Phase.PENDING, Phase.SKIPPED, Phase.OMITTED}:
        return ""
    # A task that never began has taken no time, however long it waited.
    began = node.ours.began_at if node.type is NodeType.POD else node.started_at
    return _between(began, node.finished_at, at)


def _between(began: float | None, ended: float | None, at: float) -> str:
    return "" if began is None else live_duration((ended or at) - began)


def _detail(branch: Branch, paint: Paint) -> str:
    parts = []
    if branch.folded:
        parts.append(_attempts(branch))
    elif len(branch.children) >= _MANY and branch.run is None:
        parts.append(f"{branch.ended}/{len(branch.children)}")
    if branch.run is not None:
        phase = branch.run.phase or "Pending"
        parts.append(paint(phase, phase_colour(phase)))
        parts.append(visible(branch.run.message))
    elif branch.node is not None:
        parts.append(_own_progress(branch.node))
        colour = ("red",) if branch.state == "failed" else ("grey",)
        parts.append(paint(visible(_message(branch)), *colour))
    return "  ".join(filter(None, parts))


def _attempts(branch: Branch) -> str:
    count = len(branch.children)
    return f"attempt {count}" if count > 1 or branch.state == "failed" else ""


def _message(branch: Branch) -> str:
    """Give the branch's message; while an attempt is repeated, why the last one failed."""
    node = branch.node
    if node is None:
        return ""
    if node.message or not branch.folded or branch.state == "done":
        return node.message
    failed = branch.by_state.get("failed", {})
    last = failed[next(reversed(failed))].node if failed else None
    return f"last: {last.message}" if last is not None and last.message else ""


def _own_progress(node: Node) -> str:
    """Give the progress that the task itself reported."""
    if node.type is not NodeType.POD or node.progress in {"", "0/1", "1/1"}:
        return ""
    return node.progress


def footer(board: Board, elapsed: float, columns: int, paint: Paint) -> str:
    """Write the progress bar, how many tasks are over, the time, and the counts of the rest."""
    counts = board.states
    over = counts["done"] + counts["failed"] + counts["passed"]
    room = max(5, min(30, columns // 4))
    drawn = paint(bar(over, board.total, room), "red" if counts["failed"] else "green")
    words = [
        paint(f"{counts[state]} {state}", phase_colour(_PHASES[state]))
        for state in ("running", "waiting", "failed")
        if counts[state]
    ]
    return "  ".join([drawn, f"{over}/{board.total}", live_duration(elapsed), *words])
