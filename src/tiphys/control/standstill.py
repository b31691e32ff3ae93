"""Says why a run stands still, to who looks on: after some seconds in which nothing of it ran.

Each reason is told once. What waits beside something that runs is told by ``tiphys explain`` alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tiphys.engine.node import Node, NodeType, Phase
from tiphys.engine.run import Run

if TYPE_CHECKING:
    from tiphys.control.loop import Control

STILL = 5.0
"""Seconds."""
MOST = 3
"""Nodes of a run that are named; a fan-out waits for one reason."""
_AT_WORK = frozenset({NodeType.POD, NodeType.HTTP, NodeType.PLUGIN, NodeType.JOB})
_USUAL = frozenset({"DependencyPending", "Starting"})
"""Reasons that tell nothing: what is waited for has one of its own."""


async def tell_standstill(
    control: Control, runs: Sequence[Run], changed: Callable[[], float], note: Callable[[str], None]
) -> None:
    """Note why runs stand still, until cancelled; ``changed`` gives when one of them last moved."""
    now = asyncio.get_running_loop().time
    told: set[str] = set()
    asked = now()
    while True:
        left = STILL - (now() - max(asked, changed()))
        if left > 0:
            await asyncio.sleep(left)
            continue
        asked = now()
        for text in (text for run in runs for text in reasons(control, run)):
            if text not in told:
                told.add(text)
                note(text)


def reasons(control: Control, run: Run) -> Iterator[str]:
    """Give the reasons why a run stands still; none where something of it runs."""
    if run.ended or any(map(_is_at_work, run.nodes.values())):
        return
    rows = [row for row in control.explain(run.uid) if _is_telling(row)]
    for row in rows[:MOST]:
        yield f"{row['name']}: {row['text']}"
    if len(rows) > MOST:
        yield f"and more of {run.name} waits: `tiphys explain {run.name}`"


def _is_telling(row: dict[str, Any]) -> bool:
    """Whether a row says why something waits; one counts those that were left out."""
    if "more" in row or _kind(row) in _USUAL:
        return False
    # A pause that ends by itself is what was asked for.
    return _kind(row) != "Paused" or row["data"].get("until") is None


def _kind(row: dict[str, Any]) -> str:
    return str(row["data"]["type"])


def _is_at_work(node: Node) -> bool:
    return node.phase is Phase.RUNNING and node.type in _AT_WORK and not node.daemoned
