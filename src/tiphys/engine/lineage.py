"""Who encloses whom among the nodes of a run, and who comes after whom.

Pure, and for runs that are not under way: manual retry and resubmission decide by it which nodes
are taken over. Children, as Argo draws them, are one kind of edge: what hangs below a node is what
was started because of it, inside of it or after it. The owner is the other kind: the node that is
not over before this one is (the group of a step, the retried node of an attempt, the steps or DAG
around it).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from tiphys.engine.node import Node, NodeType, Phase

COMPOSITE = frozenset(
    {NodeType.STEPS, NodeType.DAG, NodeType.STEP_GROUP, NodeType.TASK_GROUP, NodeType.RETRY}
)
"""Nodes that run nothing themselves."""


class Lineage:
    """The edges between the nodes of one run."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = {node.id: node for node in sorted(nodes, key=lambda each: each.ours.seq)}
        """In the order in which they were made."""
        self.children: dict[str, list[str]] = {}
        self.owned: dict[str, list[str]] = {}
        self._owners: dict[str, str] = {}
        for node in self.nodes.values():
            for parent in node.ours.parents:
                self.children.setdefault(parent, []).append(node.id)
            owner = self._find_owner(node)
            self._owners[node.id] = owner
            self.owned.setdefault(owner, []).append(node.id)

    def named(self, name: str) -> Node | None:
        """Find a node by name."""
        return next((node for node in self.nodes.values() if node.name == name), None)

    def owner(self, node: Node) -> Node | None:
        """Give the node that cannot be over before ``node`` is; None for the root."""
        return self.nodes.get(self._owners[node.id])

    def owners(self, node: Node) -> Iterator[Node]:
        """Give the owners of ``node`` from the innermost to the root."""
        found = self.owner(node)
        while found is not None:
            yield found
            found = self.owner(found)

    def _find_owner(self, node: Node) -> str:
        if node.type is NodeType.CONTAINER or node.type is NodeType.STEP_GROUP:
            return node.boundary_id
        parents = [self.nodes[each] for each in node.ours.parents if each in self.nodes]
        for parent in parents:
            if is_attempt(node) and parent.type is NodeType.RETRY:
                return parent.id
            if is_hook(node):
                # Whoever waits for the node waits for its hooks.
                return self._find_owner(parent)
            if parent.type is NodeType.STEP_GROUP and parent.boundary_id == node.boundary_id:
                return parent.id
            if parent.type is NodeType.TASK_GROUP and node.name.startswith(f"{parent.name}("):
                return parent.id
        return node.boundary_id

    def inside(self, node: Node) -> set[str]:
        """Give the ids of all nodes that ``node`` owns, directly or not."""
        return self._closure(node.id, self.owned)

    def below(self, node: Node, known: AbstractSet[str]) -> set[str]:
        """Give ``node``, what it owns and what hangs below any of these; stop at ``known`` ones."""
        return {node.id} | self._closure(node.id, self.children, self.owned, known=known)

    def followers(self, node: Node) -> list[str]:
        """Give what hangs directly below ``node``, or below its inside, and is outside of it."""
        inside = self.inside(node)
        inside.add(node.id)
        found = (child for each in inside for child in self.children.get(each, ()))
        return [child for child in dict.fromkeys(found) if child not in inside]

    def attempts(self, node: Node) -> list[Node]:
        """Give the attempts of a retried node, oldest first."""
        found = (self.nodes[each] for each in self.owned.get(node.id, ()))
        return [each for each in found if is_attempt(each)]

    def superseded(self) -> set[str]:
        """Give what belongs to steps and DAGs that were tried again: it is history."""
        found: set[str] = set()
        for node in self.nodes.values():
            if node.type is not NodeType.RETRY:
                continue
            for attempt in self.attempts(node)[:-1]:
                if attempt.type in COMPOSITE:
                    found |= self.inside(attempt) | {attempt.id}
        return found

    def led_to_success(self, leaving_out: AbstractSet[str]) -> set[str]:
        """Give the ids of nodes after which something succeeded, hooks and containers aside."""
        found: set[str] = set()
        todo = [
            node
            for node in self.nodes.values()
            if node.phase is Phase.SUCCEEDED
            and node.type is not NodeType.CONTAINER
            and node.id not in leaving_out
        ]
        while todo:
            node = todo.pop()
            if is_hook(node):
                continue
            fresh = [p for p in node.ours.parents if p in self.nodes and p not in found]
            found.update(fresh)
            todo.extend(self.nodes[parent] for parent in fresh)
        return found

    @staticmethod
    def _closure(
        start: str, *edges: Mapping[str, list[str]], known: AbstractSet[str] = frozenset()
    ) -> set[str]:
        found: set[str] = set()
        todo = [start]
        while todo:
            at = todo.pop()
            for kind in edges:
                for each in kind.get(at, ()):
                    if each not in found and each not in known:
                        found.add(each)
                        todo.append(each)
        return found


def is_attempt(node: Node) -> bool:
    """Whether the node is one of several attempts."""
    flag = node.node_flag
    return flag is not None and flag.retried and node.type is not NodeType.CONTAINER


def is_hook(node: Node) -> bool:
    """Whether the node is a hook or exit handler, rather than a part of one."""
    return node.hooked and not is_attempt(node) and node.type is not NodeType.CONTAINER


def was_daemon(node: Node) -> bool:
    """Whether the node served others until its boundary ended: it alone keeps its address."""
    return node.phase is Phase.SUCCEEDED and bool(node.pod_ip)
