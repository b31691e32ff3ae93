"""How a run ended: what failed and why, the last lines that it wrote, and where to see more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tiphys.cli.attempt import last_lines
from tiphys.cli.failure import visible
from tiphys.cli.symbol import phase_colour, symbol
from tiphys.cli.text import Paint, live_duration, printable, strip_escapes
from tiphys.engine.lineage import Lineage, is_attempt
from tiphys.engine.node import Node, NodeType

if TYPE_CHECKING:
    from tiphys.store.row import WorkflowRow

MAX_FAILED = 5
MAX_LINES = 10
_NUMBER = r"\(\d+\)$"
_LEAVES = frozenset({NodeType.POD, NodeType.HTTP, NodeType.PLUGIN, NodeType.SUSPEND})


def summary_lines(
    row: WorkflowRow, nodes: Sequence[Node], data: Path, paint: Paint, *, head: bool = True
) -> list[str]:
    """Give the lines that end ``tiphys run``; ``head``: with the line about the whole."""
    lines = [_head(row, paint)] if head else []
    lines += [f"  {visible(name)} = {visible(value)}" for name, value in output_values(row.outputs)]
    if row.phase == "Succeeded":
        return lines
    failed = failed_nodes(nodes)
    for node in islice(failed, MAX_FAILED):
        lines += ["", *_failure(row, node, data, paint)]
    if len(failed) > MAX_FAILED:
        lines += ["", f"… and {len(failed) - MAX_FAILED} more that failed"]
    lines += ["", f"More: tiphys get {row.name}", f"      tiphys logs {row.name}"]
    return lines


def output_values(outputs: bytes | None) -> list[tuple[str, str]]:
    """Give the workflow's own output parameters."""
    value = msgspec.json.decode(outputs) if outputs else {}
    return [(each["name"], each.get("value", "")) for each in value.get("parameters") or ()]


def _head(row: WorkflowRow, paint: Paint) -> str:
    parts = [f"{symbol(row.phase)} {row.name} {row.phase}"]
    if row.started_at is not None and row.finished_at is not None:
        parts.append(f" in {live_duration(row.finished_at - row.started_at)}")
    if row.message:
        parts.append(f": {row.message}")
    return paint(visible("".join(parts)), phase_colour(row.phase), "bold")


def failed_nodes(nodes: Sequence[Node]) -> list[Node]:
    """Give the leaves that failed for good: not what is in an attempt that was followed by another,
    nor pods of a Job that were."""
    failed = [node for node in nodes if node.unsuccessful and node.type in _LEAVES]
    if not failed:
        return []
    lineage = Lineage(nodes)
    last = {
        series: node.id for node in lineage.nodes.values() if (series := _series(node, lineage))
    }
    return [
        node
        for node in failed
        if all(
            last[series] == each.id
            for each in (node, *lineage.owners(node))
            if (series := _series(each, lineage))
        )
    ]


def _series(node: Node, lineage: Lineage) -> str:
    """Give what the attempts at the same thing have in common; "" for what is tried once."""
    owner = lineage.nodes.get(node.boundary_id)
    if is_attempt(node) or (owner is not None and owner.type is NodeType.JOB):
        return re.sub(_NUMBER, "", node.name)
    return ""


def _failure(row: WorkflowRow, node: Node, data: Path, paint: Paint) -> list[str]:
    head = paint(f"{symbol(node.phase)} {visible(node.name)}", phase_colour(node.phase))
    lines = [f"{head}: {visible(node.message)}" if node.message else head]
    for text in last_lines(data, row.uid, node, MAX_LINES):
        own = text if paint.on else strip_escapes(text)
        lines.append(paint("  │ ", "grey") + printable(own))
    return lines
