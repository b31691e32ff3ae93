"""Ending what is under way below a node that has ended.

A group may end in error while others of its steps still run, and a template that fails fast may
leave nested ones behind. Argo lets such pods run on with nobody to read their outputs; here they
end with the node that they belong to, so that nothing is left over that a restart could not take
up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from tiphys.engine import leaf
from tiphys.engine.node import Node, Phase
from tiphys.engine.run import set_phase

if TYPE_CHECKING:
    from tiphys.engine.run import Run

MESSAGE = "ended with the node that it belongs to"


class Frame(Protocol):
    """Something under way that has started nodes."""

    def started_nodes(self) -> Iterable[Node]:
        """Give the nodes that it started, hooks among them."""


def abandon(run: Run, frame: Frame) -> None:
    """End all that ``frame`` started and that has not ended."""
    todo = list(frame.started_nodes())
    while todo:
        node = todo.pop()
        if node.ended:
            continue
        inner = run.frames.pop(node.id, None)
        if inner is not None:
            run.parked.pop(inner, None)
            run.dirty.pop(inner, None)
            todo.extend(inner.started_nodes())
        if node.id in run.leaves:
            leaf.fail(run, node, MESSAGE)
        else:
            set_phase(run, node, Phase.FAILED, MESSAGE)
