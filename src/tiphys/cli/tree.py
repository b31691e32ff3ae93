"""A finished or running workflow as ``argo get`` draws it. Pure.

Unlike the live tree it shows every node. Steps that run together are joined by one bracket, loops
stand side by side, a retry is shown once it has a second attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tiphys.engine.node import Node, NodeType, Phase

_DRAWN = frozenset(NodeType) - {NodeType.TASK_GROUP, NodeType.CONTAINER}
Forest = Mapping[str, Sequence[Node]]
"""Nodes by the id of what they are drawn below; "" holds the roots."""


def plant(nodes: Iterable[Node]) -> Forest:
    """Find out what is drawn below what; ``nodes`` come in the order of their creation."""
    forest: dict[str, list[Node]] = {"": []}
    groups: dict[str, Node] = {}
    for node in nodes:
        if node.type not in _DRAWN:
            continue
        if node.type in {NodeType.STEP_GROUP, NodeType.RETRY}:
            groups[node.id] = node
        if _is_passed_over(node):
            continue
        forest.setdefault(_above(node, groups), []).append(node)
    return forest


def _is_passed_over(node: Node) -> bool:
    return node.type is NodeType.SKIPPED and node.phase is Phase.OMITTED


def _above(node: Node, groups: Mapping[str, Node]) -> str:
    """Give the group of steps or the retry that a node is part of, else its boundary."""
    for parent in node.ours.parents:
        group = groups.get(parent)
        if group is None or node.type is NodeType.STEP_GROUP:
            continue
        mark = "." if group.type is NodeType.STEP_GROUP else "("
        if node.name.startswith(group.name + mark):
            return parent
    return node.boundary_id


def draw(forest: Forest, root: Node) -> Iterator[tuple[str, Node]]:
    """Yield each node that is shown with the lines that lead to it."""
    # A stack, because a recursive workflow can be deeper than Python's own.
    stack = [(root, " ", " ")]
    seen: set[str] = set()  # A damaged store may lead in circles.
    while stack:
        node, lead, below = stack.pop()
        if node.id in seen:
            continue
        seen.add(node.id)
        children = forest.get(node.id, ())
        hidden = _is_hidden(node, children)
        if not hidden:
            yield lead, node
        joined = node.type is NodeType.STEP_GROUP
        entries = []
        for index, child in enumerate(children):
            part, rest = _guide(index, len(children), hidden=hidden, joined=joined)
            # A hidden node's first child takes its place.
            start = lead if hidden and index == 0 else below
            entries.append((child, start + part, below + rest))
        stack.extend(reversed(entries))


def _is_hidden(node: Node, children: Sequence[Node]) -> bool:
    if node.type is NodeType.STEP_GROUP:
        return True
    return node.type is NodeType.RETRY and len(children) == 1


def _guide(index: int, count: int, *, hidden: bool, joined: bool) -> tuple[str, str]:
    if hidden and not joined:
        return "", ""
    if hidden and count == 1:
        return "──", "  "
    if index == count - 1:
        return "└─", "  "
    if hidden and index == 0:
        return "┬─", "│ "
    return "├─", "│ "
