"""Layers of a run: the leaves that one event makes ready. The rule is docs/adr/0010-layers.md's.

Pure. Reads names and parents of a few nodes, so that it costs the same in a run of any size.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tiphys.core.name import fnv1a32
from tiphys.engine.node import Node, NodeType

if TYPE_CHECKING:
    from tiphys.engine.run import Run

_GROUP = re.compile(r"\[\d+\]")
_TASK = re.compile(r"\.[^.(]+")
_LONGEST = 120


def leaf_of(run: Run, node: Node) -> Node:
    """Give the node that stands for all attempts of a leaf: its retries' node, or itself."""
    for parent in node.ours.parents:
        above = run.nodes.get(parent)
        if above is not None and above.type is NodeType.RETRY:
            return above
    return node


def layer_of(run: Run, node: Node) -> str:
    """Name the layer of a leaf: a parallel group of steps, or tasks that hang on the same."""
    root = leaf_of(run, node)
    above = run.nodes.get(root.boundary_id)
    if above is None:
        return root.name
    start = above.name
    if group := _GROUP.match(root.name, len(start)):
        return start + group[0]
    task = _TASK.match(root.name, len(start))
    head = (run.node_named(start + task[0]) if task else None) or root
    causes = sorted(run.nodes[each].name for each in head.ours.parents if each in run.nodes)
    if causes in ([], [start]):
        return start
    return f"{start} after {_short(', '.join(each.removeprefix(start) for each in causes))}"


def _short(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}… {fnv1a32(text):x}"
