"""Which leaves of a run are live, and in which layers. Pure: nodes in, a status out.

Each change costs as much as it has nodes: no run is walked for one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from tiphys.engine.layer import layer_of, leaf_of
from tiphys.engine.leaf import awaits_release
from tiphys.engine.node import Node, NodeType
from tiphys.engine.run import Run
from tiphys.kueue import label
from tiphys.kueue.inject import pod_of
from tiphys.kueue.owner import KEYS, NOTES, Json, Live, Status, Waiting, owner_name
from tiphys.kueue.shape import shape_of
from tiphys.spec import model


class Roster:
    """One run, as the cluster is told of it."""

    def __init__(self, run: Run, namespace: str) -> None:
        self.uid, self.namespace = run.uid, namespace
        self.name = owner_name(run.name, run.uid)
        self.labels = {key: run.labels[key] for key in KEYS if key in run.labels}
        self.notes = {key: run.annotations[key] for key in NOTES if key in run.annotations}
        self._pauses = bool(run.spec.suspend_by_steps)
        if self._pauses:
            self.notes[label.MODE] = "suspend"
        self.is_told = False
        self.held = False
        """Whether it is suspended because Kueue has no room for it."""
        self.has_ended = False
        self._head: tuple[str, bool] = ("", False)
        self._live: dict[str, Live] = {}
        self._held: dict[str, dict[str, Json]] = {}
        """Of layers that wait: their leaves and what their pods would ask for."""
        self._let_go: dict[str, tuple[Json, ...]] = {}
        """Of layers that were released: what they asked for."""

    @property
    def is_suspended(self) -> bool:
        """Whether the run stands still, whoever wanted it."""
        return self._head[1]

    @property
    def status(self) -> Status:
        """What the cluster is told."""
        busy = {each.layer for each in self._live.values()}
        waiting = [Waiting(n, True, False, _podsets(x.values())) for n, x in self._held.items()]
        gone = self._let_go.items()
        waiting += [Waiting(n, False, n not in busy, sets) for n, sets in gone]
        phase, suspended = self._head
        return Status(phase, suspended, self._live, tuple(waiting))

    def take_run(self, run: Run) -> bool:
        """Note the run's own fields; tell whether there is anything to tell."""
        head = (run.phase, run.suspended)
        changed = head != self._head
        self._head, self.has_ended = head, run.ended
        return changed or not self.is_told

    def take_nodes(self, run: Run, nodes: Sequence[Node]) -> bool:
        """Note what became of leaves; tell whether there is anything to tell."""
        changes = [self._take(run, node) for node in nodes]
        return any(changes)

    def _take(self, run: Run, node: Node) -> bool:
        if node.type is NodeType.RETRY:
            return node.ended and self._live.pop(node.id, None) is not None
        if node.type is not NodeType.POD:
            return False
        root = leaf_of(run, node)
        if awaits_release(run, node):
            return self._hold(run, root, node)
        known = self._live.get(root.id)
        found = self._live_of(run, root, node, known)
        if self._pauses:
            self._release(run, node)
        if found is None:
            self._live.pop(root.id, None)
        else:
            self._live[root.id] = found
        return found != known

    def _live_of(self, run: Run, root: Node, node: Node, known: Live | None) -> Live | None:
        if root.ended or node.synchronization_status is not None:
            return None
        attempt = f"{run.uid}.{node.ours.attempt}"
        if node.ended:
            # Between two attempts, unless news of an older one comes late.
            same = known is not None and known.attempt == attempt
            return known._replace(attempt="") if known is not None and same else known
        if not node.ours.attempt or not _has_pod(run, node):
            return known
        return Live(layer_of(run, node), attempt)

    # --- layers that wait ---------------------------------------------------------------------

    def _hold(self, run: Run, root: Node, node: Node) -> bool:
        leaf = run.leaves.get(node.id)
        if leaf is None or not _has_pod(run, node):
            return False
        layer = self._held.setdefault(layer_of(run, node), {})
        new = node.id not in layer
        layer[node.id] = _pod_of(run, leaf.template)
        return new

    def _release(self, run: Run, node: Node) -> None:
        """Note that a layer was let go, all of it at once; perhaps before we knew of it."""
        layer = layer_of(run, node)
        held = self._held.pop(layer, {})
        if held or node.ours.attempt:
            self._let_go.setdefault(layer, _podsets(held.values()))

    def waiting_in(self, layers: Collection[str]) -> tuple[str, ...]:
        """Give the nodes that wait in some layers."""
        return tuple(id_ for layer in layers for id_ in self._held.get(layer, ()))


def _has_pod(run: Run, node: Node) -> bool:
    """Whether a node runs as a pod, and not in our own process."""
    leaf = run.leaves.get(node.id)
    if leaf is None:
        return False
    template = leaf.template
    return bool(template.container or template.script or template.container_set)


def _pod_of(run: Run, template: model.Template) -> Json:
    made: Json = pod_of(msgspec.to_builtins(template))
    spec = run.spec
    made["nodeSelector"] = made["nodeSelector"] or msgspec.to_builtins(spec.node_selector)
    made["tolerations"] = made["tolerations"] or msgspec.to_builtins(spec.tolerations)
    return made


def _podsets(pods: Collection[Json]) -> tuple[Json, ...]:
    found: dict[str, Json] = {}
    for pod in pods:
        shape = shape_of(pod)
        one = {"name": shape.name, "count": 0, "template": shape.write()}
        found.setdefault(shape.name, one)["count"] += 1
    return tuple(found.values())
